#include "nn/layers/recurrent.h"

#include <math.h>

#include "nn/layers/masks.h"

mr_status mr_recurrent_shape(const char *name, const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers(name, in[0]));
	if (cfg->out < 1)
		return mr_fail(MR_ECONFIG, "%s needs at least 1 output column, got %lld", name, (long long)cfg->out);
	if (cfg->carry && cfg->reverse)
		return mr_fail(MR_ECONFIG, "a %s that goes from the last row to the first carries no state", name);
	if (!(cfg->rate >= 0 && cfg->rate < 1))
		return mr_fail(MR_ECONFIG, "%s needs a rate from 0 to below 1, got %g", name, cfg->rate);
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

uint32_t mr_recurrent_carried(mr_cell_kind kind, const mr_layer_cfg *cfg, mr_layer_carried spec[MR_LAYER_CARRIED])
{
	spec[MR_RECURRENT_H] = (mr_layer_carried){.suffix = "h", .cols = cfg->out};
	spec[MR_RECURRENT_C] = (mr_layer_carried){.suffix = "c", .cols = cfg->out, .compute = true};
	return !cfg->carry ? 0 : kind == MR_CELL_LSTM ? 2 : 1;
}

/* Sizes of a call's saved tensors and of its scratch. */
typedef struct places {
	mr_cell cell;
	int64_t t, rows, in, width; /* rows: of all samples; width: of gates */
	size_t gates, memory;       /* bytes of all rows' gates, and of the cell's memory for all rows */
	size_t step_gates, step;    /* bytes of one step's gates, and of its y; of all samples, aligned */
	size_t carry;
	size_t masked;              /* bytes of weight_hh through its mask; 0: none */
	mr_gemm of_y, to_y;         /* the products of a step with weight_hh, forward and backward; */
	size_t packed[2];           /* bytes of weight_hh packed for each of them; 0: it is not */
} places;

/* Steps from which weight_hh is packed for them. */
enum { PACKED_STEPS = 8 };

/* Of @samples samples. */
static size_t packed_bytes(const mr_kernels *k, mr_gemm g, int64_t samples, int64_t steps)
{
	g.m = samples;
	return k && k->packed_bytes && steps >= PACKED_STEPS ? mr_layer_align(k->packed_bytes(k, &g)) : 0;
}

static places find(mr_cell_kind kind, const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k)
{
	places p = {
		.cell = {.kind = kind, .samples = samples, .width = cfg->out, .pitch = in->rows},
		.t = in->rows,
		.rows = samples * in->rows,
		.in = in->cols,
		.width = mr_cell_gates(kind) * cfg->out,
	};

	p.of_y = (mr_gemm){.m = samples, .n = p.width, .k = cfg->out, .bias = true};
	p.to_y = (mr_gemm){.m = samples, .n = cfg->out, .k = p.width, .tb = true};
	p.packed[0] = packed_bytes(k, p.of_y, samples, p.t);
	p.packed[1] = packed_bytes(k, p.to_y, samples, p.t);
	p.gates = mr_layer_align(mr_layer_bytes(k, p.rows * p.width));
	p.memory = mr_layer_align(mr_layer_compute_bytes(k, p.rows * cfg->out));
	p.step_gates = mr_layer_align(mr_layer_bytes(k, samples * p.width));
	p.step = mr_layer_align(mr_layer_bytes(k, samples * cfg->out));
	p.carry = mr_layer_align(mr_layer_compute_bytes(k, samples * cfg->out));
	if (cfg->rate > 0 && k) {
		size_t gradients = mr_dtype_bytes(k->types.gradients), weights = mr_dtype_bytes(k->types.weights);

		p.masked = mr_layer_align((size_t)(cfg->out * p.width) * (gradients > weights ? gradients : weights));
	}
	return p;
}

/* --- the whole layer as one operation ----------------------------------------------------------------------------- */

static mr_recurrence recurrence_of(mr_cell_kind kind, const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples)
{
	return (mr_recurrence){.kind = kind, .samples = samples, .t = in->rows, .in = in->cols, .width = cfg->out,
			       .reverse = cfg->reverse};
}

static bool is_whole(mr_cell_kind kind, const mr_layer_call *c, mr_recurrence *r)
{
	*r = recurrence_of(kind, c->cfg, c->in, c->samples);
	return c->k->takes_recurrence && c->k->takes_recurrence(c->kc, r);
}

