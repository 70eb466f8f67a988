/* test_words.c - vocabularies by frequency, files of token numbers, patterns in another dialect, tables of tokens. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "check.h"
#include "scratch.h"
#include "token/dialect.h"
#include "token/regex.h"
#include "token/token_file.h"
#include "token/token_table.h"
#include "token/vocabulary.h"

static void count(mr_vocabulary *v, const char *word, int times)
{
	for (int i = 0; i < times; i++)
		MR_CHECK_OK(mr_vocabulary_count(v, word, strlen(word)));
}

static int32_t number_of(const mr_vocabulary *v, const char *word)
{
	return mr_vocabulary_find(v, word, strlen(word));
}

/* The most frequent first, those that are as frequent by their bytes; what is beyond the most has no number. */
static void by_frequency(void)
{
	mr_vocabulary v = {0};
	size_t n;

	CU_ASSERT_EQUAL(number_of(&v, "a"), -1);
	count(&v, "mill", 3);
	count(&v, "race", 5);
	count(&v, "b", 2);
	count(&v, "a", 2);
	count(&v, "\xc3\xa9", 2);
	CU_ASSERT_EQUAL(number_of(&v, "mill"), -1); /* not yet */
	MR_CHECK_OK(mr_vocabulary_seal(&v, 10, 0, &n));
	CU_ASSERT_EQUAL(n, 5);
	CU_ASSERT(number_of(&v, "race") == 10 && number_of(&v, "mill") == 11 && number_of(&v, "a") == 12 &&
		  number_of(&v, "b") == 13 && number_of(&v, "\xc3\xa9") == 14);
	CU_ASSERT(number_of(&v, "mil") == -1 && number_of(&v, "mills") == -1);
	mr_vocabulary_fini(&v);
	count(&v, "x", 1);
	count(&v, "y", 2);
	MR_CHECK_OK(mr_vocabulary_seal(&v, 0, 1, &n));
	CU_ASSERT(n == 1 && number_of(&v, "y") == 0 && number_of(&v, "x") == -1);
	mr_vocabulary_fini(&v);
}

/* The table grows over and over, and every word is still found. */
static void many_words(void)
{
	enum { MANY = 5000 };
	mr_vocabulary v = {0};
	char word[16];
	size_t n;

	for (int i = 0; i < MANY; i++) {
		snprintf(word, sizeof(word), "w%d", i);
		count(&v, word, i % 7 == 0 ? 2 : 1);
	}
	MR_CHECK_OK(mr_vocabulary_seal(&v, 0, 0, &n));
	CU_ASSERT_EQUAL(n, MANY);
	for (int i = 0; i < MANY; i++) {
		int32_t at;

		snprintf(word, sizeof(word), "w%d", i);
		at = number_of(&v, word);
		CU_ASSERT(at >= 0 && at < MANY && (at < (MANY + 6) / 7) == (i % 7 == 0));
	}
	mr_vocabulary_fini(&v);
}

/* --- files of tokens ---------------------------------------------------------------------------------------------- */

static char path[64];

static size_t written(bool wide, bool bare, const int32_t *token, size_t n, unsigned char *out, size_t room)
{
	mr_token_writer w;
	size_t len;
	FILE *f;

	MR_CHECK_OK(mr_token_writer_begin(&w, path, wide, bare));
	MR_CHECK_OK(mr_token_writer_end(&w, mr_token_writer_add(&w, token, n)));
	f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	len = fread(out, 1, room, f);
	fclose(f);
	unlink(path);
	return len;
}

/* A header of 256 numbers: magic, version, count; tokens of two or of four bytes. Without a header tokens alone. */
static void token_files(void)
{
	static const int32_t token[] = {1, 258, 65535};
	static unsigned char out[2048];
	int32_t header[3];
	mr_token_writer w;

	close(mkstemp(mr_scratch(path, sizeof(path), "tokens")));
	unlink(path);
	CU_ASSERT_EQUAL(written(false, false, token, 3, out, sizeof(out)), 1024 + 6);
	memcpy(header, out, sizeof(header));
	CU_ASSERT(header[0] == MR_TOKEN_FILE && header[1] == 1 && header[2] == 3 && out[12] == 0);
	CU_ASSERT_EQUAL(memcmp(out + 1024, "\1\0\2\1\377\377", 6), 0);
	CU_ASSERT_EQUAL(written(true, false, token, 2, out, sizeof(out)), 1024 + 8);
	memcpy(header, out, sizeof(header));
	CU_ASSERT(header[0] == MR_TOKEN_FILE_WIDE && header[1] == 7 && header[2] == 2);
	CU_ASSERT_EQUAL(memcmp(out + 1024, "\1\0\0\0\2\1\0\0", 8), 0);
	CU_ASSERT_EQUAL(written(false, true, token, 3, out, sizeof(out)), 6);
	MR_CHECK_OK(mr_token_writer_begin(&w, path, false, false));
	MR_CHECK_FAIL(mr_token_writer_end(&w, MR_OK), MR_EDATA, "there are no tokens to write");
	CU_ASSERT(access(path, F_OK) != 0);
	/* what failed before stays the reason, and no file is left */
	MR_CHECK_OK(mr_token_writer_begin(&w, path, false, false));
	MR_CHECK_OK(mr_token_writer_add(&w, token, 3));
	MR_CHECK_FAIL(mr_token_writer_end(&w, mr_fail(MR_EDATA, "a reason")), MR_EDATA, "a reason");
	CU_ASSERT(access(path, F_OK) != 0);
}

