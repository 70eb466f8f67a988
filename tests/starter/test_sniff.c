/* test_sniff.c - what kind of data files and folders hold, and what the columns of a table are good for. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "scratch.h"
#include "starter/columns.h"
#include "starter/sniff.h"

static char dir[64], path[128];

static const char *in_dir(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *bytes, size_t len)
{
	FILE *f = fopen(in_dir(name), "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL_FATAL(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

static void begin(void)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(mr_scratch(dir, sizeof(dir), "sniff")));
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	CU_ASSERT_EQUAL(system(command), 0);
}

/* --- kinds -------------------------------------------------------------------------------------------------------- */

static void kinds_of_text(void)
{
	static const struct {
		const char *name, *text;
		mr_sniff_kind kind;
	} cases[] = {
		{"a", "To be, or not to be\nthat is the question\n", MR_SNIFF_TEXT},
		{"b", "1 2:0.5 7:1\n-1 1:3 # note\n", MR_SNIFF_LIBSVM},
		{"c", "\xef\xbb\xbf+1 1:2\r\n\n0 3:1e-3\r\n", MR_SNIFF_LIBSVM},
		{"d", "1\n2\n3\n4\n5\n6\n", MR_SNIFF_TEXT}, /* labels alone are no pairs */
		{"e", "a,b\n1,2\n3,4\n5,6\n7,8\n", MR_SNIFF_CSV},
		{"f", "a,b\n1,2\n3,4\n5,6\n", MR_SNIFF_TEXT}, /* too few to tell */
		{"g.csv", "a,b\n1,2\n", MR_SNIFF_CSV},        /* but for its name */
		{"h", "a, b\nc, d\ne, f\ng, h\ni, j\n", MR_SNIFF_TEXT},
		{"i", "a,b\n1,2\n3,4\n5,6\n7,8,9\n", MR_SNIFF_TEXT},
		{"j.TSV", "x\ty\n1\t2\n", MR_SNIFF_CSV},
	};

	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mr_sniff s;

		put(cases[i].name, cases[i].text, strlen(cases[i].text));
		MR_CHECK_OK(mr_sniff_look(in_dir(cases[i].name), &s));
		if (s.kind != cases[i].kind)
			fprintf(stderr, "\n%s: kind %d\n", cases[i].name, (int)s.kind);
		CU_ASSERT_EQUAL(s.kind, cases[i].kind);
		mr_sniff_fini(&s);
	}
	end();
}

static void refused_files(void)
{
	static const struct {
		const char *name, *bytes;
		size_t len;
		const char *said;
	} cases[] = {
		{"empty", "", 0, "empty"},
		{"utf16", "\xff\xfe" "a\0b\0", 6, "a text in UTF-16"},
		{"binary", "a\0b", 3, "this is no text"},
		{"mac.csv", "a,b\r1,2\r", 8, "its lines end in CR alone"},
		{"images", "\0\0\010\003", 4, "no file of their labels"},
		{"labels", "\0\0\010\001", 4, "the file of their images was expected"},
	};
	mr_sniff s;

	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(cases[i].name, cases[i].bytes, cases[i].len);
		MR_CHECK_FAIL(mr_sniff_look(in_dir(cases[i].name), &s), MR_EDATA, cases[i].said);
		mr_sniff_fini(&s);
		unlink(in_dir(cases[i].name));
	}
	MR_CHECK_FAIL(mr_sniff_look(in_dir("gone"), &s), MR_EDATA, "gone");
	mr_sniff_fini(&s);
	end();
}

/* Images and labels find each other by their names, and the test's beside those of the training. */
static void images_of_mnist(void)
{
	mr_sniff s;

	begin();
	put("train-images-idx3-ubyte", "\0\0\010\003", 4);
	put("train-labels-idx1-ubyte", "\0\0\010\001", 4);
	for (int i = 0; i < 3; i++) {
		MR_CHECK_OK(mr_sniff_look(i == 0 ? dir : in_dir(i == 1 ? "train-images-idx3-ubyte" :
								"train-labels-idx1-ubyte"), &s));
		CU_ASSERT_EQUAL(s.kind, MR_SNIFF_IDX);
		CU_ASSERT_STRING_EQUAL(s.images, in_dir("train-images-idx3-ubyte"));
		CU_ASSERT_STRING_EQUAL(s.labels, in_dir("train-labels-idx1-ubyte"));
		CU_ASSERT(!s.test_images && !s.test_labels);
		mr_sniff_fini(&s);
	}
	put("t10k-images-idx3-ubyte", "\0\0\010\003", 4);
	put("t10k-labels-idx1-ubyte", "\0\0\010\001", 4);
	MR_CHECK_OK(mr_sniff_look(dir, &s));
	CU_ASSERT_STRING_EQUAL(s.images, in_dir("train-images-idx3-ubyte"));
	CU_ASSERT_STRING_EQUAL(s.test_images, in_dir("t10k-images-idx3-ubyte"));
	CU_ASSERT_STRING_EQUAL(s.test_labels, in_dir("t10k-labels-idx1-ubyte"));
	mr_sniff_fini(&s);
	end();
}

