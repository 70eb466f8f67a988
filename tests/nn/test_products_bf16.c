/*
 * test_products_bf16.c - products of bf16 numbers by the backends `fused` and `auto`, in bf16 and bf16_pure: near to
 * f64's within what f32 sums and one rounding can lose, and the laws of nn/kernels.h to the bit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "nn/bf16.h"
#include "nn/choices.h"

enum { PIECES = 3, MOST_THREADS = 3 };

/* Of the numbers that are compared with f64: other builds compare all, a sanitizer looks at what the products touch. */
enum { EVERY = MR_SANITIZED ? 31 : 1 };

static const struct shape {
	int64_t m, n, k;
} shapes[] = {{1, 1, 1},   {1, 33, 7},    {5, 31, 64},  {33, 65, 47}, {64, 96, 130}, {100, 40, 33},
	      {32, 32, 32}, {12, 257, 20}, {3, 5, 9001}, {2, 70, 4300}, {200, 300, 9},
	      {40, 600, 20}, {600, 560, 3}, {99, 97, 2700}, {97, 4100, 1}};

/* The last one is wider than what is finished together, and a large one for f64. */
enum { N_SHAPES = sizeof(shapes) / sizeof(shapes[0]), N_NEAR = N_SHAPES - 1 };

enum { LINES = 6 };

static mr_choice_line to_onednn[LINES], to_f32[LINES], small_to_onednn[LINES];
static const mr_choices all_onednn = {.source = "all onednn", .line = to_onednn, .n = LINES};
static const mr_choices all_f32 = {.source = "all f32", .line = to_f32, .n = LINES};
static const mr_choices small_onednn = {.source = "small onednn", .line = small_to_onednn, .n = LINES};

/* Products of up to @size elements, 0: all, by @backend, for the instructions at hand. */
static void fill(mr_choice_line *line, const char *backend, int64_t size)
{
	static const char *const kinds[] = {"gemm_nn", "gemm_nt", "gemm_tn"}, *const threads[] = {"one", "team"};

	for (int i = 0; i < LINES; i++) {
		snprintf(line[i].isa, sizeof(line[i].isa), "%s", mr_kernels_isa(MR_BF16));
		snprintf(line[i].dtype, sizeof(line[i].dtype), "bf16");
		snprintf(line[i].threads, sizeof(line[i].threads), "%s", threads[i % 2]);
		snprintf(line[i].kind, sizeof(line[i].kind), "%s", kinds[i / 2]);
		snprintf(line[i].backend, sizeof(line[i].backend), "%s", backend);
		line[i].size = size;
	}
}

/* Of all backends in bf16 that are under test, the @i-th; name NULL: past the end. Odd ones are in bf16_pure. */
static mr_kernels backend_at(int i)
{
	const char *name = i < 2 ? "fused" : "auto";
	const mr_kernels *found = mr_kernels_of(name, i % 2 ? MR_AS_bf16_pure : MR_AS_bf16);
	mr_kernels k = {0};

	if (!found || i > 9 || (i > 5 && !mr_kernels_find("onednn", MR_BF16)))
		return k;
	fill(to_onednn, "onednn", 0);
	fill(to_f32, "f32", 0);
	fill(small_to_onednn, "onednn", 4096);
	k = *found;
	if (i > 3)
		k.choices = i > 7 ? &small_onednn : i > 5 ? &all_onednn : &all_f32;
	return k;
}

/* Bytes of a gradient's number, and of a state's. */
static size_t wide_bytes(const mr_kernels *k)
{
	return mr_dtype_bytes(k->types.gradients);
}