/* --- patterns ----------------------------------------------------------------------------------------------------- */

static void spelled_anew(void)
{
	static const char *const good[][2] = {
		{"a+", "a+"},
		{"\\s", "\\p{White_Space}"},
		{"[\\s\\d]", "[\\p{White_Space}\\d]"},
		{"\\h", "[0-9A-Fa-f]"},
		{"[^\\h]", "[^0-9A-Fa-f]"},
		{"\\u00e9x", "\\x{00e9}x"},
		{"a{,3}", "a{0,3}"},
		{"(?m:.)", "(?s:.)"},
		{"\\p{L}\\p{Greek}\\p{^Lu}", "\\p{L}\\p{sc:Greek}\\p{^Lu}"},
		{"[[:digit:]x]", "[\\p{Nd}x]"},
		{"[a[bc]d]", "[abcd]"},
		{"\\Q.\\E", "Q.E"},
	};
	static const char *const bad[][2] = {
		{"a\\Kb", "\"\\K\" at byte 1"}, {"[\\W]", "\"\\W\" at byte 1"},  {"[a&&b]", "\"&&\" at byte 2"},
		{"[a[^b]]", "\"[^\" at byte 2"}, {"(*UTF)", "\"(*\" at byte 0"}, {"a{2}+", "\"}+\" at byte 3"},
		{"[[:graph:]]", "\"[:graph:]\" at byte 1"},
	};
	mr_strbuf b = {0};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		MR_CHECK_OK(mr_dialect_spell(good[i][0], &b));
		CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&b) + strlen("(*LF)(?m)"), good[i][1]);
		mr_strbuf_fini(&b);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		MR_CHECK_FAIL(mr_dialect_spell(bad[i][0], &b), MR_EDATA, bad[i][1]);
		mr_strbuf_fini(&b);
	}
}

static void characters(void)
{
	static const struct {
		const char *text;
		size_t len, want;
	} cases[] = {
		{"a", 1, 1},          {"\xc3\xa9", 2, 2},     {"\xe2\x82\xac", 3, 3}, {"\xf0\x9f\x98\x80", 4, 4},
		{"\xc3", 1, 0},       {"\xc0\x80", 2, 0},     {"\x80", 1, 0},         {"\xed\xa0\x80", 3, 0},
		{"\xf5\x80\x80\x80", 4, 0}, {"\xe2\x82", 2, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(mr_utf8_length(cases[i].text, cases[i].len), cases[i].want);
}

static void table_of_tokens(void)
{
	mr_token_table t;

	mr_token_table_init(&t);
	MR_CHECK_OK(mr_token_table_put(&t, 7, "ab", 2, true));
	MR_CHECK_OK(mr_token_table_put(&t, 3, "a", 1, true));
	MR_CHECK_OK(mr_token_table_put(&t, 4, "a\0", 2, true));
	MR_CHECK_OK(mr_token_table_put(&t, 9, "hidden", 6, false));
	CU_ASSERT_EQUAL(t.n, 10);
	CU_ASSERT(mr_token_table_find(&t, "ab", 2) == 7 && mr_token_table_find(&t, "a", 1) == 3 &&
		  mr_token_table_find(&t, "a\0", 2) == 4 && mr_token_table_find(&t, "hidden", 6) == -1 &&
		  mr_token_table_find(&t, "b", 1) == -1);
	CU_ASSERT(t.byte['a'] == 3 && t.byte['b'] == -1);
	CU_ASSERT_EQUAL(mr_token_table_put(&t, 7, "x", 1, true), MR_EDATA);
	CU_ASSERT_EQUAL(mr_token_table_put(&t, 8, "ab", 2, true), MR_EDATA);
	mr_token_table_fini(&t);
}

void mr_suite_words(void);

void mr_suite_words(void)
{
	MR_SUITE("words");
	MR_TEST(by_frequency);
	MR_TEST(many_words);
	MR_TEST(token_files);
	MR_TEST(spelled_anew);
	MR_TEST(characters);
	MR_TEST(table_of_tokens);
}
