#include "weights/mitigated.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/zeroed.h"
#include "nn/lazy_rows.h"

mr_status mr_mitigated_open(mr_stage_weights *b, const mr_mitigate *m, uint32_t age, const mr_plan *plan)
{
	mr_mitigation *x;

	if (!m || plan->contract.flush != MR_FLUSH_NONE)
		return MR_OK;
	x = b->mitigation = mr_zeroed(sizeof(*x) + b->n_shards * sizeof(x->oldest[0]));
	b->whole_sums = true;
	if (!x)
		return mr_fail(MR_ERESOURCE, "no memory for the mitigation of a stage");
	x->mitigate = m;
	x->age = age;
	if (m->ops->settle && age)
		m->ops->settle(m, age, plan->n_stages, &b->optim);
	assert(!mr_mitigate_corrects(m) || plan->contract.keep_read);
	return MR_OK;
}

bool mr_mitigated_amends(const mr_stage_weights *b)
{
	return b->mitigation && b->mitigation->mitigate->ops->amend && b->mitigation->age;
}

/* With one buffer the step overwrites what it starts from; and always the rest of the masters. */
static bool overwrites(const mr_stage_weights *b)
{
	return mr_mitigated_amends(b) && b->cap == 1;
}

static bool keeps_rest(const mr_stage_weights *b)
{
	return mr_mitigated_amends(b) && mr_stage_size(b->stage)->rest_bytes;
}

void mr_mitigated_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard)
{
	mr_mitigation *x = b->mitigation;

	if (shard)
		return;
	if (x->mitigate->keeps_state)
		x->state = mr_arena_take(a, mr_stage_size(b->stage)->state_bytes, MR_CACHE_LINE);
	if (overwrites(b))
		x->kept = mr_arena_take(a, mr_stage_size(b->stage)->weight_bytes, MR_CACHE_LINE);
	if (keeps_rest(b))
		x->kept_rest = mr_arena_take(a, mr_stage_size(b->stage)->rest_bytes, MR_CACHE_LINE);
}

size_t mr_mitigated_kept_bytes(const mr_stage_weights *b)
{
	return (overwrites(b) ? mr_stage_size(b->stage)->weight_bytes : 0) +
	       (keeps_rest(b) ? mr_stage_size(b->stage)->rest_bytes : 0);
}

void mr_mitigated_init(mr_stage_weights *b)
{
	if (b->mitigation->state)
		memset(b->mitigation->state, 0, mr_stage_size(b->stage)->state_bytes);
}

void mr_mitigated_note(mr_stage_weights *b, uint8_t shard, uint64_t version, bool first)
{
	mr_oldest_read *o = &b->mitigation->oldest[shard];

	if (first || version < o->version)
		o->version = version;
}

void mr_mitigated_plan_ages(mr_stage_weights *b, uint64_t *ages, uint64_t n, uint64_t period)
{
	b->mitigation->ages = ages;
	b->mitigation->n_ages = n;
	b->mitigation->period = period;
}

void mr_mitigated_close(mr_stage_weights *b)
{
	free(b->mitigation->ages);
}

/* By the plan, of the commit that makes version @commit + 1. */
static uint64_t planned_age(const mr_mitigation *x, uint64_t commit)
{
	uint64_t first = x->n_ages - x->period;

	return x->ages[commit < x->n_ages ? commit : first + (commit - first) % x->period];
}

/* The oldest version read for the commit that makes version @commit + 1, over all shards with micro-batches. */
static uint64_t oldest_of(const mr_stage_weights *b, uint64_t commit)
{
	uint64_t oldest = UINT64_MAX;

	if (b->mitigation->ages)
		return commit - planned_age(b->mitigation, commit);

	for (uint32_t i = 0; i < b->n_shards; i++)
		if (b->shard[i].need && b->mitigation->oldest[i].version < oldest)
			oldest = b->mitigation->oldest[i].version;
	return oldest;
}

static double rate(const mr_stage_weights *b, uint64_t age)
{
	return b->mitigation->mitigate->ops->rate(b->mitigation->mitigate, age);
}

