/* CSV files: how columns, targets and rows are read, and the message for each kind of error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/notice.h"
#include "check.h"
#include "data_help.h"

static char dir[512];

static mr_data_want want(void)
{
	return (mr_data_want){.dtype = MR_F64, .seed = 3, .base_dir = dir};
}

static void save(const char *name, const char *text)
{
	data_help_write(dir, name, text, strlen(text));
}

static mr_dataset *open_rows(const char *settings)
{
	mr_data_want w = want();
	mr_dataset *d = NULL;

	MR_CHECK_OK(data_help_open("csv", settings, &w, &d));
	return d;
}

static void refuse(const char *text, const char *settings, mr_status code, const char *message)
{
	mr_data_want w = want();
	mr_dataset *d;

	save("s", text);
	MR_CHECK_FAIL(data_help_open("csv", settings, &w, &d), code, message);
}

static void columns_and_target(void)
{
	double x[3], y;
	mr_dataset *d;

	data_help_folder(dir);
	save("s", "\xef\xbb\xbf" "id,\"a, b\" , y,c\r\n1, 0.5 ,7,\"-2e1\"\r\n\r\n2,4,8,1\n");
	d = open_rows("path=s target=y ignore=id scale=none validation=0");
	CU_ASSERT(d->n_train == 2 && d->input.cols == 2 && d->classes == 0 && d->trains_only);
	CU_ASSERT(d->target_low == 7 && d->target_high == 8);
	d->ops->valid(d, 0, x, &y);
	CU_ASSERT(x[0] == 0.5 && x[1] == -20 && y == 7);
	d->ops->valid(d, 1, x, &y);
	CU_ASSERT(x[0] == 4 && x[1] == 1 && y == 8);
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, "2 training rows of 2 numbers, target y"));
	mr_dataset_close(d);
	/* Without names; a separator that is found; the target is the last column. */
	save("s", "1;2;3\n4;5;6\n");
	d = open_rows("path=s scale=none validation=0");
	d->ops->valid(d, 1, x, &y);
	CU_ASSERT(d->n_train == 2 && x[0] == 4 && x[1] == 5 && y == 6);
	mr_dataset_close(d);
	save("s", "1\t2\t3\n4\t5\t6\n");
	d = open_rows("path=s target=1 header=yes scale=none validation=0");
	d->ops->valid(d, 0, x, &y);
	CU_ASSERT(d->n_train == 1 && x[0] == 5 && x[1] == 6 && y == 4);
	mr_dataset_close(d);
	data_help_remove(dir);
}

