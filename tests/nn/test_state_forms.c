/*
 * test_state_forms.c - states that are stored in another form from step to step (nn/state_form.h): codes and rounding
 * against naive references, and steps against one that widens, steps and stores everything at once.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "nn/lazy_rows.h"
#include "nn/state_form.h"
#include "step_variants.h"

static const mr_state_form *int8, *bf16;

static int set_up(void)
{
	int8 = mr_state_form_find("int8");
	bf16 = mr_state_form_find("bf16");
	return !int8 || !bf16 || mr_state_form_find("f32");
}

/* --- one block ---------------------------------------------------------------------------------------------------- */

/* The values that the codes of 8 bits have, ascending, as bitsandbytes makes them: of each decade the means of
 * neighbours among evenly divided tenths. With a sign the decades have half as many, the smallest pair is left out, and
 * -1 is there as well. Returns how many. */
static int naive_values(bool squares, double value[256])
{
	int n = 0;

	for (int sign = squares ? 1 : -1; sign <= 1; sign += 2)
		for (int i = 0; i < 7; i++) {
			int most = squares ? 2 << i : 1 << i;

			for (int j = 0; j < most && (squares || i > 0); j++) {
				double low = 0.1 + 0.9 * j / most, high = 0.1 + 0.9 * (j + 1) / most;

				value[n++] = sign * pow(10, i - 6) * (low + high) / 2;
			}
		}
	value[n++] = 0;
	value[n++] = 1;
	if (!squares)
		value[n++] = -1;
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && value[j - 1] > value[j]; j--) {
			double x = value[j];

			value[j] = value[j - 1];
			value[j - 1] = x;
		}
	return n;
}

static void check_codes(bool squares)
{
	double value[256];
	int n = naive_values(squares, value), found = 0;
	float scale = 1;

	CU_ASSERT_EQUAL(n, squares ? 256 : 255);
	for (int code = 0; code < 256; code++) {
		uint8_t x = (uint8_t)code;
		float wide;
		int at = 0;

		int8->widen(&x, &scale, squares, 1, &wide);
		while (at + 1 < n && fabs(value[at + 1] - (double)wide) < fabs(value[at] - (double)wide))
			at++;
		CU_ASSERT_DOUBLE_EQUAL(wide, value[at], 1e-7 * fabs(value[at]));
		found += squares || code != 0x80; /* a second 0 */
	}
	CU_ASSERT_EQUAL(found, n);
}

static void codes_are_those_of_dynamic_quantization(void)
{
	check_codes(true);
	check_codes(false);
}

/* Numbers of all sizes, some of them 0, some of them alike. */
static float number(uint64_t what, uint64_t i, bool squares)
{
	double x = mr_rng_normal(7, MR_RNG_TEST, what, 1, i), size = pow(10, (double)(i % 9) - 7);

	return i % 17 == 0 ? 0 : (float)(squares ? x * x * size : x * size);
}

/* Each number becomes one of the two codes beside it: the upper one if the part of the way to it is above the random
 * number; a mean of squares that is above 0 at least the first one. Nearer than f32 computes no choice is asked for. */
static void check_block(bool squares, int64_t n, uint64_t what, float times)
{
	double value[256], largest = 0;
	int n_values = naive_values(squares, value);
	float from[MR_STATE_BLOCK], wide[MR_STATE_BLOCK], scale;
	uint16_t random[MR_STATE_BLOCK];
	uint8_t code[MR_STATE_BLOCK];

	for (int64_t i = 0; i < n; i++) {
		from[i] = times * number(what, (uint64_t)i, squares);
		random[i] = (uint16_t)mr_rng_u32(3, MR_RNG_TEST, what, 2, (uint64_t)i);
		largest = fmax(largest, fabs((double)from[i]));
	}
	int8->store(from, squares, random, n, code, &scale);
	int8->widen(code, &scale, squares, n, wide);
	CU_ASSERT_EQUAL(scale, (float)largest);
	for (int64_t i = 0; i < n; i++) {
		double x = largest > 0 ? fabs((double)from[i]) / largest : 0;
		double got = fabs((double)wide[i]) / (largest > 0 ? largest : 1), part, want;
		int at = n_values - 1;

		while (at > 0 && (value[at] > x || (at == n_values - 1 && x < 1)))
			at--;
		if (at == n_values - 1) {
			CU_ASSERT_EQUAL(fabsf(wide[i]), scale);
			continue;
		}
		part = (x - value[at]) / (value[at + 1] - value[at]);
		want = value[at + (part * 65536 > random[i])];
		if (squares && x > 0 && want == 0)
			want = value[1];
		if (fabs(part * 65536 - random[i]) > 0.5)
			CU_ASSERT_DOUBLE_EQUAL(got, want, 1e-6 * want);
		CU_ASSERT((wide[i] < 0) == (from[i] < 0) || wide[i] == 0);
	}
}