/* Elements of parameter @i, in the order of params(). */
static int64_t weights_of(const places *p, int i)
{
	return i == 0 ? p->in * p->width : i == 1 ? p->cell.width * p->width : p->width;
}

/* What a backend saves that takes the layer as one: its own data, and the gradients of the weights until W. */
static void whole_needs(const mr_kernels *k, const places *p, const mr_recurrence_room *room, mr_layer_needs *out)
{
	int64_t n = 0;
	size_t bytes;

	for (int i = 0; i < 4; i++)
		n += weights_of(p, i);
	bytes = (size_t)n * mr_dtype_bytes(k->types.gradients);
	out->aux_i = room->saved;
	mr_saved_add(&out->kept, "gradients of all weights", mr_layer_align(bytes));
	out->scratch = p->masked + room->scratch;
}

void mr_recurrent_needs(mr_cell_kind kind, const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples,
			const mr_kernels *k, mr_layer_needs *out)
{
	places p = find(kind, cfg, in, samples, k);
	/* Of one sample, for calls with fewer samples: the most, since only many of them are not packed for. */
	size_t to_f = packed_bytes(k, p.of_y, 1, p.t), to_i = p.carry + packed_bytes(k, p.to_y, 1, p.t);
	double flops = 2.0 * (double)p.rows * (double)p.width;
	size_t y = mr_layer_align(mr_layer_bytes(k, p.rows * cfg->out));
	mr_recurrence r = recurrence_of(kind, cfg, in, samples);
	mr_recurrence_room room;

	*out = (mr_layer_needs){
		.x_i = true, /* where the layer is one operation */
		.x_w = true,
		.y_i = true,
		.y_w = true,
		.flops_f = flops * (double)(p.in + cfg->out),
		.flops_i = flops * (double)(p.in + cfg->out),
		.flops_w = flops * (double)(p.in + cfg->out),
	};
	if (k && k->recurrence_room && k->recurrence_room(k, &r, &room)) {
		whole_needs(k, &p, &room, out);
		return;
	}
	mr_saved_add(&out->aux_i, "gates", p.gates);
	mr_saved_add(&out->aux_i, kind == MR_CELL_LSTM ? "cells" : "new gates before their reset", p.memory);
	mr_saved_add(&out->kept, "gradients of gates", p.gates);
	if (kind == MR_CELL_GRU)
		mr_saved_add(&out->kept, "gradients of gates that y feeds", p.gates);
	/* F: gates and y of a step. I: gradients of both, and the carry. Both: weight_hh, packed. W: y of the rows
	 * before. All: weight_hh, or its gradient, through the mask. */
	out->scratch = p.step_gates + p.step + (to_f > to_i ? to_f : to_i);
	out->scratch = p.masked + (out->scratch > y ? out->scratch : y);
}

/* weight_hh for F and I: through the mask of its step, at @room, if it has one. */
static mr_status weight_hh(const mr_layer_call *c, const places *p, void *room, const void **out)
{
	bool masked = p->masked && c->train;

	*out = masked ? room : c->w[1];
	return masked ? mr_mask_weights(c, c->cfg->out * p->width, c->k->types.weights, c->w[1], room) : MR_OK;
}

static mr_status whole_call(const mr_layer_call *c, const places *p, mr_recurrence_call *out)
{
	*out = (mr_recurrence_call){
		.x = c->x[0],
		.w = {c->w[0], NULL, c->w[2], c->w[3]},
		.begin_y = c->begin[MR_RECURRENT_H],
		.begin_c = c->begin[MR_RECURRENT_C],
		.y = c->y[0],
		.end_c = c->end[MR_RECURRENT_C],
		.saved = c->aux_i,
		.scratch = (char *)c->scratch + p->masked,
		.dy = c->dy[0],
		.dx = c->dx[0],
		.dx_add = c->dx_add[0],
		.dw = c->kept,
	};
	return weight_hh(c, p, c->scratch, &out->w[1]);
}

static mr_status whole_forward(const mr_layer_call *c, const places *p, const mr_recurrence *r)
{
	size_t row = mr_layer_bytes(c->k, r->width);
	mr_recurrence_call q;

	MR_TRY(whole_call(c, p, &q));
	MR_TRY(c->k->recurrence(c->kc, &(mr_recurrence_args){.r = r, .q = &q}));
	for (int64_t s = 0; s < c->samples && c->end[MR_RECURRENT_H]; s++)
		mr_layer_copy(c, (char *)c->end[MR_RECURRENT_H] + (size_t)s * row,
		       (const char *)c->y[0] + (size_t)(s * r->t + r->t - 1) * row, row);
	return MR_OK;
}

