/* Points that tune measured, as a file: read as they were printed, and what is no such file is refused by its line. */
#include "profile/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "scratch.h"

static const char head[] = "# made: a machine with a library\n";

/* A file of @text; the caller removes it. */
static void write_file(char path[256], const char *text)
{
	FILE *f = fdopen(mkstemp(mr_scratch(path, 256, "points")), "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static void points_are_read_as_they_were_printed(void)
{
	mr_tune_points t = {.made = "a machine with a library"}, back;
	char path[256], text[4096] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (uint32_t i = 0; i < 300; i++) { /* more than there is room for at first */
		mr_tune_point p = {.kind = (mr_choice_kind)(i % MR_N_CHOICES),
				   .dtype = i % 2 ? MR_BF16 : MR_F32,
				   .team = i % 3 == 0,
				   .row = i % MR_CHOICE_ROWS,
				   .size = i % MR_CHOICE_SIZES,
				   .fused_s = 1e-6 * (i + 1),
				   .ratio = {1, 0.5, 2}};

		snprintf(p.isa, sizeof(p.isa), "isa%u", i % 2);
		MR_CHECK_OK(mr_tune_points_add(&t, &p));
	}
	CU_ASSERT_EQUAL(t.n, 300);
	t.n = 7;
	mr_tune_points_print(&t, f);
	fclose(f);
	write_file(path, text);
	MR_CHECK_OK(mr_tune_points_read(&back, path));
	CU_ASSERT_STRING_EQUAL(back.made, t.made);
	CU_ASSERT_EQUAL_FATAL(back.n, 7);
	for (size_t i = 0; i < back.n; i++) {
		const mr_tune_point *a = &t.point[i], *b = &back.point[i];

		CU_ASSERT(a->kind == b->kind && a->dtype == b->dtype && a->team == b->team && a->row == b->row &&
			  a->size == b->size);
		CU_ASSERT_STRING_EQUAL(a->isa, b->isa);
		CU_ASSERT_DOUBLE_EQUAL(a->fused_s, b->fused_s, 1e-9);
		for (int k = 0; k < MR_N_CHOICE_BY; k++)
			CU_ASSERT_DOUBLE_EQUAL(a->ratio[k], b->ratio[k], 1e-3);
	}
	unlink(path);
	mr_tune_points_fini(&back);
	mr_tune_points_fini(&t);
}

static void what_is_no_file_of_points_is_refused(void)
{
	static const struct {
		const char *row, *part; /* @: an operation */
	} cases[] = {
		{"", "there is no point in it"},
		{"# a comment\n\n", "there is no point in it"},
		{"@ avx2 f32 one 0\n", ":2: expected a point that millrace tune measured"},
		{"nothing avx2 f32 one 0 0 1.00 1.000 0.000\n", "got \"nothing"},
		{"@ avx2 f32 one 0 0 1.00 1.000 0.000 7\n", "expected a point"},
		{"@ avx2 f32 one 4000 0 1.00 1.000 0.000\n", "classes go to"},
		{"@ avx2 f32 one 0 4000 1.00 1.000 0.000\n", "classes go to"},
		{"@ avx2 f32 one 0 0 0.00 1.000 0.000\n", "times are positive"},
		{"@ avx2 f32 one 0 0 1.00 -1.000 0.000\n", "times are positive"},
		{"@ avx2 f64 one 0 0 1.00 1.000 0.000\n", "expected f32 or bf16 and one or team"},
		{"@ avx2 f32 two 0 0 1.00 1.000 0.000\n", "expected f32 or bf16 and one or team"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[256], text[256];
		mr_tune_points t;
		bool named = *cases[i].row == '@';

		snprintf(text, sizeof(text), "%s%s%s", head, named ? mr_choice_name((mr_choice_kind)0) : "",
			 cases[i].row + named);
		write_file(path, text);
		MR_CHECK_FAIL(mr_tune_points_read(&t, path), MR_ECONFIG, cases[i].part);
		mr_tune_points_fini(&t);
		unlink(path);
	}
}

void mr_suite_tune_points(void)
{
	MR_SUITE("tune_points");
	MR_TEST(points_are_read_as_they_were_printed);
	MR_TEST(what_is_no_file_of_points_is_refused);
}
