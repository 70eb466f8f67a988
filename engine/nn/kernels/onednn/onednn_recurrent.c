/*
 * onednn_recurrent.c - a whole LSTM or GRU by oneDNN's primitives, in f32.
 *
 * The primitives take samples side by side for each row: x, y and their gradients are copied into that order and back
 * (samples in their own order would cost more: merged products over all rows are then impossible). An LSTM's gates have
 * PyTorch's order; of a GRU's, which are PyTorch's with the reset after the product ("lbr"), the first two change
 * places. Weights are reordered where the primitive wants another format than the plain one, as backward it always
 * does. What the forward primitive saves has a form of its own, so that the two go together.
 *
 * The backward primitive makes the gradients of the input and of all weights at once, and adds to the latter.
 */
#include "nn/kernels/fused/vec/team.h"
#include "nn/kernels/onednn/onednn_context.h"

#include <stdlib.h>
#include <string.h>

enum tensor {
	X, H, C, W_X, W_H, BIAS, Y, TO_H, TO_C, WORKSPACE,
	D_X, D_H, D_C, D_W_X, D_W_H, D_BIAS, D_Y, D_TO_H, D_TO_C, N_TENSORS
};

static const int ids[N_TENSORS] = {
	[X] = DNNL_ARG_SRC_LAYER, [H] = DNNL_ARG_SRC_ITER, [C] = DNNL_ARG_SRC_ITER_C, [W_X] = DNNL_ARG_WEIGHTS_LAYER,
	[W_H] = DNNL_ARG_WEIGHTS_ITER, [BIAS] = DNNL_ARG_BIAS, [Y] = DNNL_ARG_DST_LAYER, [TO_H] = DNNL_ARG_DST_ITER,
	[TO_C] = DNNL_ARG_DST_ITER_C, [WORKSPACE] = DNNL_ARG_WORKSPACE, [D_X] = DNNL_ARG_DIFF_SRC_LAYER,
	[D_H] = DNNL_ARG_DIFF_SRC_ITER, [D_C] = DNNL_ARG_DIFF_SRC_ITER_C, [D_W_X] = DNNL_ARG_DIFF_WEIGHTS_LAYER,
	[D_W_H] = DNNL_ARG_DIFF_WEIGHTS_ITER, [D_BIAS] = DNNL_ARG_DIFF_BIAS, [D_Y] = DNNL_ARG_DIFF_DST_LAYER,
	[D_TO_H] = DNNL_ARG_DIFF_DST_ITER, [D_TO_C] = DNNL_ARG_DIFF_DST_ITER_C,
};

enum { BIAS_GATES = 4 }; /* a GRU has one more for the part of its new gate that y brings */

struct onednn_recurrent {
	mr_recurrence key;              /* not reverse: the copies turn the rows around */
	onednn_primitive forward, backward;
	onednn_primitive reorder[2][2]; /* [backward][of x, of y]; without a primitive: the weights are plain */
	size_t weights[2][2];           /* their bytes; 0: plain */
	size_t workspace;               /* bytes */
	size_t scratchpad;              /* the larger one */
};

/* --- descriptions, in both interfaces ----------------------------------------------------------------------------- */

typedef struct recurrent_mds {
	md_t layer_x, layer_y, state, bias, any[2], plain[2];
} recurrent_mds;

static bool is_gru(const mr_recurrence *r)
{
	return r->kind == MR_CELL_GRU;
}

static mr_status md_make(md_t *md, int n, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
#if DNNL_VERSION_MAJOR >= 3
	return mr_onednn_check(dnnl_memory_desc_create_with_tag(md, n, dims, dnnl_f32, tag), "memory_desc");
#else
	return mr_onednn_check(dnnl_memory_desc_init_by_tag(md, n, dims, dnnl_f32, tag), "memory_desc");
#endif
}