static bool has_rate(const mr_stage_weights *b)
{
	return b->mitigation && b->mitigation->mitigate->ops->rate;
}

double mr_mitigated_rate(const mr_stage_weights *b, uint64_t version)
{
	return has_rate(b) ? rate(b, version - 1 - oldest_of(b, version - 1)) : 1;
}

double mr_mitigated_lr_ahead(const mr_stage_weights *b, const mr_lr *lr, uint64_t version)
{
	return mr_weights_lr(b, lr, version) * (has_rate(b) ? rate(b, b->mitigation->age) : 1);
}

/* The mitigation of elements [@from, @from + @n) of parameter @p; @then: the version that their F read.
 */
static mr_mitigate_call call_of(const mr_stage_weights *b, uint8_t shard, uint32_t p, int64_t from, int64_t n,
				uint64_t then)
{
	size_t at = mr_stage_weight_at(b->stage, p) + (size_t)from * mr_dtype_bytes(b->k->types.weights);
	size_t state = mr_stage_state_at(b->stage, p) + (size_t)from * mr_dtype_bytes(b->k->types.state);

	assert(b->latest - then < b->cap);
	return (mr_mitigate_call){
		.dtype = b->k->types.gradients,
		.weights = b->k->types.weights,
		.n = n,
		.now = (const uint8_t *)mr_weights_at(b, shard, b->latest) + at,
		.then = (const uint8_t *)mr_weights_at(b, shard, then) + at,
		.state = b->mitigation->state ? b->mitigation->state + state : NULL,
		.gscale = 1 / (double)b->sum,
		.t = b->latest + 1,
		.delay = b->mitigation->age,
	};
}

mr_status mr_mitigated_correct(mr_stage_weights *b, uint8_t shard, mr_kctx *kc)
{
	size_t bytes = mr_dtype_bytes(b->k->types.gradients);
	uint32_t first, end;
	uint64_t then;
	int64_t from, n;

	if (!b->mitigation || !b->mitigation->mitigate->ops->correct)
		return MR_OK;
	then = oldest_of(b, b->latest);
	if (shard == 0)
		mr_version_count_read(&b->version_count, then);
	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		mr_mitigate_call c;

		if (!mr_weights_part(b, shard, p, &from, &n))
			continue;
		c = call_of(b, shard, p, from, n, then);
		MR_TRY(mr_mitigate_correct(b->mitigation->mitigate, &c, b->k, kc,
					   (uint8_t *)mr_weights_total_of(b, shard) + mr_stage_grad_at(b->stage, p) +
						   (size_t)from * bytes));
	}
	return MR_OK;
}

mr_status mr_mitigated_follow(mr_stage_weights *b, uint8_t shard, mr_kctx *kc)
{
	size_t bytes = mr_dtype_bytes(b->k->types.weights);
	uint32_t first, end;
	int64_t from, n;

	/* With one buffer the step has overwritten what it started from; nothing there is ever stale. */
	if (!b->mitigation || !b->mitigation->mitigate->ops->follow || b->cap == 1)
		return MR_OK;
	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		mr_mitigate_call c;
		size_t at;

		if (!mr_weights_part(b, shard, p, &from, &n))
			continue;
		at = mr_stage_weight_at(b->stage, p) + (size_t)from * bytes;
		c = call_of(b, shard, p, from, n, b->latest);
		MR_TRY(mr_mitigate_follow(b->mitigation->mitigate, &c, b->k, kc,
					  (const uint8_t *)mr_weights_at(b, shard, b->latest + 1) + at));
	}
	return MR_OK;
}

/* --- steps that are amended --- */

void mr_mitigated_keep(mr_stage_weights *b, uint8_t shard)
{
	size_t bytes = mr_dtype_bytes(b->k->types.weights);
	mr_mitigation *x = b->mitigation;
	uint32_t first, end;
	int64_t from, n;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		size_t at;

		if (!mr_weights_part(b, shard, p, &from, &n))
			continue;
		at = mr_stage_weight_at(b->stage, p) + (size_t)from * bytes;
		if (x->kept)
			memcpy(x->kept + at, (const uint8_t *)mr_weights_at(b, shard, b->latest) + at,
			       (size_t)n * bytes);
		if (x->kept_rest)
			memcpy(x->kept_rest + at / bytes, mr_weights_rest(b, at), (size_t)n * sizeof(*x->kept_rest));
	}
}

