/*
 * test_sparse_rows.c - a head tied to a token embedding, stepped in two parts (nn/sparse_rows.h), against two
 * gradients, their sum and a step: equal to the bit over several micro-batches, for every step, in and out of place,
 * with tokens that occur often, and all of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "step_variants.h"
#include "kernels_ops.h"
#include "nn/sparse_rows.h"
#include "nn/layer.h"

#define MICROS 3

/* Samples of T tokens, a vocabulary, columns; @used: tokens are below it. */
typedef struct shape {
	int64_t samples, t, vocab, cols, used;
} shape;

/* The table of the embedding, which is the head's weight, its positions, the head's bias. */
enum { TABLE, PLACES, BIAS, N_TENSORS };

typedef struct pair {
	const mr_kernels *k;
	mr_kctx *kc;
	shape s;
	int kind;
	bool apart;                    /* weights are stepped from one buffer to another */
	int64_t n[N_TENSORS];
	void *w[N_TENSORS], *to[N_TENSORS], *m[N_TENSORS], *v[N_TENSORS], *dw[N_TENSORS];
	void *x, *dlogits, *dy, *head; /* rows into the head, their gradients above it and above the embedding, the
	                                  head's gradient */
	int32_t *token;
	mr_step step[N_TENSORS];
} pair;

static void pair_init(pair *p, const mr_kernels *k, uint32_t threads, const shape *s, int kind, bool apart)
{
	*p = (pair){.k = k, .s = *s, .kind = kind, .apart = apart, .n = {s->vocab * s->cols, s->t * s->cols, s->vocab}};
	MR_CHECK_OK(k->ctx_create(k, threads, &p->kc));
	for (uint32_t i = 0; i < N_TENSORS; i++) {
		p->w[i] = make_input(k, p->n[i], 1 + 4 * i, -1, 1);
		p->to[i] = apart ? make_output(k, p->n[i]) : p->w[i];
		p->m[i] = make_input(k, p->n[i], 2 + 4 * i, -1, 1);
		p->v[i] = make_input(k, p->n[i], 3 + 4 * i, 0, 1);
		p->dw[i] = make_output(k, p->n[i]);
	}
	p->head = make_output(k, p->n[TABLE]);
}

static void pair_fini(pair *p)
{
	for (int i = 0; i < N_TENSORS; i++) {
		if (p->apart)
			free(p->to[i]);
		free(p->w[i]), free(p->m[i]), free(p->v[i]), free(p->dw[i]);
	}
	free(p->head);
	p->k->ctx_destroy(p->kc);
}

static void fill_steps(pair *p)
{
	for (int i = 0; i < N_TENSORS; i++) {
		p->step[i] = step_variant(p->kind, p->w[i], p->to[i], p->m[i], p->v[i]);
		p->step[i].decay = i == TABLE ? 0.001 : 0;
	}
}

/* W of the head and then of the embedding; @sparse_rows NULL: gradients alone. */
static void weights(pair *p, const mr_sparse_rows *sparse_rows)
{
	const shape *s = &p->s;
	mr_layer_cfg head = {.out = s->vocab, .transposed = true},
		     embed = {.out = s->cols, .vocab = s->vocab, .context = s->t};
	void *dw_head[2] = {p->head, p->dw[BIAS]}, *dw_embed[2] = {sparse_rows ? NULL : p->dw[TABLE], p->dw[PLACES]};
	mr_step of_head[2] = {p->step[TABLE], p->step[BIAS]}, of_embed[2] = {p->step[TABLE], p->step[PLACES]};
	mr_layer_call c = {.k = p->k, .kc = p->kc, .samples = s->samples, .sparse_rows = sparse_rows, .train = true};

	c.cfg = &head;
	c.in = &(mr_shape){.rows = s->t, .cols = s->cols};
	c.out = &(mr_shape){.rows = s->t, .cols = s->vocab};
	c.x[0] = p->x;
	c.dy[0] = p->dlogits;
	c.dw = dw_head;
	c.step = sparse_rows ? of_head : NULL;
	MR_CHECK_OK(mr_layer_weight(mr_layer_find("linear"), &c));
	c.cfg = &embed;
	c.in = &(mr_shape){.rows = s->t, .cols = 1, .tokens = true};
	c.out = &(mr_shape){.rows = s->t, .cols = s->cols};
	c.x[0] = p->token;
	c.dy[0] = p->dy;
	c.dw = dw_embed;
	c.step = sparse_rows ? of_embed : NULL;
	MR_CHECK_OK(mr_layer_weight(mr_layer_find("embedding"), &c));
}

static void two_gradients(pair *p)
{
	weights(p, NULL);
	MR_CHECK_OK(p->k->sum(p->kc, &(mr_sum_args){.n = p->n[TABLE], .a = p->dw[TABLE], .b = p->head,
						    .y = p->dw[TABLE]}));
	for (int i = 0; i < N_TENSORS; i++)
		MR_CHECK_OK(p->k->step(p->kc, &(mr_step_args){.n = p->n[i], .s = &p->step[i], .g = p->dw[i]}));
}

/* Its memory is what the layout asked for, and full of NaN. */
static void *sparse_make(mr_sparse_rows *f, const pair *p)
{
	const shape *s = &p->s;
	mr_arena a;
	void *mem;

	mr_arena_init(&a, NULL, 0);
	mr_sparse_rows_layout(f, &a, &p->k->types, s->samples * s->t, s->vocab, s->cols, s->samples * s->t);
	mem = aligned_alloc(64, (a.used + 63) & ~(size_t)63);
	memset(mem, 0xFF, a.used);
	mr_arena_init(&a, mem, a.used);
	mr_sparse_rows_layout(f, &a, &p->k->types, s->samples * s->t, s->vocab, s->cols, s->samples * s->t);
	return mem;
}

