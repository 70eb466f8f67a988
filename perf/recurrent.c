/*
 * recurrent.c - one layer of LSTM or GRU, forward and backward: ours, and oneDNN's primitive, in turns.
 *
 *	recurrent [threads [turns]]        defaults: 1, and 9
 *
 * Ours is the layer as it trains (nn/layers/recurrent.h, backend `auto`): weights in their plain layout, and all
 * gradients. oneDNN's weights lie in the layouts that its two primitives want, and nothing is reordered, so its times
 * are those of the primitives alone. Each figure is the best of the turns, of one thread in its CPU time.
 */
#include <stdio.h>

#ifdef MR_DNNL
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nn/bf16.h"
#include "nn/kernels/onednn/onednn_context.h"
#include "nn/layer.h"

typedef struct shape {
	const char *what;
	bool gru;
	int64_t rows, samples, width;
} shape;

static const shape shapes[] = {
	{"LSTM", false, 64, 16, 512}, {"LSTM", false, 32, 16, 512}, {"LSTM", false, 25, 32, 512},
	{"GRU", true, 64, 16, 512}, {"GRU", true, 25, 32, 512},
};

static int threads = 1;

static double now(void)
{
	struct timespec t;

	clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void check(mr_status st)
{
	if (st != MR_OK) {
		fprintf(stderr, "recurrent: %s\n", mr_error_text());
		exit(1);
	}
}

static void library(dnnl_status_t st)
{
	check(mr_onednn_check(st, "recurrent"));
}

/* Small numbers of type @t in @bytes of memory. */
static void fill(void *p, size_t bytes, mr_dtype t)
{
	for (size_t i = 0; i < bytes / mr_dtype_bytes(t); i++) {
		float x = ((float)(i * 2654435761u % 1009) - 504) * 1e-4f;

		if (t == MR_BF16)
			((uint16_t *)p)[i] = mr_bf16_round(x);
		else
			((float *)p)[i] = x;
	}
}

static void *numbers(int64_t n, mr_dtype t)
{
	size_t bytes = ((size_t)n * mr_dtype_bytes(t) + 63) / 64 * 64;
	void *p = aligned_alloc(64, bytes ? bytes : 64);

	if (!p)
		exit(1);
	fill(p, bytes, t);
	return p;
}

/* --- ours --------------------------------------------------------------------------------------------------------- */

typedef struct ours {
	const mr_layer_ops *ops;
	mr_layer_cfg cfg;
	mr_shape in, out;
	void *w[4], *dw[4];
	mr_layer_call call;
} ours;

static void ours_init(ours *o, const shape *s, const mr_kernels *k, mr_kctx *kc)
{
	int64_t n = s->samples * s->rows * s->width;
	mr_param_spec spec[MR_LAYER_PARAMS];
	mr_layer_needs needs;

	*o = (ours){.ops = mr_layer_find(s->gru ? "gru" : "lstm"), .cfg = {.out = s->width},
		    .in = {.rows = s->rows, .cols = s->width}};
	check(o->ops->shape(&o->cfg, &o->in, &o->out));
	o->ops->needs(&o->cfg, &o->in, s->samples, k, &needs);
	o->call = (mr_layer_call){.k = k, .kc = kc, .cfg = &o->cfg, .in = &o->in, .out = &o->out,
				  .samples = s->samples, .w = (const void *const *)o->w, .dw = o->dw, .train = true};
	for (uint32_t i = o->ops->params(&o->cfg, &o->in, spec); i-- > 0;) {
		o->w[i] = numbers(mr_param_count(&spec[i]), k->types.weights);
		o->dw[i] = numbers(mr_param_count(&spec[i]), k->types.gradients);
	}
	o->call.x[0] = numbers(n, k->types.activations), o->call.y[0] = numbers(n, k->types.activations);
	o->call.dy[0] = numbers(n, k->types.activations), o->call.dx[0] = numbers(n, k->types.activations);
	o->call.aux_i = numbers((int64_t)needs.aux_i.bytes / 4, MR_F32);
	o->call.kept = numbers((int64_t)needs.kept.bytes / 4, MR_F32);
	o->call.scratch = numbers((int64_t)needs.scratch / 4, MR_F32);
}

static void ours_fini(ours *o)
{
	for (int i = 0; i < 4; i++)
		free(o->w[i]), free(o->dw[i]);
	free((void *)(uintptr_t)o->call.x[0]), free(o->call.y[0]), free((void *)(uintptr_t)o->call.dy[0]);
	free(o->call.dx[0]), free(o->call.aux_i), free(o->call.kept), free(o->call.scratch);
}

/* --- oneDNN's ----------------------------------------------------------------------------------------------------- */

enum { LAYER, ITER, CELL, TO_LAYER, TO_ITER, TO_CELL, W_LAYER, W_ITER, BIAS, N_MDS };

typedef struct mds {
	md_t of[N_MDS], grad[N_MDS];
} mds;

static void md_make(md_t *md, int n, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
#if DNNL_VERSION_MAJOR >= 3
	library(dnnl_memory_desc_create_with_tag(md, n, dims, type, tag));
#else
	library(dnnl_memory_desc_init_by_tag(md, n, dims, type, tag));
#endif
}

static void mds_make(mds *m, const shape *s, dnnl_data_type_t type)
{
	int64_t gates = s->gru ? 3 : 4, h = s->width;
	dnnl_dims_t layer = {s->rows, s->samples, h}, iter = {1, 1, s->samples, h}, w = {1, 1, h, gates, h};
	dnnl_dims_t bias = {1, 1, 4, h};

	for (int g = 0; g < 2; g++) {
		md_t *to = g ? m->grad : m->of;
		dnnl_data_type_t t = g ? dnnl_f32 : type;

		for (int i = LAYER; i <= TO_CELL; i++)
			md_make(&to[i], i % 3 ? 4 : 3, i % 3 ? iter : layer, i % 3 == CELL ? dnnl_f32 : t,
				i % 3 ? dnnl_ldnc : dnnl_tnc);
		for (int i = W_LAYER; i <= W_ITER; i++)
			md_make(&to[i], 5, w, t, dnnl_format_tag_any);
		md_make(&to[BIAS], 4, bias, dnnl_f32, dnnl_ldgo);
	}
}

#if DNNL_VERSION_MAJOR >= 3
#define STATES(m, cell) (m)[LAYER], (m)[ITER] cell((m)[CELL])
#define CELL_OF(md) , md
#define NO_CELL(md)
#define ENDS(m, cell) (m)[TO_LAYER], (m)[TO_ITER] cell((m)[TO_CELL])

static dnnl_primitive_desc_t forward_pd(dnnl_engine_t e, const mds *m, bool gru)
{
	dnnl_rnn_direction_t to = dnnl_unidirectional_left2right;
	dnnl_primitive_desc_t pd;

	library(gru ? dnnl_lbr_gru_forward_primitive_desc_create(
			      &pd, e, dnnl_forward_training, to, STATES(m->of, NO_CELL), m->of[W_LAYER], m->of[W_ITER],
			      m->of[BIAS], ENDS(m->of, NO_CELL), 0, NULL)
		    : dnnl_lstm_forward_primitive_desc_create(
			      &pd, e, dnnl_forward_training, to, STATES(m->of, CELL_OF), m->of[W_LAYER], m->of[W_ITER],
			      NULL, NULL, m->of[BIAS], ENDS(m->of, CELL_OF), 0, NULL));
	return pd;
}

static dnnl_primitive_desc_t backward_pd(dnnl_engine_t e, const mds *m, bool gru, dnnl_primitive_desc_t hint)
{
	dnnl_rnn_direction_t to = dnnl_unidirectional_left2right;
	dnnl_primitive_desc_t pd;

	library(gru ? dnnl_lbr_gru_backward_primitive_desc_create(
			      &pd, e, dnnl_backward, to, STATES(m->of, NO_CELL), m->of[W_LAYER], m->of[W_ITER],
			      m->of[BIAS], ENDS(m->of, NO_CELL), STATES(m->grad, NO_CELL), m->grad[W_LAYER],
			      m->grad[W_ITER], m->grad[BIAS], ENDS(m->grad, NO_CELL), 0, hint, NULL)
		    : dnnl_lstm_backward_primitive_desc_create(
			      &pd, e, dnnl_backward, to, STATES(m->of, CELL_OF), m->of[W_LAYER], m->of[W_ITER], NULL,
			      NULL, m->of[BIAS], ENDS(m->of, CELL_OF), STATES(m->grad, CELL_OF), m->grad[W_LAYER],
			      m->grad[W_ITER], NULL, NULL, m->grad[BIAS], ENDS(m->grad, CELL_OF), 0, hint, NULL));
	return pd;
}
#else
static dnnl_primitive_desc_t forward_pd(dnnl_engine_t e, const mds *m, bool gru)
{
	dnnl_rnn_direction_t to = dnnl_unidirectional_left2right;
	const md_t *f = m->of;
	dnnl_primitive_desc_t pd;
	dnnl_rnn_desc_t d;

	library(gru ? dnnl_lbr_gru_forward_desc_init(&d, dnnl_forward_training, to, &f[LAYER], &f[ITER], &f[W_LAYER],
						     &f[W_ITER], &f[BIAS], &f[TO_LAYER], &f[TO_ITER], 0)
		    : dnnl_lstm_forward_desc_init(&d, dnnl_forward_training, to, &f[LAYER], &f[ITER], &f[CELL],
						  &f[W_LAYER], &f[W_ITER], &f[BIAS], &f[TO_LAYER], &f[TO_ITER],
						  &f[TO_CELL], 0));
	library(dnnl_primitive_desc_create(&pd, &d, NULL, e, NULL));
	return pd;
}

static dnnl_primitive_desc_t backward_pd(dnnl_engine_t e, const mds *m, bool gru, dnnl_primitive_desc_t hint)
{
	dnnl_rnn_direction_t to = dnnl_unidirectional_left2right;
	const md_t *f = m->of, *g = m->grad;
	dnnl_primitive_desc_t pd;
	dnnl_rnn_desc_t d;

	library(gru ? dnnl_lbr_gru_backward_desc_init(&d, dnnl_backward, to, &f[LAYER], &f[ITER], &f[W_LAYER],
						      &f[W_ITER], &f[BIAS], &f[TO_LAYER], &f[TO_ITER], &g[LAYER],
						      &g[ITER], &g[W_LAYER], &g[W_ITER], &g[BIAS], &g[TO_LAYER],
						      &g[TO_ITER], 0)
		    : dnnl_lstm_backward_desc_init(&d, dnnl_backward, to, &f[LAYER], &f[ITER], &f[CELL], &f[W_LAYER],
						   &f[W_ITER], &f[BIAS], &f[TO_LAYER], &f[TO_ITER], &f[TO_CELL],
						   &g[LAYER], &g[ITER], &g[CELL], &g[W_LAYER], &g[W_ITER], &g[BIAS],
						   &g[TO_LAYER], &g[TO_ITER], &g[TO_CELL], 0));
	library(dnnl_primitive_desc_create(&pd, &d, NULL, e, hint));
	return pd;
}
#endif

typedef struct theirs {
	dnnl_primitive_t primitive;
	int n;
	dnnl_exec_arg_t arg[2 * N_MDS + 1];
	const char *name;
} theirs;

/* @forward: whose workspace this one reads; NULL: it writes one. */
static void theirs_init(theirs *t, dnnl_engine_t e, dnnl_primitive_desc_t pd, const theirs *forward)
{
	static const int ids[] = {
		DNNL_ARG_WORKSPACE, DNNL_ARG_SRC_LAYER, DNNL_ARG_SRC_ITER, DNNL_ARG_SRC_ITER_C, DNNL_ARG_WEIGHTS_LAYER,
		DNNL_ARG_WEIGHTS_ITER, DNNL_ARG_BIAS, DNNL_ARG_DST_LAYER, DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C,
		DNNL_ARG_DIFF_SRC_LAYER, DNNL_ARG_DIFF_SRC_ITER, DNNL_ARG_DIFF_SRC_ITER_C, DNNL_ARG_DIFF_WEIGHTS_LAYER,
		DNNL_ARG_DIFF_WEIGHTS_ITER, DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_DST_LAYER, DNNL_ARG_DIFF_DST_ITER,
		DNNL_ARG_DIFF_DST_ITER_C};

	*t = (theirs){0};
	library(dnnl_primitive_create(&t->primitive, pd));
	library(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &t->name));
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		md_arg md = dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, ids[i]);
		size_t bytes = md ? dnnl_memory_desc_get_size(md) : 0;
		void *data;

		if (!bytes)
			continue;
		t->arg[t->n].arg = ids[i];
		if (forward && ids[i] == DNNL_ARG_WORKSPACE) {
			t->arg[t->n++].memory = forward->arg[0].memory;
			continue;
		}
		library(dnnl_memory_create(&t->arg[t->n].memory, md, e, DNNL_MEMORY_ALLOCATE));
		library(dnnl_memory_get_data_handle(t->arg[t->n].memory, &data));
		memset(data, 0, bytes);
		if (bytes % 4 == 0 && ids[i] != DNNL_ARG_WORKSPACE)
			fill(data, bytes, MR_BF16); /* small numbers in f32 as well */
		t->n++;
	}
}

