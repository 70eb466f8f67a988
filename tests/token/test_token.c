/* Tokenizers against the tokens that the package tokenizers gives (tests/golden/token). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/str.h"
#include "check.h"
#include "golden_files.h"
#include "token/normal_form.h"
#include "token/regex.h"
#include "token/tokenizer.h"

static mr_tokenizer *open_golden(const char *name)
{
	char path[MR_GOLDEN_PATH];
	mr_tokenizer *t = NULL;

	MR_CHECK_OK(mr_tokenizer_open(mr_golden_path(path, "token/%s.json", name), &t));
	return t;
}

static bool gives_back(mr_tokenizer *t, const char *text, size_t len)
{
	mr_tokens tokens = {0};
	mr_strbuf again = {0};
	bool same;

	MR_CHECK_OK(mr_tokenizer_encode(t, text, len, &tokens));
	for (size_t i = 0; i < tokens.n; i++) {
		size_t n;
		const char *bytes = mr_tokenizer_bytes(t, tokens.at[i], &n);

		mr_strbuf_append_n(&again, bytes, n);
	}
	same = again.len == len && !memcmp(text, mr_strbuf_text(&again), len);
	mr_strbuf_fini(&again);
	free(tokens.at);
	return same;
}

static bool as_recorded(mr_tokenizer *t, const char *text, const mr_json *want)
{
	mr_tokens got = {0};
	bool same;

	MR_CHECK_OK(mr_tokenizer_encode(t, text, strlen(text), &got));
	same = got.n == mr_json_size(want);
	for (size_t i = 0; same && i < got.n; i++)
		same = got.at[i] == mr_json_int(mr_json_at(want, i));
	if (!same) {
		printf("\n\"%s\":", text);
		for (size_t i = 0; i < got.n; i++)
			printf(" %d", got.at[i]);
		printf(", expected");
		for (size_t i = 0; i < mr_json_size(want); i++)
			printf(" %lld", (long long)mr_json_int(mr_json_at(want, i)));
		printf("\n");
	}
	free(got.at);
	return same;
}

static void compare(const char *name, bool lossless)
{
	char path[MR_GOLDEN_PATH];
	mr_tokenizer *t = open_golden(name);
	const mr_json *texts;
	mr_json *root;

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "token/%s.texts.json", name), 1 << 24, &root));
	texts = mr_json_get(root, "texts");
	CU_ASSERT(mr_json_size(texts) > 200);
	CU_ASSERT_EQUAL(mr_tokenizer_size(t), mr_json_int(mr_json_get(root, "size")));
	for (int round = 0; round < 2; round++) /* the second one finds words that are known */
		for (size_t i = 0; i < mr_json_size(texts); i++) {
			const mr_json *one = mr_json_at(texts, i);
			const char *text = mr_json_string(mr_json_get(one, "text"));

			CU_ASSERT(as_recorded(t, text, mr_json_get(one, "tokens")));
			CU_ASSERT(!lossless || gives_back(t, text, strlen(text)));
		}
	mr_json_destroy(root);
	mr_tokenizer_close(t);
}

static void recorded(void)
{
	compare("gpt2", true);
	compare("llama3", true);
	compare("o200k", true);
	compare("digits", false); /* puts blanks in front of words */
	compare("plain", true);
	compare("dialect", false); /* a blank in front of each word shows where text is cut */
	if (strcmp(mr_normal_form_version(), "none") != 0) {
		compare("qwen2", false);
		compare("nfkd", false);
	}
}

/* Bytes of any kind, among them much that is no UTF-8, come back. */
static void any_bytes(void)
{
	static const char *const names[] = {"gpt2", "llama3", "plain"};
	char text[400];

	for (size_t k = 0; k < 3; k++) {
		mr_tokenizer *t = open_golden(names[k]);

		for (uint64_t i = 0; i < 300; i++) {
			size_t len = i % sizeof(text);

			for (size_t b = 0; b < len; b++) {
				double u = mr_rng_uniform(i, MR_RNG_SAMPLE, b, 0, 0);

				text[b] = i % 3 ? (char)(int)(u * 256)
						: "a \xc3\xa9\xf0\x9f\xa6\x8a\n<|end"[(int)(u * 15)];
			}
			CU_ASSERT(gives_back(t, text, len));
		}
		CU_ASSERT(gives_back(t, "\xff", 1) && gives_back(t, "\0a\0", 3) && gives_back(t, "a\xe2\x82", 3));
		mr_tokenizer_close(t);
	}
}