static mr_status whole_backward(const mr_layer_call *c, const places *p, const mr_recurrence *r)
{
	mr_recurrence_call q;

	MR_TRY(whole_call(c, p, &q));
	return c->k->recurrence_backward(c->kc, &(mr_recurrence_backward_args){.r = r, .q = &q});
}

/* The gradients that I has made go to the sums, and into the steps that W takes. */
static mr_status whole_weight(const mr_layer_call *c, const places *p)
{
	mr_dtype type = c->k->types.gradients;
	const char *made = c->kept;

	for (int i = 0; i < 4; i++) {
		int64_t n = weights_of(p, i);
		size_t bytes = (size_t)n * mr_dtype_bytes(type);
		const void *from;

		if (i == 1 && p->masked && c->train)
			MR_TRY(mr_mask_weights(c, n, type, made, c->scratch));
		from = i == 1 && p->masked && c->train ? c->scratch : made;
		if (c->dw_add)
			MR_TRY(c->k->sum_gradients(c->kc, &(mr_sum_gradients_args){.n = n, .a = c->dw[i], .b = from,
										   .y = c->dw[i]}));
		else
			mr_layer_copy(c, c->dw[i], from, bytes);
		if (i < 2 && mr_layer_step_of(c, i))
			MR_TRY(c->k->step(c->kc, &(mr_step_args){.n = n, .s = &c->step[i], .g = c->dw[i]}));
		made += bytes;
	}
	return MR_OK;
}

/* --- row by row --------------------------------------------------------------------------------------------------- */

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

/* The samples [@s, @s + @n) of one step. The state with which they begin lies without a distance between samples, so
 * then the first step is one of each sample by itself. */
typedef struct part {
	mr_cell cell;
	int64_t s, row, before; /* rows of a sample that are processed now and before; before < 0: none */
} part;

static part part_of(const mr_layer_call *c, const places *p, int64_t i, int64_t s, int64_t n)
{
	part q = {.cell = p->cell, .s = s, .row = row_of(c, p, i), .before = i ? row_of(c, p, i - 1) : -1};

	q.cell.samples = n;
	return q;
}

/* @g, the product of the @i-th step with weight_hh, which the first one packs into @room. */
static const mr_gemm *product_of(mr_gemm *g, int64_t i, size_t packed, void *room)
{
	g->packed = packed ? room : NULL;
	g->packs = i == 0;
	g->backward = i % 2;
	return g;
}

/* Samples that one call of the cell processes in step @i. */
static int64_t samples_at_once(const mr_layer_call *c, int64_t i)
{
	return i == 0 && c->begin[MR_RECURRENT_H] ? 1 : c->samples;
}

/* Where row @row of sample @s begins in a tensor of all rows. */
static int64_t row_at(const places *p, int64_t s, int64_t row)
{
	return s * p->t + row;
}

/* The row before that of @q in @rows, a tensor of all rows with @cols columns of @type; in the first step that of
 * @begin. */
static const void *before_of(const places *p, const part *q, const void *rows, const void *begin, int64_t cols,
			     mr_dtype type)
{
	if (q->before >= 0)
		return at_const(rows, row_at(p, q->s, q->before), cols, type);
	return begin ? at_const(begin, q->s, cols, type) : NULL;
}

/* The state after the last row, for the micro-batch that follows. */
static void hand_on(const mr_layer_call *c, const places *p, const void *y, const char *memory)
{
	int64_t h = c->cfg->out;
	size_t row = (size_t)h * mr_dtype_bytes(c->k->types.compute);

	if (c->end[MR_RECURRENT_H])
		mr_layer_copy(c, c->end[MR_RECURRENT_H], y, mr_layer_bytes(c->k, c->samples * h));
	for (int64_t s = 0; s < c->samples && p->cell.kind == MR_CELL_LSTM && c->end[MR_RECURRENT_C]; s++)
		mr_layer_copy(c, (char *)c->end[MR_RECURRENT_C] + (size_t)s * row,
		       memory + (size_t)row_at(p, s, p->t - 1) * row, row);
}