static void *room(size_t n, size_t bytes)
{
	void *p = calloc(n ? n : 1, bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	return p;
}

static uint16_t *numbers(uint64_t what, int64_t n)
{
	uint16_t *x = room((size_t)n, sizeof(*x));
	double many[MR_RNG_MANY];

	for (int64_t i = 0; i < n; i++) {
		if (i % MR_RNG_MANY == 0)
			mr_rng_normals(5, MR_RNG_TEST, what, 1, (uint64_t)i / 4, many);
		x[i] = mr_bf16_round((float)many[i % MR_RNG_MANY]);
	}
	return x;
}

static double of(const uint16_t *x, int64_t i)
{
	return (double)mr_bf16_widen(x[i]);
}

/* --- near to f64 -------------------------------------------------------------------------------------------------- */

static double gelu(double z, double *slope)
{
	double u = 0.79788456080286536 * (z + 0.044715 * z * z * z), t = tanh(u);

	*slope = 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * 0.79788456080286536 * (1 + 3 * 0.044715 * z * z);
	return 0.5 * z * (1 + t);
}

typedef struct near_case {
	mr_gemm g;
	const uint16_t *a, *b, *bias, *was, *addend, *through_aux;
	uint16_t *aux;
	const void *c;
	bool rounds; /* a gradient too */
} near_case;

/* Element i, j against f64. Lost are: of f32 sums 2^-24 of all that was added, for each addition (and a pair adds
 * two); by each rounding to bf16 2^-9. */
static bool is_near(const near_case *x, int64_t i, int64_t j)
{
	const mr_gemm *g = &x->g;
	int64_t at = i * g->n + j;
	double sum = 0, size = 0, lost, slope = 0, want, got, round = ldexp(1, -8);

	for (int64_t l = 0; l < g->k; l++) {
		double p = of(x->a, g->ta ? l * g->m + i : i * g->k + l) *
			   of(x->b, g->tb ? j * g->k + l : l * g->n + j);

		sum += p;
		size += fabs(p);
	}
	if (g->of == MR_GEMM_GRADIENTS) {
		want = sum + (x->was ? of(x->was, at) : 0);
		size += x->was ? fabs(of(x->was, at)) : 0;
		got = x->rounds ? of(x->c, at) : (double)((const float *)x->c)[at];
		lost = (double)(2 * g->k + 2) * ldexp(size, -24);
		return fabs(got - want) <= lost + (x->rounds ? round * (fabs(want) + lost) : 0);
	}
	want = sum + (x->was ? of(x->was, at) : 0) + (x->bias ? of(x->bias, j) : 0);
	lost = (double)(2 * g->k + 4) * ldexp(size + fabs(want), -24) + 1e-6 + round * fabs(want);
	if (g->act == MR_ACT_RELU)
		want = want > 0 ? want : 0;
	if (g->act == MR_ACT_GELU) { /* whose slope is below 1.13, and whose slope's slope below 0.8 */
		want = gelu(want, &slope);
		lost = 1.13 * lost;
		if (fabs(of(x->aux, at) - slope) > 0.8 * lost + round)
			return false;
	}
	if (x->addend) {
		want += of(x->addend, at);
		lost += round * fabs(want) + round * lost;
	}
	if (x->through_aux) {
		want *= of(x->through_aux, at);
		lost = lost * fabs(of(x->through_aux, at)) * (1 + round) + round * fabs(want);
	}
	got = of(x->c, at);
	return fabs(got - want) <= lost;
}

static void check_near(const near_case *x, const char *backend, uint32_t threads)
{
	int64_t off = 0, n = x->g.m * x->g.n, step = 1 + 2 * (n * (x->g.k + 8) >> 21); /* of many not all */

	for (int64_t at = 0; at < n; at += EVERY * step)
		off += !is_near(x, at / x->g.n, at % x->g.n);
	if (off)
		fprintf(stderr, "\n%s, %u threads, %lld x %lld x %lld%s%s: %lld elements are off\n", backend, threads,
			(long long)x->g.m, (long long)x->g.n, (long long)x->g.k, x->g.ta ? ", A^T" : "",
			x->g.tb ? ", B^T" : "", (long long)off);
	CU_ASSERT_EQUAL(off, 0);
}

/* Every epilogue that layers ask for. */
static void check_activations(const mr_kernels *k, mr_kctx *kc, uint32_t threads, const struct shape *s, bool tb)
{
	enum { PLAIN, BIAS, RELU, GELU, ADD, ADDEND, THROUGH, N_EPILOGUES };
	int64_t n = s->m * s->n;
	uint16_t *a = numbers(1, s->m * s->k), *b = numbers(2, s->k * s->n), *bias = numbers(3, s->n);
	uint16_t *more = numbers(4, n), *c = room((size_t)n, 2), *aux = room((size_t)n, 2);

	for (int e = 0; e < N_EPILOGUES; e++) {
		near_case x = {.g = {.m = s->m, .n = s->n, .k = s->k, .tb = tb}, .a = a, .b = b, .c = c, .aux = aux};

		x.g.bias = !tb && e >= BIAS && e <= GELU;
		x.bias = x.g.bias ? bias : NULL;
		x.g.act = tb ? MR_ACT_NONE : e == RELU ? MR_ACT_RELU : e == GELU ? MR_ACT_GELU : MR_ACT_NONE;
		x.g.add = e == ADD;
		x.was = e == ADD ? more : NULL;
		x.g.addend = x.addend = e == ADDEND ? more : NULL;
		x.g.fuse_act_backward = e == THROUGH ? MR_ACT_GELU : MR_ACT_NONE;
		x.g.fuse_act_backward_aux = x.through_aux = e == THROUGH ? more : NULL;
		memcpy(c, more, (size_t)n * 2);
		MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &x.g, .a = a, .b = b, .bias = bias, .c = c,
							.aux = x.g.act == MR_ACT_GELU ? aux : NULL}));
		check_near(&x, k->name, threads);
	}
	free(a), free(b), free(bias), free(more), free(c), free(aux);
}