static mr_status describe(recurrent_mds *m, const mr_recurrence *r)
{
	int64_t gates = mr_cell_gates(r->kind), h = r->width;
	dnnl_dims_t x = {r->t, r->samples, r->in}, y = {r->t, r->samples, h}, state = {1, 1, r->samples, h};
	dnnl_dims_t bias = {1, 1, BIAS_GATES, h}, w[2] = {{1, 1, r->in, gates, h}, {1, 1, h, gates, h}};

	MR_TRY(md_make(&m->layer_x, 3, x, dnnl_tnc));
	MR_TRY(md_make(&m->layer_y, 3, y, dnnl_tnc));
	MR_TRY(md_make(&m->state, 4, state, dnnl_ldnc));
	MR_TRY(md_make(&m->bias, 4, bias, dnnl_ldgo));
	for (int i = 0; i < 2; i++) {
		MR_TRY(md_make(&m->any[i], 5, w[i], dnnl_format_tag_any));
		MR_TRY(md_make(&m->plain[i], 5, w[i], dnnl_ldigo));
	}
	return MR_OK;
}

static void mds_free(recurrent_mds *m)
{
	mr_onednn_md_free(&m->layer_x), mr_onednn_md_free(&m->layer_y);
	mr_onednn_md_free(&m->state), mr_onednn_md_free(&m->bias);
	for (int i = 0; i < 2; i++)
		mr_onednn_md_free(&m->any[i]), mr_onednn_md_free(&m->plain[i]);
}

#define TO dnnl_unidirectional_left2right

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t forward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const recurrent_mds *m, bool gru,
				dnnl_primitive_attr_t attr)
{
	return gru ? dnnl_lbr_gru_forward_primitive_desc_create(pd, e, dnnl_forward_training, TO, m->layer_x, m->state,
								m->any[0], m->any[1], m->bias, m->layer_y, m->state, 0,
								attr)
		   : dnnl_lstm_forward_primitive_desc_create(pd, e, dnnl_forward_training, TO, m->layer_x, m->state,
							     m->state, m->any[0], m->any[1], NULL, NULL, m->bias,
							     m->layer_y, m->state, m->state, 0, attr);
}

static dnnl_status_t backward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const recurrent_mds *m, bool gru,
				 dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	return gru ? dnnl_lbr_gru_backward_primitive_desc_create(
			     pd, e, dnnl_backward, TO, m->layer_x, m->state, m->any[0], m->any[1], m->bias, m->layer_y,
			     m->state, m->layer_x, m->state, m->plain[0], m->plain[1], m->bias, m->layer_y, m->state, 0,
			     hint, attr)
		   : dnnl_lstm_backward_primitive_desc_create(
			     pd, e, dnnl_backward, TO, m->layer_x, m->state, m->state, m->any[0], m->any[1], NULL, NULL,
			     m->bias, m->layer_y, m->state, m->state, m->layer_x, m->state, m->state, m->plain[0],
			     m->plain[1], NULL, NULL, m->bias, m->layer_y, m->state, m->state, 0, hint, attr);
}

#else

static dnnl_status_t forward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const recurrent_mds *m, bool gru,
				dnnl_primitive_attr_t attr)
{
	dnnl_rnn_desc_t d;
	dnnl_status_t st =
		gru ? dnnl_lbr_gru_forward_desc_init(&d, dnnl_forward_training, TO, &m->layer_x, &m->state, &m->any[0],
						     &m->any[1], &m->bias, &m->layer_y, &m->state, 0)
		    : dnnl_lstm_forward_desc_init(&d, dnnl_forward_training, TO, &m->layer_x, &m->state, &m->state,
						  &m->any[0], &m->any[1], &m->bias, &m->layer_y, &m->state, &m->state,
						  0);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &d, attr, e, NULL) : st;
}

static dnnl_status_t backward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const recurrent_mds *m, bool gru,
				 dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	dnnl_rnn_desc_t d;
	dnnl_status_t st =
		gru ? dnnl_lbr_gru_backward_desc_init(&d, dnnl_backward, TO, &m->layer_x, &m->state, &m->any[0],
						      &m->any[1], &m->bias, &m->layer_y, &m->state, &m->layer_x,
						      &m->state, &m->plain[0], &m->plain[1], &m->bias, &m->layer_y,
						      &m->state, 0)
		    : dnnl_lstm_backward_desc_init(&d, dnnl_backward, TO, &m->layer_x, &m->state, &m->state, &m->any[0],
						   &m->any[1], &m->bias, &m->layer_y, &m->state, &m->state, &m->layer_x,
						   &m->state, &m->state, &m->plain[0], &m->plain[1], &m->bias,
						   &m->layer_y, &m->state, &m->state, 0);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &d, attr, e, hint) : st;
}