static void check_same(const pair *got, const pair *want, const char *what, void *const *a, void *const *b)
{
	for (int i = 0; i < N_TENSORS; i++) {
		bool same = !memcmp(a[i], b[i], (size_t)want->n[i] * mr_dtype_bytes(want->k->types.weights));

		for (int64_t j = 0; same && j < want->n[i]; j++)
			same = isfinite(number_at(want->k, b[i], j));
		if (!same)
			fprintf(stderr,
				"\n%s %zu bytes: %s of tensor %d differ, step %d, %lld tokens of %lld, %lld columns\n",
				got->k->name, mr_dtype_bytes(got->k->types.weights), what, i, got->kind,
				(long long)(got->s.samples * got->s.t), (long long)got->s.vocab,
				(long long)got->s.cols);
		CU_ASSERT_FATAL(same);
	}
}

static void turn(pair *p)
{
	for (int i = 0; i < N_TENSORS && p->apart; i++) {
		void *w = p->w[i];

		p->w[i] = p->to[i];
		p->to[i] = w;
	}
}

static void compare(const mr_kernels *k, uint32_t threads, const shape *s, int kind, bool apart)
{
	int64_t rows = s->samples * s->t;
	pair want, got;
	mr_sparse_rows sparse_rows;
	void *mem;

	pair_init(&want, k, threads, s, kind, apart);
	pair_init(&got, k, threads, s, kind, apart);
	mem = sparse_make(&sparse_rows, &got);
	for (uint32_t m = 0; m < MICROS; m++) {
		got.x = want.x = make_input(k, rows * s->cols, 100 + m, -1, 1);
		got.dlogits = want.dlogits = make_input(k, rows * s->vocab, 200 + m, -1, 1);
		got.dy = want.dy = make_input(k, rows * s->cols, 300 + m, -1, 1);
		got.token = want.token = make_tokens(rows, s->used, 400 + m);
		fill_steps(&want), fill_steps(&got);
		two_gradients(&want);
		mr_sparse_rows_find(&sparse_rows, got.token, rows, s->vocab);
		CU_ASSERT(sparse_rows.n > 0 && sparse_rows.n <= rows && sparse_rows.n <= s->used);
		weights(&got, &sparse_rows);
		check_same(&got, &want, "weights", got.to, want.to);
		check_same(&got, &want, "m", got.m, want.m);
		check_same(&got, &want, "v", got.v, want.v);
		turn(&want), turn(&got);
		free(got.x), free(got.dlogits), free(got.dy), free(got.token);
	}
	free(mem);
	pair_fini(&want), pair_fini(&got);
}

static void parts_equal_two_gradients(void)
{
	/* sparse_rows and many tokens, each once or often; all tokens of a small vocabulary; more than 256 rows with a
	 * large and a small table */
	static const shape shapes[] = {{1, 1, 7, 5, 7},     {3, 5, 200, 33, 200}, {4, 16, 300, 64, 9},
				       {2, 20, 6, 40, 6},   {5, 60, 130, 130, 50}, {6, 50, 40, 24, 40},
				       {1, 200, 800, 17, 800}}; /* the last: more than a hundred rows occur */
	const mr_kernels *all[3] = {mr_kernels_find("reference", MR_F32), mr_kernels_find("reference", MR_F64),
				    mr_kernels_find("fused", MR_F32)};

	for (int i = 0; i < 3; i++)
		for (uint32_t threads = 1; all[i] && threads <= (i == 2 ? 2 : 1); threads++)
			for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
				for (int kind = 0; kind < N_STEPS; kind++)
					compare(all[i], threads, &shapes[s], kind, kind % 2);
}

static void finds_each_token_once(void)
{
	static const int32_t first[6] = {4, 2, 4, 4, 0, 2}, second[3] = {1, 1, 4};
	pair p = {.k = mr_kernels_find("reference", MR_F32), .s = {1, 6, 5, 3, 5}};
	mr_sparse_rows f;
	void *mem = sparse_make(&f, &p);

	mr_sparse_rows_find(&f, first, 6, 5);
	CU_ASSERT(f.n == 3 && f.row[0] == 4 && f.row[1] == 2 && f.row[2] == 0);
	CU_ASSERT(f.placed[0] == 0 && f.placed[1] == 1 && f.placed[2] == 0 && f.placed[3] == 0 && f.placed[4] == 2 &&
		  f.placed[5] == 1);
	mr_sparse_rows_find(&f, second, 3, 5);
	CU_ASSERT(f.n == 2 && f.row[0] == 1 && f.row[1] == 4);
	CU_ASSERT(f.placed[0] == 0 && f.placed[1] == 0 && f.placed[2] == 1);
	free(mem);
	CU_ASSERT(mr_sparse_rows_pays(16, 64) && !mr_sparse_rows_pays(17, 64) && mr_sparse_rows_pays(256, 50257));
}

void mr_suite_sparse_rows(void);

void mr_suite_sparse_rows(void)
{
	MR_SUITE("sparse_rows");
	MR_TEST(finds_each_token_once);
	MR_TEST(parts_equal_two_gradients);
}
