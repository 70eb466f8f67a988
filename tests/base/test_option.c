#include "base/option.h"

#include <math.h>
#include <string.h>

#include "check.h"

static const mr_option table[] = {
	{"layers", MR_OPT_INT, "4", 1, 64, NULL, NULL, "number of blocks"},
	{"offset", MR_OPT_INT, "-3", 0, 0, NULL, NULL, "any integer"},
	{"rate", MR_OPT_FLOAT, "1e-3", 0, INFINITY, NULL, NULL, "learning rate"},
	{"bytes", MR_OPT_FLOAT, NULL, 1, 8, NULL, "MiB", "required, with a unit"},
	{"nesterov", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "look ahead"},
	{"path", MR_OPT_STRING, "", 0, 0, NULL, NULL, "a file"},
	{"backward", MR_OPT_ENUM, "fifo", 0, 0, "fifo|lifo", NULL, "order"},
	{"weights", MR_OPT_FLOATS, "[]", 0, 0, NULL, NULL, "a list"},
	{"fractions", MR_OPT_FLOATS, NULL, 0, 1, NULL, NULL, "a required list"},
	{0},
};

static mr_values *fresh(void)
{
	mr_values *v = NULL;

	MR_CHECK_OK(mr_values_create(table, &v));
	return v;
}

static const char *printed(const mr_values *v, const char *name)
{
	static char buf[256];
	int n = mr_values_print(v, name, buf, sizeof(buf));

	CU_ASSERT_EQUAL(n, (int)strlen(buf));
	return buf;
}

static void test_find(void)
{
	CU_ASSERT_PTR_EQUAL(mr_option_find(table, "rate"), &table[2]);
	CU_ASSERT_PTR_NULL(mr_option_find(table, "rat"));
	CU_ASSERT_STRING_EQUAL(mr_option_nearest(table, "rat"), "rate");
	CU_ASSERT_STRING_EQUAL(mr_option_nearest(table, "bakwards"), "backward");
	CU_ASSERT_PTR_NULL(mr_option_nearest(table, "zzzzzzzz"));
	CU_ASSERT_STRING_EQUAL(mr_option_type_text(MR_OPT_FLOATS), "list of numbers");
}

static void test_defaults(void)
{
	mr_values *v = fresh();
	size_t n = 9;

	CU_ASSERT_EQUAL(mr_values_int(v, "layers"), 4);
	CU_ASSERT_EQUAL(mr_values_int(v, "offset"), -3);
	CU_ASSERT_EQUAL(mr_values_float(v, "rate"), 1e-3);
	CU_ASSERT_FALSE(mr_values_bool(v, "nesterov"));
	CU_ASSERT_STRING_EQUAL(mr_values_string(v, "path"), "");
	CU_ASSERT_STRING_EQUAL(mr_values_string(v, "backward"), "fifo");
	CU_ASSERT_PTR_NOT_NULL(mr_values_floats(v, "weights", &n));
	CU_ASSERT_EQUAL(n, 0);
	CU_ASSERT_FALSE(mr_values_is_set(v, "layers"));
	CU_ASSERT_STRING_EQUAL(mr_values_missing(v), "bytes");
	CU_ASSERT_STRING_EQUAL(printed(v, "bytes"), "");
	MR_CHECK_OK(mr_values_set_int(v, "bytes", 2));
	CU_ASSERT_EQUAL(mr_values_float(v, "bytes"), 2);
	CU_ASSERT_TRUE(mr_values_is_set(v, "bytes"));
	CU_ASSERT_STRING_EQUAL(mr_values_missing(v), "fractions");
	MR_CHECK_OK(mr_values_set_text(v, "fractions", "[0, 1]"));
	CU_ASSERT_PTR_NULL(mr_values_missing(v));
	CU_ASSERT_PTR_EQUAL(mr_values_table(v), table);
	mr_values_destroy(v);
	mr_values_destroy(NULL);
}

static void test_bad_default(void)
{
	static const mr_option bad[] = {{"x", MR_OPT_INT, "9", 1, 8, NULL, NULL, "beyond its own range"}, {0}};
	mr_values *v = NULL;

	MR_CHECK_FAIL(mr_values_create(bad, &v), MR_EINVAL,
		      "default of option x: expected an integer from 1 to 8, got 9");
	CU_ASSERT_PTR_NULL(v);
}

