/* test_tables.c - tables of CSV: separators, heads, quotes; lines of text files; names of files left alone. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "formats/csv_table.h"
#include "formats/lines.h"
#include "formats/skipped.h"
#include "scratch.h"

static const mr_option options[] = {
	{"separator", MR_OPT_STRING, "auto", 0, 0, NULL, NULL, "between fields"},
	{"header", MR_OPT_STRING, "auto", 0, 0, NULL, NULL, "does the first line name columns"},
	{"target", MR_OPT_STRING, "", 0, 0, NULL, NULL, "column of the target"},
	{"ignore", MR_OPT_STRING, "", 0, 0, NULL, NULL, "columns left out"},
	{"categories", MR_OPT_STRING, "", 0, 0, NULL, NULL, "columns of categories"},
	{0},
};

static char path[64];

static void write_file(const char *bytes, size_t len)
{
	int fd = mkstemp(mr_scratch(path, sizeof(path), "table"));

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

/* The table of @text with the settings "key=value" of @sets, NULL at the end. */
static mr_status open_table(mr_csv_table *t, const char *text, const char *const *sets)
{
	mr_values *values;
	mr_status st;

	write_file(text, strlen(text));
	*t = (mr_csv_table){0};
	MR_CHECK_OK(mr_values_create(options, &values));
	for (; sets && *sets; sets += 2)
		MR_CHECK_OK(mr_values_set_string(values, sets[0], sets[1]));
	st = mr_csv_table_open(t, path, values);
	mr_values_destroy(values);
	unlink(path);
	return st;
}

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void separators_and_heads(void)
{
	static const struct {
		const char *text;
		char separator;
		bool header;
		const char *last; /* name of the last column */
	} cases[] = {
		{"a,b,c\n1,2,3\n", ',', true, "c"},           {"1;2;3\n", ';', false, "column 3"},
		{"size\tweight\n1\t2\n", '\t', true, "weight"}, {"\"a,b\";c\n", ';', true, "c"},
		{"x,,\n", ',', true, "column 3"},              {" 1 , 2 \r\n", ',', false, "column 2"},
	};
	mr_csv_table t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		MR_CHECK_OK(open_table(&t, cases[i].text, NULL));
		CU_ASSERT_EQUAL(t.separator, cases[i].separator);
		CU_ASSERT_EQUAL(t.header, cases[i].header);
		CU_ASSERT_STRING_EQUAL(t.name[t.n_columns - 1], cases[i].last);
		CU_ASSERT_EQUAL(t.target, t.n_columns - 1);
		CU_ASSERT_EQUAL(t.n_features, t.n_columns - 1);
		mr_csv_table_close(&t);
	}
	MR_CHECK_OK(open_table(&t, "a,b;c\n", SETS("separator", "semicolon", "header", "no")));
	CU_ASSERT(t.n_columns == 2 && !t.header);
	CU_ASSERT_STRING_EQUAL(t.name[0], "column 1");
	mr_csv_table_close(&t);
}

static void columns_by_name_and_number(void)
{
	mr_csv_table t;

	MR_CHECK_OK(open_table(&t, "id,a,b,c,kind,y\n",
			       SETS("target", "y", "ignore", "id", "categories", "kind")));
	CU_ASSERT(t.target == 5 && t.left_out[0] && t.category[4] && t.n_features == 4 && t.n_categories == 1);
	mr_csv_table_close(&t);
	MR_CHECK_OK(open_table(&t, "1,2,3,4,5\n", SETS("target", "1", "ignore", "2-3")));
	CU_ASSERT(t.target == 0 && t.left_out[1] && t.left_out[2] && !t.left_out[3] && t.n_features == 2);
	mr_csv_table_close(&t);
	MR_CHECK_FAIL(open_table(&t, "size,y\n", SETS("target", "sise")), MR_ECONFIG, "did you mean \"size\"?");
	mr_csv_table_close(&t);
	MR_CHECK_FAIL(open_table(&t, "1,2\n", SETS("ignore", "3")), MR_ECONFIG, "give a number from 1");
	mr_csv_table_close(&t);
	MR_CHECK_FAIL(open_table(&t, "a,b,y\n", SETS("ignore", "b,y")), MR_ECONFIG, "holds the target \"y\"");
	mr_csv_table_close(&t);
	MR_CHECK_FAIL(open_table(&t, "a,y\n", SETS("ignore", "a")), MR_EDATA, "no column is left");
	mr_csv_table_close(&t);
	MR_CHECK_FAIL(open_table(&t, "alone\n1\n", NULL), MR_EDATA, "another separator?");
	mr_csv_table_close(&t);
	MR_CHECK_FAIL(open_table(&t, "\"a,b\n", NULL), MR_EDATA, ":1: a quote is not closed");
	mr_csv_table_close(&t);
}