static void classes(void)
{
	double x;
	int32_t y;
	mr_dataset *d;

	data_help_folder(dir);
	save("s", "x,kind\n1,\"say \"\"b\"\"\"\n2,a\n3,c\n4,a\n");
	d = open_rows("path=s targets=classes scale=none validation=0");
	CU_ASSERT_EQUAL(d->classes, 3);
	for (int i = 0; i < 4; i++) {
		const int32_t expected[] = {2, 0, 1, 0};

		d->ops->valid(d, (uint64_t)i, &x, &y);
		CU_ASSERT(x == i + 1 && y == expected[i]);
	}
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, "3 classes: a, c, say \"b\""));
	mr_dataset_close(d);
	/* Classes that are numbers are in numeric order. */
	save("s", "1,10\n2,9\n3,-1\n");
	d = open_rows("path=s targets=classes scale=none validation=0");
	for (int i = 0; i < 3; i++) {
		d->ops->valid(d, (uint64_t)i, &x, &y);
		CU_ASSERT_EQUAL(y, 2 - i);
	}
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* Each row trains or validates, every epoch has each training row once, and scale uses the training rows only. */
static void split_and_scale(void)
{
	enum { N = 40, TRAIN = 30 };
	char text[N * 16] = "x,k,y\n";
	double x[2], y, raw[N], mean = 0, deviation = 0;
	bool seen[N] = {false}, sorted = true;
	mr_dataset *d, *plain;

	data_help_folder(dir);
	for (int i = 0; i < N; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d,5,%d\n", i * i, i);
	save("s", text);
	d = open_rows("path=s validation=0.25");
	plain = open_rows("path=s validation=0.25 scale=none");
	CU_ASSERT(d->n_train == TRAIN && d->n_valid == N - TRAIN && !d->trains_only);
	for (uint64_t g = 0; g < TRAIN; g++) {
		plain->ops->train(plain, g, x, &y);
		CU_ASSERT(x[0] == y * y && x[1] == 5 && !seen[(int)y]);
		seen[(int)y] = true;
		sorted = sorted && y == (double)g;
		raw[g] = x[0];
		mean += x[0] / TRAIN;
	}
	CU_ASSERT_FALSE(sorted);
	for (int i = 0; i < N - TRAIN; i++) {
		plain->ops->valid(plain, (uint64_t)i, x, &y);
		CU_ASSERT_FALSE(seen[(int)y]);
		seen[(int)y] = true;
	}
	for (int g = 0; g < TRAIN; g++)
		deviation += (raw[g] - mean) * (raw[g] - mean) / TRAIN;
	deviation = sqrt(deviation);
	for (uint64_t g = 0; g < TRAIN; g++) {
		d->ops->train(d, g, x, &y);
		CU_ASSERT_DOUBLE_EQUAL(x[0], (y * y - mean) / deviation, 1e-12);
		CU_ASSERT_EQUAL(x[1], 0); /* a column that does not vary */
	}
	CU_ASSERT_NOT_EQUAL(d->fingerprint, plain->fingerprint);
	mr_dataset_close(d);
	mr_dataset_close(plain);
	data_help_remove(dir);
}

static void file_of_its_own(void)
{
	double x;
	int32_t y;
	mr_data_want w = want();
	mr_dataset *d;

	data_help_folder(dir);
	save("s", "x,k\n1,a\n3,b\n");
	save("v", "x,k\n5,b\n");
	d = open_rows("path=s validation_path=v targets=classes");
	CU_ASSERT(d->n_train == 2 && d->n_valid == 1);
	d->ops->valid(d, 0, &x, &y);
	CU_ASSERT(x == 3 && y == 1); /* (5 - 2) / 1 */
	mr_dataset_close(d);
	save("v", "x,k\n5,c\n");
	MR_CHECK_FAIL(data_help_open("csv", "path=s validation_path=v targets=classes", &w, &d), MR_EDATA,
		      "v:2: class \"c\" is none of the training file's");
	save("v", "z,k\n5,a\n");
	MR_CHECK_FAIL(data_help_open("csv", "path=s validation_path=v targets=classes", &w, &d), MR_EDATA,
		      "v:1: column 1 is \"z\", in the training file \"x\"");
	save("v", "x,k\n");
	MR_CHECK_FAIL(data_help_open("csv", "path=s validation_path=v targets=classes", &w, &d), MR_EDATA,
		      "v: no rows in it");
	data_help_remove(dir);
}

/* Numbers first, as the bits of f32; then categories: a hash of the text, or the number itself, or none. */
static void categories(void)
{
	union {
		int32_t category[4];
		float number[4];
	} x, again;
	mr_dataset *d;
	double y;

	data_help_folder(dir);
	save("s", "label,c1,n1,c2,n2\n1,red,3,7,-2\n0,blue,,8,0.5\n1,red,1,,\n");
	d = open_rows("path=s target=label categories=c1,4 scale=log empty=zero validation=0");
	CU_ASSERT(d->numbers == 2 && d->input.cols == 4 && d->input.tokens && d->classes == 0);
	CU_ASSERT(d->target_low == 0 && d->target_high == 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, "3 training rows of 2 numbers and 2 categories, target label"));
	d->ops->valid(d, 0, &x, &y);
	CU_ASSERT(x.number[0] == (float)log(4) && x.number[1] == 0 && y == 1);
	CU_ASSERT(x.category[2] >= 0 && x.category[3] >= 0);
	d->ops->valid(d, 1, &again, &y);
	CU_ASSERT(again.number[0] == 0 && again.number[1] == (float)log(1.5) && y == 0);
	CU_ASSERT(again.category[2] >= 0 && again.category[2] != x.category[2] && again.category[3] != x.category[3]);
	d->ops->valid(d, 2, &again, &y);
	CU_ASSERT(again.category[2] == x.category[2] && again.category[3] == -1);
	mr_dataset_close(d);
	/* By ranges of numbers, and scaled: the statistics are those of the numbers alone. */
	save("s", "1\t10\t3\t70\t2000000000\n0\t20\t5\t80\t0\n");
	d = open_rows("path=s target=1 categories=4-5 category=number validation=0");
	d->ops->valid(d, 1, &x, &y);
	CU_ASSERT(d->numbers == 2 && x.number[0] == 1 && x.number[1] == 1 && x.category[2] == 80 && x.category[3] == 0);
	d->ops->valid(d, 0, &x, &y);
	CU_ASSERT(x.number[0] == -1 && x.category[2] == 70 && x.category[3] == 2000000000);
	mr_dataset_close(d);
	refuse("a,b,y\n1,red,0\n2,,1\n", "path=s categories=b", MR_EDATA, "s:3: b is empty, expected a category");
	refuse("a,b,y\n1,red,0\n", "path=s categories=b category=number", MR_EDATA,
	       "s:2: b: \"red\" is no whole number from 0 to 2147483647; category = \"known\" or \"hash\" takes texts");
	refuse("a,b,y\n1,-3,0\n", "path=s categories=b category=number", MR_EDATA, "s:2: b: \"-3\"");
	refuse("a,b,y\nx,red,0\n", "path=s categories=b", MR_EDATA, "s:2: a: \"x\" is no finite number; categories");
	refuse("a,b,y\n1,red,0\n", "path=s categories=2-4", MR_ECONFIG, "categories = \"2-4\" is no column");
	refuse("a,b,y\n1,red,0\n", "path=s categories=y", MR_ECONFIG, "categories = \"y\" holds the target");
	refuse("a,b,y\n1,2,0\n", "path=s categories=1-2", MR_EDATA, "no column of numbers is left");
	data_help_remove(dir);
}

