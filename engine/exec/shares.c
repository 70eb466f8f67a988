#include "exec/shares.h"

#include <stdlib.h>
#include <string.h>

#include "base/zeroed.h"
#include "host/clock.h"

mr_status mr_shares_create(uint32_t n, const mr_plan *plan, const mr_graph *g, mr_shares **out)
{
	mr_shares *s = calloc(1, sizeof(*s));
	size_t room = g->n_params + 1u;

	*out = NULL;
	if (s) {
		*s = (mr_shares){.n = n, .n_workers = plan->n_workers, .n_stages = plan->n_stages};
		s->run = calloc(n, sizeof(mr_run *));
		s->side = mr_zeroed((size_t)n * (s->n_workers + s->n_stages) * sizeof(*s->side));
		s->norms = calloc(2 * (size_t)n * s->n_stages * room, sizeof(*s->norms));
	}
	if (!s || !s->run || !s->side || !s->norms) {
		mr_shares_destroy(s);
		return mr_fail(MR_ERESOURCE, "no memory for %u shares of %u workers", n, plan->n_workers);
	}
	for (uint32_t i = 0; i < 2 * n * s->n_stages; i++)
		s->side[(size_t)n * s->n_workers + i / 2].room[i % 2] = (uint8_t *)(s->norms + i * room);
	*out = s;
	return MR_OK;
}

void mr_shares_destroy(mr_shares *s)
{
	if (s) {
		free(s->run);
		free(s->side);
		free(s->norms);
	}
	free(s);
}

void mr_shares_reset(mr_shares *s)
{
	for (uint32_t i = 0; i < s->n * (uint32_t)(s->n_workers + s->n_stages); i++)
		atomic_store_explicit(&s->side[i].n, 0, memory_order_relaxed);
}

size_t mr_shares_room(const mr_run *run)
{
	const mr_run_config *c = &run->c;

	return mr_graph_largest_exchanged(c->graph, c->samples, &c->kernels->types);
}

mr_status mr_shares_refuse(const mr_run_config *c)
{
	const mr_contract *k = &c->plan->contract;

	if (k->racing || k->flush == MR_FLUSH_VALIDATED)
		return mr_fail(MR_ECONFIG, "timing decides in which order a worker %s, and all shares of "
					   "it need the same one",
			       k->racing ? "takes what is ready" : "repeats forward passes");
	if (mr_contract_replicates(k))
		return mr_fail(MR_ECONFIG, "%s averages replicas, and not those of shares",
			       c->plan->system);
	if (!mr_optim_elementwise(c->optim))
		return mr_fail(MR_ECONFIG, "%s needs the whole matrix of a weight, and a share has a part",
			       c->optim->ops->name);
	if (c->optim->form && c->optim->form->scaled)
		return mr_fail(MR_ECONFIG, "a state in %s has scales of whole weights, and a share has a part: take "
					   "optimizer.state = \"bf16\"",
			       c->optim->form->name);
	return MR_OK;
}

/* Show @mine as meeting @n of @side. */
static void show(mr_shares_side *side, uint32_t n, const void *mine, size_t bytes)
{
	memcpy(side->room[n & 1], mine, bytes);
	side->bytes[n & 1] = bytes;
	atomic_store_explicit(&side->n, n + 1, memory_order_seq_cst);
}

/* Has @side come to meeting @n? */
static bool has_come(const mr_shares_side *side, uint32_t n)
{
	return (int32_t)(atomic_load_explicit(&side->n, memory_order_seq_cst) - n) > 0;
}

/* Wake the worker of @run that may wait at @at; at a place of a stage any of them may. */
static void wake(mr_run *run, uint32_t at)
{
	for (uint32_t w = 0; w < run->n_workers; w++)
		if (w == at || at >= run->n_workers)
			mr_parker_wake(&run->worker[w].parker);
}

static mr_status wait_for_all(const mr_shares *s, mr_worker *w, const mr_shares_side *side, uint32_t n)
{
	uint64_t since = 0;

	for (uint32_t q = 0; q < s->n; q++) {
		while (!has_come(&side[q], n)) {
			if (!since)
				since = mr_clock_ns();
			mr_waiter_note(&w->waiter, MR_WAIT_UPSTREAM, n);
			MR_TRY(mr_waiter_step(&w->waiter));
		}
		mr_waiter_done(&w->waiter);
	}
	if (since) {
		w->met_ns += mr_clock_ns() - since;
		mr_waiter_note(&w->waiter, MR_WAIT_NONE, 0);
	}
	return MR_OK;
}

/* @w, of share @self, meets the others at place @at. */
static mr_status meet(mr_shares *s, mr_worker *w, uint32_t at, const void *mine, size_t bytes,
		      const void *part[MR_SHARES_MOST])
{
	mr_shares_side *side = &s->side[(size_t)at * s->n];
	uint32_t self = w->shares.self, n = atomic_load_explicit(&side[self].n, memory_order_relaxed);

	for (uint32_t q = 0; q < s->n; q++)
		part[q] = mine;
	if (s->apart)
		return MR_OK;
	show(&side[self], n, mine, bytes);
	for (uint32_t q = 0; q < s->n; q++)
		if (q != self)
			wake(s->run[q], at);
	MR_TRY(wait_for_all(s, w, side, n));
	for (uint32_t q = 0; q < s->n; q++) {
		if (side[q].bytes[n & 1] != bytes)
			return mr_fail(MR_EINVAL, "worker %u: share %u shows %llu bytes where share %u shows %zu",
				       w->id, q, (unsigned long long)side[q].bytes[n & 1], self, bytes);
		part[q] = side[q].room[n & 1];
	}
	return MR_OK;
}

mr_status mr_shares_meet(void *worker, const void *mine, size_t bytes, size_t reads,
			 const void *part[MR_SHARES_MOST])
{
	mr_worker *w = worker;

	w->met_bytes += (w->shares.n - 1) * reads;
	return meet(w->run->c.shares, w, w->id, mine, bytes, part);
}

mr_status mr_shares_add_norms(mr_worker *w, mr_stage_weights *b, uint64_t version)
{
	mr_run *run = w->run;
	const mr_graph *g = run->c.graph;
	double *sumsq = mr_norms_sumsq(b, version);
	const void *part[MR_SHARES_MOST];
	uint32_t first, end;

	if (!run->c.shares)
		return MR_OK;
	mr_stage_params(b->stage, &first, &end);
	MR_TRY(meet(run->c.shares, w, run->n_workers + (uint32_t)(b - run->weights), sumsq,
		    (end - first) * sizeof(*sumsq), part));
	for (uint32_t p = first; p < end; p++) {
		if (!g->params[p].cut.of)
			continue;
		sumsq[p - first] = 0;
		for (uint32_t q = 0; q < w->shares.n; q++)
			sumsq[p - first] += ((const double *)part[q])[p - first];
	}
	return MR_OK;
}