/* With what a part of a sample ends, for the next one to begin with. */
typedef struct past {
	size_t value[MR_LAYER_CARRIED], all; /* bytes */
} past;

static past past_of(const mr_layer_cfg *cfg, const mr_kernels *k)
{
	past p = {.value = {mr_layer_align(mr_layer_bytes(k, cfg->out)),
			    mr_layer_align(mr_layer_compute_bytes(k, cfg->out))}};

	p.all = p.value[0] + p.value[1];
	return p;
}

size_t mr_recurrent_past_bytes(const mr_layer_cfg *cfg, const mr_shape *in, const mr_kernels *k)
{
	(void)in;
	return 2 * past_of(cfg, k).all; /* the end and the beginning are apart */
}

bool mr_recurrent_decodes(const mr_layer_cfg *cfg)
{
	return !cfg->reverse;
}

static mr_status next_rows(mr_cell_kind kind, const mr_layer_call *c)
{
	char *begin = c->past->memory, *end;
	past p = past_of(c->cfg, c->k);
	mr_layer_call rows = *c;

	end = begin + p.all;
	for (int i = 0; i < MR_LAYER_CARRIED; i++) {
		rows.begin[i] = c->past->first ? begin + (i ? p.value[0] : 0) : NULL;
		rows.end[i] = end + (i ? p.value[0] : 0);
	}
	rows.past = NULL;
	MR_TRY(mr_recurrent_forward(kind, &rows));
	mr_layer_copy(c, begin, end, p.all);
	return MR_OK;
}

mr_status mr_recurrent_forward(mr_cell_kind kind, const mr_layer_call *c)
{
	const mr_kernels *k = c->k;
	mr_dtype act = k->types.activations, compute = k->types.compute;
	places p = find(kind, c->cfg, c->in, c->samples, k);
	int64_t h = c->cfg->out;
	char *gates = c->aux_i, *memory = gates + p.gates;
	char *fed = (char *)c->scratch + p.masked, *y = fed + p.step_gates;
	const void *w;
	mr_gemm of_x = {.m = p.rows, .n = p.width, .k = p.in, .bias = true};
	mr_recurrence whole;

	if (c->past)
		return next_rows(kind, c);
	if (is_whole(kind, c, &whole))
		return whole_forward(c, &p, &whole);
	MR_TRY(weight_hh(c, &p, c->scratch, &w));
	MR_TRY(k->gemm(c->kc, &(mr_gemm_args){.g = &of_x, .a = c->x[0], .b = c->w[0], .bias = c->w[2], .c = gates}));
	if (c->begin[MR_RECURRENT_H])
		mr_layer_copy(c, y, c->begin[MR_RECURRENT_H], mr_layer_bytes(k, c->samples * h));
	else
		mr_layer_clear(c, y, p.step);
	for (int64_t i = 0; i < p.t; i++) {
		int64_t n = samples_at_once(c, i);

		MR_TRY(k->gemm(c->kc, &(mr_gemm_args){.g = product_of(&p.of_y, i, p.packed[0], y + p.step),
						      .a = y, .b = w, .bias = c->w[3], .c = fed}));
		for (int64_t s = 0; s < c->samples; s += n) {
			part q = part_of(c, &p, i, s, n);
			int64_t r = row_at(&p, s, q.row);
			mr_cell_args o = {
				.c = &q.cell,
				.a = at(gates, r, p.width, act),
				.b = at(fed, s, p.width, act),
				.before = before_of(&p, &q, memory, c->begin[MR_RECURRENT_C], h, compute),
				.memory = at(memory, r, h, compute),
				.y = at(c->y[0], r, h, act),
				.y_step = at(y, s, h, act),
			};

			MR_TRY(k->cell(c->kc, &o));
		}
	}
	hand_on(c, &p, y, memory);
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
	char *fed = (char *)c->scratch + p.masked, *dy = fed + p.step_gates, *carry = dy + p.step;
	const void *w;
	mr_gemm to_x = {.m = p.rows, .n = p.in, .k = p.width, .tb = true, .add = c->dx_add[0]};
	mr_recurrence whole;

	if (is_whole(kind, c, &whole))
		return whole_backward(c, &p, &whole);
	MR_TRY(weight_hh(c, &p, c->scratch, &w));
	mr_layer_clear(c, dy, p.step);
	mr_layer_clear(c, carry, p.carry);
	for (int64_t i = p.t - 1; i >= 0; i--) {
		int64_t n = samples_at_once(c, i);

		for (int64_t s = 0; s < c->samples; s += n) {
			part q = part_of(c, &p, i, s, n);
			int64_t r = row_at(&p, s, q.row);
			mr_cell_backward_args o = {
				.c = &q.cell,
				.gates = at_const(gates, r, p.width, act),
				.before = before_of(&p, &q, memory, c->begin[MR_RECURRENT_C], h, compute),
				.memory = at_const(memory, r, h, compute),
				.y_before = before_of(&p, &q, c->y[0], c->begin[MR_RECURRENT_H], h, act),
				.dy = at_const(c->dy[0], r, h, act),
				.dy_next = at(dy, s, h, act),
				.carry = at(carry, s, h, compute),
				.da = at(da, r, p.width, act),
				.db = db ? at(db, r, p.width, act) : NULL,
				.db_step = at(fed, s, p.width, act),
			};

			MR_TRY(k->cell_backward(c->kc, &o));
		}
		if (i)
			MR_TRY(k->gemm(c->kc, &(mr_gemm_args){.g = product_of(&p.to_y, p.t - 1 - i, p.packed[1],
									      carry + p.carry),
							      .a = fed, .b = w, .c = dy}));
	}
	return c->dx[0] ? k->gemm(c->kc, &(mr_gemm_args){.g = &to_x, .a = da, .b = c->w[0], .c = c->dx[0]}) : MR_OK;
}