static void check_gradients(const mr_kernels *k, mr_kctx *kc, uint32_t threads, const struct shape *s)
{
	int64_t n = s->m * s->n;
	uint16_t *a = numbers(1, s->m * s->k), *b = numbers(2, s->k * s->n), *was = numbers(4, n);
	float *c = room((size_t)n, sizeof(*c));

	for (int add = 0; add < 2; add++) {
		near_case x = {.g = {.of = MR_GEMM_GRADIENTS, .m = s->m, .n = s->n, .k = s->k, .ta = true, .add = add},
			       .a = a,
			       .b = b,
			       .was = add ? was : NULL,
			       .c = c,
			       .rounds = mr_types_pure(&k->types)};

		for (int64_t i = 0; i < n && !x.rounds; i++)
			c[i] = mr_bf16_widen(was[i]);
		if (x.rounds)
			memcpy(c, was, (size_t)n * sizeof(*was));
		MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &x.g, .a = a, .b = b, .c = c}));
		check_near(&x, k->name, threads);
	}
	free(a), free(b), free(was), free(c);
}

static void products_are_near_f64(void)
{
	mr_kernels k;

	for (int i = 0; (k = backend_at(i)).name; i++)
		for (uint32_t threads = 1; threads <= MOST_THREADS; threads++) {
			mr_kctx *kc;

			MR_CHECK_OK(k.ctx_create(&k, threads, &kc));
			for (int s = 0; s < N_NEAR; s++) {
				check_activations(&k, kc, threads, &shapes[s], false);
				check_activations(&k, kc, threads, &shapes[s], true);
				check_gradients(&k, kc, threads, &shapes[s]);
			}
			k.ctx_destroy(kc);
		}
}

/* --- laws --------------------------------------------------------------------------------------------------------- */

/* Weights, rests and state that a step reads and writes, and the sums of columns. What is of the type of gradients and
 * states is f32, or bf16. */
typedef struct state {
	int64_t n;
	uint16_t *w;
	int16_t *rest;
	void *m, *v, *c, *sums;
} state;

static void put(const mr_kernels *k, void *to, int64_t i, float x)
{
	if (mr_types_pure(&k->types))
		((uint16_t *)to)[i] = mr_bf16_round(x);
	else
		((float *)to)[i] = x;
}

static state new_state(const mr_kernels *k, int64_t rows, int64_t cols)
{
	state s = {.n = rows * cols, .w = numbers(6, rows * cols)};
	uint16_t *v = numbers(7, s.n);

	s.rest = room((size_t)s.n, 2);
	s.m = room((size_t)s.n, wide_bytes(k));
	s.v = room((size_t)s.n, wide_bytes(k));
	s.c = room((size_t)s.n, wide_bytes(k));
	s.sums = room((size_t)cols, wide_bytes(k));
	for (int64_t i = 0; i < s.n; i++) {
		float x = mr_bf16_widen(v[i]);

		s.rest[i] = (int16_t)v[i];
		put(k, s.m, i, x);
		put(k, s.v, i, fabsf(x));
		put(k, s.c, i, 1 + x);
	}
	free(v);
	return s;
}

static void free_state(state *s)
{
	free(s->w), free(s->rest), free(s->m), free(s->v), free(s->c), free(s->sums);
}

static void same_state(const mr_kernels *k, const state *x, const state *y, int64_t cols, bool c, const char *what)
{
	size_t n = (size_t)x->n, wide = n * wide_bytes(k);
	bool same = !memcmp(x->w, y->w, n * 2) && !memcmp(x->rest, y->rest, n * 2) && !memcmp(x->m, y->m, wide) &&
		    !memcmp(x->v, y->v, wide) && !memcmp(x->sums, y->sums, (size_t)cols * wide_bytes(k)) &&
		    (!c || !memcmp(x->c, y->c, wide));

	if (!same)
		fprintf(stderr, "\n%s: %lld numbers differ somewhere\n", what, (long long)x->n);
	CU_ASSERT(same);
}

