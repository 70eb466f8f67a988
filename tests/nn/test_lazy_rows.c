/*
 * test_lazy_rows.c - steps of tables (nn/lazy_rows.h): rows that have a gradient are stepped as in the step of all, to
 * the bit, and nothing else changes; gradients that are sums of rows (nn/row_sum.h) give the bits of whole ones. And
 * the index of the rows that a micro-batch meets (nn/row_index.h).
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels_ops.h"
#include "layer_rig.h"
#include "nn/element.h"
#include "nn/lazy_rows.h"
#include "nn/row_index.h"
#include "step_variants.h"

/* What a step reads and writes. */
enum { W, TO, M, V, REST, N_TENSORS };

typedef struct table {
	const mr_kernels *k;
	int64_t rows, cols;
	size_t bytes[N_TENSORS]; /* of a row */
	char *at[N_TENSORS];
} table;

static void fill(mr_dtype t, void *x, int64_t n, uint32_t stream)
{
	for (int64_t i = 0; i < n; i++)
		mr_element_put(t, x, i, mr_rng_u32(3, MR_RNG_TEST, 0, stream, (uint64_t)i) % 1000 / 500.0 + 0.25);
}

static void table_init(table *t, const mr_kernels *k, int64_t rows, int64_t cols)
{
	const mr_types *y = &k->types;
	const mr_dtype type[N_TENSORS] = {y->weights, y->weights, y->state, y->state, MR_BF16};

	*t = (table){.k = k, .rows = rows, .cols = cols};
	for (uint32_t i = 0; i < N_TENSORS; i++) {
		t->bytes[i] = (size_t)cols * mr_dtype_bytes(type[i]);
		t->at[i] = calloc((size_t)rows, t->bytes[i]);
		CU_ASSERT_PTR_NOT_NULL_FATAL(t->at[i]);
		fill(type[i], t->at[i], rows * cols, i);
	}
}

static void table_fini(table *t)
{
	for (int i = 0; i < N_TENSORS; i++)
		free(t->at[i]);
}

static mr_step step_of(const table *t, int kind, bool apart)
{
	mr_step s = step_variant(kind, t->at[W], t->at[apart ? TO : W], t->at[M], t->at[V]);

	if (mr_types_rest_bytes(&t->k->types))
		s.src_rest = s.dst_rest = (int16_t *)(void *)t->at[REST];
	s.rounding = (mr_rounding){.seed = 5, .step = 7, .param = 2};
	return s;
}

/* Row @r is met: alone, next to others, at both ends; every third row has zeros of both signs. */
static bool is_met(int64_t r)
{
	return r % 7 == 0 || r % 5 == 1;
}

static void check(const mr_kernels *k, mr_kctx *kc, int64_t rows, int64_t cols, int kind, bool apart)
{
	table got, all, before;
	mr_dtype gradients = k->types.gradients;
	char *g = calloc((size_t)(rows * cols), mr_dtype_bytes(gradients));
	mr_step s, s_all;

	table_init(&got, k, rows, cols), table_init(&all, k, rows, cols), table_init(&before, k, rows, cols);
	for (int64_t r = 0; r < rows; r++) /* of a row that is met one number is not 0: any of them */
		for (int64_t j = 0; j < cols; j++)
			mr_element_put(gradients, g, r * cols + j,
				       is_met(r) && j == r % cols ? 1e-3 : (r % 3 ? 0.0 : -0.0));
	s = step_of(&got, kind, apart), s_all = step_of(&all, kind, apart);
	MR_CHECK_OK(mr_lazy_step(k, kc, cols, rows * cols, &s, g, NULL));
	MR_CHECK_OK(k->step(kc, &(mr_step_args){.n = rows * cols, .s = &s_all, .g = g}));
	for (int64_t r = 0; r < rows; r++)
		for (int i = 0; i < N_TENSORS; i++) {
			const table *want = is_met(r) ? &all : &before;
			/* a row that is not met is copied */
			int of = i == TO && apart && !is_met(r) ? W : i;
			size_t at = (size_t)r * got.bytes[i];

			CU_ASSERT_FATAL(!memcmp(got.at[i] + at, want->at[of] + at, got.bytes[i]));
		}
	table_fini(&got), table_fini(&all), table_fini(&before);
	free(g);
}

static void rows_without_a_gradient_stay(void)
{
	static const int64_t sizes[][2] = {{1, 1}, {50, 16}, {23, 5}, {40, 67}};
	const mr_kernels *all[] = {mr_kernels_find("reference", MR_F64), mr_kernels_find("reference", MR_BF16),
				   mr_kernels_of("reference", MR_AS_bf16_pure), mr_kernels_find("fused", MR_F32),
				   mr_kernels_find("fused", MR_BF16), mr_kernels_of("fused", MR_AS_bf16_pure)};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		mr_kctx *kc;

		if (!all[i])
			continue;
		MR_CHECK_OK(all[i]->ctx_create(all[i], 1, &kc));
		for (size_t j = 0; j < sizeof(sizes) / sizeof(*sizes); j++)
			for (int kind = 0; kind < N_STEPS; kind++)
				check(all[i], kc, sizes[j][0], sizes[j][1], kind, kind & 1);
		all[i]->ctx_destroy(kc);
	}
}

static void a_nan_is_a_gradient(void)
{
	const mr_kernels *k = mr_kernels_find("reference", MR_F32);
	float w[4] = {1, 2, 3, 4}, g[4] = {0, -0.0f, 0, 0.0f / 0.0f};
	mr_step s = {.kind = MR_STEP_SGD, .src = w, .dst = w, .gscale = 1, .lr = 1};
	mr_kctx *kc;

	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	MR_CHECK_OK(mr_lazy_step(k, kc, 2, 4, &s, g, NULL));
	CU_ASSERT(w[0] == 1 && w[1] == 2 && w[3] != w[3]);
	k->ctx_destroy(kc);
}