/* Known values: as numbers of 0 or 1 up to one_hot, else as a category; missing values have their own. */
static void known_values(void)
{
	union {
		int32_t category[8];
		float number[8];
	} x;
	double v[8], y;
	mr_dataset *d;

	data_help_folder(dir);
	save("s", "k,big,n,y\nb,x,3,1\nNA,y,?,2\na,z,5,3\nb,x,,4\n");
	d = open_rows("path=s categories=k,big category=known empty=mean validation=0 scale=standard");
	CU_ASSERT(!d->input.tokens && d->input.cols == 3 + 3 + 2 && !d->values);
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, "4 training rows of 1 numbers and 2 categories in 8 inputs, "));
	d->ops->valid(d, 0, v, &y); /* "", a, b | x, y, z | number, is it missing */
	CU_ASSERT(v[0] == 0 && v[1] == 0 && v[2] == 1 && v[3] == 1 && v[4] == 0 && v[6] == -1 && v[7] == 0 && y == 1);
	d->ops->valid(d, 1, v, &y);
	CU_ASSERT(v[0] == 1 && v[2] == 0 && v[4] == 1 && v[6] == 0 && v[7] == 1);
	mr_dataset_close(d);
	d = open_rows("path=s categories=k,big category=known one_hot=2 empty=mean validation=0 scale=none ignore=k");
	CU_ASSERT(d->input.tokens && d->numbers == 2 && d->input.cols == 3 && d->values[0] == 3);
	d->ops->valid(d, 2, &x, &y);
	CU_ASSERT(x.number[0] == 5 && x.number[1] == 0 && x.category[2] == 2);
	d->ops->valid(d, 3, &x, &y);
	CU_ASSERT(x.number[0] == 4 && x.number[1] == 1 && x.category[2] == 0);
	mr_dataset_close(d);
	/* Values that the training file does not have. */
	save("v", "k,big,n,y\nc,x,3,1\nb,w,4,2\nb,w,4,2\n");
	d = open_rows("path=s validation_path=v categories=k,big category=known empty=mean");
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, "1 unknown value of k, such as \"c\"; 2 unknown values of big, such "
						   "as \"w\""));
	d->ops->valid(d, 0, v, &y);
	CU_ASSERT(v[0] == 0 && v[1] == 0 && v[2] == 0 && v[3] == 1);
	mr_dataset_close(d);
	refuse("k,y\na,1\nb,2\n", "path=s categories=k category=known one_hot=1", MR_EDATA, "no column of numbers");
	refuse("k,y\na,1\nb,2\n", "path=s categories=k one_hot=1", MR_ECONFIG, "one_hot");
	data_help_remove(dir);
}

