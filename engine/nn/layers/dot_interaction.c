/*
 * dot_interaction.c - the dot products of all pairs of some vectors, behind the first vector itself (DLRM).
 *
 *	x_0 [k_0 vectors of C], ..., x_{parts-1}, together t_0 .. t_{n-1}
 *	y = t_0, then t_1 t_0, t_2 t_0, t_2 t_1, t_3 t_0, ...: the triangle below the diagonal of T T^T, row by row
 *	I: dt_a = sum over b /= a of dz_ab t_b, b ascending, for t_0 added to the gradient of its copy
 *
 * The numbers of an input, whatever its dimensions, are vectors side by side. A product of T with itself would compute
 * both triangles, and be called for each sample; the operation `pairs` computes the pairs alone. Reads of the
 * configuration: out (C), parts (0: 1).
 */
#include "nn/layers/shared.h"

static uint32_t interaction_inputs(const mr_layer_cfg *cfg)
{
	return cfg->parts ? (uint32_t)cfg->parts : 1;
}

static mr_pairs pairs_of(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples)
{
	mr_pairs p = {.samples = samples, .parts = interaction_inputs(cfg), .width = cfg->out};

	for (int64_t j = 0; j < p.parts; j++)
		p.n += p.of_part[j] = mr_shape_count(in[j]) / p.width;
	return p;
}

static mr_status interaction_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	mr_pairs p;

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
	p = pairs_of(cfg, in, 1);
	if (p.n > MR_PAIRS_VECTORS)
		return mr_fail(MR_ECONFIG, "dot_interaction takes at most %d vectors, got %lld", MR_PAIRS_VECTORS,
			       (long long)p.n);
	*out = (mr_shape){.rows = 1, .cols = mr_pairs_out(&p)};
	return MR_OK;
}

static void interaction_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			      mr_layer_needs *out)
{
	mr_pairs p = pairs_of(cfg, in, samples);
	double flops = (double)samples * (double)(p.n * (p.n - 1)) * (double)p.width;

	(void)k;
	*out = (mr_layer_needs){.x_i = true, .flops_f = flops, .flops_i = 2 * flops};
}

static mr_status interaction_forward(const mr_layer_call *c)
{
	mr_pairs p = pairs_of(c->cfg, c->in, c->samples);

	return c->k->pairs(c->kc, &(mr_pairs_args){.p = &p, .x = c->x, .y = c->y[0]});
}

static mr_status interaction_backward_input(const mr_layer_call *c)
{
	mr_pairs p = pairs_of(c->cfg, c->in, c->samples);

	return c->k->pairs_backward(c->kc, &(mr_pairs_backward_args){.p = &p, .x = c->x, .dy = c->dy[0], .dx = c->dx,
								     .add = c->dx_add});
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
