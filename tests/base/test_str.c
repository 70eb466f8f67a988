#include "base/str.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"

static void test_strbuf(void)
{
	mr_strbuf b = {0};
	char *text;

	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&b), "");
	for (int i = 0; i < 1000; i++)
		CU_ASSERT_TRUE_FATAL(mr_strbuf_printf(&b, "%03d,", i));
	CU_ASSERT_EQUAL(b.len, 4000);
	CU_ASSERT_EQUAL(memcmp(b.data + 4 * 789, "789,790,", 8), 0);
	mr_strbuf_reset(&b);
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&b), "");
	CU_ASSERT_TRUE(mr_strbuf_append(&b, "ab"));
	CU_ASSERT_TRUE(mr_strbuf_append_n(&b, "cdef", 2));
	text = mr_strbuf_take(&b);
	CU_ASSERT_STRING_EQUAL(text, "abcd");
	CU_ASSERT_PTR_NULL(b.data);
	free(text);
	text = mr_strbuf_take(&b); /* nothing appended is still a string */
	CU_ASSERT_STRING_EQUAL(text, "");
	free(text);
	mr_strbuf_fini(&b);
}

static void test_strbuf_failure_sticks(void)
{
	mr_strbuf b = {0};

	CU_ASSERT_TRUE(mr_strbuf_append(&b, "kept"));
	b.len = SIZE_MAX - 1; /* as if it were full: the sum overflows */
	CU_ASSERT_FALSE(mr_strbuf_append(&b, "x"));
	b.len = 4;
	CU_ASSERT_FALSE(mr_strbuf_append(&b, "x"));
	CU_ASSERT_FALSE(mr_strbuf_printf(&b, "%d", 1));
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&b), "kept");
	CU_ASSERT_PTR_NULL(mr_strbuf_take(&b));
	CU_ASSERT_PTR_NULL(b.data);
}

static void test_edit_distance(void)
{
	static const struct {
		const char *a, *b;
		unsigned d;
	} known[] = {
		{"", "", 0},	   {"", "abc", 3},	 {"kitten", "sitting", 3}, {"saturday", "sunday", 3},
		{"abc", "acb", 1}, {"adamw", "adam", 1}, {"batch", "btach", 1},	   {"ca", "abc", 3},
		{"a", "b", 1},	   {"flaw", "lawn", 2},
	};
	char a[101], b[101];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		CU_ASSERT_EQUAL(mr_edit_distance(known[i].a, known[i].b), known[i].d);
		CU_ASSERT_EQUAL(mr_edit_distance(known[i].b, known[i].a), known[i].d);
	}
	memset(a, 'a', 100);
	memset(b, 'b', 100);
	a[100] = b[100] = '\0';
	CU_ASSERT_EQUAL(mr_edit_distance(a, b), 64);
}

static void test_nearest(void)
{
	static const char *const names[] = {"layers", "width", NULL, "dropout", "learning_rate"};

	CU_ASSERT_STRING_EQUAL(mr_nearest("layer", names, 5), "layers");
	CU_ASSERT_STRING_EQUAL(mr_nearest("widht", names, 5), "width");
	CU_ASSERT_STRING_EQUAL(mr_nearest("learn_rate", names, 5), "learning_rate");
	CU_ASSERT_STRING_EQUAL(mr_nearest("dropout", names, 5), "dropout");
	CU_ASSERT_PTR_NULL(mr_nearest("momentum", names, 5));
	CU_ASSERT_PTR_NULL(mr_nearest("xyz", names, 5));
	CU_ASSERT_PTR_NULL(mr_nearest("layers", names, 0));
	/* of short names most letters must be right */
	CU_ASSERT_PTR_NULL(mr_nearest("gpt", (const char *const[]){"rpd"}, 1));
	CU_ASSERT_STRING_EQUAL(mr_nearest("rdp", (const char *const[]){"rpd"}, 1), "rpd");
	CU_ASSERT_PTR_NULL(mr_nearest("x", (const char *const[]){"lr"}, 1));
	CU_ASSERT_PTR_NULL(mr_nearest("", (const char *const[]){"lr"}, 1));
}