static void numbers_go_to_their_neighbours(void)
{
	for (uint64_t what = 0; what < 50; what++)
		for (int squares = 0; squares < 2; squares++) {
			check_block(squares, MR_STATE_BLOCK, what, 1);
			check_block(squares, 1 + (int64_t)what * 5, what, 1e-12f);
			check_block(squares, 7, what, 1e20f);
			check_block(squares, 3, what, 0);
		}
}

/* A block whose largest number is negative keeps it to the bit, as often as it is stored. */
static void the_largest_stays(void)
{
	float from[3] = {-3, 1, 2.9f}, scale;
	uint16_t random[3] = {0, 65535, 33000};
	uint8_t code[3];

	for (int i = 0; i < 100; i++) {
		int8->store(from, false, random, 3, code, &scale);
		int8->widen(code, &scale, false, 3, from);
		CU_ASSERT_EQUAL(from[0], -3);
	}
}

static void what_is_not_finite_is_seen(void)
{
	static const float bad[] = {INFINITY, -INFINITY, NAN};
	uint16_t random[4] = {0};

	for (size_t i = 0; i < 3; i++)
		for (int at = 0; at < 4; at++)
			for (int squares = 0; squares < 2; squares++) {
				float from[4] = {1, 2, 3, 4}, scale;
				uint8_t code[4];

				from[at] = bad[i];
				int8->store(from, squares, random, 4, code, &scale);
				int8->widen(code, &scale, squares, 4, from);
				CU_ASSERT(!isfinite(from[at]));
			}
}