static void test_messages(void)
{
	mr_values *v = fresh();
	double list[] = {0.5, 1.5};

	MR_CHECK_FAIL(mr_values_set_int(v, "layers", 0), MR_ECONFIG, "expected an integer from 1 to 64, got 0");
	MR_CHECK_FAIL(mr_values_set_int(v, "layers", 65), MR_ECONFIG, "from 1 to 64, got 65");
	MR_CHECK_FAIL(mr_values_set_float(v, "layers", 2.5), MR_ECONFIG, "expected an integer from 1 to 64, got 2.5");
	MR_CHECK_FAIL(mr_values_set_float(v, "rate", -1), MR_ECONFIG, "expected a number of at least 0, got -1.0");
	MR_CHECK_FAIL(mr_values_set_float(v, "rate", NAN), MR_ECONFIG, "got nan");
	MR_CHECK_FAIL(mr_values_set_float(v, "rate", INFINITY), MR_ECONFIG, "got inf");
	MR_CHECK_FAIL(mr_values_set_int(v, "bytes", 9), MR_ECONFIG, "expected a number from 1 to 8 MiB, got 9.0");
	MR_CHECK_FAIL(mr_values_set_int(v, "nesterov", 1), MR_ECONFIG, "expected true or false, got 1");
	MR_CHECK_FAIL(mr_values_set_bool(v, "path", true), MR_ECONFIG, "expected a string, got true");
	MR_CHECK_FAIL(mr_values_set_string(v, "layers", "four"), MR_ECONFIG, "got \"four\"");
	MR_CHECK_FAIL(mr_values_set_string(v, "backward", "lilo"), MR_ECONFIG,
		      "expected one of fifo|lifo, got \"lilo\"; did you mean \"lifo\"?");
	MR_CHECK_FAIL(mr_values_set_string(v, "backward", "reverse"), MR_ECONFIG, "fifo|lifo, got \"reverse\"");
	MR_CHECK_FAIL(mr_values_set_string(v, "backward", "fifo|lifo"), MR_ECONFIG, "expected one of");
	MR_CHECK_FAIL(mr_values_set_string(v, "backward", ""), MR_ECONFIG, "got \"\"");
	MR_CHECK_FAIL(mr_values_set_string(v, "backward", "fif"), MR_ECONFIG, "expected one of");
	MR_CHECK_FAIL(mr_values_set_int(v, "backward", 1), MR_ECONFIG, "expected one of fifo|lifo, got 1");
	MR_CHECK_FAIL(mr_values_set_floats(v, "fractions", list, 2), MR_ECONFIG,
		      "expected a list of numbers from 0 to 1, got 1.5");
	MR_CHECK_FAIL(mr_values_set_floats(v, "layers", list, 2), MR_ECONFIG, "got a list");
	MR_CHECK_FAIL(mr_values_set_int(v, "weights", 1), MR_ECONFIG,
		      "expected a list of numbers such as [1, 2.5], got 1");
	MR_CHECK_FAIL(mr_values_set_int(v, "layer", 1), MR_ECONFIG, "unknown key \"layer\", did you mean \"layers\"?");
	MR_CHECK_FAIL(mr_values_set_text(v, "zzzzzz", "1"), MR_ECONFIG, "expected one of: layers, offset, rate,");
	CU_ASSERT_EQUAL(mr_values_int(v, "layers"), 4); /* failures change nothing */
	CU_ASSERT_STRING_EQUAL(mr_values_string(v, "backward"), "fifo");
	CU_ASSERT_FALSE(mr_values_is_set(v, "layers"));
	mr_values_destroy(v);
}

