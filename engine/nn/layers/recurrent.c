#include "nn/layers/recurrent.h"

#include <math.h>
#include <string.h>

mr_status mr_recurrent_shape(const char *name, const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers(name, in[0]));
	if (cfg->out < 1)
		return mr_fail(MR_ECONFIG, "%s needs at least 1 output column, got %lld", name, (long long)cfg->out);
	*out = mr_shape_with_cols(in[0], cfg->out);
	return MR_OK;
}

uint32_t mr_recurrent_params(mr_cell_kind kind, const mr_layer_cfg *cfg, const mr_shape *in,
			     mr_param_spec spec[MR_LAYER_PARAMS])
{
	int64_t width = mr_cell_gates(kind) * cfg->out;
	double bound = 1 / sqrt((double)cfg->out);

	spec[0] = (mr_param_spec){.suffix = "weight_ih", .rank = 2, .dim = {in->cols, width}, .decay = true};
	spec[1] = (mr_param_spec){.suffix = "weight_hh", .rank = 2, .dim = {cfg->out, width}, .decay = true};
	spec[2] = (mr_param_spec){.suffix = "bias_ih", .rank = 1, .dim = {width, 1}};
	spec[3] = (mr_param_spec){.suffix = "bias_hh", .rank = 1, .dim = {width, 1}};
	for (int i = 0; i < 4; i++) {
		spec[i].init = MR_INIT_UNIFORM;
		spec[i].std = bound;
	}
	return 4;
}

/* Sizes of a call's saved tensors and of its scratch. */
typedef struct places {
	mr_cell cell;
	int64_t t, rows, in, width; /* rows: of all samples; width: of gates */
	size_t gates, memory;       /* bytes of all rows' gates, and of the cell's memory for all rows */
	size_t step_gates, step;    /* bytes of one step's gates, and of its y; of all samples, aligned */
	size_t carry;
} places;

static places find(mr_cell_kind kind, const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k)
{
	places p = {
		.cell = {.kind = kind, .samples = samples, .width = cfg->out, .pitch = in->rows},
		.t = in->rows,
		.rows = samples * in->rows,
		.in = in->cols,
		.width = mr_cell_gates(kind) * cfg->out,
	};

	p.gates = mr_layer_align(mr_layer_bytes(k, p.rows * p.width));
	p.memory = mr_layer_align(mr_layer_compute_bytes(k, p.rows * cfg->out));
	p.step_gates = mr_layer_align(mr_layer_bytes(k, samples * p.width));
	p.step = mr_layer_align(mr_layer_bytes(k, samples * cfg->out));
	p.carry = mr_layer_align(mr_layer_compute_bytes(k, samples * cfg->out));
	return p;
}

void mr_recurrent_needs(mr_cell_kind kind, const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples,
			const mr_kernels *k, mr_layer_needs *out)
{
	places p = find(kind, cfg, in, samples, k);
	double flops = 2.0 * (double)p.rows * (double)p.width;
	size_t y = mr_layer_align(mr_layer_bytes(k, p.rows * cfg->out));

	*out = (mr_layer_needs){
		.x_w = true,
		.y_i = true,
		.y_w = true,
		.flops_f = flops * (double)(p.in + cfg->out),
		.flops_i = flops * (double)(p.in + cfg->out),
		.flops_w = flops * (double)(p.in + cfg->out),
	};
	mr_saved_add(&out->aux_i, "gates", p.gates);
	mr_saved_add(&out->aux_i, kind == MR_CELL_LSTM ? "cells" : "new gates before their reset", p.memory);
	mr_saved_add(&out->kept, "gradients of gates", p.gates);
	if (kind == MR_CELL_GRU)
		mr_saved_add(&out->kept, "gradients of gates that y feeds", p.gates);
	/* F: gates and y of a step. I: gradients of both, and the carry. W: y of the rows before. */
	out->scratch = p.step_gates + p.step + p.carry > y ? p.step_gates + p.step + p.carry : y;
}

static void *at(void *base, int64_t row, int64_t cols, mr_dtype type)
{
	return (char *)base + (size_t)(row * cols) * mr_dtype_bytes(type);
}

static const void *at_const(const void *base, int64_t row, int64_t cols, mr_dtype type)
{
	return (const char *)base + (size_t)(row * cols) * mr_dtype_bytes(type);
}

/* The row of a sample that step @i processes. */
static int64_t row_of(const mr_layer_call *c, const places *p, int64_t i)
{
	return c->cfg->reverse ? p->t - 1 - i : i;
}