/* Over many random numbers the mean is the number itself: within five deviations of the mean, half a gap each. */
static void rounding_has_no_bias(void)
{
	enum { TIMES = 20000 };
	static const float numbers[] = {0.95f, 0.42f, 0.0123f, 0.099f, 0.00031f, 3e-5f};

	for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
		for (int squares = 0; squares < 2; squares++) {
			double sum = 0, low = 2, high = 0;

			for (uint64_t t = 0; t < TIMES; t++) {
				float x[2] = {1, numbers[k]}, scale;
				uint16_t random[2] = {0, (uint16_t)mr_rng_u32(1, MR_RNG_TEST, k, 5, t)};
				uint8_t code[2];

				int8->store(x, squares, random, 2, code, &scale);
				int8->widen(code, &scale, squares, 2, x);
				sum += (double)x[1];
				low = fmin(low, (double)x[1]), high = fmax(high, (double)x[1]);
			}
			CU_ASSERT(low < (double)numbers[k] && high > (double)numbers[k]);
			CU_ASSERT_DOUBLE_EQUAL(sum / TIMES, numbers[k], 5 * (high - low) / 2 / sqrt(TIMES));
		}
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

enum { MOST = 60 * 300 };

typedef struct tensors {
	int64_t n, cols;
	float w[MOST], g[MOST], wide[2][MOST];
	int16_t rest[MOST];
	uint8_t state[2][2 * MOST];
	float scale[2][MOST];
} tensors;

static void put(mr_dtype t, void *x, int64_t i, float value)
{
	if (t == MR_BF16)
		((uint16_t *)x)[i] = mr_bf16_round(value);
	else
		((float *)x)[i] = value;
}

static void fill(const mr_kernels *k, tensors *t, int64_t n, int64_t cols)
{
	memset(t, 0, sizeof(*t));
	t->n = n;
	t->cols = cols;
	for (int64_t i = 0; i < n; i++) {
		put(k->types.weights, t->w, i, number(1, (uint64_t)i + 1, false));
		put(k->types.gradients, t->g, i, number(2, (uint64_t)i + 1, false));
	}
}

static mr_step step_of(const mr_kernels *k, tensors *t, int variant, const mr_state_form *form, int64_t room_n,
		       void *room)
{
	mr_step s = step_variant(variant, t->w, t->w, t->state[0], t->state[1]);

	if (mr_types_rest_bytes(&k->types))
		s.src_rest = s.dst_rest = t->rest;
	s.rounding = (mr_rounding){.seed = 5, .step = 7, .param = 2};
	s.stored = (mr_stored){.form = form, .scale = {t->scale[0], t->scale[1]}, .cols = t->cols, .room_n = room_n,
			       .room = room};
	if (!form->scaled)
		s.stored.scale[0] = s.stored.scale[1] = NULL;
	return s;
}

static float read(mr_dtype t, const void *x, int64_t i)
{
	return t == MR_BF16 ? mr_bf16_widen(((const uint16_t *)x)[i]) : ((const float *)x)[i];
}

/* Block @block of both states, which begins at element @at: stored from what is wide, or widened. */
static void naive_block(const mr_kernels *k, tensors *t, const mr_step *s, int64_t block, int64_t at, int64_t n,
			bool stores)
{
	const mr_state_form *form = s->stored.form;
	uint16_t random[MR_STATE_BLOCK];
	float x[MR_STATE_BLOCK];

	for (int i = 0; i < mr_step_states(s->kind); i++) {
		uint8_t *state = t->state[i] + (size_t)at * mr_dtype_bytes(form->type);

		for (int64_t j = 0; j < n; j++) {
			random[j] = (uint16_t)(mr_rng_u32(5, MR_RNG_STATE, 7, 2, (uint64_t)(at + j)) >> 16 * i);
			x[j] = read(k->types.state, t->wide[i], at + j);
		}
		if (stores)
			form->store(x, i, random, n, state, &t->scale[i][block]);
		else
			form->widen(state, &t->scale[i][block], i, n, x);
		for (int64_t j = 0; !stores && j < n; j++)
			put(k->types.state, t->wide[i], at + j, x[j]);
	}
}

/* Everything widened, one step of the backend, everything stored, block by block. */
static void naive_step(const mr_kernels *k, mr_kctx *kc, tensors *t, const mr_step *s)
{
	int64_t cols = t->cols ? t->cols : t->n, block;
	mr_step one = *s;

	one.stored = (mr_stored){0};
	one.m = t->wide[0];
	one.v = t->wide[1];
	for (int stores = 0; stores < 2; stores++) {
		for (int64_t row = block = 0; row < t->n; row += cols)
			for (int64_t at = row; at < row + cols; at += MR_STATE_BLOCK, block++) {
				int64_t left = row + cols - at;

				naive_block(k, t, s, block, at, left < MR_STATE_BLOCK ? left : MR_STATE_BLOCK, stores);
			}
		if (!stores)
			MR_CHECK_OK(k->step(kc, &(mr_step_args){.n = t->n, .s = &one, .g = t->g}));
	}
}

static bool same(const tensors *a, const tensors *b)
{
	return !memcmp(a->w, b->w, sizeof(a->w)) && !memcmp(a->rest, b->rest, sizeof(a->rest)) &&
	       !memcmp(a->state, b->state, sizeof(a->state)) && !memcmp(a->scale, b->scale, sizeof(a->scale));
}

/* Two steps in pieces, and in two ranges of which the second begins at @cut, as at once. */
static void check_steps(const mr_kernels *k, mr_kctx *kc, const mr_state_form *form, int variant, int64_t n,
			int64_t cols, int64_t room_n, int64_t cut)
{
	static tensors want, got;
	size_t gradient = mr_dtype_bytes(k->types.gradients);
	void *room = aligned_alloc(64, (mr_stored_room(room_n, &k->types) + 63) / 64 * 64);

	CU_ASSERT_PTR_NOT_NULL_FATAL(room);
	fill(k, &want, n, cols), fill(k, &got, n, cols);
	for (int t = 0; t < 2; t++) {
		mr_step s = step_of(k, &want, variant, form, room_n, room), part;

		naive_step(k, kc, &want, &s);
		s = step_of(k, &got, variant, form, room_n, room);
		part = mr_step_shifted(&s, &k->types, cut);
		MR_CHECK_OK(mr_stored_step(k, kc, cut, &s, got.g));
		MR_CHECK_OK(mr_stored_step(k, kc, n - cut, &part, (char *)got.g + (size_t)cut * gradient));
	}
	CU_ASSERT_FATAL(same(&want, &got));
	free(room);
}

static void steps_go_piece_by_piece(void)
{
	static const char *const names[] = {"reference", "fused"};
	static const struct {
		int64_t n, cols, room_n, cut;
	} sizes[] = {{1, 0, 256, 0},        {255, 0, 256, 0},    {3001, 0, 512, 2560}, {18000, 0, 8192, 17920},
		     {1500, 300, 256, 900}, {400, 5, 300, 35}, {2048, 256, 700, 512}, {1700, 1700, 1000, 0}};

	for (size_t b = 0; b < sizeof(names) / sizeof(*names); b++)
		for (mr_precision p = 0; p < MR_N_PRECISIONS; p++) {
			const mr_kernels *k = p == MR_AS_f64 ? NULL : mr_kernels_of(names[b], p);
			mr_kctx *kc;

			if (!k)
				continue;
			MR_CHECK_OK(k->ctx_create(k, 3, &kc));
			for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
				for (int variant = 0; variant < N_STEPS; variant++) {
					check_steps(k, kc, int8, variant, sizes[i].n, sizes[i].cols, sizes[i].room_n,
						    sizes[i].cut);
					if (k->types.state != MR_BF16)
						check_steps(k, kc, bf16, variant, sizes[i].n, sizes[i].cols,
							    sizes[i].room_n, sizes[i].cut);
				}
			k->ctx_destroy(kc);
		}
}

/* A look moves weights by the state and leaves it; without a gradient along the first state. */
static void a_look_leaves_the_state(void)
{
	static tensors t, before;
	const mr_kernels *k = mr_kernels_find("reference", MR_F32);
	static float room[2 * 512];
	mr_kctx *kc;
	mr_step s;

	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	fill(k, &t, 3000, 0);
	s = step_of(k, &t, MR_STEP_MOMENTUM, int8, 512, room);
	MR_CHECK_OK(mr_stored_step(k, kc, t.n, &s, t.g));
	before = t;
	s = step_of(k, &t, MR_STEP_SGD, int8, 512, room);
	s.m = t.state[0];
	s.gscale = 1;
	s.decay = 0;
	MR_CHECK_OK(mr_stored_look(k, kc, t.n, &s, NULL));
	CU_ASSERT(!memcmp(t.state, before.state, sizeof(t.state)));
	for (int64_t i = 0, block = 0; i < t.n; i++, block = i / MR_STATE_BLOCK) {
		float m;

		int8->widen(&t.state[0][i], &t.scale[0][block], false, 1, &m);
		CU_ASSERT_DOUBLE_EQUAL(t.w[i], before.w[i] - 0.1f * m, 1e-6);
	}
	k->ctx_destroy(kc);
}

/* A mean of squares with a memory of 0.999 falls to 0.999^500 of what it was, while one number of its block stays: by
 * nearest rounding it would not move. Its scatter is that of codes 0.7 % of 1 apart, of which a step takes an eighth to
 * a seventh: 5 units, 3.5 %, an element, and of 255 of them 0.2 %; five times that is the bound. */
static void mean_of_squares_falls(void)
{
	enum { STEPS = 500 };
	static tensors t;
	const mr_kernels *k = mr_kernels_find("reference", MR_F32);
	static float room[2 * MR_STATE_BLOCK];
	double sum = 0;
	mr_kctx *kc;

	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	memset(&t, 0, sizeof(t));
	t.n = MR_STATE_BLOCK;
	memset(t.state[1], 0xff, (size_t)t.n);
	t.scale[1][0] = 1;
	t.g[0] = 1;
	for (uint64_t i = 1; i <= STEPS; i++) {
		mr_step s = step_of(k, &t, MR_STEP_ADAM, int8, t.n, room);

		s.gscale = 1;
		s.rounding.step = i;
		MR_CHECK_OK(mr_stored_step(k, kc, t.n, &s, t.g));
	}
	for (int64_t i = 1; i < t.n; i++) {
		float v;

		int8->widen(&t.state[1][i], &t.scale[1][0], true, 1, &v);
		sum += (double)v;
	}
	CU_ASSERT_DOUBLE_EQUAL(sum / (double)(t.n - 1), pow(0.999, STEPS), 0.01);
	k->ctx_destroy(kc);
}

void mr_suite_state_forms(void);

void mr_suite_state_forms(void)
{
	CU_pSuite mr_suite_ = CU_add_suite("state_forms", set_up, NULL);

	MR_TEST(codes_are_those_of_dynamic_quantization);
	MR_TEST(numbers_go_to_their_neighbours);
	MR_TEST(the_largest_stays);
	MR_TEST(what_is_not_finite_is_seen);
	MR_TEST(rounding_has_no_bias);
	MR_TEST(steps_go_piece_by_piece);
	MR_TEST(a_look_leaves_the_state);
	MR_TEST(mean_of_squares_falls);
}