static void test_text_numbers(void)
{
	static const char *const bad_ints[] = {"",        " ",     "1.5",
					       "1e-2",    "0x",    "4 5",
					       "1e3k",    "k",     "10K",
					       "10kk",    "10 k",  "0x10k",
					       "1.5555k", "1e999", "4LLL",
					       "L",       "4,",    "9223372036854775808",
					       "-0x10",   "0xg",   "0x8000000000000000"};
	static const char *const bad_floats[] = {"", "1,5", "0x1p3", "inf", "nan", "1e999", "1 2", "abc", "-", "1e"};
	static const struct {
		const char *text;
		int64_t value;
	} wholes[] = {{"1e3", 1000},          {"10k", 10000}, {"2.3k", 2300}, {"5M", 5000000},
		      {" 1.5G ", 1500000000}, {"2.0", 2},     {"0.001e4", 10}};
	mr_values *v = fresh();

	MR_CHECK_OK(mr_values_set_text(v, "offset", " -12 "));
	CU_ASSERT_EQUAL(mr_values_int(v, "offset"), -12);
	MR_CHECK_OK(mr_values_set_text(v, "offset", "4294967296L"));
	CU_ASSERT_EQUAL(mr_values_int(v, "offset"), 4294967296);
	MR_CHECK_OK(mr_values_set_text(v, "offset", "-9223372036854775808"));
	CU_ASSERT_EQUAL(mr_values_int(v, "offset"), INT64_MIN);
	MR_CHECK_OK(mr_values_set_text(v, "offset", "0x1F"));
	CU_ASSERT_EQUAL(mr_values_int(v, "offset"), 31);
	MR_CHECK_OK(mr_values_set_text(v, "offset", " 0X100000000L "));
	CU_ASSERT_EQUAL(mr_values_int(v, "offset"), 4294967296);
	MR_CHECK_OK(mr_values_set_text(v, "offset", "+1"));
	CU_ASSERT_EQUAL(mr_values_int(v, "offset"), 1);
	for (size_t i = 0; i < sizeof(bad_ints) / sizeof(bad_ints[0]); i++)
		MR_CHECK_FAIL(mr_values_set_text(v, "offset", bad_ints[i]), MR_ECONFIG, "expected an integer, got");
	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
		MR_CHECK_OK(mr_values_set_text(v, "offset", wholes[i].text));
		CU_ASSERT_EQUAL(mr_values_int(v, "offset"), wholes[i].value);
		MR_CHECK_OK(mr_values_set_text(v, "rate", wholes[i].text));
		CU_ASSERT_EQUAL(mr_values_float(v, "rate"), (double)wholes[i].value);
	}
	MR_CHECK_OK(mr_values_set_text(v, "rate", "3"));
	CU_ASSERT_EQUAL(mr_values_float(v, "rate"), 3);
	MR_CHECK_OK(mr_values_set_text(v, "rate", "0x10"));
	CU_ASSERT_EQUAL(mr_values_float(v, "rate"), 16);
	MR_CHECK_OK(mr_values_set_text(v, "rate", "7L"));
	CU_ASSERT_EQUAL(mr_values_float(v, "rate"), 7);
	MR_CHECK_OK(mr_values_set_text(v, "rate", ".5"));
	CU_ASSERT_EQUAL(mr_values_float(v, "rate"), 0.5);
	MR_CHECK_OK(mr_values_set_text(v, "rate", " 2.5e-4 "));
	CU_ASSERT_EQUAL(mr_values_float(v, "rate"), 2.5e-4);
	for (size_t i = 0; i < sizeof(bad_floats) / sizeof(bad_floats[0]); i++)
		MR_CHECK_FAIL(mr_values_set_text(v, "rate", bad_floats[i]), MR_ECONFIG,
			      "expected a number of at least 0");
	CU_ASSERT_EQUAL(mr_values_float(v, "rate"), 2.5e-4);
	mr_values_destroy(v);
}

