#include "session/shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exec/shares.h"
#include "planner/share_graph.h"

mr_status mr_session_share(mr_session *s)
{
	uint32_t n = (uint32_t)s->job->machine.shares;

	if (n < 2 || s->shapes || s->without_text)
		return MR_OK;
	s->share = calloc(n, sizeof(*s->share));
	if (!s->share)
		return mr_fail(MR_ERESOURCE, "no memory for %u shares", n);
	s->n_shares = n;
	s->whole = s->graph;
	s->graph = NULL;
	for (uint32_t q = 0; q < n; q++)
		MR_TRY(mr_share_graph(s->whole, n, q, s->job->machine.sequence_parallel, &s->share[q].graph));
	s->graph = s->share[0].graph;
	return MR_OK;
}

bool mr_session_by_share(void *at, size_t each, uint32_t workers, uint32_t n)
{
	uint8_t *was = malloc(each * workers * n + 1);

	if (!was)
		return false;
	memcpy(was, at, each * workers * n);
	for (uint32_t w = 0; w < workers; w++)
		for (uint32_t q = 0; q < n; q++)
			memcpy((uint8_t *)at + (q * workers + w) * each, was + (w * n + q) * each, each);
	free(was);
	return true;
}

/* The shares of a worker do the same at the same time, so who sums or sends what is alike in all of them. */
static mr_status check_alike(const mr_ranks *r, uint32_t workers, uint32_t n)
{
	const uint32_t *of = r->of_worker;

	for (uint32_t q = 1; q < n; q++)
		for (uint32_t a = 0; a < workers; a++)
			for (uint32_t b = a + 1; b < workers; b++)
				if ((of[a] == of[b]) != (of[q * workers + a] == of[q * workers + b]))
					return mr_fail(MR_ECONFIG, "workers %u and %u are on %s for share 0, and on %s "
						       "for share %u: each share has the same workers together", a, b,
						       of[a] == of[b] ? "one rank" : "two ranks",
						       of[a] == of[b] ? "two" : "one", q);
	return MR_OK;
}

mr_status mr_session_place_shares(mr_session *s)
{
	uint32_t n = s->n_shares, workers = s->place.n_workers / (n ? n : 1);

	if (!n)
		return MR_OK;
	s->place.n_workers = workers;
	if (mr_session_by_share(s->place.worker, sizeof(*s->place.worker), workers, n) &&
	    (!s->ranks || mr_session_by_share(s->ranks->of_worker, sizeof(*s->ranks->of_worker), workers, n)))
		return s->ranks ? mr_job_blame(s->job, MR_JOB_MACHINE, "ranks", check_alike(s->ranks, workers, n))
				: MR_OK;
	return mr_fail(MR_ERESOURCE, "no memory to place %u shares", n);
}

const mr_place_worker *mr_session_row_place(const mr_session *s, uint32_t row)
{
	uint32_t n = s->n_shares ? s->n_shares : 1;

	return &s->place.worker[row % n * s->place.n_workers + row / n];
}

uint32_t mr_session_shares_here(const mr_session *s)
{
	uint32_t here = 0;

	for (uint32_t q = 0; q < s->n_shares && s->place.worker; q++)
		here += s->place.worker[q * s->place.n_workers].node == s->place.worker[0].node;
	return here;
}

mr_status mr_session_check_shares(const mr_session *s)
{
	mr_run_config c;

	if (!s->n_shares)
		return MR_OK;
	c = mr_session_run_config(s, NULL);
	return mr_shares_refuse(&c);
}

mr_run_config mr_session_share_config(const mr_session *s, const mr_run_config *c, uint32_t q)
{
	mr_run_config own = *c;

	s->share[q].place = s->place;
	s->share[q].place.worker += q * s->place.n_workers;
	own.graph = s->share[q].graph;
	own.place = &s->share[q].place;
	own.share = q;
	return own;
}

