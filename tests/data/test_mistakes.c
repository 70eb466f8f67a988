/* test_mistakes.c - all that is wrong in the files of a source is named at once, and what may be left out is. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/notice.h"
#include "check.h"
#include "data_help.h"

static char dir[512];

static mr_data_want want(mr_dtype dtype)
{
	return (mr_data_want){.dtype = dtype, .seed = 3, .base_dir = dir, .context = 0};
}

static void save(const char *name, const char *text)
{
	data_help_write(dir, name, text, strlen(text));
}

/* Opening and loading fails with @message, behind notices that hold all of @each; NULL ends them. */
static void refuse(const char *source, const char *settings, mr_data_want w, const char *message,
		   const char *const *each)
{
	mr_strbuf notes = {0}, *before = mr_notice_to(&notes);
	mr_dataset *d;

	MR_CHECK_FAIL(data_help_open(source, settings, &w, &d), MR_EDATA, message);
	mr_notice_to(before);
	for (; *each; each++) {
		if (!strstr(mr_strbuf_text(&notes), *each))
			printf("\nnot in the notices: %s\n", *each);
		CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&notes), *each));
	}
	mr_strbuf_fini(&notes);
}

#define BAD_LINES "x 1:1\n1 2:1 2:1\n0 1:1\n2 3:\n1 1:1\n1 2:1\n1 1:2\n0 1:1\n0 3:7\n"

static void all_lines_of_libsvm(void)
{
	double x[3], y;
	mr_data_want w = want(MR_F64);
	mr_dataset *d;

	data_help_folder(dir);
	save("s", BAD_LINES);
	save("v", "1 1:1\n5 1:1\n1 7\n");
	refuse("libsvm", "path=s", w, "s: 3 of 9 lines are damaged, the first: ",
	       (const char *const[]){"s:1: expected a number as label", "s:2: indices must rise",
				     "s:4: expected a finite number behind the colon", NULL});
	refuse("libsvm", "path=s validation_path=v labels=classes damaged=4", w, "s: 5 of 12 lines are damaged",
	       (const char *const[]){"s:4: ", "v:2: label 5 is none of the training file's",
				     "v:3: expected index:value", NULL});
	MR_CHECK_OK(data_help_open("libsvm", "path=s damaged=3", &w, &d));
	CU_ASSERT(d->n_train == 6 && d->input.cols == 3);
	d->ops->train(d, 0, x, &y);
	CU_ASSERT(x[0] == 1 && x[1] == 0 && x[2] == 0 && y == 0);
	d->ops->train(d, 1, x, &y);
	CU_ASSERT(x[0] == 1 && x[1] == 0 && y == 1); /* nothing of the damaged line before is left in it */
	d->ops->train(d, 5, x, &y);
	CU_ASSERT(x[0] == 0 && x[2] == 7 && y == 0);
	mr_dataset_close(d);
	/* an index 0 in a line that is left out says nothing of the others */
	save("z", "1 1:5\n1 0:1 0:2\n0 2:4\n1 1:1\n");
	MR_CHECK_OK(data_help_open("libsvm", "path=z damaged=1", &w, &d));
	CU_ASSERT(d->input.cols == 2);
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* Twenty are named, and how many more there are. */
static void many_lines(void)
{
	char text[4000] = "";

	data_help_folder(dir);
	for (int i = 0; i < 60; i++)
		strcat(text, i % 2 ? "1 1:1\n" : "1 1:x\n");
	save("s", text);
	refuse("libsvm", "path=s", want(MR_F64), "s: 30 of 60 lines are damaged",
	       (const char *const[]){"s:1: ", "s:39: ", "and 10 more", NULL});
	data_help_remove(dir);
}

/* A second file with other columns, and damaged rows of the first one. */
static void head_and_rows(void)
{
	data_help_folder(dir);
	save("s", "a,b,t\n1,2,x\nq,2,y\n4,5\n6,7,y\n1,1,x\n");
	save("v", "c,b,u\n1,2,x\n");
	refuse("csv", "path=s validation_path=v targets=classes damaged=9", want(MR_F32),
	       "data \"csv\": 3 mistakes, the first: ",
	       (const char *const[]){"s:3: a: \"q\" is no", "s:4: 2 fields, where the first line has 3",
				     "v:1: column 1 is \"c\", in the training file \"a\"; 3 is \"u\", in", NULL});
	save("s", "a,b,t\n1,2,x\n2,2,y\n");
	refuse("csv", "path=s validation_path=v targets=classes", want(MR_F32), "v:1: column 1 is \"c\"",
	       (const char *const[]){NULL});
	data_help_remove(dir);
}

static void all_numbers_of_arrays(void)
{
	static const double m[] = {1, NAN, 3, 4, 1e39, 6}, t[] = {INFINITY, 1};

	data_help_folder(dir);
	data_help_write(dir, "m", m, sizeof(m));
	data_help_write(dir, "t", t, sizeof(t));
	data_help_write(dir, "short", t, sizeof(t) / 2);
	refuse("arrays",
	       "matrix=m targets=t rows=2 features=3 validation_matrix=none validation_targets=short validation_rows=2",
	       want(MR_F32), "data \"arrays\": 5 mistakes, the first: ",
	       (const char *const[]){"m: number 1 (row 0, column 1, from 0) is not finite: nan",
				     "m: number 4 (row 1, column 1, from 0), 1e+39, is too large for f32",
				     "t: number 0 (row 0, column 0, from 0) is not finite: inf", "none: ",
				     "short: has 8 bytes where 2 numbers of 8 bytes are 16", NULL});
	data_help_write(dir, "t1", m + 2, sizeof(t));
	refuse("arrays", "matrix=m targets=t1 rows=2 features=3", want(MR_F32),
	       "data \"arrays\": 2 mistakes, the first: ", (const char *const[]){"m: number 1 ", "m: number 4 ", NULL});
	data_help_remove(dir);
}

static void all_tokens(void)
{
	static const uint16_t train[] = {1, 2, 900, 4, 5, 6, 7, 700, 9, 10}, odd[] = {1, 2};
	mr_data_want w = want(MR_F32);

	w.context = 2;
	data_help_folder(dir);
	data_help_write(dir, "t.bin", train, sizeof(train));
	data_help_write(dir, "v.bin", odd, 3);
	refuse("tokens", "path=t.bin validation_path=v.bin vocab=300", w, "data \"tokens\": 3 mistakes, the first: ",
	       (const char *const[]){"t.bin: token 900 at byte offset 4 ", "t.bin: token 700 at byte offset 14 ",
				     "v.bin: ", NULL});
	data_help_remove(dir);
}

static void all_strange_bytes(void)
{
	mr_data_want w = want(MR_F32);

	w.context = 2;
	w.alphabet = "6162";
	data_help_folder(dir);
	save("s", "abcabdabcabdab");
	refuse("text", "path=s", w, "s: 2 mistakes, the first: ",
	       (const char *const[]){"byte 0x63 at offset 2 ", "byte 0x64 at offset 5 ", NULL});
	data_help_remove(dir);
}

void mr_suite_mistakes(void);
void mr_suite_mistakes(void)
{
	MR_SUITE("mistakes");
	MR_TEST(all_lines_of_libsvm);
	MR_TEST(many_lines);
	MR_TEST(head_and_rows);
	MR_TEST(all_numbers_of_arrays);
	MR_TEST(all_tokens);
	MR_TEST(all_strange_bytes);
}