static void folders(void)
{
	mr_sniff s;

	begin();
	CU_ASSERT_EQUAL_FATAL(mkdir(in_dir("cat"), 0755), 0);
	put("cat/a.heic", "x", 1);
	MR_CHECK_FAIL(mr_sniff_look(dir, &s), MR_EDATA, "in its folders 1 file is skipped: 1 .heic (a.heic)");
	mr_sniff_fini(&s);
	put("cat/a.png", "x", 1);
	MR_CHECK_OK(mr_sniff_look(dir, &s));
	CU_ASSERT_EQUAL(s.kind, MR_SNIFF_PICTURES);
	mr_sniff_fini(&s);
	put("data_batch_1.bin", "x", 1);
	MR_CHECK_OK(mr_sniff_look(dir, &s));
	CU_ASSERT_EQUAL(s.kind, MR_SNIFF_CIFAR);
	mr_sniff_fini(&s);
	end();
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

static const char *asked = ""; /* the target */

/* A table of @n rows under @head; @row prints one. */
static mr_status columns_of(const char *head, const char *row, int n, mr_columns *c)
{
	FILE *f = fopen(in_dir("t.csv"), "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fprintf(f, "%s\n", head);
	for (int i = 0; i < n; i++) {
		for (const char *at = row; *at; at++)
			if (*at == 'N') /* the row's number */
				fprintf(f, "%d", i);
			else if (*at == 'K') /* one of three */
				fprintf(f, "%d", i % 3);
			else if (*at == 'W') /* a word */
				fputs(i % 2 ? "yes" : "no", f);
			else if (*at == 'R') /* no whole number */
				fprintf(f, "%d.5", i * i % 17);
			else if (*at == 'E') /* now and then nothing */
				fputs(i % 4 ? "1.5" : "", f);
			else if (*at == 'G' && i % 4) /* the same of numbers that differ */
				fprintf(f, "%d.5", i % 7);
			else if (*at == 'G')
				;
			else
				fputc(*at, f);
		fputc('\n', f);
	}
	fclose(f);
	return mr_columns_look(in_dir("t.csv"), asked, c);
}

static void columns(void)
{
	mr_columns c;

	begin();
	MR_CHECK_OK(columns_of("id,a,b,word,y", "N,R,E,W,K", 20, &c));
	CU_ASSERT(c.n_rows == 20 && c.n_columns == 5 && c.header && c.classes && c.n_values == 3 && c.n_tables == 0);
	CU_ASSERT(c.n_read == 3); /* yes and no are one number, b has gaps */
	CU_ASSERT_STRING_EQUAL(c.target, "y");
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&c.ignored), "1");
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&c.categories), "");
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&c.why), "Column 1 (id) is left out: it numbers the rows.\n");
	mr_columns_fini(&c);
	/* texts, a column that does not vary, and one that differs in each row */
	MR_CHECK_OK(columns_of("town,a,b,name,y", "tK,R,7,tN,K", 60, &c));
	CU_ASSERT(c.n_read == 2);
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&c.categories), "1");
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&c.texts), "town (3 values)");
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&c.ignored), "3,4");
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&c.why), "Column 3 (b) is left out: it has the same value in each "
							      "row, \"7\".\nColumn 4 (name) is left out: 60 of 60"));
	mr_columns_fini(&c);
	/* the column whose name says so, before the last one; another one when asked */
	MR_CHECK_OK(columns_of("Label,a,b", "W,R,R", 12, &c));
	CU_ASSERT(c.classes && c.n_values == 2 && c.n_read == 2 && !strcmp(c.reason, "because of its name"));
	CU_ASSERT_STRING_EQUAL(c.target, "Label");
	mr_columns_fini(&c);
	asked = "b";
	MR_CHECK_OK(columns_of("Label,a,b", "W,R,R", 12, &c));
	CU_ASSERT(!c.classes && !strcmp(c.target, "b") && !strcmp(c.reason, "as it is asked for"));
	mr_columns_fini(&c);
	asked = "lable";
	MR_CHECK_FAIL(columns_of("Label,a,b", "W,R,R", 12, &c), MR_ECONFIG, "did you mean \"Label\"?");
	mr_columns_fini(&c);
	asked = "";
	/* a number; without a head by its place */
	MR_CHECK_OK(columns_of("1,2.5", "K,R", 30, &c));
	CU_ASSERT(!c.classes && !c.header && c.low == 0.5 && c.high == 16.5 && c.n_rows == 31);
	CU_ASSERT_STRING_EQUAL(c.target, "2");
	mr_columns_fini(&c);
	/* whole numbers are classes where each has five rows */
	MR_CHECK_OK(columns_of("a,y", "R,K", 14, &c));
	CU_ASSERT(!c.classes && c.n_values == 3);
	mr_columns_fini(&c);
	/* rows without a target, and damaged ones */
	MR_CHECK_OK(columns_of("a,b,y\n1,2\n1,2,3,4", "R,R,G", 20, &c));
	CU_ASSERT(c.n_rows == 15 && c.n_without == 5 && c.n_damaged == 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&c.why), "2 damaged rows are left out, the first: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&c.why), "5 rows are left out, without a target.\n"));
	mr_columns_fini(&c);
	end();
}

static void refused_columns(void)
{
	static const struct {
		const char *head, *row;
		int n;
		const char *said;
	} cases[] = {
		{"a,y", "R,K", 9, "9 rows are too few"},
		{"a,y", "R,tN", 80, "has more than 64 different texts"},
		{"a,y", "R,7", 20, "has the same value in every row"},
		{"a,y", "R,E", 12, "has the same value in every row"},
		{"n,y", "N,K", 20, "no column is left beside the target, column 2 (y). Column 1 (n) is left out"},
	};
	mr_columns c;

	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		MR_CHECK_FAIL(columns_of(cases[i].head, cases[i].row, cases[i].n, &c), MR_EDATA, cases[i].said);
		mr_columns_fini(&c);
	}
	end();
}

void mr_suite_sniff(void);

void mr_suite_sniff(void)
{
	MR_SUITE("sniff");
	MR_TEST(kinds_of_text);
	MR_TEST(refused_files);
	MR_TEST(images_of_mnist);
	MR_TEST(folders);
	MR_TEST(columns);
	MR_TEST(refused_columns);
}
