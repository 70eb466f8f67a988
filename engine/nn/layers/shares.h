/* shares.h - what share_in and share_out have in common. Only for the files of this folder. */
#ifndef MR_NN_LAYERS_SHARES_H
#define MR_NN_LAYERS_SHARES_H

#include "nn/layers/shared.h"

static inline mr_status mr_layer_share_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	MR_TRY(mr_layer_check_numbers("a share", in[0]));
	*out = in[0];
	return MR_OK;
}

/* Room for the sum in front of an addition to what is there. */
static inline void mr_layer_share_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples,
					const mr_kernels *k, mr_layer_needs *out)
{
	(void)cfg;
	*out = (mr_layer_needs){.scratch = mr_layer_bytes(k, mr_layer_count(in[0], samples))};
}

static inline mr_status mr_layer_sum_of(const mr_layer_call *c, int64_t n, const void *a, const void *b, void *y)
{
	return c->k->sum(c->kc, &(mr_sum_args){.n = n, .a = a, .b = b, .y = y});
}

/* @out = the sum of @mine of all shares, in their order, plus @addend (NULL: nothing), which may be @out. */
static inline mr_status mr_layer_sum_shares(const mr_layer_call *c, const void *mine, const void *addend, void *out)
{
	int64_t n = mr_layer_count(c->in[0], c->samples);
	const void *part[MR_SHARES_MOST] = {mine}, *sum = mine;
	uint32_t shares = c->shares ? c->shares->n : 1;
	void *to = addend ? c->scratch : out;

	if (shares > 1)
		MR_TRY(c->shares->meet(c->shares->arg, mine, mr_layer_bytes(c->k, n), part));
	for (uint32_t q = 1; q < shares; q++, sum = to)
		MR_TRY(mr_layer_sum_of(c, n, q == 1 ? part[0] : sum, part[q], to));
	if (addend)
		return mr_layer_sum_of(c, n, sum, addend, out);
	if (sum != out)
		mr_layer_copy(c, out, sum, mr_layer_bytes(c->k, n));
	return MR_OK;
}

#endif