mr_status mr_recurrent_forward(mr_cell_kind kind, const mr_layer_call *c)
{
	const mr_kernels *k = c->k;
	mr_dtype act = k->types.activations, compute = k->types.compute;
	places p = find(kind, c->cfg, c->in, c->samples, k);
	char *gates = c->aux_i, *memory = gates + p.gates, *fed = c->scratch, *y = fed + p.step_gates;
	mr_gemm of_x = {.m = p.rows, .n = p.width, .k = p.in, .bias = true};
	mr_gemm of_y = {.m = c->samples, .n = p.width, .k = c->cfg->out, .bias = true};

	MR_TRY(k->gemm(c->kc, &of_x, c->x[0], c->w[0], c->w[2], gates, NULL));
	memset(y, 0, p.step);
	for (int64_t i = 0; i < p.t; i++) {
		int64_t row = row_of(c, &p, i), before = i ? row_of(c, &p, i - 1) : 0;

		MR_TRY(k->gemm(c->kc, &of_y, y, c->w[1], c->w[3], fed, NULL));
		k->cell(c->kc, &p.cell, at(gates, row, p.width, act), fed,
			i ? at(memory, before, c->cfg->out, compute) : NULL, at(memory, row, c->cfg->out, compute),
			at(c->y[0], row, c->cfg->out, act), y);
	}
	return MR_OK;
}

mr_status mr_recurrent_backward_input(mr_cell_kind kind, const mr_layer_call *c)
{
	const mr_kernels *k = c->k;
	mr_dtype act = k->types.activations, compute = k->types.compute;
	int64_t h = c->cfg->out;
	places p = find(kind, c->cfg, c->in, c->samples, k);
	char *gates = c->aux_i, *memory = gates + p.gates, *da = c->kept;
	char *db = kind == MR_CELL_GRU ? da + p.gates : NULL;
	char *fed = c->scratch, *dy = fed + p.step_gates, *carry = dy + p.step;
	mr_gemm to_y = {.m = c->samples, .n = h, .k = p.width, .tb = true};
	mr_gemm to_x = {.m = p.rows, .n = p.in, .k = p.width, .tb = true, .add = c->dx_add[0]};

	memset(dy, 0, p.step);
	memset(carry, 0, p.carry);
	for (int64_t i = p.t - 1; i >= 0; i--) {
		int64_t row = row_of(c, &p, i), before = i ? row_of(c, &p, i - 1) : 0;
		mr_cell_gradients d = {
			.dy = at_const(c->dy[0], row, h, act),
			.dy_next = dy,
			.carry = carry,
			.da = at(da, row, p.width, act),
			.db = db ? at(db, row, p.width, act) : NULL,
			.db_step = fed,
		};

		k->cell_backward(c->kc, &p.cell, at_const(gates, row, p.width, act),
				 i ? at_const(memory, before, h, compute) : NULL, at_const(memory, row, h, compute),
				 i ? at_const(c->y[0], before, h, act) : NULL, &d);
		if (i)
			MR_TRY(k->gemm(c->kc, &to_y, fed, c->w[1], NULL, dy, NULL));
	}
	return c->dx[0] ? k->gemm(c->kc, &to_x, da, c->w[0], NULL, c->dx[0], NULL) : MR_OK;
}

/* Write to @to, for each row, the y of the row processed before it; 0 for the first one. */
static void shift(const mr_layer_call *c, const places *p, char *to)
{
	size_t row = (size_t)c->cfg->out * mr_dtype_bytes(c->k->types.activations), sample = row * (size_t)p->t;
	const char *y = c->y[0];

	for (int64_t s = 0; s < c->samples; s++, y += sample, to += sample) {
		bool back = c->cfg->reverse;

		memset(back ? to + sample - row : to, 0, row);
		memcpy(back ? to : to + row, back ? y + row : y, sample - row);
	}
}

static mr_status product(const mr_layer_call *c, const places *p, int which, const void *a, int64_t cols, const void *d)
{
	mr_gemm g = {
		.of = MR_GEMM_GRADIENTS,
		.m = cols,
		.n = p->width,
		.k = p->rows,
		.ta = true,
		.add = c->dw_add,
		.colsum_b = c->dw[which + 2],
	};

	return c->step && c->step[which].dst
		       ? c->k->gemm_step(c->kc, &g, a, d, c->dw[which], &c->step[which])
		       : c->k->gemm(c->kc, &g, a, d, NULL, c->dw[which], NULL);
}

mr_status mr_recurrent_backward_weight(mr_cell_kind kind, const mr_layer_call *c)
{
	places p = find(kind, c->cfg, c->in, c->samples, c->k);
	char *da = c->kept, *db = kind == MR_CELL_GRU ? da + p.gates : da;

	MR_TRY(product(c, &p, 0, c->x[0], p.in, da));
	shift(c, &p, c->scratch);
	return product(c, &p, 1, c->scratch, c->cfg->out, db);
}
