/* shares.h - what layers have in common that show a value to other shares (nn/share.h). Only for the files of this
 * folder. */
#ifndef MR_NN_LAYERS_SHARES_H
#define MR_NN_LAYERS_SHARES_H

#include "nn/layers/shared.h"

/* Into how many parts the rows of a sample are divided; 1: they are not. */
static inline int64_t mr_layer_parts(const mr_layer_cfg *cfg)
{
	return cfg->parts ? cfg->parts : 1;
}

static inline mr_status mr_layer_check_parts(const char *layer, const mr_layer_cfg *cfg, mr_shape in)
{
	MR_TRY(mr_layer_check_numbers(layer, in));
	if (cfg->parts < 0 || cfg->parts > MR_SHARES_MOST)
		return mr_fail(MR_ECONFIG, "%s takes 1 to %d parts, got %lld", layer, MR_SHARES_MOST,
			       (long long)cfg->parts);
	return MR_OK;
}

/* shape() where the rows of a part come in, and those of all go out. */
static inline mr_status mr_layer_shape_of_all(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_parts("a share", cfg, in[0]));
	*out = mr_layer_parts(cfg) == 1 ? in[0]
					: (mr_shape){.rows = in[0].rows * mr_layer_parts(cfg), .cols = in[0].cols};
	return MR_OK;
}

/* shape() where the rows of all come in, and those of a part go out. */
static inline mr_status mr_layer_shape_of_part(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_parts("a share", cfg, in[0]));
	if (in[0].rows % mr_layer_parts(cfg) != 0)
		return mr_fail(MR_ECONFIG, "%lld shares cannot have equal parts of %lld rows",
			       (long long)mr_layer_parts(cfg), (long long)in[0].rows);
	*out = mr_layer_parts(cfg) == 1 ? in[0]
					: (mr_shape){.rows = in[0].rows / mr_layer_parts(cfg), .cols = in[0].cols};
	return MR_OK;
}

/* Room for what is then added to what is there. */
static inline void mr_layer_share_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples,
					const mr_kernels *k, mr_layer_needs *out)
{
	(void)cfg;
	*out = (mr_layer_needs){.scratch = mr_layer_bytes(k, mr_layer_count(in[0], samples))};
}

/* The part of the rows that this share has. */
static inline int64_t mr_layer_own_part(const mr_layer_call *c)
{
	return mr_layer_parts(c->cfg) > 1 && c->shares ? c->shares->self : 0;
}

/* Show @n numbers at @mine. Without others all parts are the own one. */
static inline mr_status mr_layer_meet(const mr_layer_call *c, const void *mine, int64_t n,
				      const void *part[MR_SHARES_MOST])
{
	for (int64_t q = 0; q < (c->shares ? c->shares->n : mr_layer_parts(c->cfg)); q++)
		part[q] = mine;
	return c->shares ? c->shares->meet(c->shares->arg, mine, mr_layer_bytes(c->k, n), part) : MR_OK;
}

static inline mr_status mr_layer_sum_of(const mr_layer_call *c, int64_t n, const void *a, const void *b, void *y)
{
	return c->k->sum(c->kc, &(mr_sum_args){.n = n, .a = a, .b = b, .y = y});
}

/* @out = the sum of @n numbers of all shares, piece @i of @part, plus @addend (NULL: nothing), which may be @out. */
static inline mr_status mr_layer_sum_parts(const mr_layer_call *c, const mr_shares_part *part, size_t i, int64_t n,
					   const void *addend, void *out)
{
	const void *sum = part[0].at + i * part[0].step;
	void *to = addend ? c->scratch : out;

	for (uint32_t q = 1; q < (c->shares ? c->shares->n : 1); q++, sum = to)
		MR_TRY(mr_layer_sum_of(c, n, sum, part[q].at + i * part[q].step, to));
	if (addend)
		return mr_layer_sum_of(c, n, sum, addend, out);
	if (sum != out)
		mr_layer_copy(c, out, sum, mr_layer_bytes(c->k, n));
	return MR_OK;
}

/* The parts of @mine, of @pieces pieces of @n numbers; where rows are divided, that many for each share. */
static inline mr_status mr_layer_meet_for_sum(const mr_layer_call *c, const void *mine, int64_t pieces, int64_t n,
					      mr_shares_part part[MR_SHARES_MOST])
{
	int64_t parts = mr_layer_parts(c->cfg);
	size_t piece = mr_layer_bytes(c->k, n);
	const void *whole[MR_SHARES_MOST];

	if (c->shares && parts > 1)
		return c->shares->meet_own(c->shares->arg, mine, (size_t)pieces, piece, part);
	MR_TRY(mr_layer_meet(c, mine, pieces * n, whole));
	for (uint32_t q = 0; q < (c->shares ? c->shares->n : 1); q++)
		part[q] = (mr_shares_part){(const uint8_t *)whole[q], (size_t)parts * piece};
	return MR_OK;
}

/* @out, a value of shape @own, = the sum of @mine of all shares, in their order, plus @addend (NULL: nothing), which
 * may be @out. Where rows are divided, @mine has those of all, and @out those of this share. */
static inline mr_status mr_layer_sum_shares(const mr_layer_call *c, mr_shape own, const void *mine, const void *addend,
					    void *out)
{
	int64_t pieces = mr_layer_parts(c->cfg) > 1 ? c->samples : 1;
	int64_t n = mr_layer_count(own, c->samples) / pieces;
	size_t piece = mr_layer_bytes(c->k, n);
	mr_shares_part part[MR_SHARES_MOST];

	MR_TRY(mr_layer_meet_for_sum(c, mine, pieces, n, part));
	for (int64_t i = 0; i < (c->k->recorded ? 1 : pieces); i++) /* all are alike */
		MR_TRY(mr_layer_sum_parts(c, part, (size_t)i, n,
					  addend ? (const char *)addend + (size_t)i * piece : NULL,
					  (char *)out + (size_t)i * piece));
	return MR_OK;
}

/* @to = the rows of all shares, of which @mine, a value of shape @own, are this one's. */
static inline mr_status mr_layer_gather_rows(const mr_layer_call *c, mr_shape own, const void *mine, void *to)
{
	int64_t parts = mr_layer_parts(c->cfg), n = mr_layer_count(own, c->samples);
	size_t piece = mr_layer_bytes(c->k, mr_shape_count(own));
	const void *part[MR_SHARES_MOST];

	MR_TRY(mr_layer_meet(c, mine, n, part));
	for (int64_t s = 0; s < c->samples; s++)
		for (int64_t q = 0; q < parts; q++)
			mr_layer_copy(c, (char *)to + (size_t)(s * parts + q) * piece,
				      (const char *)part[q] + (size_t)s * piece, piece);
	return MR_OK;
}

/* @to, a value of shape @own, = this share's rows of @from, which has those of all. */
static inline void mr_layer_take_rows(const mr_layer_call *c, mr_shape own, const void *from, void *to)
{
	int64_t parts = mr_layer_parts(c->cfg), mine = mr_layer_own_part(c);
	size_t piece = mr_layer_bytes(c->k, mr_shape_count(own));

	for (int64_t s = 0; s < c->samples; s++)
		mr_layer_copy(c, (char *)to + (size_t)s * piece,
			      (const char *)from + (size_t)(s * parts + mine) * piece, piece);
}

#endif
