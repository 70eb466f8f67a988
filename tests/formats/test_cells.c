/* test_cells.c - cells of tables as people write them: numbers, dates, missing values; rows of several lines; what
 * columns become. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/stats.h"
#include "check.h"
#include "formats/csv_inputs.h"
#include "formats/csv_rows.h"
#include "scratch.h"

static void styles(void)
{
	static const struct {
		mr_cell_style style;
		const char *text;
		double value; /* NAN: it is none */
	} cases[] = {
		{MR_CELL_PLAIN, "-1e3", -1000}, {MR_CELL_PLAIN, "1,5", NAN}, {MR_CELL_PLAIN, "inf", NAN},
		{MR_CELL_POINT, "1,234.5", 1234.5}, {MR_CELL_POINT, "$1,234", 1234}, {MR_CELL_POINT, "-$12", -12},
		{MR_CELL_POINT, "$ -12", -12}, {MR_CELL_POINT, "12 %", 12}, {MR_CELL_POINT, "(1,000)", -1000},
		{MR_CELL_POINT, "($5.50)", -5.5}, {MR_CELL_POINT, "1,234,567.25", 1234567.25},
		{MR_CELL_POINT, "1,23", NAN}, {MR_CELL_POINT, "12,34,567", NAN}, {MR_CELL_POINT, "1234,567", NAN},
		{MR_CELL_POINT, "1.5e-3", 0.0015}, {MR_CELL_POINT, "\xe2\x82\xac 7", 7}, {MR_CELL_POINT, "7 EUR", 7},
		{MR_CELL_POINT, "1'000.5", 1000.5}, {MR_CELL_POINT, "1 000", 1000}, {MR_CELL_POINT, ".5", 0.5},
		{MR_CELL_POINT, "%", NAN}, {MR_CELL_POINT, "", NAN}, {MR_CELL_POINT, "-", NAN},
		{MR_CELL_POINT, ".", NAN},
		{MR_CELL_POINT, "1.2.3", NAN}, {MR_CELL_POINT, "12 cm", NAN}, {MR_CELL_POINT, "(5", NAN},
		{MR_CELL_COMMA, "1,5", 1.5}, {MR_CELL_COMMA, "1.234,5", 1234.5}, {MR_CELL_COMMA, "1.5", NAN},
		{MR_CELL_COMMA, "1\xc2\xa0" "234,50 \xe2\x82\xac", 1234.5}, {MR_CELL_COMMA, "-0,25", -0.25},
		{MR_CELL_TRUTH, "TRUE", 1}, {MR_CELL_TRUTH, "no", 0}, {MR_CELL_TRUTH, "Y", 1}, {MR_CELL_TRUTH, "0", 0},
		{MR_CELL_TRUTH, "maybe", NAN}, {MR_CELL_TRUTH, "2", NAN},
		{MR_CELL_YMD, "1970-01-02", 1}, {MR_CELL_YMD, "1969/12/31", -1}, {MR_CELL_YMD, "2000-03-01", 11017},
		{MR_CELL_YMD, "2024-02-29T12:00", 19782.5}, {MR_CELL_YMD, "1970-01-01 06:00:00Z", 0.25},
		{MR_CELL_YMD, "1970-01-01T06:00:00+02:00", 0.25}, {MR_CELL_YMD, "1970-13-01", NAN},
		{MR_CELL_YMD, "1970-01-01 25:00", NAN}, {MR_CELL_YMD, "1970-1", NAN}, {MR_CELL_YMD, "70-01-01", NAN},
		{MR_CELL_MDY, "1/31/1970", 30}, {MR_CELL_MDY, "31/1/1970", NAN}, {MR_CELL_MDY, "Jan 31, 1970", 30},
		{MR_CELL_DMY, "31.1.1970", 30}, {MR_CELL_DMY, "31/01/70", 30}, {MR_CELL_DMY, "31-Jan-1970", 30},
		{MR_CELL_DMY, "31 January 1970", 30}, {MR_CELL_DMY, "32.1.1970", NAN}, {MR_CELL_DMY, "1.1", NAN},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double x = NAN;
		bool is = mr_cell_number(cases[i].style, cases[i].text, &x);

		if (is != !isnan(cases[i].value) || (is && fabs(x - cases[i].value) > 1e-9))
			printf("\n  %s as %s: %g\n", cases[i].text, mr_cell_style_name(cases[i].style), is ? x : NAN);
		CU_ASSERT(is == !isnan(cases[i].value));
		CU_ASSERT(!is || fabs(x - cases[i].value) < 1e-9);
	}
	for (int s = 0; s < MR_CELL_STYLES; s++)
		CU_ASSERT_EQUAL(mr_cell_style_of(mr_cell_style_name((mr_cell_style)s)), (mr_cell_style)s);
	CU_ASSERT_EQUAL(mr_cell_style_of("roman"), MR_CELL_STYLES);
}

