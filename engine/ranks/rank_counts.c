/* rank_counts.c - what workers have counted, from the other ranks to rank 0. */
#include "ranks/ranks_internal.h"

#include <stdlib.h>
#include <string.h>

mr_status mr_ranks_move(const mr_engine *e, uint32_t rank, void *data, size_t bytes)
{
	return mr_ranks_of(e)->self ? mr_ranks_by(e)->send(0, data, bytes) : mr_ranks_by(e)->receive(rank, data, bytes);
}

static bool is_of(const mr_worker *w, uint32_t rank)
{
	return mr_run_rank(&w->run->c, w->id) == rank;
}

/* What worker @w has spent so far, and what it does now. */
static mr_status move_spent(const mr_engine *e, uint32_t rank, mr_worker *w)
{
	uint64_t spent[3 + MR_N_WAITS] = {atomic_load_explicit(&w->busy_ns, memory_order_relaxed),
					  atomic_load_explicit(&w->doing, memory_order_relaxed),
					  atomic_load_explicit(&w->waiter.why, memory_order_relaxed)};

	for (int c = 0; c < MR_N_WAITS; c++)
		spent[3 + c] = atomic_load_explicit(&w->waited_ns[c], memory_order_relaxed);
	MR_TRY(mr_ranks_move(e, rank, spent, sizeof(spent)));
	if (mr_ranks_of(e)->self) /* the worker goes on counting */
		return MR_OK;
	atomic_store_explicit(&w->busy_ns, spent[0], memory_order_relaxed);
	atomic_store_explicit(&w->doing, spent[1], memory_order_relaxed);
	atomic_store_explicit(&w->waiter.why, (uint32_t)spent[2], memory_order_relaxed);
	for (int c = 0; c < MR_N_WAITS; c++)
		atomic_store_explicit(&w->waited_ns[c], spent[3 + c], memory_order_relaxed);
	return MR_OK;
}

/* The messages that @rank has sent, and how those to it came. */
static mr_status move_sums(const mr_engine *e, uint32_t rank)
{
	uint32_t n = mr_ranks_of(e)->n, self = mr_ranks_of(e)->self;
	mr_message_sum *all = e->run->between;

	for (uint32_t i = 0; i < n; i++) {
		mr_message_sum *to = &all[rank * n + i], *from = &all[i * n + rank];
		uint64_t x[5];

		if (i == rank)
			continue;
		if (self == rank)
			mr_ranks_by(e)->sum(i, to, from);
		memcpy(x, (uint64_t[]){to->n, to->bytes, to->send_ns, from->wire_ns, from->wait_ns}, sizeof(x));
		if (rank)
			MR_TRY(mr_ranks_move(e, rank, x, sizeof(x)));
		to->n = x[0];
		to->bytes = x[1];
		to->send_ns = x[2];
		from->wire_ns = x[3];
		from->wait_ns = x[4];
	}
	return MR_OK;
}

mr_status mr_ranks_move_work(const mr_engine *e, uint32_t rank)
{
	for (uint32_t i = 0; rank && i < e->n_boxes; i++)
		if (is_of(e->box[i].worker, rank))
			MR_TRY(move_spent(e, rank, e->box[i].worker));
	return move_sums(e, rank);
}

/* When @rank's run began, by rank 0's clock, less when rank 0's did. */
static mr_status begun_later(const mr_engine *e, uint32_t rank, int64_t *ns)
{
	uint64_t begin = e->run->start_ns + (uint64_t)e->ahead_ns;

	MR_TRY(mr_ranks_move(e, rank, &begin, sizeof(begin)));
	*ns = (int64_t)(begin - e->run->start_ns);
	return MR_OK;
}

static uint64_t later(uint64_t at, int64_t ns)
{
	return ns < 0 && at < (uint64_t)-ns ? 0 : at + (uint64_t)ns;
}

/* Times of worker @w, and its trace, which began @ns later than rank 0's. */
static mr_status move_worker(mr_engine *e, uint32_t rank, mr_worker *w, int64_t ns)
{
	uint64_t n;

	MR_TRY(mr_ranks_move(e, rank, &w->stats, sizeof(w->stats)));
	MR_TRY(mr_ranks_move(e, rank, &w->n_trace, sizeof(w->n_trace)));
	n = w->n_trace < MR_TRACE_RING ? w->n_trace : MR_TRACE_RING;
	if (!w->trace)
		return MR_OK;
	MR_TRY(mr_ranks_move(e, rank, w->trace, n * sizeof(*w->trace)));
	for (uint64_t i = 0; !mr_ranks_of(e)->self && i < n; i++) {
		w->trace[i].begin_ns = later(w->trace[i].begin_ns, ns);
		w->trace[i].end_ns = later(w->trace[i].end_ns, ns);
	}
	return MR_OK;
}

