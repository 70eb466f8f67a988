/* bf16.c - a state in bf16, rounded stochastically as weights without a master are, and for the same reasons
 * (nn/rounding.h). */
#include "base/for_machine.h"
#include "nn/state_form.h"

MR_FOR_MACHINE_BODY void widen_body(const void *from, const float *scale, bool squares, int64_t n, float *to)
{
	const uint16_t *x = from;

	(void)scale;
	(void)squares;
	for (int64_t i = 0; i < n; i++)
		to[i] = mr_bf16_widen(x[i]);
}

MR_FOR_MACHINE_BODY void
store_body(const float *from, bool squares, const uint16_t *random, int64_t n, void *to, float *scale)
{
	uint16_t *x = to;

	(void)scale;
	(void)squares;
	for (int64_t i = 0; i < n; i++)
		x[i] = mr_bf16_round_by(from[i], random[i]);
}

MR_FOR_MACHINE(widen, (const void *from, const float *scale, bool squares, int64_t n, float *to),
	       (from, scale, squares, n, to))
MR_FOR_MACHINE(store, (const float *from, bool squares, const uint16_t *random, int64_t n, void *to, float *scale),
	       (from, squares, random, n, to, scale))

extern const mr_state_form mr_state_bf16;
const mr_state_form mr_state_bf16 = {
	.name = "bf16",
	.type = MR_BF16,
	.widen = widen,
	.store = store,
};