static mr_step step_of(const mr_kernels *k, const state *s, int kind)
{
	bool pure = mr_types_pure(&k->types);

	return (mr_step){.kind = (mr_step_kind)kind, .nesterov = kind & 1, .gscale = 0.5, .lr = 1e-2, .decay = 1e-4,
			 .mu = 0.9, .b1 = 0.9, .b2 = 0.99, .eps = 1e-8, .c1 = 0.3, .c2 = 0.2, .cg = 0.4, .cm = 0.6,
			 .src = s->w, .dst = s->w, .m = s->m, .v = s->v, .src_rest = pure ? NULL : s->rest,
			 .dst_rest = pure ? NULL : s->rest,
			 .rounding = {.seed = 3, .step = kind == 1 ? 0 : 5, .first = 0x1fffffff7, .param = 2}};
}

/* A sum of products is the products that add to each other, a step inside is one behind, and the rows that are wanted
 * besides are copies; also with another size of cache, and with one thread where the others have several, but for
 * backends whose table of choices may have other lines for teams. */
static void check_laws(const mr_kernels *k, uint32_t threads, const struct shape *shape, int kind)
{
	struct shape s = *shape;
	mr_gemm g = {.of = MR_GEMM_GRADIENTS, .m = s.m, .n = s.n, .k = s.k, .ta = true, .add = kind & 2};
	uint16_t *a[PIECES], *b[PIECES];
	int32_t row[2] = {0, (int32_t)(s.m - 1)};
	mr_gemm_rows rows = {.n = 2, .row = row, .out = room((size_t)s.n * 2, 4), .room = room((size_t)s.k * 2, 4)};
	state x = new_state(k, s.m, s.n), y = new_state(k, s.m, s.n), z = new_state(k, s.m, s.n);
	mr_step x_step = step_of(k, &x, kind), y_step = step_of(k, &y, kind), z_step = step_of(k, &z, kind);
	size_t row_bytes = (size_t)s.n * wide_bytes(k);
	mr_kernels small = *k;
	mr_kctx *one, *many;

	small.l2_bytes = kind % 3 * 65536; /* 0: as `one` has it */
	MR_CHECK_OK(k->ctx_create(k, k->choices ? threads : 1, &one));
	MR_CHECK_OK(k->ctx_create(&small, threads, &many));
	for (uint64_t j = 0; j < PIECES; j++) {
		a[j] = numbers(10 + j, s.m * s.k);
		b[j] = numbers(20 + j, s.n * s.k);
	}
	g.colsum_b = x.sums;
	for (int j = 0; j < PIECES; j++, g.add = true) {
		mr_gemm apart = g;

		apart.colsum_b = NULL;
		MR_CHECK_OK(k->gemm(one, &(mr_gemm_args){.g = &apart, .a = a[j], .b = b[j], .c = x.c}));
		MR_CHECK_OK(k->colsum(one, &(mr_colsum_args){.rows = s.k, .cols = s.n, .x = b[j], .y = x.sums,
							     .add = apart.add}));
	}
	g.add = kind & 2;
	g.colsum_b = y.sums;
	MR_CHECK_OK(k->gemm_sum(many, &(mr_gemm_sum_args){.g = &g, .n = PIECES, .a = (const void *const *)a,
							  .b = (const void *const *)b, .c = y.c}));
	same_state(k, &x, &y, s.n, true, "gemm_sum");
	MR_CHECK_OK(k->step(one, &(mr_step_args){.n = s.m * s.n, .s = &x_step, .g = x.c}));
	g.colsum_b = z.sums;
	MR_CHECK_OK(k->gemm_sum(many, &(mr_gemm_sum_args){.g = &g, .n = PIECES, .a = (const void *const *)a,
							  .b = (const void *const *)b, .c = z.c, .s = &z_step}));
	same_state(k, &x, &z, s.n, false, "gemm_sum with a step");
	g.add = false;
	g.colsum_b = x.sums;
	MR_CHECK_OK(k->gemm(one, &(mr_gemm_args){.g = &g, .a = a[0], .b = b[0], .c = x.c}));
	MR_CHECK_OK(k->step(one, &(mr_step_args){.n = s.m * s.n, .s = &x_step, .g = x.c}));
	MR_CHECK_OK(k->step(one, &(mr_step_args){.n = s.m * s.n, .s = &y_step, .g = y.c}));
	g.colsum_b = y.sums;
	MR_CHECK_OK(k->gemm_step_rows(many, &(mr_gemm_step_rows_args){.g = &g, .a = a[0], .b = b[0], .c = y.c,
								      .s = &y_step, .r = &rows}));
	same_state(k, &x, &y, s.n, false, "gemm_step_rows");
	for (int r = 0; r < 2; r++)
		CU_ASSERT(!memcmp((char *)rows.out + (size_t)r * row_bytes,
				  (const char *)x.c + (size_t)row[r] * row_bytes, row_bytes));
	for (int j = 0; j < PIECES; j++)
		free(a[j]), free(b[j]);
	free(rows.out), free(rows.room), free_state(&x), free_state(&y), free_state(&z);
	k->ctx_destroy(one);
	k->ctx_destroy(many);
}