/* Numbers as people write them, in each column in its own way; the target too. */
static void written_numbers(void)
{
	double x[5], y;
	mr_dataset *d;

	data_help_folder(dir);
	save("s", "price,share,day,open,euro,y\n\"$1,234.50\",12 %,2020-01-02,yes,\"1,5\",\"$2,000\"\n"
		  "$7,3%,1970-01-03 12:00,no,\"-2,25\",$5\n");
	d = open_rows("path=s scale=none validation=0");
	d->ops->valid(d, 0, x, &y);
	CU_ASSERT(x[0] == 1234.5 && x[1] == 12 && x[2] == 18263 && x[3] == 1 && x[4] == 1.5 && y == 2000);
	d->ops->valid(d, 1, x, &y);
	CU_ASSERT(x[0] == 7 && x[1] == 3 && x[2] == 2.5 && x[3] == 0 && x[4] == -2.25 && y == 5);
	CU_ASSERT(d->target_low == 5 && d->target_high == 2000);
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* Rows without a target, and damaged ones up to a limit, are left out; beyond it all of them are named. */
static void rows_left_out(void)
{
	static const char text[] = "a,b,y\n1,2,0\n3,x,0\n5,6\n7,8,NA\n9,\"1\n11,y,z\n13,14,1\n15,16,0\n17,18,1\n"
				   "19,20,0\n21,22,1\n23,24,1\n";
	mr_data_want w = want();
	mr_strbuf notes = {0}, *before;
	mr_dataset *d;
	double x[2], y;

	data_help_folder(dir);
	before = mr_notice_to(&notes);
	refuse(text, "path=s empty=mean", MR_EDATA,
	       "s: 4 of 11 rows are damaged, the first: ");
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "s:3: b: \"x\" is no finite number"));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "; damaged = 4 leaves them out"));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&notes), "s:4: 2 fields, where the first line has 3\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&notes), "s:6: a quote is not closed"));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&notes), "s:7: b: \"y\" is no finite number"));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&notes), "s:7: y: \"z\" is no finite number"));
	MR_CHECK_FAIL(data_help_open("csv", "path=s empty=mean damaged=3", &w, &d), MR_EDATA, "4 of 11 rows");
	mr_notice_to(before);
	mr_strbuf_fini(&notes);
	d = open_rows("path=s empty=mean damaged=4 scale=none validation=0");
	CU_ASSERT_EQUAL(d->n_train, 7);
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, ", 1 rows without a target left out, 4 damaged rows left out"));
	d->ops->valid(d, 1, x, &y);
	CU_ASSERT(x[0] == 13 && x[1] == 14 && y == 1);
	mr_dataset_close(d);
	data_help_remove(dir);
}

static void wrong_files(void)
{
	data_help_folder(dir);
	refuse("a,b\n1,2\nx,3\n", "path=s", MR_EDATA, "s:3: a: \"x\" is no finite number; categories takes");
	refuse("a,b\n1,2\n,3\n", "path=s", MR_EDATA, "s:3: a is empty, expected a number");
	refuse("a,b\n1,red\n", "path=s", MR_EDATA, "s:2: b: \"red\" is no finite number; targets = \"classes\"");
	refuse("a,b\n1,inf\n", "path=s", MR_EDATA, "s:2: b: \"inf\" is no finite number");
	refuse("a,b\n1,\n", "path=s targets=classes", MR_EDATA, "s:2: b is empty, expected a class");
	refuse("a,b\n1,2,3\n", "path=s", MR_EDATA, "s:2: 3 fields, where the first line has 2");
	refuse("a,b\n1,\"2\n", "path=s", MR_EDATA, "s:2: a quote is not closed");
	refuse("a,b\n1,\"2\"x\n", "path=s", MR_EDATA, "s:2: a quote is not closed");
	refuse("1 2\n3 4\n", "path=s", MR_EDATA, "s:1: 1 column, expected 2 to 65536 (another separator?)");
	refuse("a,b\n", "path=s", MR_EDATA, "s: no rows in it");
	refuse("a,b\n1,x\n2,x\n", "path=s targets=classes", MR_EDATA, "b has one class, \"x\"");
	refuse("height,b\n1,2\n", "path=s target=hieght", MR_ECONFIG, "did you mean \"height\"?");
	refuse("a,b\n1,2\n", "path=s target=3", MR_ECONFIG, "target = \"3\" is no column of");
	refuse("1,2\n", "path=s target=x", MR_ECONFIG, "give a number from 1");
	refuse("a,b\n1,2\n", "path=s ignore=b", MR_ECONFIG, "holds the target \"b\"");
	refuse("a,b\n1,2\n", "path=s ignore=a", MR_EDATA, "no column is left beside the target");
	refuse("a,b\n1,2\n", "path=s validation=0.99", MR_EDATA, "leaves none of 1 sample for training");
	data_help_remove(dir);
}

static void refuse_load(const char *text, const char *settings, mr_dtype dtype, const char *message)
{
	mr_data_want w = want();
	mr_dataset *d;

	w.dtype = dtype;
	save("s", text);
	MR_CHECK_FAIL(data_help_open("csv", settings, &w, &d), MR_EDATA, message);
}

