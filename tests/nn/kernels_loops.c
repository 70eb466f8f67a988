/* kernels_loops.c - the operations that all backends execute by the same loops, for the list of kernels_ops.c. */
#include <stdlib.h>

#include "check.h"
#include "kernels_ops.h"
#include "nn/row_index.h"

/* dims rows, coordinates, other columns; variant: a penalty, + 2: the first block, + 4: noise and no dx */
void run_margin(const op_case *c)
{
	const mr_kernels *k = c->k;
	bool first = c->variant & 2, noisy = c->variant & 4;
	mr_margin_block m = {.rows = c->dim[0], .block = c->dim[1], .rest = c->dim[2],
			     .l2 = c->variant & 1 ? 0.1 : 0, .noise = noisy ? 0.5 : 0};
	mr_mask_key key = {.seed = 5, .first_sample = 8, .layer = 3};
	mr_dtype type = k->types.gradients;
	int64_t in, out;
	void *x, *w, *y, *dy, *dx, *penalty, *dw;

	m.head = first ? 0 : 1 + (m.l2 > 0);
	in = m.rows * mr_margin_in(&m);
	out = m.rows * mr_margin_out(&m);
	x = make_input(k, in, 1, -1, 1), w = make_input(k, m.block, 2, -1, 1), dy = make_input(k, out, 3, -1, 1);
	y = make_output(k, out), dx = make_output(k, in), penalty = make_output(k, m.block);
	dw = make_room(type, m.block);
	MR_CHECK_OK(k->margin(c->kc, &(mr_margin_args){.m = &m, .x = x, .w = w, .y = y}));
	MR_CHECK_OK(k->margin_backward_input(
		c->kc, &(mr_margin_backward_input_args){.m = &m, .w = w, .dy = dy, .dx = noisy ? NULL : dx,
							.add = c->add, .penalty = penalty}));
	MR_CHECK_OK(k->margin_backward_weight(
		c->kc, &(mr_margin_backward_weight_args){.m = &m, .x = x, .dy = dy, .penalty = penalty,
							 .noise = noisy ? &key : NULL, .dw = dw, .add = c->add}));
	put(c->out, k, y, out);
	put(c->out, k, dx, in);
	put(c->out, k, penalty, m.block);
	put_of(c->out, type, dw, m.block);
	free(x), free(w), free(y), free(dy), free(dx), free(penalty), free(dw);
}

/* dims samples, vectors, numbers of one; variant 1: in one tensor, 0: the first one in a tensor of its own, whose
 * gradient alone is added to, 2: the gradient of the others is not wanted */
void run_pairs(const op_case *c)
{
	const mr_kernels *k = c->k;
	bool whole = c->variant == 1;
	int64_t n = c->dim[1] + 1, size[2];
	mr_pairs p = {.samples = c->dim[0], .parts = whole ? 1 : 2, .of_part = {whole ? n : 1, n - 1}, .n = n,
		      .width = c->dim[2]};
	bool add[2] = {c->add, false};
	const void *x[2];
	void *from[2], *to[2], *dx[2], *y, *dy;

	for (int i = 0; i < 2; i++) {
		size[i] = p.samples * p.of_part[i] * p.width;
		x[i] = from[i] = make_input(k, size[i], 1 + (uint32_t)i, -1, 1);
		dx[i] = to[i] = make_output(k, size[i]);
	}
	if (c->variant == 2)
		dx[1] = NULL;
	y = make_output(k, p.samples * mr_pairs_out(&p));
	dy = make_input(k, p.samples * mr_pairs_out(&p), 3, -1, 1);
	MR_CHECK_OK(k->pairs(c->kc, &(mr_pairs_args){.p = &p, .x = x, .y = y}));
	MR_CHECK_OK(k->pairs_backward(c->kc, &(mr_pairs_backward_args){.p = &p, .x = x, .dy = dy, .dx = dx,
								       .add = add}));
	put(c->out, k, y, p.samples * mr_pairs_out(&p));
	for (int i = 0; i < 2; i++) {
		put(c->out, k, to[i], size[i]);
		free(from[i]), free(to[i]);
	}
	free(y), free(dy);
}

/* Bags of which some tokens are none. */
static int32_t *bags_of_tokens(const mr_bags *b, uint32_t stream)
{
	int32_t *token = make_tokens(mr_bag_tokens(b), 2 * b->vocab, stream);

	for (int64_t i = 0; i < mr_bag_tokens(b); i += 5)
		token[i] = -1;
	return token;
}