/* Against a search of all places. */
static void the_index_finds_each_row_once(void)
{
	enum { PLACES = 300 };
	int32_t *row = make_tokens(PLACES, 90, 1), seen = 0;
	void *memory = malloc(mr_row_index_bytes(PLACES));
	mr_row_index x;

	for (int32_t p = 0; p < PLACES; p++)
		row[p] = row[p] % 3 ? row[p] : row[p] * 20000000; /* far apart, too */
	mr_row_index_begin(&x, PLACES, memory);
	for (int32_t p = 0; p < PLACES; p++)
		mr_row_index_meet(&x, row[p], p);
	for (int32_t i = 0; i < x.n; i++) {
		int32_t before = -1;

		for (int32_t p = x.first[i]; p >= 0; p = x.next[p], seen++) {
			CU_ASSERT_FATAL(row[p] == x.row[i] && p > before);
			before = p;
		}
		CU_ASSERT(i == 0 || x.first[i] > x.first[i - 1]);
		for (int32_t j = 0; j < i; j++)
			CU_ASSERT(x.row[j] != x.row[i]);
	}
	CU_ASSERT_EQUAL(seen, PLACES);
	free(memory);
	free(row);
}

enum { SUM_VOCAB = 500, SUM_COLS = 21, SUM_BAG = 3, SUM_SAMPLES = 5, SUM_MICRO = 3 };

/* A step of a bag of embeddings whose gradient is summed over micro-batches, as rows (@rows) or whole. Returns the sum
 * of the squares, if it is @measured, and leaves the rig to be looked at. */
static double sum_and_step(layer_rig *r, const layer_case *what, const mr_kernels *k, int kind, bool rows,
			   bool measured, char *state)
{
	const mr_types *y = &k->types;
	int64_t n = SUM_VOCAB * SUM_COLS, most = SUM_MICRO * SUM_SAMPLES * SUM_BAG;
	size_t bytes = rows ? mr_row_sum_bytes(most, SUM_COLS, y->gradients) : (size_t)n * mr_dtype_bytes(y->gradients);
	void *grad = aligned_alloc(64, (bytes + 63) / 64 * 64);
	double squares = 0;
	mr_step s;

	rig_init(r, what, k, SUM_SAMPLES, 9);
	memset(grad, 0x55, bytes);
	fill(y->state, state, 2 * n, 4);
	s = step_variant(kind, r->w[0], r->w[0], state, state + (size_t)n * mr_dtype_bytes(y->state));
	for (int m = 0; m < SUM_MICRO; m++) {
		mr_layer_call c = r->call;
		int32_t *token = make_tokens(SUM_SAMPLES * SUM_BAG, 60, (uint32_t)m); /* many are met again */

		for (int i = 0; i < SUM_SAMPLES * SUM_BAG; i++)
			((int32_t *)r->x[0])[i] = token[i] * 8 + m % 2;
		free(token);
		fill(y->activations, r->dy[0], SUM_SAMPLES * SUM_COLS, (uint32_t)(6 + m));
		c.dw = &grad;
		c.dw_add = m > 0;
		c.sum_rows = rows ? most : 0;
		c.step = m + 1 == SUM_MICRO ? &s : NULL;
		c.sumsq = measured && c.step ? &squares : NULL;
		MR_CHECK_OK(mr_layer_weight(r->ops, &c));
	}
	free(grad);
	return squares;
}

static void sums_of_rows_are_those_of_the_table(void)
{
	const layer_case what = {.layer = "embedding_bag",
				 .cfg = {.out = SUM_COLS, .vocab = SUM_VOCAB, .bag = SUM_BAG, .mean = true},
				 .in = {{.rows = 1, .cols = SUM_BAG, .tokens = true}}};
	const mr_kernels *all[] = {mr_kernels_find("reference", MR_F64), mr_kernels_find("fused", MR_F32)};

	CU_ASSERT(mr_row_sum_pays(25, 100) && !mr_row_sum_pays(26, 100));
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		size_t state = all[i] ? 2u * SUM_VOCAB * SUM_COLS * mr_dtype_bytes(all[i]->types.state) : 0;
		char *before = malloc(state + 1), *after = malloc(state + 1);

		for (int kind = 0; all[i] && kind < 2 * N_STEPS; kind++) {
			layer_rig whole, rows;
			double a = sum_and_step(&whole, &what, all[i], kind / 2, false, kind & 1, before);
			double b = sum_and_step(&rows, &what, all[i], kind / 2, true, kind & 1, after);

			CU_ASSERT_EQUAL(a, b);
			CU_ASSERT((a > 0) == (kind & 1));
			CU_ASSERT(!memcmp(whole.w[0], rows.w[0],
					  SUM_VOCAB * SUM_COLS * mr_dtype_bytes(all[i]->types.weights)));
			CU_ASSERT(!memcmp(before, after, state));
			rig_fini(&whole);
			rig_fini(&rows);
		}
		free(before);
		free(after);
	}
}

void mr_suite_lazy_rows(void);

void mr_suite_lazy_rows(void)
{
	MR_SUITE("lazy_rows");
	MR_TEST(rows_without_a_gradient_stay);
	MR_TEST(a_nan_is_a_gradient);
	MR_TEST(the_index_finds_each_row_once);
	MR_TEST(sums_of_rows_are_those_of_the_table);
}