/* A number of the file that the run's type does not reach: named, and not an infinity in the sample. */
static void beyond_the_type(void)
{
	mr_data_want w = want();
	mr_dataset *d;

	data_help_folder(dir);
	refuse_load("a,b\n1,2\n-1e39,3\n", "path=s scale=none", MR_F32,
		    "s:3: a: \"-1e39\" is too large for f32; ignore");
	refuse_load("a,b\n1,2\n3.4e38,3\n", "path=s scale=none", MR_BF16, "s:3: a: \"3.4e38\" is too large for bf16");
	refuse_load("a,b\n1,2\n3,1e39\n", "path=s scale=none", MR_F32, "s:3: b: \"1e39\" is too large for f32");
	refuse_load("a,b\n1,2\n1e200,2\n1,3\n", "path=s validation=0", MR_F64,
		    "s: a: its numbers are too large for scale");
	save("s", "a,b\n1,2\n-1e39,3\n"); /* f64 reaches it */
	w.dtype = MR_F64;
	MR_CHECK_OK(data_help_open("csv", "path=s scale=none", &w, &d));
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* Opening takes memory that no plan has: it is bounded. */
static void bounded(void)
{
	enum { LINE = 33 << 20, CLASS = 1 << 20 };
	char *text = malloc(LINE + 64);
	mr_data_want w;
	mr_dataset *d;
	size_t n = 0;

	CU_ASSERT_FATAL(text != NULL);
	data_help_folder(dir);
	w = want();
	n += (size_t)sprintf(text, "a,b\n1,x\n2,");
	memset(text + n, 'y', LINE);
	data_help_write(dir, "line", text, n + LINE);
	MR_CHECK_FAIL(data_help_open("csv", "path=line targets=classes", &w, &d), MR_EDATA,
		      "line: the line at byte 8 is longer than 32");
	n = (size_t)sprintf(text, "a,b\n");
	for (int i = 0; i < 17; i++) {
		n += (size_t)sprintf(text + n, "1,%02d", i);
		memset(text + n, 'y', CLASS);
		n += CLASS;
		text[n++] = '\n';
	}
	data_help_write(dir, "classes", text, n);
	MR_CHECK_FAIL(data_help_open("csv", "path=classes targets=classes", &w, &d), MR_EDATA,
		      "classes: values of b with more than 16777216 bytes in all: these are no classes");
	data_help_remove(dir);
	free(text);
}

/* The rows that were asked for. */
typedef struct asked_rows {
	mr_dataset *d;
	const uint64_t *at;
	const char *file;
	unsigned n;
} asked_rows;

static mr_status take_row(void *arg, const mr_data_origin *o)
{
	asked_rows *t = arg;
	double x[1], y;

	t->d->ops->valid(t->d, t->at[o->which], x, &y);
	CU_ASSERT(o->n == 3 && !strcmp(o->column[0], "name") && !strcmp(o->column[2], "y"));
	CU_ASSERT(strtod(o->value[1], NULL) == x[0] && strtod(o->value[2], NULL) == y);
	CU_ASSERT_EQUAL(o->line, (uint64_t)y + 2);
	CU_ASSERT_STRING_EQUAL(o->value[0], "a, b");
	CU_ASSERT_PTR_NOT_NULL(strstr(o->file, t->file));
	t->n++;
	return MR_OK;
}

/* The rows of evaluation samples as they stand in the file: of a random part, of all rows, of a file of its own. */
static void origins(void)
{
	static const struct {
		const char *settings, *file;
	} cases[] = {{"path=s ignore=name scale=none validation=0.5", "/s"},
		     {"path=s ignore=name scale=none validation=0", "/s"},
		     {"path=s ignore=name scale=none validation_path=v", "/v"}};
	const uint64_t at[] = {9, 0, 3};
	char text[512], *to = text;

	data_help_folder(dir);
	to += sprintf(to, "name,x,y\n");
	for (int i = 0; i < 20; i++)
		to += sprintf(to, "\"a, b\",%d,%d\n", 3 * i, i);
	save("s", text);
	save("v", text);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		asked_rows t = {.d = open_rows(cases[i].settings), .at = at, .file = cases[i].file};

		MR_CHECK_OK(mr_dataset_origin(t.d, at, 3, take_row, &t));
		CU_ASSERT_EQUAL(t.n, 3);
		mr_dataset_close(t.d);
	}
	data_help_remove(dir);
}

void mr_suite_csv(void);
void mr_suite_csv(void)
{
	MR_SUITE("csv");
	MR_TEST(columns_and_target);
	MR_TEST(classes);
	MR_TEST(split_and_scale);
	MR_TEST(file_of_its_own);
	MR_TEST(categories);
	MR_TEST(known_values);
	MR_TEST(written_numbers);
	MR_TEST(rows_left_out);
	MR_TEST(wrong_files);
	MR_TEST(beyond_the_type);
	MR_TEST(bounded);
	MR_TEST(origins);
}