/* One line after the other of the same table. */
static void fields(void)
{
	char line[] = " \"say \"\"no\"\", twice\" , 2.5,\t7\r", few[] = "1,2", quote[] = "1,\"2\"3,4";
	mr_csv_table t;

	MR_CHECK_OK(open_table(&t, "a,b,c\n", NULL));
	MR_CHECK_OK(mr_csv_table_split(&t, line, 2));
	CU_ASSERT_STRING_EQUAL(t.field[0], "say \"no\", twice");
	CU_ASSERT_STRING_EQUAL(t.field[1], "2.5");
	CU_ASSERT_STRING_EQUAL(t.field[2], "7");
	MR_CHECK_FAIL(mr_csv_table_split(&t, few, 3), MR_EDATA, ":3: 2 fields, where the first line has 3");
	MR_CHECK_FAIL(mr_csv_table_split(&t, quote, 4), MR_EDATA, ":4: a quote is not closed");
	write_file("a,B,c\n", 6);
	MR_CHECK_FAIL(mr_csv_table_same(&t, path), MR_EDATA, "column 2 is \"B\", in the training file \"b\"");
	unlink(path);
	mr_csv_table_close(&t);
}

static void lines_of_a_file(void)
{
	static const char text[] = MR_BYTE_ORDER_MARK "one\n\nthree";
	static const char *const want[] = {"one", "", "three"};
	mr_lines l;
	char *line;

	write_file(text, sizeof(text) - 1);
	MR_CHECK_OK(mr_lines_open(path, "CSV", &l));
	for (int i = 0; i < 3; i++) {
		MR_CHECK_OK(mr_lines_next(&l, &line));
		CU_ASSERT_PTR_NOT_NULL_FATAL(line);
		CU_ASSERT_STRING_EQUAL(line, want[i]);
		CU_ASSERT_EQUAL(l.number, (uint64_t)i + 1);
	}
	MR_CHECK_OK(mr_lines_next(&l, &line));
	CU_ASSERT_PTR_NULL(line);
	mr_lines_close(&l);
	unlink(path);
	write_file("a\0b\n", 4);
	MR_CHECK_FAIL(mr_lines_open(path, "LIBSVM", &l), MR_EDATA, "byte 1 is a NUL: not a LIBSVM file");
	mr_lines_close(&l);
	unlink(path);
	write_file("", 0);
	MR_CHECK_FAIL(mr_lines_open(path, "CSV", &l), MR_EDATA, path);
	mr_lines_close(&l);
	unlink(path);
}

static void skipped_by_ending(void)
{
	static const char *const names[] = {"cat/a.WEBP", "dog/b.webp", "README", ".hidden", "x.gif", "y.averylongend"};
	mr_skipped s = {0};
	mr_strbuf b = {0};
	char many[16];

	mr_skipped_print(&s, &b);
	CU_ASSERT_EQUAL(b.len, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		mr_skipped_add(&s, names[i], false);
	mr_skipped_add(&s, "inner", true);
	mr_skipped_print(&s, &b);
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&b), "7 files are skipped: 2 .webp (cat/a.WEBP), 3 without an ending "
						   "(README), 1 .gif (x.gif), 1 inner folders (inner)");
	for (int i = 0; i < MR_SKIPPED_KINDS; i++) {
		snprintf(many, sizeof(many), "f.e%d", i);
		mr_skipped_add(&s, many, false);
	}
	CU_ASSERT(s.n_kinds == MR_SKIPPED_KINDS && s.n_others == 4 && s.n == 15);
	mr_strbuf_fini(&b);
	mr_skipped_print(&s, &b);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&b), ", and 4 of other endings"));
	mr_strbuf_fini(&b);
	mr_skipped_fini(&s);
}

void mr_suite_tables(void);

void mr_suite_tables(void)
{
	MR_SUITE("tables");
	MR_TEST(separators_and_heads);
	MR_TEST(columns_by_name_and_number);
	MR_TEST(fields);
	MR_TEST(lines_of_a_file);
	MR_TEST(skipped_by_ending);
}