/* dims bags, tokens of one, columns, rows of the table; variant: the mean, + 2: bags lie apart, + 4: the gradients of
 * rows side by side */
void run_bag(const op_case *c)
{
	const mr_kernels *k = c->k;
	mr_bags b = {.rows = c->dim[0], .size = c->dim[1], .pitch = c->dim[1] + (c->variant & 2), .cols = c->dim[2],
		     .vocab = c->dim[3], .mean = c->variant & 1};
	int64_t places = b.rows * b.size, n = b.vocab * b.cols;
	mr_dtype type = k->types.gradients;
	void *table = make_input(k, n, 1, -1, 1), *dy = make_input(k, b.rows * b.cols, 2, -1, 1);
	void *y = make_output(k, b.rows * b.cols), *dw = make_room(type, n), *memory;
	int32_t *tokens = bags_of_tokens(&b, 3);
	mr_row_index met;

	memory = malloc(mr_row_index_bytes(places));
	mr_row_index_begin(&met, places, memory);
	for (int64_t i = 0; i < places; i++) {
		int32_t token = tokens[i / b.size * b.pitch + i % b.size];

		if (token >= 0)
			mr_row_index_meet(&met, (int32_t)mr_bag_row(&b, token), (int32_t)i);
	}
	MR_CHECK_OK(k->bag(c->kc, &(mr_bag_args){.b = &b, .tokens = tokens, .table = table, .y = y}));
	MR_CHECK_OK(k->bag_backward(c->kc, &(mr_bag_backward_args){
						   .b = &b, .met = &met, .place = c->variant & 4 ? NULL : met.row,
						   .tokens = tokens, .dy = dy, .rows = b.vocab, .dw = dw,
						   .add = c->add}));
	put(c->out, k, y, b.rows * b.cols);
	put_of(c->out, type, dw, n);
	free(table), free(dy), free(y), free(dw), free(tokens), free(memory);
}

/* What an attention is given and makes. */
typedef struct attention {
	mr_attend p;
	void *q, *k, *v, *g, *b, *z, *unit, *a, *share, *dshare, *dscore, *dunit, *db, *dg, *sum_q, *sum_k, *dq, *dk;
} attention;

static void attend_forward(const op_case *c, const attention *t)
{
	const mr_kernels *k = c->k;
	int64_t h = t->p.h;

	if (t->p.additive) {
		MR_CHECK_OK(k->attend_unit(c->kc, &(mr_attend_unit_args){.h = h, .v = t->v, .g = t->g,
									 .unit = t->unit}));
		MR_CHECK_OK(k->attend_sum(c->kc, &(mr_attend_sum_args){.p = &t->p, .q = t->q, .k = t->k, .b = t->b,
								       .z = t->z}));
		MR_CHECK_OK(k->act(c->kc, &(mr_act_args){.act = MR_ACT_TANH, .n = t->p.t * t->p.length * h, .x = t->z,
							 .y = t->z}));
	}
	MR_CHECK_OK(k->attend(c->kc, &(mr_attend_args){.p = &t->p, .q = t->q, .k = t->k, .z = t->z, .unit = t->unit,
						       .a = t->a, .share = t->share}));
}

/* @sparing: without what may be absent. */
static void attend_back(const op_case *c, const attention *t, bool sparing)
{
	const mr_kernels *k = c->k;
	int64_t h = t->p.h;

	MR_CHECK_OK(k->attend_softmax_backward(
		c->kc, &(mr_attend_softmax_backward_args){.p = &t->p, .a = t->a, .dshare = t->dshare,
							  .dscore = t->dscore, .share = sparing ? NULL : t->share}));
	MR_CHECK_OK(k->attend_backward(
		c->kc, &(mr_attend_backward_args){.p = &t->p, .q = t->q, .k = t->k, .z = t->z, .unit = t->unit,
						  .dscore = t->dscore, .sum_q = t->sum_q, .sum_k = t->sum_k,
						  .dunit = t->dunit, .db = t->db, .dq = t->dq,
						  .dk = sparing ? NULL : t->dk, .add_q = c->add, .add_k = false}));
	if (!t->p.additive)
		return;
	MR_CHECK_OK(k->attend_unit_backward(c->kc, &(mr_attend_unit_backward_args){.h = h, .v = t->v, .g = t->g,
										   .dunit = t->dunit, .dg = t->dg}));
}

/* dims queries, keys, numbers of one; variant: additive, + 2: half of the keys are padding, + 4: without what may be
 * absent */