/* Marks that combine with one letter, in no order: their order takes n log n steps, too. */
static void many_marks(void)
{
	size_t n = 300001;
	char *text = malloc(2 * n);
	mr_normal_form f = {.composed = true};

	memcpy(text, "e ", 2);
	for (size_t i = 1; i < n; i++)
		memcpy(text + 2 * i, i % 2 ? "\xcc\x81" : "\xcc\x96", 2); /* U+0301, U+0316 */
	text[1] = 'e';
	MR_CHECK_OK(mr_normal_form_apply(&f, text, 2 * n));
	CU_ASSERT_EQUAL(f.text.len, 2 * n - 1); /* the last e and one U+0301 are one */
	CU_ASSERT(!memcmp(mr_strbuf_text(&f.text), "e\xc3\xa9\xcc\x96\xcc\x96", 7));
	CU_ASSERT(!memcmp(mr_strbuf_text(&f.text) + f.text.len - 4, "\xcc\x81\xcc\x81", 4));
	MR_CHECK_OK(mr_normal_form_apply(&f, "e\xcc\xffx\xcc\x81\0\xc3\xa9", 9));
	CU_ASSERT(f.text.len == 9 && !memcmp(mr_strbuf_text(&f.text), "e\xcc\xffx\xcc\x81\0\xc3\xa9", 9));
	mr_normal_form_fini(&f);
	free(text);
}

/* A long word takes n log n steps: a million bytes of it take no longer than a test may. */
static void long_words(void)
{
	size_t n = 1000000;
	char *text = malloc(n);
	mr_tokenizer *t = open_golden("plain");

	for (size_t i = 0; i < n; i++)
		text[i] = "the thing "[i * i % 10];
	CU_ASSERT(gives_back(t, text, n));
	mr_tokenizer_close(t);
	t = open_golden("llama3");
	memset(text, 'e', n);
	CU_ASSERT(gives_back(t, text, n));
	mr_tokenizer_close(t);
	free(text);
}

static void names_and_hashes(void)
{
	mr_tokenizer *a = open_golden("gpt2"), *b = open_golden("llama3"), *c = open_golden("gpt2");
	size_t n;

	CU_ASSERT_EQUAL(mr_tokenizer_hash(a), mr_tokenizer_hash(c));
	CU_ASSERT_NOT_EQUAL(mr_tokenizer_hash(a), mr_tokenizer_hash(b));
	CU_ASSERT_EQUAL(mr_tokenizer_added(a, "<|end|>"), 0);
	CU_ASSERT_EQUAL(mr_tokenizer_added(a, "<|en|>"), -1);
	CU_ASSERT_STRING_EQUAL(mr_tokenizer_bytes(a, mr_tokenizer_added(a, "<tool>"), &n), "<tool>");
	CU_ASSERT(!*mr_tokenizer_bytes(a, -1, &n) && !n);
	CU_ASSERT(!*mr_tokenizer_bytes(a, (int32_t)mr_tokenizer_size(a), &n) && !n);
	mr_tokenizer_close(a);
	mr_tokenizer_close(b);
	mr_tokenizer_close(c);
}

/* --- files that are refused --- */

static char file[] = "/tmp/millrace-token-XXXXXX";

static void save(const char *text, size_t len)
{
	FILE *f = fopen(file, "wb");

	CU_ASSERT_FATAL(f && fwrite(text, 1, len, f) == len && !fclose(f));
}

static mr_status open_text(const char *text, size_t len)
{
	mr_tokenizer *t = NULL;
	mr_status st;

	save(text, len);
	st = mr_tokenizer_open(file, &t);
	mr_tokenizer_close(t);
	return st;
}

#define BYTES "\"pre_tokenizer\":{\"type\":\"ByteLevel\"}"
#define SPLIT(pattern) MODEL("") ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":" \
	"{\"Regex\":\"" pattern "\"}}}"
#define MODEL(more) "{\"model\":{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]" more "}"

