/* rank_norms.c - norms of gradients that nothing is clipped by: parts of each rank, added up by rank 0
 * (weights/norm_parts.h). */
#include "ranks/ranks_internal.h"

#include <math.h>

#include "weights/norm_parts.h"

static bool is_kept(const mr_engine *e)
{
	const mr_run_norms *x = e->run->norms;

	for (uint16_t s = 0; s < e->run->n_stages; s++)
		if (mr_run_leaves_norm(e->run, s))
			return x != NULL;
	return false;
}

/* Has @rank shard @i of stage @s? */
static bool has(const mr_engine *e, uint32_t rank, uint32_t i, uint16_t s)
{
	return mr_ranks_of(e)->of_worker[mr_plan_worker(e->run->c.plan, (uint8_t)i, s)] == rank;
}

/* Move the parts of @rank of the norm of @step to rank 0; *@n: how many there are. */
static mr_status move_parts(const mr_engine *e, uint32_t rank, uint64_t step, uint32_t *n)
{
	*n = 0;
	for (uint16_t s = 0; s < e->run->n_stages; s++) {
		const mr_stage_weights *b = &e->run->weights[s];

		if (!mr_run_leaves_norm(e->run, s))
			continue;
		for (uint32_t i = 0; i < (b->apart ? b->n_shards : 1); i++) {
			size_t bytes;
			void *part = mr_norm_parts_at(b, (uint8_t)i, step, &bytes);

			if (!has(e, rank, i, s))
				continue;
			++*n;
			if (rank && bytes)
				MR_TRY(mr_ranks_move(e, rank, part, bytes));
		}
	}
	return MR_OK;
}

void mr_ranks_begin_norms(mr_engine *e)
{
	mr_run_norms *x = e->run->norms;

	if (!is_kept(e))
		return;
	x->told = e->step;
	for (uint32_t i = 0; x->come && i < mr_ranks_of(e)->n; i++)
		x->come[i] = e->step;
}

/* The first step behind @step that has a norm. */
static uint64_t next(const mr_run_norms *x, uint64_t step)
{
	return (step / x->every + 1) * x->every;
}

mr_status mr_ranks_tell_norms(mr_engine *e)
{
	mr_run_norms *x = e->run->norms;
	uint64_t last;
	uint32_t n;

	if (!is_kept(e) || !x->n_here)
		return MR_OK;
	last = atomic_load_explicit(&x->last, memory_order_acquire); /* R4 */
	for (uint64_t step = next(x, x->told); step <= last; step = next(x, step)) {
		mr_note note = {.kind = MR_RANK_NORM, .number = {step}};

		MR_TRY(mr_ranks_by(e)->tell(0, &note));
		MR_TRY(move_parts(e, mr_ranks_of(e)->self, step, &n));
		x->told = step;
	}
	return MR_OK;
}

mr_status mr_ranks_take_norm(mr_engine *e, uint32_t rank, uint64_t step)
{
	uint32_t n;

	if (!is_kept(e))
		return mr_fail(MR_EINVAL, "rank %u has a norm that none asked for", rank);
	MR_TRY(move_parts(e, rank, step, &n));
	e->run->norms->come[rank] = step;
	return MR_OK;
}

/* Has all that @rank knows of the norm of @step come? */
static bool has_come(const mr_engine *e, uint32_t rank, uint64_t step)
{
	const mr_run_norms *x = e->run->norms;
	bool some = false;

	for (uint16_t s = 0; s < e->run->n_stages && !some; s++)
		for (uint32_t i = 0; mr_run_leaves_norm(e->run, s) && i < e->run->weights[s].n_shards; i++)
			some |= has(e, rank, i, s);
	if (!some)
		return true;
	return (rank ? x->come[rank] : atomic_load_explicit(&x->last, memory_order_acquire)) >= step; /* R4 */
}

/* One stage alone: the mean over the micro-batches of its sum; else over those of a step. */
static mr_status add_up(const mr_engine *e, uint64_t step, double *norm)
{
	const mr_run *run = e->run;
	mr_run_norms *x = run->norms;
	mr_kctx *kc = run->worker[mr_ranks_first_here(e)].kc; /* squares need nothing that changes in it */
	double sum = 0;
	uint32_t n = run->c.plan->contract.need;

	for (uint16_t s = 0; s < run->n_stages; s++) {
		if (!mr_run_leaves_norm(run, s))
			continue;
		MR_TRY(mr_norm_parts_add(&run->weights[s], step, kc, x->room, &sum));
		n = x->global ? n : run->weights[s].sum;
	}
	*norm = sqrt(sum) / n;
	return MR_OK;
}

mr_status mr_ranks_add_norm(const mr_engine *e, mr_step_rec *rec, bool *is_there)
{
	const mr_run_norms *x = e->run->norms;

	*is_there = true;
	if (!is_kept(e) || rec->step % x->every)
		return MR_OK;
	for (uint32_t i = 0; i < mr_ranks_of(e)->n; i++)
		*is_there &= has_come(e, i, rec->step);
	return *is_there ? add_up(e, rec->step, x->global ? &rec->norm : &rec->stage_norm) : MR_OK;
}