mr_status mr_session_start_shares(mr_session *s, const mr_run_config *c, const mr_session_opts *opts)
{
	uint32_t n = s->n_shares;
	mr_run_config *all = calloc(n, sizeof(*all));
	mr_status st;

	if (!all)
		return mr_fail(MR_ERESOURCE, "no memory for %u shares", n);
	for (uint32_t q = 0; q < n; q++) {
		mr_graph *g = s->share[q].graph;

		if (q && g->class_weight) /* which may have been counted since */
			memcpy(g->class_weight, s->graph->class_weight, g->n_class_weights * sizeof(*g->class_weight));
		all[q] = mr_session_share_config(s, c, q);
	}
	if (s->ranks)
		st = mr_executor_of_ranks(all, n, s->job->machine.watchdog, s->whole, &s->executor);
	else if (opts && (opts->source || opts->clock))
		st = mr_executor_of_replayed_shares(all, n, opts->source, opts->source_arg, opts->clock, s->whole,
						    &s->executor);
	else
		st = mr_executor_of_shares(all, n, s->job->machine.watchdog, s->whole, &s->executor);
	free(all);
	return st;
}

void mr_session_end_shares(mr_session *s)
{
	for (uint32_t q = 0; q < s->n_shares; q++)
		mr_graph_destroy(s->share[q].graph);
	if (s->n_shares)
		s->graph = s->whole;
	free(s->share);
}

uint64_t mr_session_meeting_bytes(const mr_session *s)
{
	uint64_t one = mr_graph_largest_exchanged(s->graph, s->samples, &s->kernels->types);

	return 2 * s->n_shares * s->place.n_workers * ((one + MR_CACHE_LINE - 1) / MR_CACHE_LINE * MR_CACHE_LINE);
}

/* Shares q of worker @w that rank @rank has, among @of ranks of the workers of all shares. */
static uint32_t shares_of(const mr_session *s, uint16_t w, uint32_t rank)
{
	uint32_t n = 0;

	for (uint32_t q = 0; q < s->n_shares; q++)
		n += s->ranks->of_worker[q * s->place.n_workers + w] == rank;
	return n;
}

uint64_t mr_session_rank_meeting_bytes(const mr_session *s)
{
	uint64_t bytes = 0;

	for (uint16_t w = 0; w < s->place.n_workers; w++) {
		uint32_t here = shares_of(s, w, s->ranks->self);
		mr_run_config c = mr_session_run_config(s, NULL);

		if (here) /* the first of them has room for what comes from others */
			bytes += (here - 1) * mr_shares_room_bytes(&c, 0) +
				 mr_shares_room_bytes(&c, s->n_shares - here);
	}
	return bytes;
}

uint64_t mr_session_joined_bytes(const mr_session *s)
{
	const mr_types *t = &s->kernels->types;
	uint64_t states = s->optim.ops->n_states * mr_dtype_bytes(mr_optim_state_type(&s->optim, t)), n = 0;

	for (uint32_t p = 0; s->n_shares && !(s->ranks && s->ranks->self) && p < s->graph->n_params; p++)
		n += s->graph->params[p].cut.of ? (uint64_t)s->whole->params[p].n : 0;
	return n * (mr_dtype_bytes(t->weights) + states + sizeof(int16_t));
}

uint64_t mr_session_shared_bytes(const mr_session *s)
{
	return s->n_shares ? (s->n_shares - 1) * s->n_micro *
				     mr_graph_exchanged(s->graph, s->samples, &s->kernels->types) : 0;
}

const char *mr_session_shares_text(const mr_session *s, char text[160])
{
	uint32_t n_cut = 0;
	char bytes[16];

	text[0] = 0;
	for (uint32_t i = 0; s->n_shares && i < s->graph->n_nodes; i++) {
		const mr_node *nd = &s->graph->nodes[i];

		n_cut += nd->n_params && s->graph->params[nd->first_param].cut.of;
	}
	if (s->n_shares)
		snprintf(text, 160, "%u a worker: %u layers with weights are cut, %.0f %% of the FLOPs are a share's; "
			 "it reads %s of the others a step%s", s->n_shares, n_cut,
			 100 * mr_graph_flops_train(s->graph) / mr_graph_flops_train(s->whole),
			 mr_bytes_text(mr_session_shared_bytes(s), bytes),
			 s->job->machine.sequence_parallel ? ", and norms take its positions alone" : "");
	return text;
}
