/* Tables of choices from measured points: the margin, noise, several machines, and the shape of every table. */
#include "profile/tune_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "check.h"

typedef double ratio_fn(uint32_t r, uint32_t s);

static mr_tune_points points_of(mr_choice_kind kind, mr_dtype dtype, ratio_fn *onednn, ratio_fn *f32)
{
	mr_tune_points t = {.made = "somewhere"};

	for (uint32_t r = 0; r < MR_CHOICE_ROWS; r++)
		for (uint32_t s = 0; s < MR_CHOICE_SIZES; s++) {
			mr_tune_point p = {.kind = kind, .isa = "avx512", .dtype = dtype, .row = r, .size = s,
					   .fused_s = 1e-6, .ratio = {1, onednn(r, s), f32 ? f32(r, s) : 0}};

			MR_CHECK_OK(mr_tune_points_add(&t, &p));
		}
	return t;
}

static void choose(const mr_tune_points *t, uint32_t n, mr_dtype dtype, mr_chosen *out)
{
	const mr_choices nothing = {.source = "none"};
	mr_choices *c;

	MR_CHECK_OK(mr_tune_table(t, n, &nothing, &c));
	mr_choices_select(c, "avx512", dtype, 1, out);
	mr_choices_destroy(c);
}

/* The number of classes of @kind that go to @by. */
static int classes(const mr_chosen *c, mr_choice_kind kind, mr_choice_by by)
{
	int n = 0;

	for (int r = 0; r < MR_CHOICE_ROWS; r++)
		for (int s = 0; s < MR_CHOICE_SIZES; s++)
			n += c->by[kind][r][s] == by;
	return n;
}

enum { ALL = MR_CHOICE_ROWS * MR_CHOICE_SIZES };

static double at_4_percent(uint32_t r, uint32_t s)
{
	return (void)r, (void)s, 1.04;
}

static double at_7_percent(uint32_t r, uint32_t s)
{
	return (void)r, (void)s, 1.07;
}

static double faster_by_2_percent(uint32_t r, uint32_t s)
{
	return (void)r, (void)s, 0.98;
}

static double faster_by_20_percent(uint32_t r, uint32_t s)
{
	return (void)r, (void)s, 0.8;
}

/* oneDNN where it is within 5 %, of every kind, also of the gradient of a weight. */
static void the_margin_is_for_onednn(void)
{
	for (int k = 0; k < MR_N_CHOICES; k++) {
		mr_tune_points near = points_of((mr_choice_kind)k, MR_F32, at_4_percent, NULL);
		mr_tune_points far = points_of((mr_choice_kind)k, MR_F32, at_7_percent, NULL);
		mr_chosen c;

		choose(&near, 1, MR_F32, &c);
		CU_ASSERT_EQUAL(classes(&c, (mr_choice_kind)k, MR_CHOICE_ONEDNN), ALL);
		choose(&far, 1, MR_F32, &c);
		CU_ASSERT_EQUAL(classes(&c, (mr_choice_kind)k, MR_CHOICE_ONEDNN), 0);
		mr_tune_points_fini(&near), mr_tune_points_fini(&far);
	}
}

static void f32_inside_has_to_win(void)
{
	mr_tune_points little = points_of(MR_CHOICE_gemm_nn, MR_BF16, at_7_percent, faster_by_2_percent);
	mr_tune_points much = points_of(MR_CHOICE_gemm_nn, MR_BF16, at_7_percent, faster_by_20_percent);
	mr_chosen c;

	choose(&little, 1, MR_BF16, &c);
	CU_ASSERT_EQUAL(classes(&c, MR_CHOICE_gemm_nn, MR_CHOICE_FUSED), ALL);
	choose(&much, 1, MR_BF16, &c);
	CU_ASSERT_EQUAL(classes(&c, MR_CHOICE_gemm_nn, MR_CHOICE_F32), ALL);
	mr_tune_points_fini(&little), mr_tune_points_fini(&much);
}

/* Large shapes by oneDNN, with three points that are noise. */
static double large_with_noise(uint32_t r, uint32_t s)
{
	bool large = r >= 4 && s >= 2, noise = (r == 1 && s == 5) || (r == 6 && s == 4) || (r == 3 && s == 0);

	return large != noise ? 0.93 : 1.14;
}

static void noise_is_no_choice(void)
{
	mr_tune_points t = points_of(MR_CHOICE_gemm_nt, MR_F32, large_with_noise, NULL);
	mr_chosen c;

	choose(&t, 1, MR_F32, &c);
	for (uint32_t r = 0; r < MR_CHOICE_ROWS; r++)
		for (uint32_t s = 0; s < MR_CHOICE_SIZES; s++)
			CU_ASSERT_EQUAL(c.by[MR_CHOICE_gemm_nt][r][s],
					r >= 4 && s >= 2 ? MR_CHOICE_ONEDNN : MR_CHOICE_FUSED);
	mr_tune_points_fini(&t);
}

static double much_slower(uint32_t r, uint32_t s)
{
	return (void)r, (void)s, 1.4;
}