static void test_figures(void)
{
	char buf[16];

	CU_ASSERT_STRING_EQUAL(mr_bytes_text(0, buf), "0 B");
	CU_ASSERT_STRING_EQUAL(mr_bytes_text(1023, buf), "1023 B");
	CU_ASSERT_STRING_EQUAL(mr_bytes_text(1024, buf), "1.0 KiB");
	CU_ASSERT_STRING_EQUAL(mr_bytes_text(1536 * 1024, buf), "1.5 MiB");
	CU_ASSERT_STRING_EQUAL(mr_bytes_text(1024 * 1024 - 1, buf), "1.0 MiB"); /* not 1024 KiB */
	CU_ASSERT_STRING_EQUAL(mr_bytes_text((uint64_t)12 << 30, buf), "12 GiB");
	CU_ASSERT_STRING_EQUAL(mr_bytes_text(UINT64_MAX, buf), "16 EiB");
	CU_ASSERT_STRING_EQUAL(mr_count_text(0, buf), "0");
	CU_ASSERT_STRING_EQUAL(mr_count_text(950, buf), "950");
	CU_ASSERT_STRING_EQUAL(mr_count_text(1234567, buf), "1.2 M");
	CU_ASSERT_STRING_EQUAL(mr_count_text(124439808, buf), "124 M");
	CU_ASSERT_STRING_EQUAL(mr_count_text(9960, buf), "10 k");
	CU_ASSERT_STRING_EQUAL(mr_count_text(999999, buf), "1.0 M");
	CU_ASSERT_STRING_EQUAL(mr_duration_text(4.6, buf), "0:05");
	CU_ASSERT_STRING_EQUAL(mr_duration_text(123, buf), "2:03");
	CU_ASSERT_STRING_EQUAL(mr_duration_text(3723, buf), "1:02:03");
	CU_ASSERT_STRING_EQUAL(mr_duration_text(59.9, buf), "1:00");
	CU_ASSERT_STRING_EQUAL(mr_duration_text(9998 * 3600.0, buf), "9998:00:00");
	CU_ASSERT_STRING_EQUAL(mr_duration_text(-1, buf), "-:--");
	CU_ASSERT_STRING_EQUAL(mr_duration_text(NAN, buf), "-:--");
	CU_ASSERT_STRING_EQUAL(mr_duration_text(INFINITY, buf), "-:--");
}

static void test_double_text(void)
{
	char buf[32];

	CU_ASSERT_STRING_EQUAL(mr_double_text(0, buf), "0.0");
	CU_ASSERT_STRING_EQUAL(mr_double_text(-0.0, buf), "-0.0");
	CU_ASSERT_STRING_EQUAL(mr_double_text(0.1, buf), "0.1");
	CU_ASSERT_STRING_EQUAL(mr_double_text(3, buf), "3.0");
	CU_ASSERT_STRING_EQUAL(mr_double_text(1e300, buf), "1e+300");
	CU_ASSERT_STRING_EQUAL(mr_double_text(0.1 + 0.2, buf), "0.30000000000000004");
	CU_ASSERT_STRING_EQUAL(mr_double_text(INFINITY, buf), "inf");
	CU_ASSERT_STRING_EQUAL(mr_double_text(-INFINITY, buf), "-inf");
	CU_ASSERT_STRING_EQUAL(mr_double_text(NAN, buf), "nan");
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t bits = (uint64_t)mr_rng_u32(1, MR_RNG_TEST, 0, 0, 2 * i) << 32 |
				mr_rng_u32(1, MR_RNG_TEST, 0, 0, 2 * i + 1);
		double x;

		memcpy(&x, &bits, sizeof(x));
		if (!isfinite(x))
			continue;
		mr_double_text(x, buf);
		CU_ASSERT_EQUAL_FATAL(strtod(buf, NULL), x);
		CU_ASSERT_PTR_NOT_NULL_FATAL(strpbrk(buf, ".e"));
	}
	CU_ASSERT_EQUAL(strtod(mr_double_text(-DBL_MAX, buf), NULL), -DBL_MAX);
	CU_ASSERT_EQUAL(strtod(mr_double_text(-DBL_TRUE_MIN, buf), NULL), -DBL_TRUE_MIN);
}

void mr_suite_str(void); /* the runner declares it too */

void mr_suite_str(void)
{
	MR_SUITE("str");

	MR_TEST(test_strbuf);
	MR_TEST(test_strbuf_failure_sticks);
	MR_TEST(test_edit_distance);
	MR_TEST(test_nearest);
	MR_TEST(test_figures);
	MR_TEST(test_double_text);
}
