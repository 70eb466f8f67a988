#include "base/json.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* Begin a document in memory. */
static FILE *open_text(char **text, mr_json_writer *w, bool pretty)
{
	static size_t len;
	FILE *f = open_memstream(text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	mr_json_init(w, f, pretty);
	return f;
}

static void write_sample(mr_json_writer *w)
{
	mr_json_begin_object(w);
	mr_json_key(w, "name");
	mr_json_put_string(w, "a \"b\" \\ \n\x01");
	mr_json_key(w, "list");
	mr_json_begin_array(w);
	mr_json_put_int(w, INT64_MIN);
	mr_json_put_uint(w, UINT64_MAX);
	mr_json_put_double(w, 0.1);
	mr_json_put_double(w, 2);
	mr_json_put_double(w, NAN);
	mr_json_put_double(w, -INFINITY);
	mr_json_end_array(w);
	mr_json_key(w, "empty");
	mr_json_begin_object(w);
	mr_json_end_object(w);
	mr_json_key(w, "rows");
	mr_json_begin_array(w);
	for (int i = 0; i < 2; i++) {
		mr_json_begin_array(w);
		mr_json_put_bool(w, i);
		mr_json_put_double(w, NAN);
		mr_json_end_array(w);
	}
	mr_json_end_array(w);
	mr_json_key(w, "none");
	mr_json_put_string(w, NULL);
	mr_json_end_object(w);
	MR_CHECK_OK(mr_json_finish(w));
}

static void test_write_compact(void)
{
	mr_json_writer w;
	char *text;
	FILE *f = open_text(&text, &w, false);

	write_sample(&w);
	mr_json_put_int(&w, 7); /* the next document on the next line */
	MR_CHECK_OK(mr_json_finish(&w));
	fclose(f);
	CU_ASSERT_STRING_EQUAL(text, "{\"name\":\"a \\\"b\\\" \\\\ \\n\\u0001\",\"list\":[-9223372036854775808,"
				     "18446744073709551615,0.1,2.0,null,null],\"empty\":{},"
				     "\"rows\":[[false,null],[true,null]],\"none\":null}\n7\n");
	free(text);
}

static void test_write_pretty(void)
{
	mr_json_writer w;
	char *text;
	FILE *f = open_text(&text, &w, true);

	write_sample(&w);
	fclose(f);
	CU_ASSERT_STRING_EQUAL(text, "{\n\t\"name\": \"a \\\"b\\\" \\\\ \\n\\u0001\",\n"
				     "\t\"list\": [-9223372036854775808, 18446744073709551615, 0.1, 2.0, null, null],\n"
				     "\t\"empty\": {},\n"
				     "\t\"rows\": [\n\t\t[false, null],\n\t\t[true, null]\n\t],\n"
				     "\t\"none\": null\n}\n");
	free(text);
}

static void test_write_text_is_utf8(void)
{
	static const struct {
		const char *in, *out;
	} known[] = {
		{"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"\n"},
		{"\xFFx", "\"\xEF\xBF\xBDx\"\n"},
		{"\xC3", "\"\xEF\xBF\xBD\"\n"},						     /* cut short */
		{"\xC0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"\n"},				     /* overlong NUL */
		{"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\n"},		     /* surrogate */
		{"\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\n"}, /* beyond U+10FFFF */
		{"\b\f\r\t\x7F", "\"\\b\\f\\r\\t\\u007f\"\n"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		mr_json_writer w;
		mr_json *root;
		char list[64], *text;
		FILE *f = open_text(&text, &w, false);

		mr_json_put_string(&w, known[i].in);
		MR_CHECK_OK(mr_json_finish(&w));
		fclose(f);
		CU_ASSERT_STRING_EQUAL(text, known[i].out);
		snprintf(list, sizeof(list), "[%s]", text); /* a document begins with a bracket */
		MR_CHECK_OK(mr_json_read_text(list, strlen(list), &root));
		mr_json_destroy(root);
		free(text);
	}
}

static void test_write_failure(void)
{
	mr_json_writer w;
	FILE *f = fopen("/dev/full", "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	setvbuf(f, NULL, _IONBF, 0);
	mr_json_init(&w, f, false);
	mr_json_put_int(&w, 1);
	MR_CHECK_FAIL(mr_json_finish(&w), MR_EIO, "cannot write JSON");
	fclose(f);
}

static void test_read(void)
{
	static const char text[] = "{\"z\": [1, 2.5, \"t\\u00e9\", true, null, -9223372036854775808],"
				   " \"a\": {}, \"m\": 3}";
	const mr_json *z;
	const char *key;
	mr_json *root;

	MR_CHECK_OK(mr_json_read_text(text, strlen(text), &root));
	CU_ASSERT_TRUE(mr_json_is_object(root));
	CU_ASSERT_EQUAL(mr_json_size(root), 3);
	z = mr_json_get(root, "z");
	CU_ASSERT_TRUE_FATAL(mr_json_is_array(z));
	CU_ASSERT_EQUAL(mr_json_size(z), 6);
	CU_ASSERT_TRUE(mr_json_is_int(mr_json_at(z, 0)) && mr_json_is_number(mr_json_at(z, 0)));
	CU_ASSERT_EQUAL(mr_json_int(mr_json_at(z, 0)), 1);
	CU_ASSERT_EQUAL(mr_json_double(mr_json_at(z, 0)), 1);
	CU_ASSERT_TRUE(!mr_json_is_int(mr_json_at(z, 1)) && mr_json_is_number(mr_json_at(z, 1)));
	CU_ASSERT_EQUAL(mr_json_double(mr_json_at(z, 1)), 2.5);
	CU_ASSERT_STRING_EQUAL(mr_json_string(mr_json_at(z, 2)), "t\xC3\xA9");
	CU_ASSERT_TRUE(mr_json_is_bool(mr_json_at(z, 3)) && mr_json_bool(mr_json_at(z, 3)));
	CU_ASSERT_TRUE(mr_json_is_null(mr_json_at(z, 4)));
	CU_ASSERT_EQUAL(mr_json_int(mr_json_at(z, 5)), INT64_MIN);
	CU_ASSERT_STRING_EQUAL(mr_json_kind(mr_json_at(z, 1)), "number");
	CU_ASSERT_STRING_EQUAL(mr_json_kind(mr_json_at(z, 4)), "null");
	key = mr_json_next_key(root, NULL);
	CU_ASSERT_STRING_EQUAL(key, "z"); /* the text's order, not the alphabet's */
	key = mr_json_next_key(root, key);
	CU_ASSERT_STRING_EQUAL(key, "a");
	key = mr_json_next_key(root, key);
	CU_ASSERT_STRING_EQUAL(key, "m");
	CU_ASSERT_PTR_NULL(mr_json_next_key(root, key));
	mr_json_destroy(root);
}

static void test_read_wrong_kinds(void)
{
	static const char text[] = "[\"s\", 5]";
	mr_json *root;

	MR_CHECK_OK(mr_json_read_text(text, strlen(text), &root));
	CU_ASSERT_PTR_NULL(mr_json_get(root, "k"));
	CU_ASSERT_PTR_NULL(mr_json_at(root, 2));
	CU_ASSERT_PTR_NULL(mr_json_next_key(root, NULL));
	CU_ASSERT_EQUAL(mr_json_int(mr_json_at(root, 0)), 0);
	CU_ASSERT_EQUAL(mr_json_double(mr_json_at(root, 0)), 0);
	CU_ASSERT_PTR_NULL(mr_json_string(mr_json_at(root, 1)));
	CU_ASSERT_FALSE(mr_json_bool(mr_json_at(root, 1)));
	CU_ASSERT_EQUAL(mr_json_size(mr_json_at(root, 0)), 0);
	mr_json_destroy(root);
	CU_ASSERT_FALSE(mr_json_is_object(NULL) || mr_json_is_array(NULL) || mr_json_is_string(NULL) ||
			mr_json_is_int(NULL) || mr_json_is_number(NULL) || mr_json_is_bool(NULL) ||
			mr_json_is_null(NULL));
	CU_ASSERT_EQUAL(mr_json_size(NULL), 0);
	CU_ASSERT_PTR_NULL(mr_json_get(NULL, "k"));
	CU_ASSERT_PTR_NULL(mr_json_at(NULL, 0));
	CU_ASSERT_PTR_NULL(mr_json_next_key(NULL, NULL));
	CU_ASSERT_STRING_EQUAL(mr_json_kind(NULL), "nothing");
	mr_json_destroy(NULL);
}

static void test_read_refuses(void)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{"{\"a\": 1,\n \"a\": 2}", "2:4: duplicate"},
		{"{\"a\": }", "1:7: "},
		{"[1, 2", "1:5: "},
		{"[1] x", "1:5: "},
		{"[1.]", "1:"},
		{"[99999999999999999999]", "too big integer"},
		{"[1e999]", "real number overflow"},
		{"[\"\xFF\"]", "unable to decode byte"},
		{"", "'[' or '{' expected"},
	};
	mr_json *root = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		MR_CHECK_FAIL(mr_json_read_text(bad[i].text, strlen(bad[i].text), &root), MR_ECONFIG, bad[i].message);
	MR_CHECK_FAIL(mr_json_read_text("[\n1\0]", 5, &root), MR_ECONFIG, "2:2: NUL byte");
	CU_ASSERT_PTR_NULL(root);
}

static void test_read_file(void)
{
	char path[] = "/tmp/mr_json_XXXXXX";
	char message[64];
	int fd = mkstemp(path);
	mr_json *root = NULL;

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, "{\"a\": 1}\n", 9), 9);
	MR_CHECK_OK(mr_json_read_file(path, 9, &root));
	CU_ASSERT_EQUAL(mr_json_int(mr_json_get(root, "a")), 1);
	mr_json_destroy(root);
	MR_CHECK_FAIL(mr_json_read_file(path, 8, &root), MR_ECONFIG, "is larger than 8 B");
	CU_ASSERT_EQUAL(write(fd, "x", 1), 1);
	close(fd);
	snprintf(message, sizeof(message), "%s:2:1: ", path);
	MR_CHECK_FAIL(mr_json_read_file(path, 100, &root), MR_ECONFIG, message);
	unlink(path);
	MR_CHECK_FAIL(mr_json_read_file(path, 100, &root), MR_ECONFIG, "no such file");
}

void mr_suite_json(void); /* the runner declares it too */

void mr_suite_json(void)
{
	MR_SUITE("json");

	MR_TEST(test_write_compact);
	MR_TEST(test_write_pretty);
	MR_TEST(test_write_text_is_utf8);
	MR_TEST(test_write_failure);
	MR_TEST(test_read);
	MR_TEST(test_read_wrong_kinds);
	MR_TEST(test_read_refuses);
	MR_TEST(test_read_file);
}