#endif

/* --- making the primitives ---------------------------------------------------------------------------------------- */

/* The primitive descriptions of one shape. */
typedef struct recurrent_pds {
	recurrent_mds m;
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t of[2]; /* forward, backward */
} recurrent_pds;

static void pds_free(recurrent_pds *p)
{
	for (int i = 0; i < 2; i++)
		if (p->of[i])
			(void)dnnl_primitive_desc_destroy(p->of[i]);
	if (p->attr)
		(void)dnnl_primitive_attr_destroy(p->attr);
	mds_free(&p->m);
}

static md_arg md_of(dnnl_primitive_desc_t pd, enum tensor t)
{
	return dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, ids[t]);
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Also fills in the sizes of @c, whose key is set. */
static mr_status pds_make(recurrent_pds *p, dnnl_engine_t engine, struct onednn_recurrent *c)
{
	bool gru = is_gru(&c->key);

	memset(p, 0, sizeof(*p));
	MR_TRY(describe(&p->m, &c->key));
	MR_TRY(mr_onednn_attr(&(onednn_post_ops){0}, &p->attr));
	MR_TRY(mr_onednn_check(forward_pd(&p->of[0], engine, &p->m, gru, p->attr), "recurrence description"));
	MR_TRY(mr_onednn_check(backward_pd(&p->of[1], engine, &p->m, gru, p->of[0], p->attr),
			       "recurrence description"));
	c->workspace = dnnl_memory_desc_get_size(md_of(p->of[0], WORKSPACE));
	for (int b = 0; b < 2; b++) {
		md_arg scratch = dnnl_primitive_desc_query_md(p->of[b], dnnl_query_scratchpad_md, 0);

		c->scratchpad = larger(c->scratchpad, dnnl_memory_desc_get_size(scratch));
		for (int i = 0; i < 2; i++) {
			md_arg wanted = md_of(p->of[b], W_X + (enum tensor)i);

			c->weights[b][i] = dnnl_memory_desc_equal(wanted, mr_onednn_md(&p->m.plain[i]))
						   ? 0 : dnnl_memory_desc_get_size(wanted);
		}
	}
	return MR_OK;
}

static bool takes_part(const mr_recurrence *r, bool backward, enum tensor t)
{
	return (backward || t <= WORKSPACE) &&
	       !(is_gru(r) && (t == C || t == TO_C || t == D_C || t == D_TO_C));
}

static mr_status make_primitive(mr_onednn *d, struct onednn_recurrent *c, const recurrent_pds *p, bool backward)
{
	onednn_arg arg[N_TENSORS];
	uint32_t n = 0;

	for (int t = 0; t < N_TENSORS; t++)
		if (takes_part(&c->key, backward, (enum tensor)t))
			arg[n++] = (onednn_arg){ids[t], md_of(p->of[backward], (enum tensor)t)};
	return mr_onednn_finish(d, backward ? &c->backward : &c->forward, p->of[backward], arg, n);
}