static void test_text_others(void)
{
	static const char *const bad_lists[] = {"",	"1, 2",	 "[1, 2", "[1,, 2]", "[1, ]", "[,]",
						 "[1 2]", "[1] 2", "[x]",   "]",       "[",	     "(1]", "[1)"};
	mr_values *v = fresh();
	const double *list;
	size_t n;

	MR_CHECK_OK(mr_values_set_text(v, "nesterov", "True"));
	CU_ASSERT_TRUE(mr_values_bool(v, "nesterov"));
	MR_CHECK_FAIL(mr_values_set_text(v, "nesterov", "1"), MR_ECONFIG, "expected true or false, got \"1\"");
	MR_CHECK_OK(mr_values_set_text(v, "path", "data/my file.txt"));
	CU_ASSERT_STRING_EQUAL(mr_values_string(v, "path"), "data/my file.txt");
	MR_CHECK_OK(mr_values_set_text(v, "path", "\"a\\\"b\\\\c\\n\\x41\" "));
	CU_ASSERT_STRING_EQUAL(mr_values_string(v, "path"), "a\"b\\c\nA");
	MR_CHECK_FAIL(mr_values_set_text(v, "path", "\"open"), MR_ECONFIG, "expected a closing quote");
	MR_CHECK_FAIL(mr_values_set_text(v, "path", "\"bad\\q\""), MR_ECONFIG, "known escapes");
	MR_CHECK_FAIL(mr_values_set_text(v, "path", "\"\\x00\""), MR_ECONFIG, "known escapes");
	MR_CHECK_FAIL(mr_values_set_text(v, "path", "\"\\"), MR_ECONFIG, "closing quote");
	MR_CHECK_OK(mr_values_set_text(v, "path", "\"two \" \"parts\"\"\""));
	CU_ASSERT_STRING_EQUAL(mr_values_string(v, "path"), "two parts");
	MR_CHECK_FAIL(mr_values_set_text(v, "path", "\"a\" b"), MR_ECONFIG, "closing quote");
	MR_CHECK_OK(mr_values_set_text(v, "backward", "\"lifo\""));
	CU_ASSERT_STRING_EQUAL(mr_values_string(v, "backward"), "lifo");
	MR_CHECK_OK(mr_values_set_text(v, "weights", "(2, 0x10, 1L)"));
	list = mr_values_floats(v, "weights", &n);
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT_TRUE(list[0] == 2 && list[1] == 16 && list[2] == 1);
	MR_CHECK_OK(mr_values_set_text(v, "weights", " [1,-2.5k , 3 ] "));
	list = mr_values_floats(v, "weights", &n);
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT_TRUE(list[0] == 1 && list[1] == -2500 && list[2] == 3);
	for (size_t i = 0; i < sizeof(bad_lists) / sizeof(bad_lists[0]); i++)
		MR_CHECK_FAIL(mr_values_set_text(v, "weights", bad_lists[i]), MR_ECONFIG, "expected a list of numbers");
	MR_CHECK_OK(mr_values_set_text(v, "weights", "[ ]"));
	mr_values_floats(v, "weights", &n);
	CU_ASSERT_EQUAL(n, 0);
	mr_values_destroy(v);
}

/* What is printed reads back to the same value, and prints the same again. */
static void check_round_trip(mr_values *v, const char *name, const char *expected)
{
	char first[256];
	mr_values *copy = fresh();

	snprintf(first, sizeof(first), "%s", printed(v, name));
	CU_ASSERT_STRING_EQUAL(first, expected);
	MR_CHECK_OK(mr_values_set_text(copy, name, first));
	CU_ASSERT_STRING_EQUAL(printed(copy, name), expected);
	mr_values_destroy(copy);
}

static void test_print(void)
{
	mr_values *v = fresh();
	char small[5];

	check_round_trip(v, "layers", "4");
	check_round_trip(v, "rate", "0.001");
	check_round_trip(v, "nesterov", "false");
	check_round_trip(v, "path", "\"\"");
	check_round_trip(v, "backward", "\"fifo\"");
	check_round_trip(v, "weights", "[]");
	MR_CHECK_OK(mr_values_set_int(v, "offset", 4294967296));
	check_round_trip(v, "offset", "4294967296L");
	MR_CHECK_OK(mr_values_set_int(v, "offset", -2147483648));
	check_round_trip(v, "offset", "-2147483648");
	MR_CHECK_OK(mr_values_set_int(v, "rate", 1));
	check_round_trip(v, "rate", "1.0");
	MR_CHECK_OK(mr_values_set_float(v, "rate", 0.1 + 0.2));
	check_round_trip(v, "rate", "0.30000000000000004");
	MR_CHECK_OK(mr_values_set_string(v, "path", "a \"b\" \\ \n\t\x01 \xC3\xA9"));
	check_round_trip(v, "path", "\"a \\\"b\\\" \\\\ \\n\\t\\x01 \xC3\xA9\"");
	MR_CHECK_OK(mr_values_set_floats(v, "weights", (double[]){1, 2.5, 1e-30}, 3));
	check_round_trip(v, "weights", "[1.0, 2.5, 1e-30]");
	CU_ASSERT_EQUAL(mr_values_print(v, "weights", small, sizeof(small)), 17);
	CU_ASSERT_STRING_EQUAL(small, "[1.0");
	CU_ASSERT_EQUAL(mr_values_print(v, "weights", NULL, 0), 17);
	mr_values_destroy(v);
}

