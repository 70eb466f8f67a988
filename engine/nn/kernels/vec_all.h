/* vec_all.h - all vector kernels but the products (vec_gemm_all.h) and their table; included once an instruction set, after its lanes. */
#include <math.h>
#include <string.h>

#include "nn/kernels/vec.h"

#include "nn/kernels/vec_math.h"

#include "nn/kernels/vec_act.h"
#include "nn/kernels/vec_attn.h"
#include "nn/kernels/vec_dropout.h"
#include "nn/kernels/vec_loss.h"
#include "nn/kernels/vec_mix.h"
#include "nn/kernels/vec_norm.h"
#include "nn/kernels/vec_step.h"

#include "nn/kernels/vec_optim.h"
#include "nn/kernels/vec_rows.h"

const mr_vec TABLE = {
	.products = &PRODUCTS,
	.act = act,
	.act_backward = act_backward,
	.colsum = colsum,
	.norm = norm,
	.norm_backward_input = norm_backward_input,
	.norm_backward_weight = norm_backward_weight,
	.attn = attn,
	.attn_backward = attn_backward,
	.embed = embed,
	.embed_backward = embed_backward,
	.sum = sum,
	.dropout = dropout,
	.xent = xent,
	.mse = mse,
	.step = {
#define MR_OPTIM_LIST
#define MR_OPTIM(id)
#define MR_STEP(kind, id, states, passes, rate, rate_g) [MR_STEP_##kind] = step_##id,
#include "nn/optim/optim.def"
#undef MR_STEP
#undef MR_OPTIM
#undef MR_OPTIM_LIST
	},
	.mix_mean = mix_mean_range,
	.mix_outer = mix_outer_range,
	.mix_pull = mix_pull_range,
	.sumsq = sumsq,
	.attn_scratch_floats = attn_scratch_floats,
	.dropout_group = DROPOUT_GROUP,
};