static mr_status make_reorder(mr_onednn *d, struct onednn_recurrent *c, const recurrent_pds *p, int b, int i)
{
	md_arg from = mr_onednn_md(&p->m.plain[i]), to = md_of(p->of[b], W_X + (enum tensor)i);
	const onednn_arg arg[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
	dnnl_primitive_desc_t pd = NULL;
	mr_status st;

	if (!c->weights[b][i])
		return MR_OK;
	MR_TRY(mr_onednn_check(dnnl_reorder_primitive_desc_create(&pd, from, d->engine, to, d->engine, p->attr),
			       "reorder description"));
	st = mr_onednn_finish(d, &c->reorder[b][i], pd, arg, 2);
	(void)dnnl_primitive_desc_destroy(pd);
	return st;
}

static mr_status make(mr_onednn *d, struct onednn_recurrent *c)
{
	recurrent_pds p;
	mr_status st = pds_make(&p, d->engine, c);

	for (int b = 0; st == MR_OK && b < 2; b++) {
		st = make_primitive(d, c, &p, b);
		for (int i = 0; st == MR_OK && i < 2; i++)
			st = make_reorder(d, c, &p, b, i);
	}
	pds_free(&p);
	return st == MR_OK ? st
			   : mr_fail_in(st, "%s of %lld x %lld columns, %lld rows", is_gru(&c->key) ? "gru" : "lstm",
					(long long)c->key.in, (long long)c->key.width, (long long)c->key.t);
}

static void free_one(struct onednn_recurrent *c)
{
	mr_onednn_primitive_free(&c->forward), mr_onednn_primitive_free(&c->backward);
	for (int i = 0; i < 4; i++)
		mr_onednn_primitive_free(&c->reorder[i / 2][i % 2]);
}

void mr_onednn_recurrents_free(mr_onednn *d)
{
	for (uint32_t i = 0; i < d->n_recurrents; i++)
		free_one(&d->recurrents[i]);
	free(d->recurrents);
}

static bool is_same(const mr_recurrence *a, const mr_recurrence *b)
{
	return a->kind == b->kind && a->samples == b->samples && a->t == b->t && a->in == b->in && a->width == b->width;
}

static mr_status find(mr_onednn *d, const mr_recurrence *r, struct onednn_recurrent **out)
{
	struct onednn_recurrent *more;
	mr_status st;

	for (uint32_t i = 0; i < d->n_recurrents; i++)
		if (is_same(&d->recurrents[i].key, r)) {
			*out = &d->recurrents[i];
			return MR_OK;
		}
	more = realloc(d->recurrents, (d->n_recurrents + 1) * sizeof(*more));
	if (!more)
		return mr_fail(MR_ERESOURCE, "no memory for the primitives of a recurrence");
	d->recurrents = more;
	*out = &more[d->n_recurrents];
	**out = (struct onednn_recurrent){.key = *r};
	mr_onednn_set_threads(d);
	st = make(d, *out);
	if (st == MR_OK)
		d->n_recurrents++;
	else
		free_one(*out);
	return st;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* What a call works in. */
typedef struct places {
	float *of[N_TENSORS];
	float *turned[2];    /* a GRU's weights with its gates in the library's order */
	float *wanted[2];    /* weights in the primitive's format */
	size_t bytes;        /* of all */
} places;

static float *take(char *base, size_t *used, size_t bytes)
{
	char *at = base ? base + *used : NULL;

	*used += (bytes + 63) & ~(size_t)63;
	return (float *)(void *)at;
}

static int64_t weights_of(const mr_recurrence *r, int i)
{
	return (i ? r->width : r->in) * mr_cell_gates(r->kind) * r->width;
}

/* @base NULL: the bytes alone. */
static places find_places(const struct onednn_recurrent *c, char *base)
{
	const mr_recurrence *r = &c->key;
	size_t one = (size_t)r->width * sizeof(float), bias = BIAS_GATES * one, state = (size_t)r->samples * one;
	size_t y = (size_t)r->t * state, x = (size_t)(r->samples * r->t * r->in) * sizeof(float);
	places p = {0};

	for (int t = 0; t < N_TENSORS; t++) {
		bool weights = t == W_X || t == W_H || t == D_W_X || t == D_W_H || t == WORKSPACE;

		if (!weights)
			p.of[t] = take(base, &p.bytes, t == X || t == D_X ? x : t == Y || t == D_Y ? y
						       : t == BIAS || t == D_BIAS ? bias : state);
	}
	for (int i = 0; i < 2; i++) {
		size_t gru = is_gru(r) ? (size_t)weights_of(r, i) * sizeof(float) : 0;

		p.turned[i] = take(base, &p.bytes, gru);
		p.of[D_W_X + i] = take(base, &p.bytes, gru);
		p.wanted[i] = take(base, &p.bytes, larger(c->weights[0][i], c->weights[1][i]));
	}
	return p;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define LIBRARY "oneDNN " TEXT(DNNL_VERSION_MAJOR) "." TEXT(DNNL_VERSION_MINOR)

mr_status mr_onednn_recurrence_room(const mr_recurrence *r, mr_recurrence_room *out)
{
	struct onednn_recurrent c = {.key = *r};
	dnnl_engine_t engine = NULL;
	recurrent_pds p;
	mr_status st;

	*out = (mr_recurrence_room){0};
	MR_TRY(mr_onednn_check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine_create"));
	st = pds_make(&p, engine, &c);
	pds_free(&p);
	(void)dnnl_engine_destroy(engine);
	MR_TRY(st);
	mr_saved_add(&out->saved, "cells after the last row",
		     is_gru(r) ? 0 : ((size_t)(r->samples * r->width) * sizeof(float) + 63) & ~(size_t)63);
	mr_saved_add(&out->saved, "workspace of a recurrence of " LIBRARY, (c.workspace + 63) & ~(size_t)63);
	out->scratch = find_places(&c, NULL).bytes;
	out->library = c.scratchpad + (size_t)weights_of(r, 1) * sizeof(float) / 2; /* measured: what products pack */
	return MR_OK;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

typedef struct copying {
	const mr_recurrence *r;
	int64_t cols;
	const float *from;
	float *to;
	bool back, add; /* back: from the library's order to ours */
} copying;

static void copy_rows(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const copying *c = args;
	const mr_recurrence *r = c->r;

	(void)worker;
	for (int64_t i = lo; i < hi; i++) {
		int64_t t = i / r->samples, row = i % r->samples * r->t + (r->reverse ? r->t - 1 - t : t);
		const float *from = c->from + (c->back ? i : row) * c->cols;
		float *to = c->to + (c->back ? row : i) * c->cols;

		if (!c->add)
			memcpy(to, from, (size_t)c->cols * sizeof(*to));
		for (int64_t j = 0; c->add && j < c->cols; j++)
			to[j] += from[j];
	}
}

static void copy(const mr_onednn *d, const copying *c)
{
	mr_team_run((uint32_t)d->n_threads, copy_rows, c, c->r->samples * c->r->t, 1, c->cols);
}

/* Rows of weights with the first two of a GRU's three gates exchanged. */
static void exchange_gates(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const copying *c = args;
	size_t gate = (size_t)c->cols * sizeof(float);

	(void)worker;
	for (int64_t i = lo; i < hi; i++) {
		const float *from = c->from + i * 3 * c->cols;
		float *to = c->to + i * 3 * c->cols;

		memcpy(to, from + c->cols, gate);
		memcpy(to + c->cols, from, gate);
		memcpy(to + 2 * c->cols, from + 2 * c->cols, gate);
	}
}

static void exchange(const mr_onednn *d, const mr_recurrence *r, int i, const float *from, float *to)
{
	copying c = {.r = r, .cols = r->width, .from = from, .to = to};

	mr_team_run((uint32_t)d->n_threads, exchange_gates, &c, i ? r->width : r->in, 1, 3 * r->width);
}

/* The library adds both biases but for a GRU's new gate, where it has both. */
static void join_biases(const mr_recurrence *r, const float *x, const float *y, float *to)
{
	int64_t h = r->width;

	if (!is_gru(r)) {
		for (int64_t j = 0; j < BIAS_GATES * h; j++)
			to[j] = x[j] + y[j];
		return;
	}
	for (int64_t j = 0; j < h; j++) {
		to[j] = x[h + j] + y[h + j];
		to[h + j] = x[j] + y[j];
		to[2 * h + j] = x[2 * h + j];
		to[3 * h + j] = y[2 * h + j];
	}
}

static void part_biases(const mr_recurrence *r, const float *from, float *x, float *y)
{
	int64_t h = r->width;

	if (!is_gru(r)) {
		memcpy(x, from, (size_t)(BIAS_GATES * h) * sizeof(*x));
		memcpy(y, from, (size_t)(BIAS_GATES * h) * sizeof(*y));
		return;
	}
	for (int64_t j = 0; j < h; j++) {
		x[j] = y[j] = from[h + j];
		x[h + j] = y[h + j] = from[j];
		x[2 * h + j] = from[2 * h + j];
		y[2 * h + j] = from[3 * h + j];
	}
}

/* --- the two passes ----------------------------------------------------------------------------------------------- */

static void begin_with(float *to, const void *from, const mr_recurrence *r)
{
	size_t bytes = (size_t)(r->samples * r->width) * sizeof(*to);

	if (from)
		memcpy(to, from, bytes);
	else
		memset(to, 0, bytes);
}

/* What both passes read. */
static mr_status prepare(mr_onednn *d, struct onednn_recurrent *c, const mr_recurrence *r, const mr_recurrence_call *q,
			 bool backward, places *p)
{
	copy(d, &(copying){.r = r, .cols = r->in, .from = q->x, .to = p->of[X]});
	begin_with(p->of[H], q->begin_y, r);
	begin_with(p->of[C], q->begin_c, r);
	join_biases(r, q->w[2], q->w[3], p->of[BIAS]);
	for (int i = 0; i < 2; i++) {
		const float *w = q->w[i];

		if (is_gru(r)) {
			exchange(d, r, i, w, p->turned[i]);
			w = p->turned[i];
		}
		if (c->weights[backward][i]) {
			MR_TRY(mr_onednn_execute(d, &c->reorder[backward][i], (const void *[]){w, p->wanted[i]}));
			w = p->wanted[i];
		}
		p->of[W_X + i] = (float *)(uintptr_t)w;
	}
	p->of[TO_C] = q->saved;
	p->of[WORKSPACE] = q->saved;
	if (!is_gru(r))
		p->of[WORKSPACE] += ((size_t)(r->samples * r->width) + 15) & ~(size_t)15;
	return MR_OK;
}

static mr_status execute(mr_onednn *d, struct onednn_recurrent *c, const places *p, bool backward)
{
	const void *data[N_TENSORS];
	uint32_t n = 0;

	for (int t = 0; t < N_TENSORS; t++)
		if (takes_part(&c->key, backward, (enum tensor)t))
			data[n++] = p->of[t];
	return mr_onednn_execute(d, backward ? &c->backward : &c->forward, data);
}

mr_status mr_onednn_recurrence(mr_onednn *d, const mr_recurrence *r, const mr_recurrence_call *q)
{
	struct onednn_recurrent *c;
	places p;

	MR_TRY(find(d, r, &c));
	p = find_places(c, q->scratch);
	MR_TRY(prepare(d, c, r, q, false, &p));
	MR_TRY(execute(d, c, &p, false));
	copy(d, &(copying){.r = r, .cols = r->width, .from = p.of[Y], .to = q->y, .back = true});
	if (q->end_c)
		memcpy(q->end_c, p.of[TO_C], (size_t)(r->samples * r->width) * sizeof(float));
	return MR_OK;
}

mr_status mr_onednn_recurrence_backward(mr_onednn *d, const mr_recurrence *r, const mr_recurrence_call *q)
{
	int64_t gates = mr_cell_gates(r->kind) * r->width, state = r->samples * r->width;
	float *dw[4] = {q->dw, (float *)q->dw + weights_of(r, 0)};
	struct onednn_recurrent *c;
	places p;

	dw[2] = dw[1] + weights_of(r, 1), dw[3] = dw[2] + gates;
	MR_TRY(find(d, r, &c));
	p = find_places(c, q->scratch);
	MR_TRY(prepare(d, c, r, q, true, &p));
	copy(d, &(copying){.r = r, .cols = r->width, .from = q->y, .to = p.of[Y]});
	copy(d, &(copying){.r = r, .cols = r->width, .from = q->dy, .to = p.of[D_Y]});
	memcpy(p.of[TO_H], p.of[Y] + (r->t - 1) * state, (size_t)state * sizeof(float));
	begin_with(p.of[D_TO_H], NULL, r);
	begin_with(p.of[D_TO_C], NULL, r);
	memset(p.of[D_BIAS], 0, BIAS_GATES * (size_t)r->width * sizeof(float));
	for (int i = 0; i < 2; i++) {
		p.of[D_W_X + i] = is_gru(r) ? p.of[D_W_X + i] : dw[i];
		memset(p.of[D_W_X + i], 0, (size_t)weights_of(r, i) * sizeof(float));
	}
	MR_TRY(execute(d, c, &p, true));
	for (int i = 0; is_gru(r) && i < 2; i++)
		exchange(d, r, i, p.of[D_W_X + i], dw[i]);
	part_biases(r, p.of[D_BIAS], dw[2], dw[3]);
	if (q->dx)
		copy(d, &(copying){.r = r, .cols = r->in, .from = p.of[D_X], .to = q->dx, .back = true,
				   .add = q->dx_add});
	return MR_OK;
}