static void test_set_twice(void)
{
	mr_values *v = fresh();
	size_t n;

	for (int i = 0; i < 2; i++) { /* the sanitizer sees a leak or a double free */
		MR_CHECK_OK(mr_values_set_string(v, "path", i ? "second" : "first"));
		MR_CHECK_OK(mr_values_set_floats(v, "weights", (double[]){i, i}, (size_t)i));
	}
	CU_ASSERT_STRING_EQUAL(mr_values_string(v, "path"), "second");
	CU_ASSERT_EQUAL(mr_values_floats(v, "weights", &n)[0], 1);
	CU_ASSERT_EQUAL(n, 1);
	MR_CHECK_OK(mr_values_set_string(v, "path", mr_values_string(v, "path"))); /* its own text */
	CU_ASSERT_STRING_EQUAL(mr_values_string(v, "path"), "second");
	mr_values_destroy(v);
}

static void test_needs(void)
{
	static const mr_option linked[] = {
		{"order", MR_OPT_ENUM, "static", 0, 0, "static|greedy|random", NULL, "help"},
		{"file", MR_OPT_STRING, "", 0, 0, NULL, NULL, "help"},
		{"on", MR_OPT_BOOL, "true", 0, 0, NULL, NULL, "help"},
		{"seed", MR_OPT_INT, "1", 0, 9, NULL, NULL, "help"},
		{"rate", MR_OPT_FLOAT, "1", 0, 9, NULL, NULL, "help"},
		{0},
	};
	static const mr_option_need needs[] = {
		{"seed", "order", "greedy|random"}, {"seed", "file", ""}, {"rate", "on", "true"}, {0},
	};
	mr_values *v;

	MR_CHECK_OK(mr_values_create(linked, &v));
	MR_CHECK_OK(mr_values_check_needs(v, needs));
	MR_CHECK_OK(mr_values_set_int(v, "seed", 2));
	MR_CHECK_FAIL(mr_values_check_needs(v, needs), MR_ECONFIG,
		      "seed: has no effect with order = static; it is for order = greedy/random");
	MR_CHECK_OK(mr_values_set_string(v, "order", "random"));
	MR_CHECK_OK(mr_values_check_needs(v, needs));
	MR_CHECK_OK(mr_values_set_string(v, "file", "x.txt"));
	MR_CHECK_FAIL(mr_values_check_needs(v, needs), MR_ECONFIG, "seed: has no effect with file = \"x.txt\"");
	MR_CHECK_OK(mr_values_set_string(v, "file", ""));
	MR_CHECK_OK(mr_values_set_bool(v, "on", false));
	MR_CHECK_OK(mr_values_check_needs(v, needs));
	MR_CHECK_OK(mr_values_set_float(v, "rate", 2));
	MR_CHECK_FAIL(mr_values_check_needs(v, needs), MR_ECONFIG,
		      "rate: has no effect with on = false; it is for on = true");
	mr_values_destroy(v);
}

void mr_suite_option(void); /* the runner declares it too */

void mr_suite_option(void)
{
	MR_SUITE("option");

	MR_TEST(test_find);
	MR_TEST(test_defaults);
	MR_TEST(test_bad_default);
	MR_TEST(test_messages);
	MR_TEST(test_text_numbers);
	MR_TEST(test_text_others);
	MR_TEST(test_print);
	MR_TEST(test_set_twice);
	MR_TEST(test_needs);
}