static void missing_values(void)
{
	static const char *const are[] = {"", "NA", "n/a", "NaN", "null", "NULL", "?", "-", "None", "#N/A"};
	static const char *const are_not[] = {"0", "no", "x", "nano", "--", "nullify"};

	for (size_t i = 0; i < sizeof(are) / sizeof(are[0]); i++)
		CU_ASSERT_TRUE(mr_cell_is_missing(are[i]));
	for (size_t i = 0; i < sizeof(are_not) / sizeof(are_not[0]); i++)
		CU_ASSERT_FALSE(mr_cell_is_missing(are_not[i]));
}

/* The style that most cells have. */
static void elections(void)
{
	static const struct {
		const char *cell[4];
		bool semicolon;
		mr_cell_style style;
	} cases[] = {
		{{"1", "2.5", "-3"}, false, MR_CELL_PLAIN},       {{"1,234", "5.5"}, false, MR_CELL_POINT},
		{{"1,5", "2,25"}, false, MR_CELL_COMMA},          {{"1,234", "2,345"}, false, MR_CELL_POINT},
		{{"1,234", "2,345"}, true, MR_CELL_COMMA},        {{"yes", "no", "yes"}, false, MR_CELL_TRUTH},
		{{"2020-01-01", "2020-12-31"}, false, MR_CELL_YMD}, {{"1/2/2020", "3/4/2020"}, false, MR_CELL_MDY},
		{{"1/2/2020", "31/4/2020"}, false, MR_CELL_DMY},  {{"1.2.2020", "3.4.2020"}, false, MR_CELL_DMY},
		{{"1", "x", "3", "4"}, false, MR_CELL_PLAIN},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mr_cell_votes v = {0};

		for (int k = 0; k < 4 && cases[i].cell[k]; k++)
			mr_cell_vote(&v, cases[i].cell[k]);
		CU_ASSERT_EQUAL(mr_cell_elect(&v, cases[i].semicolon), cases[i].style);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void texts(void)
{
	mr_text_set s = {0};
	char text[16];

	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "t%d", i * 7 % 1000);
		MR_CHECK_OK(mr_text_set_add(&s, text));
	}
	CU_ASSERT_EQUAL(s.n, 1000);
	CU_ASSERT_EQUAL(mr_text_set_find(&s, "t7"), 1);
	CU_ASSERT_EQUAL(mr_text_set_find(&s, "t1000"), -1);
	mr_text_set_sort(&s, by_text);
	CU_ASSERT_EQUAL(mr_text_set_find(&s, "t0"), 0);
	CU_ASSERT_EQUAL(mr_text_set_find(&s, "t999"), 999);
	mr_text_set_fini(&s);
	CU_ASSERT_EQUAL(mr_text_set_find(&s, "t0"), -1);
}

static char path[64];