/* The messages that came to @rank, to rank 0, with times since its run began. */
static mr_status move_messages(mr_engine *e, uint32_t rank)
{
	const mr_message_time *at = NULL;
	mr_rank_messages *to = &e->run->messages[rank];
	uint64_t n = mr_ranks_of(e)->self == rank ? mr_ranks_by(e)->messages(&at) : 0, start = e->run->start_ns;

	if (rank)
		MR_TRY(mr_ranks_move(e, rank, &n, sizeof(n)));
	if (mr_ranks_of(e)->self)
		return mr_ranks_move(e, rank, (void *)(uintptr_t)at, n * sizeof(*at));
	free(to->at);
	to->n = 0;
	to->at = malloc((n + 1) * sizeof(*to->at));
	if (!to->at)
		return mr_fail(MR_ERESOURCE, "no memory for %llu messages of a trace", (unsigned long long)n);
	to->n = n;
	if (!rank)
		memcpy(to->at, at, n * sizeof(*at));
	else
		MR_TRY(mr_ranks_move(e, rank, to->at, n * sizeof(*at)));
	for (mr_message_time *m = to->at; m < to->at + n; m++) {
		m->sent_ns = later(m->sent_ns, -(int64_t)start);
		m->arrived_ns = later(m->arrived_ns, -(int64_t)start);
		m->wanted_ns = m->wanted_ns ? later(m->wanted_ns, -(int64_t)start) : 0;
	}
	return MR_OK;
}

static bool has(const mr_run *run, uint32_t rank, uint8_t pipe, uint16_t s)
{
	return mr_run_rank(&run->c, mr_plan_worker(run->c.plan, pipe, s)) == rank;
}

/* Most storage that stage @s of @pipe had in use at once, as far as @rank counts it: slots and versions are counted by
 * the stage, buffers of a boundary by who writes them. */
static mr_status move_usage(mr_engine *e, mr_run *run, uint32_t rank, uint8_t pipe, uint16_t s)
{
	mr_links_stage *st = mr_links_at(&run->train, pipe, s);
	mr_version_count *versions = &mr_run_weights(run, pipe, s)->version_count;

	if (has(run, rank, pipe, s)) {
		MR_TRY(mr_ranks_move(e, rank, &st->most_taken, sizeof(st->most_taken)));
		MR_TRY(mr_ranks_move(e, rank, &versions->live, sizeof(versions->live)));
		MR_TRY(mr_ranks_move(e, rank, &versions->n_buffers, sizeof(versions->n_buffers)));
	}
	if (s > 0 && has(run, rank, pipe, (uint16_t)(s - 1)))
		MR_TRY(mr_ranks_move(e, rank, &st->in.n_used, sizeof(st->in.n_used)));
	if (s + 1 < run->n_stages && has(run, rank, pipe, (uint16_t)(s + 1)))
		MR_TRY(mr_ranks_move(e, rank, &st->grad.n_used, sizeof(st->grad.n_used)));
	return MR_OK;
}

/* What the workers of @rank have counted in @run. */
static mr_status move_run(mr_engine *e, mr_run *run, uint32_t rank, int64_t ns)
{
	for (uint16_t w = 0; w < run->n_workers; w++)
		if (is_of(&run->worker[w], rank))
			MR_TRY(move_worker(e, rank, &run->worker[w], ns));
	for (unsigned p = 0; p < run->n_pipes; p++)
		for (uint16_t s = 0; s < run->n_stages; s++)
			MR_TRY(move_usage(e, run, rank, (uint8_t)p, s));
	for (uint16_t s = 0; s < run->n_stages; s++)
		for (uint32_t i = 0; i < run->weights[s].n_shards; i++)
			if (has(run, rank, (uint8_t)i, s))
				MR_TRY(mr_ranks_move(e, rank, run->weights[s].shard[i].staleness,
						     sizeof(run->weights[s].shard[i].staleness)));
	return MR_OK;
}

mr_status mr_ranks_move_counts(mr_engine *e, uint32_t rank)
{
	mr_run *run = e->run;
	uint64_t sent = mr_ranks_by(e)->sent() - e->sent_before;
	int64_t ns;

	MR_TRY(mr_ranks_move_work(e, rank));
	if (run->c.trace)
		MR_TRY(move_messages(e, rank));
	if (!rank)
		return MR_OK;
	MR_TRY(mr_ranks_move(e, rank, &sent, sizeof(sent)));
	run->link_bytes += sent;
	MR_TRY(begun_later(e, rank, &ns));
	for (uint32_t q = 0; q < e->n_runs; q++)
		MR_TRY(move_run(e, e->runs[q], rank, ns));
	return MR_OK;
}