static void laws_hold(void)
{
	mr_kernels k;
	int kind = 0;

	for (int i = 0; (k = backend_at(i)).name; i++)
		for (int s = 0; s < N_SHAPES; s++, kind++)
			check_laws(&k, 1 + (uint32_t)s % MOST_THREADS, &shapes[s], kind % MR_N_STEPS);
}

/* What is behind a product is an operation of its own, and bits do not depend on the number of threads. */
static void epilogues_are_operations(void)
{
	const struct shape s = {100, 70, 130};
	int64_t n = s.m * s.n;
	uint16_t *a = numbers(1, s.m * s.k), *b = numbers(2, s.k * s.n), *more = numbers(4, n);
	uint16_t *c = room((size_t)n, 2), *want = room((size_t)n, 2);
	mr_gemm g = {.m = s.m, .n = s.n, .k = s.k, .tb = true};
	mr_kernels k;

	for (int i = 0; (k = backend_at(i)).name; i++)
		for (uint32_t threads = 1; threads <= MOST_THREADS; threads++)
			for (int act = MR_ACT_NONE; act <= MR_ACT_GELU; act++) {
				mr_gemm apart = g, whole = g;
				mr_kctx *one, *many;

				MR_CHECK_OK(k.ctx_create(&k, i > 5 ? threads : 1, &one));
				MR_CHECK_OK(k.ctx_create(&k, threads, &many));
				whole.addend = act == MR_ACT_NONE ? more : NULL;
				whole.fuse_act_backward = (mr_act)act;
				whole.fuse_act_backward_aux = act == MR_ACT_NONE ? NULL : more;
				MR_CHECK_OK(k.gemm(one, &(mr_gemm_args){.g = &apart, .a = a, .b = b, .c = want}));
				if (act == MR_ACT_NONE)
					MR_CHECK_OK(k.sum(one, &(mr_sum_args){.n = n, .a = want, .b = more,
									      .y = want}));
				else
					MR_CHECK_OK(k.act_backward(
						one, &(mr_act_backward_args){.act = (mr_act)act, .n = n, .aux = more,
									     .dy = want, .dz = want}));
				MR_CHECK_OK(k.gemm(many, &(mr_gemm_args){.g = &whole, .a = a, .b = b, .c = c}));
				CU_ASSERT(!memcmp(c, want, (size_t)n * 2));
				k.ctx_destroy(one);
				k.ctx_destroy(many);
			}
	free(a), free(b), free(more), free(c), free(want);
}

/* NaN and infinity go through products, epilogues and steps, and stay in their rows and columns. */
static void nan_goes_through(void)
{
	enum { M = 40, COLS = 35, K = 21 };
	uint16_t *a = numbers(1, M * K), *b = numbers(2, K * COLS), c[M * COLS], aux[M * COLS];
	mr_gemm g = {.m = M, .n = COLS, .k = K, .act = MR_ACT_RELU};
	mr_kernels k;
	int off = 0;

	a[3 * K + 20] = 0x7fc0;
	a[38 * K + 1] = 0x7f80;
	b[4 * COLS + 34] = 0xffc1;
	for (int i = 0; (k = backend_at(i)).name; i++) {
		mr_kctx *kc;

		MR_CHECK_OK(k.ctx_create(&k, 2, &kc));
		for (g.act = MR_ACT_NONE; g.act <= MR_ACT_GELU; g.act++) {
			MR_CHECK_OK(k.gemm(kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .c = c,
							       .aux = g.act == MR_ACT_GELU ? aux : NULL}));
			for (int at = 0; at < M * COLS; at++) {
				bool is_nan = at / COLS == 3 || at % COLS == 34, is_inf = at / COLS == 38;
				float x = mr_bf16_widen(c[at]);

				off += is_nan	? !isnan(x)
				       : is_inf ? !isinf(x) && (g.act == MR_ACT_NONE || fabsf(x) > 1e-20F)
						: !isfinite(x);
			}
		}
		k.ctx_destroy(kc);
	}
	CU_ASSERT_EQUAL(off, 0);
	free(a), free(b);
}

void mr_suite_products_bf16(void);

void mr_suite_products_bf16(void)
{
	MR_SUITE("products_bf16");
	MR_TEST(products_are_near_f64);
	MR_TEST(laws_hold);
	MR_TEST(epilogues_are_operations);
	MR_TEST(nan_goes_through);
}
