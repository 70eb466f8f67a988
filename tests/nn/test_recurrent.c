/*
 * test_recurrent.c - state that an LSTM or GRU carries from window to window, against PyTorch; the masks of a step: of
 * weights, of words, and of the columns of a sample; the layer as one operation of oneDNN, beside row by row; and with
 * packed weights.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/rng.h"
#include "check.h"
#include "golden_files.h"
#include "layer_rig.h"
#include "nn/choices.h"

#define WHOLE_TOLERANCE 2e-5 /* of f32: both sides differ by the order of sums and by their exponentials */
#define GOLDEN_TOLERANCE 1e-10 /* both sides are f64 and differ by the order of sums */

static const mr_kernels *f64(void)
{
	return mr_kernels_find("reference", MR_F64);
}

static void fill(const mr_json *one, const char *key, void *to, int64_t n)
{
	const mr_json *list = mr_json_get(one, key);

	CU_ASSERT_EQUAL_FATAL(mr_json_size(list), (size_t)n);
	for (int64_t i = 0; i < n; i++)
		((double *)to)[i] = mr_json_double(mr_json_at(list, (size_t)i));
}

static void compare(const mr_json *one, const char *key, const void *got, int64_t n)
{
	const mr_json *list = mr_json_get(one, key);

	CU_ASSERT_EQUAL_FATAL(mr_json_size(list), (size_t)n);
	for (int64_t i = 0; i < n; i++) {
		double want = mr_json_double(mr_json_at(list, (size_t)i)), have = ((const double *)got)[i];

		if (!(fabs(have - want) <= GOLDEN_TOLERANCE * (1 + fabs(want))))
			fprintf(stderr, "\n%s[%lld] is %.17g, recorded %.17g\n", key, (long long)i, have, want);
		CU_ASSERT_FATAL(fabs(have - want) <= GOLDEN_TOLERANCE * (1 + fabs(want)));
	}
}

static const char *const params[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};

/* One window: what it gives, and the state that it ends with, which the next one begins with. */
static void check_window(layer_rig *r, const mr_json *one)
{
	static const char *const ends[] = {"h", "c"};
	int64_t n = r->samples * r->what->cfg.out;

	fill(one, "x", r->x[0], rig_n_x(r, 0));
	fill(one, "dy", r->dy[0], rig_n_y(r, 0));
	rig_forward(r);
	rig_spoil_after_forward(r);
	rig_input(r);
	rig_spoil_after_input(r);
	rig_weight(r);
	compare(one, "y", r->y[0], rig_n_y(r, 0));
	compare(one, "dx", r->dx[0], rig_n_x(r, 0));
	for (uint32_t i = 0; i < r->n_params; i++) {
		char key[24];

		snprintf(key, sizeof(key), "d%s", params[i]);
		compare(one, key, r->dw[i], rig_n_w(r, i));
	}
	for (uint32_t i = 0; i < r->n_carried; i++) {
		compare(one, ends[i], r->end[i], n);
		memcpy(r->begin[i], r->end[i], (size_t)n * sizeof(double));
		r->call.begin[i] = r->begin[i];
	}
}

static void check_carried(const char *layer, uint32_t n_carried)
{
	layer_case what = {.layer = layer, .cfg = {.out = 6, .carry = true}, .in = {{.rows = 5, .cols = 4}}};
	char path[MR_GOLDEN_PATH];
	const mr_json *one, *windows;
	mr_json *root;
	layer_rig r;

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/carried.json"), 1 << 20, &root));
	one = mr_json_get(root, layer);
	windows = mr_json_get(one, "windows");
	rig_init(&r, &what, f64(), 3, 1);
	CU_ASSERT_EQUAL_FATAL(r.n_carried, n_carried);
	for (uint32_t i = 0; i < r.n_params; i++)
		fill(one, params[i], r.w[i], rig_n_w(&r, i));
	for (uint32_t i = 0; i < n_carried; i++)
		r.call.begin[i] = NULL; /* the first window of an epoch */
	CU_ASSERT_EQUAL_FATAL(mr_json_size(windows), 3);
	for (size_t i = 0; i < 3; i++)
		check_window(&r, mr_json_at(windows, i));
	rig_fini(&r);
	mr_json_destroy(root);
}

static void state_goes_on(void)
{
	check_carried("lstm", 2);
	check_carried("gru", 1);
}