static void theirs_fini(theirs *t, bool forward)
{
	for (int i = forward ? 0 : 1; i < t->n; i++)
		(void)dnnl_memory_destroy(t->arg[i].memory);
	(void)dnnl_primitive_destroy(t->primitive);
}

/* --- in turns ----------------------------------------------------------------------------------------------------- */

static void run(const theirs *t, dnnl_stream_t stream)
{
	library(dnnl_primitive_execute(t->primitive, stream, t->n, t->arg));
	library(dnnl_stream_wait(stream));
}

static void keep_best(double *best, double since)
{
	double took = now() - since;

	if (*best == 0 || took < *best)
		*best = took;
}

static void measure(const shape *s, mr_dtype dtype, int turns)
{
	const mr_kernels *k = mr_kernels_find("auto", dtype);
	double best[4] = {0}; /* forward and backward, ours and theirs */
	dnnl_primitive_desc_t forward, backward;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	theirs f, b;
	mr_kctx *kc;
	ours o;
	mds m;

	if (!k)
		return;
	check(k->ctx_create(k, (uint32_t)threads, &kc));
	ours_init(&o, s, k, kc);
	library(dnnl_engine_create(&engine, dnnl_cpu, 0));
	library(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
	memset(&m, 0, sizeof(m));
	mds_make(&m, s, dtype == MR_BF16 ? dnnl_bf16 : dnnl_f32);
	forward = forward_pd(engine, &m, s->gru);
	backward = backward_pd(engine, &m, s->gru, forward);
	theirs_init(&f, engine, forward, NULL);
	theirs_init(&b, engine, backward, &f);
	for (int i = 0; i < turns; i++) {
		double t = now();

		check(o.ops->forward(&o.call));
		keep_best(&best[0], t), t = now();
		check(o.ops->backward_input(&o.call));
		check(o.ops->backward_weight(&o.call));
		keep_best(&best[1], t), t = now();
		run(&f, stream);
		keep_best(&best[2], t), t = now();
		run(&b, stream);
		keep_best(&best[3], t);
	}
	printf("%s %lld x %lld, %lld rows, %s: forward %.2f ms, oneDNN %.2f (x%.2f, %s); backward %.2f ms, oneDNN %.2f "
	       "(x%.2f, %s); both x%.2f\n", s->what, (long long)s->samples, (long long)s->width, (long long)s->rows,
	       dtype == MR_BF16 ? "bf16" : "f32", best[0], best[2], best[2] / best[0], f.name, best[1], best[3],
	       best[3] / best[1], b.name, (best[2] + best[3]) / (best[0] + best[1]));
	theirs_fini(&b, false), theirs_fini(&f, true);
	(void)dnnl_primitive_desc_destroy(forward), (void)dnnl_primitive_desc_destroy(backward);
	for (int i = 0; i < N_MDS; i++)
		mr_onednn_md_free(&m.of[i]), mr_onednn_md_free(&m.grad[i]);
	(void)dnnl_stream_destroy(stream), (void)dnnl_engine_destroy(engine);
	ours_fini(&o);
	k->ctx_destroy(kc);
}

int main(int argc, char **argv)
{
	int turns = argc > 2 ? atoi(argv[2]) : 9;

	threads = argc > 1 ? atoi(argv[1]) : 1;
	if (threads < 1 || turns < 1) {
		fprintf(stderr, "usage: recurrent [threads [turns]]\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (int bf16 = 0; bf16 < 2; bf16++)
			measure(&shapes[i], bf16 ? MR_BF16 : MR_F32, turns);
	return 0;
}
#else
int main(void)
{
	fprintf(stderr, "recurrent: this build has no oneDNN\n");
	return 2;
}
#endif