static void write_file(const char *text)
{
	int fd = mkstemp(mr_scratch(path, sizeof(path), "rows"));

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* The rows of @text are @want, NULL at the end, and begin at the lines @number. */
static void expect_rows(const char *text, const char *const *want, const uint64_t *number)
{
	mr_csv_rows rows;
	char *row;

	write_file(text);
	MR_CHECK_OK(mr_csv_rows_open(path, &rows));
	for (int i = 0;; i++) {
		MR_CHECK_OK(mr_csv_rows_next(&rows, &row));
		CU_ASSERT_EQUAL_FATAL(!row, !want[i]);
		if (!row)
			break;
		CU_ASSERT_STRING_EQUAL(row, want[i]);
		CU_ASSERT_EQUAL(rows.number, number[i]);
		CU_ASSERT_EQUAL(rows.first, i == 0);
	}
	mr_csv_rows_close(&rows);
	unlink(path);
}

#define ROWS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define AT(...) ((const uint64_t[]){__VA_ARGS__})

static void rows_of_several_lines(void)
{
	expect_rows("a,b\n1,\"two\nlines\"\n\n3,4\n", ROWS("a,b", "1,\"two\nlines\"", "3,4"), AT(1, 2, 5));
	expect_rows("\"x\n\ny\",1\n2,3", ROWS("\"x\n\ny\",1", "2,3"), AT(1, 4));
	expect_rows("5\" pipe,\"a \"\"b\"\" \nc\"\n1,2\n", ROWS("5\" pipe,\"a \"\"b\"\" \nc\"", "1,2"), AT(1, 3));
	/* A quote that nothing closes is a fault of its line alone. */
	expect_rows("1,\"2\n3,4\n5,6\n", ROWS("1,\"2", "3,4", "5,6"), AT(1, 2, 3));
	expect_rows("1,\"2\n3,\"4\n5,6\n", ROWS("1,\"2\n3,\"4", "5,6"), AT(1, 3));
	expect_rows("\"\n\"a\"\n", ROWS("\"\n\"a\""), AT(1));
	expect_rows("x,\"y", ROWS("x,\"y"), AT(1));
}

static void many_open_quotes(void)
{
	char *text = malloc(4096 * 4 + 8);
	mr_csv_rows rows;
	uint64_t n = 0;
	char *row;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	strcpy(text, "1,\"\n");
	for (int i = 0; i < 4096; i++)
		strcpy(text + 4 + (size_t)i * 4, "1,2\n");
	write_file(text);
	free(text);
	MR_CHECK_OK(mr_csv_rows_open(path, &rows));
	for (;; n++) {
		MR_CHECK_OK(mr_csv_rows_next(&rows, &row));
		if (!row)
			break;
		CU_ASSERT_STRING_EQUAL(row, n ? "1,2" : "1,\"");
		CU_ASSERT_EQUAL(rows.number, n + 1);
	}
	CU_ASSERT_EQUAL(n, 4097);
	mr_csv_rows_close(&rows);
	unlink(path);
}

/* A table of the first row @head, at the row @row, both written to. */
static void take_table(mr_csv_table *t, char *head, char *row)
{
	*t = (mr_csv_table){.path = "t", .separator = ',', .header = true};
	MR_CHECK_OK(mr_csv_table_take(t, head));
	MR_CHECK_OK(mr_csv_table_split(t, row, 2));
}

/* Of three columns: a number with gaps, a category with three values, which are numbers or a category. */
static void inputs(void)
{
	char head[] = "n,c,x", row[] = "7,b,2", gap[] = "?,,3", strange[] = "9,green,4", again[] = "NA,,3";
	mr_csv_inputs in = {.missing = MR_MISSING_MEAN, .code = MR_CODE_KNOWN};
	double v[6];
	int32_t category[1];
	mr_csv_table t;
	mr_strbuf b = {0};

	take_table(&t, head, row);
	MR_CHECK_OK(mr_csv_inputs_init(&in, 3));
	in.column[0] = (mr_csv_column){.name = "n", .gaps = true, .scaled = true, .mean = 5, .deviation = 2};
	in.column[1] = (mr_csv_column){.name = "c", .kind = MR_COLUMN_CATEGORY, .one_hot = true};
	in.column[2] = (mr_csv_column){.name = "x"};
	MR_CHECK_OK(mr_text_set_add(&in.column[1].values, ""));
	MR_CHECK_OK(mr_text_set_add(&in.column[1].values, "a"));
	MR_CHECK_OK(mr_text_set_add(&in.column[1].values, "b"));
	mr_csv_inputs_place(&in);
	CU_ASSERT(in.n_numbers == 6 && in.n_categories == 0);
	CU_ASSERT(mr_csv_inputs_owner(&in, 1) == 0 && mr_csv_inputs_owner(&in, 4) == 1);
	CU_ASSERT(mr_csv_inputs_owner(&in, 5) == 2);
	MR_CHECK_OK(mr_csv_inputs_read(&in, &t, NULL, 2, v, category));
	CU_ASSERT(v[0] == 1 && v[1] == 0 && v[2] == 0 && v[3] == 0 && v[4] == 1 && v[5] == 2);
	MR_CHECK_OK(mr_csv_table_split(&t, gap, 3));
	MR_CHECK_OK(mr_csv_inputs_read(&in, &t, NULL, 3, v, category));
	CU_ASSERT(v[0] == 0 && v[1] == 1 && v[2] == 1 && v[3] == 0 && v[4] == 0 && v[5] == 3);
	in.column[1].one_hot = false;
	mr_csv_inputs_place(&in);
	CU_ASSERT(in.n_numbers == 3 && in.n_categories == 1);
	MR_CHECK_OK(mr_csv_table_split(&t, strange, 4));
	MR_CHECK_OK(mr_csv_inputs_read(&in, &t, NULL, 4, v, category));
	CU_ASSERT(v[0] == 2 && v[2] == 4 && category[0] == -1);
	mr_csv_inputs_print_unknown(&in, &b);
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&b), "1 unknown value of c, such as \"green\"");
	mr_strbuf_fini(&b);
	in.missing = MR_MISSING_REFUSE;
	MR_CHECK_OK(mr_csv_table_split(&t, again, 5));
	MR_CHECK_FAIL(mr_csv_inputs_read(&in, &t, NULL, 5, v, category), MR_EDATA,
		      "t:5: n is \"NA\", expected a number; empty = \"mean\" or \"zero\" takes missing values");
	mr_csv_inputs_fini(&in);
	mr_csv_table_close(&t);
}