static void refused(void)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{"{", ":1:1: "},
		{"[1]", "model: is missing: this is no tokenizer.json"},
		{"{\"model\":{\"type\":\"Unigram\"}}", "model.type: expected \"BPE\", got \"Unigram\""},
		{"{\"model\":{}}", "model.vocab: expected tokens and their numbers, got nothing"},
		{"{\"model\":{\"vocab\":{}}}", "model.vocab: expected tokens and their numbers, got none"},
		{"{\"model\":{\"vocab\":{\"a\":-1}}}", "\"a\": expected a number from 0 to 16777215, got -1"},
		{"{\"model\":{\"vocab\":{\"a\":\"b\"}}}", "\"a\": expected a number from 0 to 16777215, got string"},
		{"{\"model\":{\"vocab\":{\"a\":1,\"b\":1}}}", "model.vocab: \"b\": two tokens have the number 1"},
		{"{\"model\":{\"vocab\":{\"a\":1}}}", "model.merges: expected a list of rules, got nothing"},
		{"{\"model\":{\"vocab\":{\"a\":1},\"merges\":[\"a\"]}}", "model.merges[0]: expected \"LEFT RIGHT\" or"},
		{"{\"model\":{\"vocab\":{\"a\":1},\"merges\":[\"a b\"]}}", "[0]: \"b\" is not in model.vocab"},
		{"{\"model\":{\"vocab\":{\"a\":1},\"merges\":[[\"a\",\"a\"]]}}", "[0]: \"aa\" is not in model.vocab"},
		{MODEL(",\"dropout\":0.1") "," BYTES "}", "model.dropout: expected none"},
		{MODEL(",\"end_of_word_suffix\":\"</w>\"") "," BYTES "}", "model.end_of_word_suffix: expected none"},
		{MODEL(",\"unk_token\":\"a\"") "," BYTES "}", "model.unk_token: can be read only where"},
		{MODEL(",\"byte_fallback\":true") "," BYTES "}", "model.byte_fallback: can be read only where"},
		{MODEL(",\"ignore_merges\":1") "," BYTES "}",
		 "model.ignore_merges: expected true or false, got integer"},
		{MODEL("") "}", "pre_tokenizer: expected ByteLevel, Split, Digits or a Sequence of them, got nothing"},
		{MODEL("") ",\"pre_tokenizer\":{\"type\":\"Metaspace\"}}",
		 "pre_tokenizer.type: expected ByteLevel, Split"},
		{MODEL("") ",\"pre_tokenizer\":{\"type\":\"Digits\"}}", "expected ByteLevel at its end"},
		{SPLIT("(a"), "pre_tokenizer.pattern: \"(a\" is no pattern: missing closing parenthesis"},
		{SPLIT("[a&&b]"), "pre_tokenizer.pattern: \"[a&&b]\" has \"&&\" at byte 2, which cannot be read here"},
		{SPLIT("[a[^b]]"), "has \"[^\" at byte 2"},
		{SPLIT("[\\\\W]"), "has \"\\W\" at byte 1"},
		{SPLIT("[[:graph:]]"), "has \"[:graph:]\" at byte 1"},
		{SPLIT("a{1,2}+"), "has \"}+\" at byte 5"},
		{SPLIT("(*UTF)"), "has \"(*\" at byte 0"},
		{SPLIT("[]"), "has \"]\" at byte 1"},
		{MODEL("") ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Contiguous\"}}",
		 "pre_tokenizer.behavior: expected \"Isolated\" or \"Removed\", got \"Contiguous\""},
		{MODEL("") ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\"},"
			   "{\"type\":\"Digits\"}]}}", "pretokenizers[1]: expected nothing behind ByteLevel"},
		{MODEL("") "," BYTES ",\"normalizer\":{\"type\":\"Lowercase\"}}",
		 "normalizer: expected NFC, NFD, NFKC, NFKD or a Sequence of them; for another one, write the text in"},
		{MODEL("") "," BYTES ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[7]}}",
		 "normalizer.normalizers[0]: expected NFC"},
		{MODEL("") "," BYTES ",\"decoder\":{\"type\":\"Metaspace\"}}", "decoder.type: expected \"ByteLevel\""},
		{MODEL("") "," BYTES ",\"added_tokens\":[{\"content\":\"x\"}]}", "added_tokens[0]: expected a text"},
		{MODEL("") "," BYTES ",\"added_tokens\":[{\"content\":\"x\",\"id\":2}]}",
		 "added_tokens[0]: two tokens have the number 2"},
		{MODEL("") "," BYTES ",\"added_tokens\":[{\"content\":\"ab\",\"id\":3}]}",
		 "\"ab\" is token 2 in model.vocab"},
		{MODEL("") "," BYTES ",\"added_tokens\":[{\"content\":\"x\",\"id\":3,\"lstrip\":1}]}",
		 "added_tokens[0].lstrip: expected true or false, got integer"},
		{MODEL("") "," BYTES ",\"added_tokens\":[{\"content\":\"x\",\"id\":3},{\"content\":\"x\",\"id\":4}]}",
		 "have the same text \"x\""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		MR_CHECK_FAIL(open_text(cases[i].text, strlen(cases[i].text)), MR_EDATA, cases[i].part);
		CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), file));
	}
	MR_CHECK_OK(open_text(MODEL("") "," BYTES "}", strlen(MODEL("") "," BYTES "}")));
}