/* oneDNN executes what it does well on each machine; what one alone has measured is left out. */
static void each_machine_has_to_agree(void)
{
	mr_tune_points t[2] = {points_of(MR_CHOICE_gemm_nn, MR_F32, at_4_percent, NULL),
			       points_of(MR_CHOICE_gemm_nn, MR_F32, much_slower, NULL)};
	mr_tune_point alone = {.kind = MR_CHOICE_norm, .isa = "avx512", .dtype = MR_F32, .fused_s = 1e-6,
			       .ratio = {1, 0.5, 0}};
	mr_choices *table;
	const mr_choices nothing = {.source = "none"};
	mr_chosen c;

	choose(t, 1, MR_F32, &c);
	CU_ASSERT_EQUAL(classes(&c, MR_CHOICE_gemm_nn, MR_CHOICE_ONEDNN), ALL);
	MR_CHECK_OK(mr_tune_points_add(&t[0], &alone));
	choose(t, 2, MR_F32, &c);
	CU_ASSERT_EQUAL(classes(&c, MR_CHOICE_gemm_nn, MR_CHOICE_ONEDNN), 0);
	CU_ASSERT_EQUAL(classes(&c, MR_CHOICE_norm, MR_CHOICE_ONEDNN), 0);
	choose(t, 1, MR_F32, &c);
	CU_ASSERT(classes(&c, MR_CHOICE_norm, MR_CHOICE_ONEDNN) > 0);
	snprintf(t[1].made, sizeof(t[1].made), "elsewhere");
	MR_CHECK_OK(mr_tune_table(t, 2, &nothing, &table));
	CU_ASSERT_STRING_EQUAL(table->made, "somewhere; elsewhere");
	mr_choices_destroy(table);
	mr_tune_points_fini(&t[1]);
	t[1] = points_of(MR_CHOICE_gemm_nn, MR_F32, at_4_percent, NULL); /* two of the same opinion */
	choose(t, 2, MR_F32, &c);
	CU_ASSERT_EQUAL(classes(&c, MR_CHOICE_gemm_nn, MR_CHOICE_ONEDNN), ALL);
	mr_tune_points_fini(&t[0]), mr_tune_points_fini(&t[1]);
}

static uint32_t seed;

static double any(uint32_t r, uint32_t s)
{
	return 0.6 + (double)mr_rng_u32(seed, MR_RNG_DROPOUT, r, 0, s) / 4294967296.0;
}

/* Whatever was measured, a choice changes once with the size and once with the rows at most, and tables are short. */
static void every_table_is_monotonic(void)
{
	for (seed = 0; seed < 200; seed++) {
		mr_tune_points t = points_of(MR_CHOICE_gemm_tn, MR_BF16, any, seed % 2 ? any : NULL);
		mr_chosen c;

		choose(&t, 1, MR_BF16, &c);
		for (int i = 0; i < MR_CHOICE_ROWS; i++) {
			int by_size = 0, by_rows = 0;

			for (int j = 1; j < MR_CHOICE_SIZES; j++) {
				by_size += c.by[MR_CHOICE_gemm_tn][i][j] != c.by[MR_CHOICE_gemm_tn][i][j - 1];
				by_rows += c.by[MR_CHOICE_gemm_tn][j][i] != c.by[MR_CHOICE_gemm_tn][j - 1][i];
			}
			CU_ASSERT(by_size <= 1 && by_rows <= 1);
		}
		mr_tune_points_fini(&t);
	}
}

/* What is written is what is read; wrong files are refused with their line. */
static void points_survive_their_file(void)
{
	mr_tune_points t = points_of(MR_CHOICE_gemm_nn, MR_BF16, large_with_noise, at_7_percent), again;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/mr_points_%d", (int)getpid());
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	mr_tune_points_print(&t, f);
	fclose(f);
	MR_CHECK_OK(mr_tune_points_read(&again, path));
	CU_ASSERT_EQUAL_FATAL(again.n, t.n);
	CU_ASSERT_STRING_EQUAL(again.made, t.made);
	for (size_t i = 0; i < t.n; i++) {
		CU_ASSERT(again.point[i].kind == t.point[i].kind && again.point[i].dtype == t.point[i].dtype &&
			  again.point[i].row == t.point[i].row && again.point[i].size == t.point[i].size);
		for (int by = 0; by < MR_N_CHOICE_BY; by++)
			CU_ASSERT_DOUBLE_EQUAL(again.point[i].ratio[by], t.point[i].ratio[by], 1e-3);
	}
	mr_tune_points_fini(&again);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs("# made: x\ngemm_nn avx512 f32 one 8 0 1 1 0\n", f);
	fclose(f);
	MR_CHECK_FAIL(mr_tune_points_read(&again, path), MR_ECONFIG, ":2: classes go to 7 and 7, got 8 and 0");
	mr_tune_points_fini(&again);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs("gemm_nn avx512 f32 one 1 0 1 1\n", f);
	fclose(f);
	MR_CHECK_FAIL(mr_tune_points_read(&again, path), MR_ECONFIG, ":1: expected a point");
	mr_tune_points_fini(&again);
	unlink(path);
	mr_tune_points_fini(&t);
}

void mr_suite_tune_table(void); /* the runner declares it too */

void mr_suite_tune_table(void)
{
	MR_SUITE("tune_table");
	MR_TEST(the_margin_is_for_onednn);
	MR_TEST(f32_inside_has_to_win);
	MR_TEST(noise_is_no_choice);
	MR_TEST(each_machine_has_to_agree);
	MR_TEST(every_table_is_monotonic);
	MR_TEST(points_survive_their_file);
}
