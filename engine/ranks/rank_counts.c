/* rank_counts.c - what workers have counted, from the other ranks to rank 0. */
#include "ranks/ranks_internal.h"

mr_status mr_ranks_move(const mr_engine *e, uint32_t rank, void *data, size_t bytes)
{
	return mr_ranks_of(e)->self ? mr_ranks_by(e)->send(0, data, bytes) : mr_ranks_by(e)->receive(rank, data, bytes);
}

/* Times of worker @w, and its trace. */
static mr_status move_worker(mr_engine *e, uint32_t rank, mr_worker *w)
{
	uint64_t n;

	MR_TRY(mr_ranks_move(e, rank, &w->stats, sizeof(w->stats)));
	MR_TRY(mr_ranks_move(e, rank, &w->busy_ns, sizeof(w->busy_ns)));
	MR_TRY(mr_ranks_move(e, rank, w->waited_ns, sizeof(w->waited_ns)));
	MR_TRY(mr_ranks_move(e, rank, &w->n_trace, sizeof(w->n_trace)));
	n = w->n_trace < MR_TRACE_RING ? w->n_trace : MR_TRACE_RING;
	return w->trace ? mr_ranks_move(e, rank, w->trace, n * sizeof(*w->trace)) : MR_OK;
}

static bool has(const mr_engine *e, uint32_t rank, uint8_t pipe, uint16_t s)
{
	return mr_ranks_of(e)->of_worker[mr_plan_worker(e->run->c.plan, pipe, s)] == rank;
}

/* Most storage that stage @s of @pipe had in use at once, as far as @rank counts it: slots and versions are counted by
 * the stage, buffers of a boundary by who writes them. */
static mr_status move_usage(mr_engine *e, uint32_t rank, uint8_t pipe, uint16_t s)
{
	mr_links_stage *st = mr_links_at(&e->run->train, pipe, s);
	mr_version_count *versions = &mr_run_weights(e->run, pipe, s)->version_count;

	if (has(e, rank, pipe, s)) {
		MR_TRY(mr_ranks_move(e, rank, &st->most_taken, sizeof(st->most_taken)));
		MR_TRY(mr_ranks_move(e, rank, &versions->live, sizeof(versions->live)));
		MR_TRY(mr_ranks_move(e, rank, &versions->n_buffers, sizeof(versions->n_buffers)));
	}
	if (s > 0 && has(e, rank, pipe, (uint16_t)(s - 1)))
		MR_TRY(mr_ranks_move(e, rank, &st->in.n_used, sizeof(st->in.n_used)));
	if (s + 1 < e->run->n_stages && has(e, rank, pipe, (uint16_t)(s + 1)))
		MR_TRY(mr_ranks_move(e, rank, &st->grad.n_used, sizeof(st->grad.n_used)));
	return MR_OK;
}

mr_status mr_ranks_move_counts(mr_engine *e, uint32_t rank)
{
	mr_run *run = e->run;
	uint64_t sent = mr_ranks_by(e)->sent() - e->sent_before;

	MR_TRY(mr_ranks_move(e, rank, &sent, sizeof(sent)));
	run->link_bytes += sent;
	for (uint16_t w = 0; w < run->n_workers; w++)
		if (mr_ranks_of(e)->of_worker[w] == rank)
			MR_TRY(move_worker(e, rank, &run->worker[w]));
	for (unsigned p = 0; p < run->n_pipes; p++)
		for (uint16_t s = 0; s < run->n_stages; s++)
			MR_TRY(move_usage(e, rank, (uint8_t)p, s));
	for (uint16_t s = 0; s < run->n_stages; s++)
		for (uint32_t i = 0; i < run->weights[s].n_shards; i++)
			if (mr_ranks_of(e)->of_worker[mr_plan_worker(run->c.plan, (uint8_t)i, s)] == rank)
				MR_TRY(mr_ranks_move(e, rank, run->weights[s].shard[i].staleness,
						  sizeof(run->weights[s].shard[i].staleness)));
	return MR_OK;
}