/* Is weight_hh through the mask of @r's step what its cells read? Returns how many weights the mask leaves out. */
static int64_t check_mask(layer_rig *r, double *mask)
{
	layer_case plain = *r->what;
	layer_rig p;
	mr_mask_key key = {r->call.mask.seed, r->call.window, r->call.mask.layer};
	int64_t n = rig_n_w(r, 1), zeros = 0;

	plain.cfg.rate = 0;
	rig_init(&p, &plain, f64(), r->samples, r->call.mask.seed);
	for (int64_t i = 0; i < n; i++)
		mask[i] = 1;
	MR_CHECK_OK(f64()->dropout(r->kc, &(mr_dropout_args){.samples = 1, .per_sample = n, .rate = r->what->cfg.rate,
							     .key = &key, .x = mask, .y = mask}));
	for (int64_t i = 0; i < n; i++) {
		zeros += mask[i] == 0;
		((double *)p.w[1])[i] *= mask[i];
	}
	rig_forward(r);
	rig_forward(&p);
	CU_ASSERT_EQUAL(memcmp(r->y[0], p.y[0], (size_t)rig_n_y(r, 0) * sizeof(double)), 0);
	rig_input(r);
	rig_weight(r);
	for (int64_t i = 0; i < n; i++)
		CU_ASSERT((mask[i] == 0) == (((double *)r->dw[1])[i] == 0));
	rig_fini(&p);
	return zeros;
}

/* One mask of the recurrent weights for all tokens and micro-batches of a step, and another one for the next step. */
static void weights_of_a_step_have_one_mask(void)
{
	enum { WIDTH = 20, N = WIDTH * 4 * WIDTH };
	const layer_case what = {.layer = "lstm", .cfg = {.out = WIDTH, .rate = 0.3}, .in = {{.rows = 6, .cols = 3}}};
	static double mask[N], other[N];
	int64_t zeros, same = 0;
	layer_rig r;

	rig_init(&r, &what, f64(), 2, 9);
	r.call.window = 7;
	zeros = check_mask(&r, mask);
	CU_ASSERT(zeros > 480 - 90 && zeros < 480 + 90); /* 480 expected, standard deviation 18 */
	r.call.mask.first_sample += 2; /* the next micro-batch of the step */
	check_mask(&r, other);
	CU_ASSERT_EQUAL(memcmp(mask, other, sizeof(mask)), 0);
	r.call.window = 8;
	check_mask(&r, other);
	for (int64_t i = 0; i < N; i++)
		same += (mask[i] == 0) == (other[i] == 0);
	CU_ASSERT(same > 928 - 100 && same < 928 + 100); /* 1600 (0.49 + 0.09) */
	rig_fini(&r);
}

/* A word is left out wherever it occurs in a step, or nowhere. */
static void words_of_a_step_have_one_mask(void)
{
	enum { WORDS = 400, ROWS = 1000, COLS = 3 };
	const layer_case what = {
		.layer = "embedding",
		.cfg = {.out = COLS, .vocab = WORDS, .rate = 0.25},
		.in = {{.rows = ROWS, .cols = 1, .tokens = true}},
	};
	static int8_t left_out[2][WORDS];
	int64_t zeros = 0, same = 0;
	layer_rig r;

	rig_init(&r, &what, f64(), 1, 9);
	for (uint64_t window = 0; window < 2; window++) {
		r.call.window = window;
		memset(left_out[window], -1, WORDS);
		rig_forward(&r);
		for (int64_t i = 0; i < ROWS; i++) {
			int32_t word = ((const int32_t *)r.x[0])[i];
			const double *y = (const double *)r.y[0] + i * COLS, *w = (const double *)r.w[0] + word * COLS;
			int8_t out = y[0] == 0;

			CU_ASSERT(left_out[window][word] < 0 || left_out[window][word] == out);
			left_out[window][word] = out;
			for (int64_t j = 0; j < COLS; j++)
				CU_ASSERT_DOUBLE_EQUAL(y[j], out ? 0 : w[j] / 0.75, 1e-12);
		}
	}
	for (int64_t i = 0; i < WORDS; i++) {
		zeros += left_out[0][i] == 1;
		same += left_out[0][i] == left_out[1][i];
	}
	CU_ASSERT(zeros > 50 && zeros < 150); /* about 92 of the words that occur */
	CU_ASSERT(same < WORDS - 80);
	rig_fini(&r);
}

/* One mask for all rows of a sample, and one of its own for each sample. */
static void samples_have_masks_of_columns(void)
{
	enum { ROWS = 5, COLS = 1000 };
	const layer_case what = {
		.layer = "dropout",
		.cfg = {.rate = 0.4, .variational = true},
		.in = {{.rows = ROWS, .cols = COLS}},
	};
	int64_t zeros = 0, same = 0;
	const double *y;
	layer_rig r;

	rig_init(&r, &what, f64(), 2, 9);
	rig_forward(&r);
	y = r.y[0];
	for (int64_t i = 0; i < 2 * ROWS * COLS; i++)
		CU_ASSERT_EQUAL(y[i] == 0, y[i / (ROWS * COLS) * ROWS * COLS + i % COLS] == 0);
	for (int64_t j = 0; j < COLS; j++) {
		zeros += y[j] == 0;
		same += (y[j] == 0) == (y[ROWS * COLS + j] == 0);
	}
	CU_ASSERT(zeros > 400 - 80 && zeros < 400 + 80);
	CU_ASSERT(same > 520 - 80 && same < 520 + 80); /* 0.36 + 0.16 */
	rig_fini(&r);
}