static mr_status category_of(const mr_csv_inputs *in, const mr_csv_table *t, uint32_t field, int32_t *out)
{
	return mr_csv_inputs_category(in, field, t, field, 2, out);
}

static void hashes_and_numbers(void)
{
	char head[] = "a,b,c,d", row[] = "3,,-1,cat";
	mr_csv_inputs in = {.log = true, .missing = MR_MISSING_ZERO};
	mr_csv_table t;
	int32_t category;
	bool missing;
	double x;

	take_table(&t, head, row);
	MR_CHECK_OK(mr_csv_inputs_init(&in, 4));
	MR_CHECK_OK(mr_csv_inputs_number(&in, 0, &t, 0, 2, &x, &missing));
	CU_ASSERT(x == log1p(3) && !missing);
	MR_CHECK_OK(mr_csv_inputs_number(&in, 1, &t, 1, 2, &x, &missing));
	CU_ASSERT(x == 0 && missing);
	MR_CHECK_OK(mr_csv_inputs_number(&in, 2, &t, 2, 2, &x, &missing));
	CU_ASSERT(x == 0 && !missing);
	MR_CHECK_FAIL(mr_csv_inputs_number(&in, 3, &t, 3, 2, &x, &missing), MR_EDATA, "\"cat\" is no finite number");
	MR_CHECK_OK(category_of(&in, &t, 1, &category));
	CU_ASSERT_EQUAL(category, -1);
	MR_CHECK_OK(category_of(&in, &t, 3, &category));
	CU_ASSERT_EQUAL(category, (int32_t)(mr_hash64(0, "cat", 3) & INT32_MAX));
	in.code = MR_CODE_NUMBER;
	MR_CHECK_OK(category_of(&in, &t, 0, &category));
	CU_ASSERT_EQUAL(category, 3);
	MR_CHECK_FAIL(category_of(&in, &t, 2, &category), MR_EDATA, "\"-1\" is no whole number from 0");
	MR_CHECK_FAIL(category_of(&in, &t, 3, &category), MR_EDATA, "category = \"known\" or \"hash\" takes texts");
	in.missing = MR_MISSING_REFUSE;
	MR_CHECK_FAIL(category_of(&in, &t, 1, &category), MR_EDATA, "b is empty, expected a category");
	mr_csv_inputs_fini(&in);
	mr_csv_table_close(&t);
}

/* Any bytes: no style reads beyond a text or gives what is not finite. Seeded. */
static void any_bytes(void)
{
	static const char alphabet[] = "0123456789,.-+$%()'/: TZeEjanyes\xc2\xa0\xe2\x82\xac";
	char *text;

	for (uint64_t i = 0; i < 20000; i++) {
		size_t n = (size_t)(mr_mix64(i) % 24);
		double x;

		text = malloc(n + 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		for (size_t k = 0; k < n; k++)
			text[k] = alphabet[mr_mix64(i * 100 + k + 1) % (sizeof(alphabet) - 1)];
		text[n] = 0;
		for (int s = 0; s < MR_CELL_STYLES; s++)
			CU_ASSERT(!mr_cell_number((mr_cell_style)s, text, &x) || isfinite(x));
		free(text);
	}
}

void mr_suite_cells(void);

void mr_suite_cells(void)
{
	MR_SUITE("cells");
	MR_TEST(styles);
	MR_TEST(missing_values);
	MR_TEST(elections);
	MR_TEST(texts);
	MR_TEST(rows_of_several_lines);
	MR_TEST(many_open_quotes);
	MR_TEST(inputs);
	MR_TEST(hashes_and_numbers);
	MR_TEST(any_bytes);
}