void run_attend(const op_case *c)
{
	const mr_kernels *k = c->k;
	int64_t t = c->dim[0], s = c->dim[1], h = c->dim[2];
	mr_dtype compute = k->types.compute, gradient = k->types.gradients;
	void *dw = make_room(gradient, h);
	attention all = {
		.p = {.t = t, .s = s, .length = c->variant & 2 ? s / 2 : s, .h = h, .additive = c->variant & 1},
		.q = make_input(k, t * h, 1, -1, 1), .k = make_input(k, s * h, 2, -1, 1),
		.v = make_input(k, h, 3, -1, 1), .g = make_input(k, 1, 4, 1, 2), .b = make_input(k, h, 5, -1, 1),
		.z = make_output(k, t * s * h), .unit = make_room(compute, h), .a = make_room(compute, t * s),
		.share = make_output(k, t * s), .dshare = make_input(k, t * s, 6, -1, 1),
		.dscore = make_room(compute, t * s), .dunit = make_of(compute, h, 7, -1, 1),
		.db = make_of(compute, h, 8, -1, 1), .dg = make_room(compute, 1), .sum_q = make_room(compute, t * h),
		.sum_k = make_room(compute, s * h), .dq = make_output(k, t * h), .dk = make_output(k, s * h),
	};

	attend_forward(c, &all);
	put_of(c->out, compute, all.a, t * s);
	put(c->out, k, all.share, t * s);
	attend_back(c, &all, c->variant & 4);
	MR_CHECK_OK(k->gradients(c->kc, &(mr_gradients_args){.n = h, .d = all.db, .dw = dw, .add = c->add}));
	put_of(c->out, compute, all.unit, h);
	put_of(c->out, compute, all.dscore, t * s);
	put_of(c->out, compute, all.dunit, h);
	put_of(c->out, compute, all.dg, 1);
	put(c->out, k, all.dq, t * h);
	put(c->out, k, all.dk, s * h);
	put_of(c->out, gradient, dw, h);
	free(all.q), free(all.k), free(all.v), free(all.g), free(all.b), free(all.z), free(all.unit), free(all.a);
	free(all.share), free(all.dshare), free(all.dscore), free(all.dunit), free(all.db), free(all.dg);
	free(all.sum_q), free(all.sum_k), free(all.dq), free(all.dk), free(dw);
}

/* dims numbers of the row, of the result; variant: activation, + 3: bias and, without an activation, an addend */
void run_row_product(const op_case *c)
{
	const mr_kernels *k = c->k;
	int64_t in = c->dim[0], n = c->dim[1];
	bool more = c->variant >= 3;
	mr_act act = (mr_act)(c->variant % 3);
	void *x = make_input(k, in, 1, -1, 1), *w = make_input(k, in * n, 2, -0.1, 0.1);
	void *bias = make_input(k, n, 3, -1, 1), *addend = make_input(k, n, 4, -1, 1), *y = make_output(k, n);
	mr_gemm g = {.m = 1, .n = n, .k = in, .tb = true, .bias = more, .act = act,
		     .addend = more && act == MR_ACT_NONE ? addend : NULL};

	MR_CHECK_OK(k->row_product(c->kc, &(mr_row_product_args){.g = &g, .a = x, .b = w, .bias = more ? bias : NULL,
								 .c = y}));
	put(c->out, k, y, n);
	free(x), free(w), free(bias), free(addend), free(y);
}

/* dims heads of keys, rows, queries a key head, numbers of a head; variant: the first row, or the last one */
void run_attend_past(const op_case *c)
{
	const mr_kernels *k = c->k;
	mr_attn a = {.samples = 1, .t = 1, .heads = c->dim[0] * c->dim[2], .kv_heads = c->dim[0], .dim = c->dim[3]};
	int64_t room = c->dim[1], n = a.kv_heads * room * a.dim, out = a.heads * a.dim;
	void *qkv = make_input(k, mr_attn_width(&a), 1, -1, 1), *y = make_output(k, out);
	void *keys = make_input(k, n, 2, -1, 1), *values = make_input(k, n, 3, -1, 1);
	void *scores = make_room(k->types.compute, a.heads * (room + a.dim));

	MR_CHECK_OK(k->attend_past(c->kc, &(mr_attend_past_args){.p = &a, .first = c->variant ? room - 1 : 0,
								 .room = room, .qkv = qkv, .keys = keys,
								 .values = values, .scores = scores, .y = y}));
	put(c->out, k, y, out);
	put(c->out, k, keys, n);
	put(c->out, k, values, n);
	free(qkv), free(y), free(keys), free(values), free(scores);
}
