/*
 * dot_interaction.c - the dot products of all pairs of some vectors, behind the first vector itself (DLRM).
 *
 *	x_0 [k_0 vectors of C], ..., x_{parts-1}, together t_0 .. t_{n-1}
 *	y = t_0, then t_1 t_0, t_2 t_0, t_2 t_1, t_3 t_0, ...: the triangle below the diagonal of T T^T, row by row
 *	I: dt_a = sum over b /= a of dz_ab t_b, b ascending, for t_0 added to the gradient of its copy
 *
 * The numbers of an input, whatever its dimensions, are vectors side by side. The kernels' product of T with itself
 * would compute both triangles, and be called for each sample; these loops compute the pairs alone, and share out
 * samples. Reads of the configuration: out (C), parts (0: 1).
 */
#include <string.h>

#include "nn/layers/shared.h"

enum { MOST = 256 /* vectors */, WIDE = 64 };

typedef struct vectors {
	int64_t parts, of_part[MR_LAYER_INPUTS]; /* vectors of each input */
	int64_t n, width, out;                   /* vectors; numbers in one; outputs of a sample */
	const void *const *x;
	const void *dy;
	void *y;
	void *const *dx;
	const bool *dx_add;
} vectors;

#include "nn/layers/dot_interaction_loops.inc"

static uint32_t interaction_inputs(const mr_layer_cfg *cfg)
{
	return cfg->parts ? (uint32_t)cfg->parts : 1;
}

static vectors vectors_of(const mr_layer_cfg *cfg, const mr_shape *in)
{
	vectors v = {.parts = interaction_inputs(cfg), .width = cfg->out};

	for (int64_t j = 0; j < v.parts; j++)
		v.n += v.of_part[j] = mr_shape_count(in[j]) / v.width;
	v.out = v.width + v.n * (v.n - 1) / 2;
	return v;
}

static mr_status interaction_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	vectors v;

	if (cfg->parts < 0 || cfg->parts > MR_LAYER_INPUTS || cfg->out < 1)
		return mr_fail(MR_ECONFIG,
			       "dot_interaction takes 1 to %d inputs of vectors of at least 1 number, got %lld of %lld",
			       MR_LAYER_INPUTS, (long long)cfg->parts, (long long)cfg->out);
	for (uint32_t j = 0; j < interaction_inputs(cfg); j++) {
		MR_TRY(mr_layer_check_numbers("dot_interaction", in[j]));
		if (mr_shape_count(in[j]) % cfg->out)
			return mr_fail(MR_ECONFIG,
				       "dot_interaction finds no whole vectors of %lld numbers in %lld numbers",
				       (long long)cfg->out, (long long)mr_shape_count(in[j]));
	}
	v = vectors_of(cfg, in);
	if (v.n > MOST)
		return mr_fail(MR_ECONFIG, "dot_interaction takes at most %d vectors, got %lld", MOST, (long long)v.n);
	*out = (mr_shape){.rows = 1, .cols = v.out};
	return MR_OK;
}

static void interaction_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			      mr_layer_needs *out)
{
	vectors v = vectors_of(cfg, in);
	double flops = (double)samples * (double)(v.n * (v.n - 1)) * (double)v.width;

	(void)k;
	*out = (mr_layer_needs){.x_i = true, .flops_f = flops, .flops_i = 2 * flops};
}

static mr_status interaction_forward(const mr_layer_call *c)
{
	vectors v = vectors_of(c->cfg, c->in);

	v.x = c->x;
	v.y = c->y[0];
	return c->k->ranges(c->kc, &(mr_ranges_args){.n = c->samples * v.out, .fn = MR_OF_TYPES(c->k, forward),
						     .args = &v});
}

static mr_status interaction_backward_input(const mr_layer_call *c)
{
	vectors v = vectors_of(c->cfg, c->in);

	v.x = c->x;
	v.dy = c->dy[0];
	v.dx = c->dx;
	v.dx_add = c->dx_add;
	return c->k->ranges(c->kc, &(mr_ranges_args){.n = c->samples * v.out, .fn = MR_OF_TYPES(c->k, backward),
						     .args = &v});
}

const mr_layer_ops mr_layer_dot_interaction = {
	.name = "dot_interaction",
	.summary = "dot products of all pairs of vectors, behind the first one",
	.inputs = interaction_inputs,
	.shape = interaction_shape,
	.needs = interaction_needs,
	.forward = interaction_forward,
	.backward_input = interaction_backward_input,
};