/* --- a layer as one operation ------------------------------------------------------------------------------------- */

static void run_all(layer_rig *r)
{
	rig_forward(r);
	rig_spoil_after_forward(r);
	rig_input(r);
	rig_spoil_after_input(r);
	rig_weight(r);
}

static void check_same(const char *what, const void *got, const void *want, int64_t n, double tolerance)
{
	for (int64_t i = 0; i < n; i++) {
		double a = ((const float *)got)[i], b = ((const float *)want)[i];

		if (!(fabs(a - b) <= tolerance * (1 + fabs(b))))
			fprintf(stderr, "\n%s[%lld] is %.9g, expected %.9g\n", what, (long long)i, a, b);
		CU_ASSERT_FATAL(fabs(a - b) <= tolerance * (1 + fabs(b)));
	}
}

static void check_all_same(const layer_rig *got, const layer_rig *want, double tolerance)
{
	check_same("y", got->y[0], want->y[0], rig_n_y(want, 0), tolerance);
	check_same("dx", got->dx[0], want->dx[0], rig_n_x(want, 0), tolerance);
	for (uint32_t i = 0; i < want->n_params; i++)
		check_same(params[i], got->dw[i], want->dw[i], rig_n_w(want, i), tolerance);
	for (uint32_t i = 0; i < want->n_carried; i++)
		check_same("state", got->end[i], want->end[i], want->samples * want->what->cfg.out, tolerance);
}

/* A rig whose context has @threads, and weights of the size that training begins with: with larger ones differences
 * grow from row to row. */
static void init_with(layer_rig *r, const layer_case *what, const mr_kernels *k, uint32_t threads)
{
	rig_init(r, what, k, 3, 7);
	k->ctx_destroy(r->kc);
	MR_CHECK_OK(k->ctx_create(k, threads, &r->kc));
	r->call.kc = r->kc;
	for (uint32_t i = 0; i < r->n_params; i++)
		for (int64_t j = 0; j < rig_n_w(r, i); j++)
			((float *)r->w[i])[j] /= sqrtf((float)what->cfg.out);
}

static mr_choices all_by_onednn(mr_choice_line line[2])
{
	for (int i = 0; i < 2; i++) {
		line[i] = (mr_choice_line){.dtype = "f32", .threads = "one", .backend = "onednn"};
		snprintf(line[i].isa, sizeof(line[i].isa), "%s", mr_kernels_isa(MR_F32));
		snprintf(line[i].kind, sizeof(line[i].kind), "%s", i ? "gru" : "lstm");
	}
	return (mr_choices){.source = "test", .line = line, .n = 2};
}

static void check_whole(const layer_case *what, uint32_t threads)
{
	const mr_kernels *rows = mr_kernels_find("fused", MR_F32), *whole = mr_kernels_find("onednn", MR_F32);
	mr_kernels chooses = *mr_kernels_find("auto", MR_F32);
	mr_choice_line line[2];
	mr_choices table = all_by_onednn(line);
	layer_rig a, b, c;

	chooses.choices = &table;
	init_with(&a, what, rows, threads), init_with(&b, what, whole, threads);
	init_with(&c, what, &chooses, threads);
	CU_ASSERT_PTR_NULL(rows->takes_recurrence);
	CU_ASSERT_NOT_EQUAL(a.needs.aux_i.bytes, b.needs.aux_i.bytes);
	CU_ASSERT_EQUAL(b.needs.aux_i.bytes, c.needs.aux_i.bytes);
	run_all(&a), run_all(&b), run_all(&c);
	check_all_same(&b, &a, WHOLE_TOLERANCE);
	check_all_same(&c, &b, 0);
	CU_ASSERT(b.k->ctx_bytes(b.kc) > a.k->ctx_bytes(a.kc)); /* the primitives are there */
	rig_fini(&a), rig_fini(&b), rig_fini(&c);
}

/* A primitive over all rows computes what products and cells do, also where samples begin with a state, in the
 * opposite order, with masked weights, and by two threads; and the choice is that of the table. */