/* Each place of a text is compared with the added tokens: these are short, or a text takes the square of its length. */
static void long_added_token(void)
{
	char text[4096], name[1100];

	for (size_t n = 1024; n <= 1025; n++) {
		memset(name, 'a', n);
		name[n] = '\0';
		snprintf(text, sizeof(text),
			 MODEL("") "," BYTES ",\"added_tokens\":[{\"content\":\"%s\",\"id\":3}]}", name);
		if (n == 1024)
			MR_CHECK_OK(open_text(text, strlen(text)));
		else
			MR_CHECK_FAIL(open_text(text, strlen(text)), MR_EDATA,
				      "added_tokens[0]: content has 1025 bytes, expected at most 1024");
	}
}

static void missing_bytes(void)
{
	mr_tokens tokens = {0};
	mr_tokenizer *t;

	MR_CHECK_OK(open_text(MODEL("") "," BYTES "}", strlen(MODEL("") "," BYTES "}")));
	MR_CHECK_OK(mr_tokenizer_open(file, &t));
	MR_CHECK_FAIL(mr_tokenizer_encode(t, "abc", 3, &tokens), MR_EDATA,
		      "no token of the tokenizer is the byte 0x20");
	mr_tokenizer_close(t);
	free(tokens.at);
}

/* Files with wrong bytes are refused, or are tokenizers that work. */
static void mutated(void)
{
	static const char *const names[] = {"gpt2", "digits", "qwen2"};
	static const char some[] = "It's 1984, nai\xcc\x88ve\n\n  <mask> word <|end|>";
	char path[MR_GOLDEN_PATH], *text;
	size_t len;

	for (size_t k = 0; k < 3; k++) {
		MR_CHECK_OK(mr_file_read(mr_golden_path(path, "token/%s.json", names[k]), 1 << 24, &text, &len));
		for (uint64_t i = 0; i < 120; i++) {
			size_t at = (size_t)(mr_rng_uniform(i, MR_RNG_SAMPLE, k, 0, 0) * (double)len);
			char was = text[at];
			mr_tokens tokens = {0};
			mr_tokenizer *t = NULL;

			at = i % 2 ? at : at % 900; /* most keys are at the beginning */
			was = text[at];
			text[at] = "\"0{]x,:\xff"[i % 8];
			save(text, i % 16 ? len : at + 1);
			if (mr_tokenizer_open(file, &t) == MR_OK)
				(void)!mr_tokenizer_encode(t, some, sizeof(some) - 1, &tokens);
			else
				CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), file));
			mr_tokenizer_close(t);
			free(tokens.at);
			text[at] = was;
		}
		free(text);
	}
}

static void without_library(void)
{
	mr_tokenizer *t;
	char path[MR_GOLDEN_PATH];

	MR_CHECK_FAIL(mr_tokenizer_open(mr_golden_path(path, "token/gpt2.json"), &t), MR_EDATA, "without PCRE2");
}

static void without_forms(void)
{
	mr_tokenizer *t;
	char path[MR_GOLDEN_PATH];

	MR_CHECK_FAIL(mr_tokenizer_open(mr_golden_path(path, "token/qwen2.json"), &t), MR_EDATA,
		      "this build has no NFC: it was made without utf8proc");
}

static int make_file(void)
{
	int fd = mkstemp(file);

	return fd < 0 || close(fd);
}

static int remove_file(void)
{
	return unlink(file);
}

void mr_suite_token(void);

void mr_suite_token(void)
{
	CU_pSuite mr_suite_ = CU_add_suite("token", make_file, remove_file);

	if (!strcmp(mr_regex_version(), "none")) {
		MR_TEST(without_library);
		return;
	}
	MR_TEST(recorded);
	MR_TEST(any_bytes);
	MR_TEST(long_words);
	if (strcmp(mr_normal_form_version(), "none") != 0)
		MR_TEST(many_marks);
	else
		MR_TEST(without_forms);
	MR_TEST(names_and_hashes);
	MR_TEST(refused);
	MR_TEST(long_added_token);
	MR_TEST(missing_bytes);
	MR_TEST(mutated);
}
