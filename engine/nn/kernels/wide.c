#include "nn/kernels/wide.h"

#include <string.h>

#include "nn/bf16.h"

/* Operands begin lines of the cache. */
#define LINE 16

typedef struct conversion {
	const void *from;
	void *to;
} conversion;

static void widen_range(const void *args, int64_t lo, int64_t hi)
{
	const conversion *c = args;
	const uint16_t *from = c->from;
	float *to = c->to;

	for (int64_t i = lo; i < hi; i++)
		to[i] = mr_bf16_widen(from[i]);
}

static void round_range(const void *args, int64_t lo, int64_t hi)
{
	const conversion *c = args;
	const float *from = c->from;
	uint16_t *to = c->to;

	for (int64_t i = lo; i < hi; i++)
		to[i] = mr_bf16_round(from[i]);
}

static mr_status convert(const mr_kernels *base, mr_kctx *kc, mr_range_fn *fn, const void *from, void *to, int64_t n)
{
	conversion c = {.from = from, .to = to};

	if (!from || !to)
		return MR_OK;
	return base->ranges(kc, &(mr_ranges_args){.n = n, .fn = fn, .args = &c});
}

mr_status mr_widen(const mr_kernels *base, mr_kctx *kc, const void *from, float *to, int64_t n)
{
	return convert(base, kc, widen_range, from, to, n);
}

mr_status mr_narrow(const mr_kernels *base, mr_kctx *kc, const float *from, void *to, int64_t n)
{
	return convert(base, kc, round_range, from, to, n);
}

/* Numbers of @x in f32. */
static int64_t numbers_of(const mr_operand *x)
{
	return x->class == MR_SAVED ? x->count / (int64_t)sizeof(float) : x->count;
}

static bool is_wide(const mr_operand *x, uint32_t classes)
{
	return x->used && x->field && classes >> x->class & 1;
}

static int64_t whole_lines(int64_t n)
{
	return (n + LINE - 1) / LINE * LINE;
}

mr_status mr_wide_begin(const mr_kernels *base, mr_kctx *kc, mr_scratch *room, uint32_t classes, const mr_operand *x,
			uint32_t n)
{
	int64_t floats = 0;
	float *at;

	for (uint32_t i = 0; i < n; i++)
		floats += is_wide(&x[i], classes) ? whole_lines(numbers_of(&x[i])) : 0;
	MR_TRY(mr_scratch_grow(room, (size_t)floats * sizeof(*at)));
	at = room->at;
	for (uint32_t i = 0; i < n; i++) {
		if (!is_wide(&x[i], classes))
			continue;
		if (x[i].read)
			MR_TRY(mr_widen(base, kc, x[i].tensor, at, numbers_of(&x[i])));
		else if (x[i].class == MR_SAVED) /* what is not written is kept as well */
			memset(at, 0, (size_t)numbers_of(&x[i]) * sizeof(*at));
		mr_operand_set(&x[i], at);
		at += whole_lines(numbers_of(&x[i]));
	}
	return MR_OK;
}

mr_status mr_wide_end(const mr_kernels *base, mr_kctx *kc, uint32_t classes, const mr_operand *x, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_wide(&x[i], classes) && x[i].written)
			MR_TRY(mr_narrow(base, kc, mr_operand_get(&x[i]), x[i].tensor, numbers_of(&x[i])));
	return MR_OK;
}