/* Write to @to, for each row, the y of the row processed before it; before the first one that with which the
 * micro-batch begins. */
static void shift(const mr_layer_call *c, const places *p, char *to)
{
	size_t row = (size_t)c->cfg->out * mr_dtype_bytes(c->k->types.activations), sample = row * (size_t)p->t;
	const char *y = c->y[0], *begin = c->begin[MR_RECURRENT_H];

	for (int64_t s = 0; s < c->samples; s++, y += sample, to += sample) {
		bool back = c->cfg->reverse;
		char *first = back ? to + sample - row : to;

		if (begin)
			mr_layer_copy(c, first, begin + (size_t)s * row, row);
		else
			mr_layer_clear(c, first, row);
		mr_layer_copy(c, back ? to : to + row, back ? y + row : y, sample - row);
	}
}

/* The gradients of weight @which and of the bias beside it: products of @a, [rows, cols], with @d, the gates'. */
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

	return mr_layer_weight_product(c, which, &g, a, d);
}

/* The gradient of weight_hh through the mask of the step: it is whole before it is masked, added and stepped. */
static mr_status masked_product(const mr_layer_call *c, const places *p, const void *a, const void *d)
{
	int64_t n = c->cfg->out * p->width;
	mr_gemm g = {.of = MR_GEMM_GRADIENTS, .m = c->cfg->out, .n = p->width, .k = p->rows, .ta = true};
	void *made = c->dw_add ? c->scratch : c->dw[1];

	MR_TRY(c->k->gemm(c->kc, &(mr_gemm_args){.g = &g, .a = a, .b = d, .c = made}));
	MR_TRY(mr_mask_weights(c, n, c->k->types.gradients, made, made));
	if (c->dw_add)
		MR_TRY(c->k->sum_gradients(c->kc, &(mr_sum_gradients_args){.n = n, .a = c->dw[1], .b = made,
									   .y = c->dw[1]}));
	MR_TRY(c->k->colsum(c->kc, &(mr_colsum_args){.rows = p->rows, .cols = p->width, .x = d, .y = c->dw[3],
						     .add = c->dw_add}));
	if (mr_layer_step_of(c, 1))
		MR_TRY(c->k->step(c->kc, &(mr_step_args){.n = n, .s = &c->step[1], .g = c->dw[1]}));
	return MR_OK;
}

mr_status mr_recurrent_backward_weight(mr_cell_kind kind, const mr_layer_call *c)
{
	places p = find(kind, c->cfg, c->in, c->samples, c->k);
	char *da = c->kept, *db = kind == MR_CELL_GRU ? da + p.gates : da, *y = (char *)c->scratch + p.masked;
	mr_recurrence whole;

	if (is_whole(kind, c, &whole))
		return whole_weight(c, &p);
	MR_TRY(product(c, &p, 0, c->x[0], p.in, da));
	shift(c, &p, y);
	return p.masked && c->train ? masked_product(c, &p, y, db) : product(c, &p, 1, y, c->cfg->out, db);
}