static void whole_layers_equal_rows(void)
{
	static const layer_case cases[] = {
		{.layer = "lstm", .cfg = {.out = 24}, .in = {{.rows = 7, .cols = 16}}},
		{.layer = "lstm", .cfg = {.out = 9, .reverse = true}, .in = {{.rows = 5, .cols = 13}}},
		{.layer = "lstm", .cfg = {.out = 20, .carry = true, .rate = 0.4}, .in = {{.rows = 6, .cols = 20}}},
		{.layer = "gru", .cfg = {.out = 24}, .in = {{.rows = 7, .cols = 16}}},
		{.layer = "gru", .cfg = {.out = 9, .reverse = true}, .in = {{.rows = 5, .cols = 13}}},
		{.layer = "gru", .cfg = {.out = 33, .carry = true}, .in = {{.rows = 6, .cols = 48}}},
		{.layer = "lstm", .cfg = {.out = 160}, .in = {{.rows = 12, .cols = 96}}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) && mr_kernels_find("onednn", MR_F32); i++)
		for (uint32_t threads = 1; threads < 3; threads++)
			check_whole(&cases[i], threads);
}

/* --- weights that are packed for all steps ------------------------------------------------------------ */

static uint64_t seed, drawn;

static uint32_t draw(uint32_t n)
{
	return mr_rng_u32(seed, MR_RNG_TEST, 0, 0, drawn++) % n;
}

static void check_bits(const layer_rig *got, const layer_rig *want, const void *a, const void *b, int64_t n,
		       const char *what)
{
	size_t bytes = (size_t)n * sizeof(float);

	if (memcmp(a, b, bytes))
		fprintf(stderr, "\nseed %llu, %s in %s, %lld of %lld samples of %lld rows to %lld: %s differs\n",
			(unsigned long long)seed, got->what->layer, got->k->name, (long long)got->call.samples,
			(long long)got->samples, (long long)got->what->in[0].rows, (long long)got->what->cfg.out, what);
	CU_ASSERT_FATAL(!memcmp(a, b, bytes));
	CU_ASSERT_EQUAL(got->call.samples, want->call.samples);
}

/* @one: with room for @samples samples, called with @n of them; as without packed weights. */
static void check_packed(const layer_case *one, const mr_kernels *k, int64_t samples, int64_t n, uint32_t threads)
{
	mr_kernels plain = *k;
	layer_rig a, b, *both[] = {&a, &b};

	plain.packed_bytes = NULL;
	rig_init(&a, one, k, samples, seed), rig_init(&b, one, &plain, samples, seed);
	for (int i = 0; i < 2; i++) {
		k->ctx_destroy(both[i]->kc);
		MR_CHECK_OK(k->ctx_create(k, threads, &both[i]->kc));
		both[i]->call.kc = both[i]->kc;
		both[i]->call.samples = n;
		rig_forward(both[i]);
		rig_input(both[i]);
		rig_weight(both[i]);
	}
	CU_ASSERT(a.needs.scratch > b.needs.scratch);
	check_bits(&a, &b, a.y[0], b.y[0], n * one->in[0].rows * one->cfg.out, "y");
	check_bits(&a, &b, a.dx[0], b.dx[0], n * one->in[0].rows * one->in[0].cols, "dx");
	for (uint32_t i = 0; i < a.n_params; i++)
		check_bits(&a, &b, a.dw[i], b.dw[i], rig_n_w(&a, i), params[i]);
	rig_fini(&a), rig_fini(&b);
}

/* Random layers, backends and threads; also calls with fewer samples than there is room for, as the last ones of
 * an evaluation. */
static void packed_weights_change_no_bits(void)
{
	uint32_t n = 0;

	for (seed = 1; seed <= 60; seed++) {
		layer_case one = {.in = {{0}}};
		const mr_kernels *k;
		int64_t samples;

		drawn = 0;
		one.layer = draw(2) ? "lstm" : "gru";
		one.cfg = (mr_layer_cfg){.out = 150 + draw(40), .reverse = draw(4) == 0, .rate = draw(3) ? 0 : 0.3};
		one.in[0] = (mr_shape){.rows = 8 + draw(5), .cols = 3 + draw(40)};
		k = mr_kernels_find(draw(2) ? "fused" : "auto", MR_F32);
		samples = 1 + draw(40);
		if (!k || !k->packed_bytes ||
		    !k->packed_bytes(k, &(mr_gemm){.m = 1, .n = one.cfg.out, .k = 3 * one.cfg.out, .tb = true}))
			continue;
		check_packed(&one, k, samples, 1 + draw((uint32_t)samples), 1 + draw(2));
		n++;
	}
	CU_ASSERT(n == 60 || !mr_kernels_find("fused", MR_F32) || strcmp(mr_kernels_isa(MR_F32), "avx512") != 0);
}

void mr_suite_recurrent(void);

void mr_suite_recurrent(void)
{
	MR_SUITE("recurrent");
	MR_TEST(state_goes_on);
	MR_TEST(weights_of_a_step_have_one_mask);
	MR_TEST(words_of_a_step_have_one_mask);
	MR_TEST(samples_have_masks_of_columns);
	MR_TEST(whole_layers_equal_rows);
	MR_TEST(packed_weights_change_no_bits);
}