mr_status mr_mitigated_amend(mr_stage_weights *b, uint8_t shard, mr_kctx *kc)
{
	size_t bytes = mr_dtype_bytes(b->k->types.weights);
	const mr_mitigation *x = b->mitigation;
	uint32_t first, end;
	int64_t from, n;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		mr_mitigate_call c;
		size_t at;

		if (!mr_weights_part(b, shard, p, &from, &n))
			continue;
		at = mr_stage_weight_at(b->stage, p) + (size_t)from * bytes;
		c = call_of(b, shard, p, from, n, b->latest);
		c.now = x->kept ? x->kept + at : c.now;
		c.now_rest = x->kept_rest ? x->kept_rest + at / bytes : NULL;
		MR_TRY(mr_mitigate_amend(x->mitigate, &c, b->k, kc,
					 (uint8_t *)mr_weights_at(b, shard, b->latest + 1) + at,
					 mr_weights_rest(b, at)));
		mr_weights_copy(b, shard, at, at + (size_t)n * bytes);
	}
	return MR_OK;
}

/* --- all of it in one go --- */

/* Elements a thread: with this many, the data that a step and its mitigation touch stay in its nearest caches. */
enum { PIECE = 8192 };

bool mr_mitigated_steps(const mr_stage_weights *b)
{
	return b->mitigation && mr_mitigate_corrects(b->mitigation->mitigate) && b->n_shards == 1 &&
	       mr_optim_elementwise(&b->optim);
}

/* Elements [@from, @from + @n) of parameter @p, whose gradient is @g. */
static mr_status step_piece(mr_stage_weights *b, mr_kctx *kc, const mr_step *step, uint32_t p, int64_t from, int64_t n,
			    uint64_t then, uint8_t *g)
{
	size_t off = (size_t)from * mr_dtype_bytes(b->k->types.gradients);
	mr_mitigate_call c = call_of(b, 0, p, from, n, then);
	mr_step s = mr_step_shifted(step, &b->k->types, from);
	int64_t lazy_cols = mr_param_lazy_cols(&mr_stage_graph(b->stage)->params[p]);

	MR_TRY(mr_mitigate_correct(b->mitigation->mitigate, &c, b->k, kc, g + off));
	if (lazy_cols)
		MR_TRY(mr_lazy_step(b->k, kc, lazy_cols, n, &s, g + off, NULL));
	else
		MR_TRY(mr_stored_step(b->k, kc, n, &s, g + off));
	if (!b->mitigation->mitigate->ops->follow || b->cap == 1)
		return MR_OK;
	c.then = c.now;
	return mr_mitigate_follow(b->mitigation->mitigate, &c, b->k, kc, s.dst);
}

mr_status mr_mitigated_step(mr_stage_weights *b, mr_kctx *kc, uint32_t n_threads, double lr, double gscale)
{
	const mr_step *steps = mr_weights_steps(b, 0, lr, gscale);
	uint64_t then = oldest_of(b, b->latest);
	uint32_t first, end;

	mr_version_count_read(&b->version_count, then);
	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		size_t at = mr_stage_weight_at(b->stage, p);
		int64_t n = mr_stage_graph(b->stage)->params[p].n;
		int64_t piece = mr_weights_whole_rows(b, p, (int64_t)PIECE * n_threads);
		uint8_t *g = (uint8_t *)mr_weights_total(b) + mr_stage_grad_at(b->stage, p);

		for (int64_t i = 0; at != SIZE_MAX && i < n; i += piece)
			MR_TRY(step_piece(b, kc, &steps[p - first], p, i, i + piece < n ? piece : n - i, then, g));
	}
	return MR_OK;
}
