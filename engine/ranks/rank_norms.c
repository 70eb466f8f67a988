/* rank_norms.c - norms of gradients that nothing is clipped by: parts of each rank, added up by rank 0
 * (weights/norm_parts.h). Of several shares the first one's run has the sums over all, unless the shards of a stage are
 * apart: then each share's run leaves its own, and rank 0 adds them up. */
#include "ranks/ranks_internal.h"

#include <math.h>

#include "weights/norm_parts.h"

static bool leaves(const mr_run *run, uint16_t s)
{
	return mr_run_leaves_norm(run, s) && (!run->c.share || run->weights[s].apart);
}

static bool is_kept(const mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		if (leaves(run, s))
			return true;
	return false;
}

/* Has @rank shard @i of stage @s? */
static bool has(const mr_run *run, uint32_t rank, uint32_t i, uint16_t s)
{
	return mr_run_rank(&run->c, mr_plan_worker(run->c.plan, (uint8_t)i, s)) == rank;
}

/* Move the parts that @rank has of the norm of @step to rank 0. */
static mr_status move_parts(const mr_engine *e, const mr_run *run, uint32_t rank, uint64_t step)
{
	for (uint16_t s = 0; s < run->n_stages; s++) {
		const mr_stage_weights *b = &run->weights[s];

		if (!leaves(run, s))
			continue;
		for (uint32_t i = 0; i < (b->apart ? b->n_shards : 1); i++) {
			size_t bytes;
			void *part = mr_norm_parts_at(b, (uint8_t)i, step, &bytes);

			if (rank && bytes && has(run, rank, i, s))
				MR_TRY(mr_ranks_move(e, rank, part, bytes));
		}
	}
	return MR_OK;
}

void mr_ranks_begin_norms(mr_engine *e)
{
	for (uint32_t q = 0; q < e->n_runs; q++) {
		mr_run_norms *x = e->runs[q]->norms;

		if (!is_kept(e->runs[q]))
			continue;
		x->told = e->step;
		for (uint32_t i = 0; x->come && i < mr_ranks_of(e)->n; i++)
			x->come[i] = e->step;
	}
}

/* The first step behind @step that has a norm. */
static uint64_t next(const mr_run_norms *x, uint64_t step)
{
	return (step / x->every + 1) * x->every;
}

/* The new ones of share @q. */
static mr_status tell_norms(mr_engine *e, uint32_t q)
{
	const mr_run *run = e->runs[q];
	mr_run_norms *x = run->norms;
	uint64_t last;

	if (!is_kept(run) || !x->n_here)
		return MR_OK;
	last = atomic_load_explicit(&x->last, memory_order_acquire); /* R4 */
	for (uint64_t step = next(x, x->told); step <= last; step = next(x, step)) {
		mr_note note = {.kind = MR_RANK_NORM, .number = {step, q}};

		MR_TRY(mr_ranks_by(e)->tell(0, &note));
		MR_TRY(move_parts(e, run, mr_ranks_of(e)->self, step));
		x->told = step;
	}
	return MR_OK;
}

mr_status mr_ranks_tell_norms(mr_engine *e)
{
	for (uint32_t q = 0; q < e->n_runs; q++)
		MR_TRY(tell_norms(e, q));
	return MR_OK;
}

mr_status mr_ranks_take_norm(mr_engine *e, uint32_t rank, const mr_note *n)
{
	mr_run *run = n->number[1] < e->n_runs ? e->runs[n->number[1]] : NULL;

	if (!run || !is_kept(run))
		return mr_fail(MR_EINVAL, "rank %u has a norm that none asked for", rank);
	MR_TRY(move_parts(e, run, rank, n->number[0]));
	run->norms->come[rank] = n->number[0];
	return MR_OK;
}

/* Has all that @rank knows of the norm of @step in @run come? */
static bool has_come(const mr_run *run, uint32_t rank, uint64_t step)
{
	const mr_run_norms *x = run->norms;
	bool some = false;

	for (uint16_t s = 0; s < run->n_stages && !some; s++)
		for (uint32_t i = 0; leaves(run, s) && i < run->weights[s].n_shards; i++)
			some |= has(run, rank, i, s);
	if (!some)
		return true;
	return (rank ? x->come[rank] : atomic_load_explicit(&x->last, memory_order_acquire)) >= step; /* R4 */
}

/* Add the squares of stage @s, of all shares, to *@sum, parameter by parameter. */
static mr_status add_stage(const mr_engine *e, uint16_t s, uint64_t step, double *sum)
{
	mr_kctx *kc = mr_ranks_first_here(e)->kc; /* squares need nothing that changes in it */
	const mr_run *run = e->run;
	double *all = run->norms->squares;
	uint32_t first, end;

	mr_stage_params(run->stage[s], &first, &end);
	MR_TRY(mr_norm_parts_add(&run->weights[s], step, kc, run->norms->room, all));
	for (uint32_t q = 1; run->weights[s].apart && q < e->n_runs; q++) {
		const mr_run *share = e->runs[q];
		double *own = share->norms->squares;

		MR_TRY(mr_norm_parts_add(&share->weights[s], step, kc, share->norms->room, own));
		for (uint32_t p = first; p < end; p++) {
			uint32_t of = run->c.graph->params[p].cut.of;

			all[p - first] += of && q % (e->n_runs / of) == 0 ? own[p - first] : 0; /* each part once */
		}
	}
	for (uint32_t p = first; p < end; p++)
		*sum += all[p - first];
	return MR_OK;
}

/* One stage alone: the mean over the micro-batches of its sum; else over those of a step. */
static mr_status add_up(const mr_engine *e, uint64_t step, double *norm)
{
	const mr_run *run = e->run;
	uint32_t n = run->c.plan->contract.need;
	double sum = 0;

	for (uint16_t s = 0; s < run->n_stages; s++) {
		if (!leaves(run, s))
			continue;
		MR_TRY(add_stage(e, s, step, &sum));
		n = run->norms->global ? n : run->weights[s].sum;
	}
	*norm = sqrt(sum) / n;
	return MR_OK;
}

mr_status mr_ranks_add_norm(const mr_engine *e, mr_step_rec *rec, bool *is_there)
{
	const mr_run_norms *x = e->run->norms;

	*is_there = true;
	if (!is_kept(e->run) || rec->step % x->every)
		return MR_OK;
	for (uint32_t q = 0; q < e->n_runs; q++)
		for (uint32_t i = 0; is_kept(e->runs[q]) && i < mr_ranks_of(e)->n; i++)
			*is_there &= has_come(e->runs[q], i, rec->step);
	return *is_there ? add_up(e, rec->step, x->global ? &rec->norm : &rec->stage_norm) : MR_OK;
}
