/* Random --set texts and random damage to configurations: an answer every time, and never a crash. Seeded. */
#include "check.h"

#include <string.h>

#include "config_help.h"

/* libconfig 1.5 does not free the string at which it meets a syntax error. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig";
}

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % n);
}

static const char *const pieces[] = {
	"train", "model",       "system",    ".",      "steps", "lr",   "name",  "=",     "gpt", "1f1b", "10",
	"-1",    "1e-3",        "nan",       "inf",    "[",     "]",    ",",     "\"",    "\\",  "{",    "}",
	"true",  "99999999999", "0x10",      "L",      "batch", "h.1",  "trace", "\n",    " ",   "auto", "=",
	".",     "\xff",        "partition", "hidden", "data",  "path", ";",     "#",     "/*",  "*/",   "@include",
	"(",     ")",           "$(x)",      "%s%n",   "width", "dir",  "run",   "steps",
};

#define N_PIECES (sizeof(pieces) / sizeof(pieces[0]))

static void base_text(mr_strbuf *text)
{
	for (unsigned i = 0; i < 6; i++)
		mr_strbuf_printf(text, "%s\n", mr_test_lines[i]);
}

static void random_text(mr_strbuf *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		mr_strbuf_append(b, pieces[draw(N_PIECES)]);
}

/* Load; whatever comes, it is OK with a configuration that prints, or an error with a report. */
static bool answers(const mr_strbuf *text, const char *const *sets, size_t n)
{
	mr_strbuf report = {0}, printed = {0};
	mr_config *c;
	mr_status st;
	bool well;

	st = mr_test_load(text->data, text->len, sets, n, &report, &c);
	if (st == MR_OK)
		well = c && !report.len && mr_config_print(c, &printed) == MR_OK;
	else
		well = st == MR_ECONFIG && !c && report.len && report.data[report.len - 1] == '\n';
	mr_config_destroy(c);
	mr_strbuf_fini(&report);
	mr_strbuf_fini(&printed);
	return well;
}

static void random_sets(void)
{
	mr_strbuf text = {0};

	base_text(&text);
	state = 20240917;
	for (unsigned i = 0; i < 1500; i++) {
		mr_strbuf a = {0}, b = {0};
		const char *sets[2];
		bool well;

		random_text(&a, 1 + draw(7));
		mr_strbuf_printf(&b, "%s.%s=", pieces[draw(3)], draw(2) ? "steps" : "name");
		random_text(&b, draw(4));
		sets[0] = mr_strbuf_text(&a);
		sets[1] = mr_strbuf_text(&b);
		well = answers(&text, sets, 2);
		if (!well)
			fprintf(stderr, "\n--set '%s' --set '%s': %s\n", sets[0], sets[1], mr_error_text());
		CU_ASSERT_TRUE(well);
		mr_strbuf_fini(&a);
		mr_strbuf_fini(&b);
	}
	mr_strbuf_fini(&text);
	mr_test_files_remove();
}

static void random_damage(void)
{
	state = 7;
	for (unsigned i = 0; i < 1500; i++) {
		mr_strbuf text = {0}, insert = {0};
		size_t at;
		bool well;

		base_text(&text);
		at = draw((uint32_t)text.len);
		if (draw(2)) {
			text.data[at] = (char)draw(256);
		} else {
			random_text(&insert, 1 + draw(5));
			mr_strbuf_append(&insert, text.data + at);
			text.len = at;
			text.data[at] = '\0';
			mr_strbuf_append(&text, mr_strbuf_text(&insert));
		}
		well = answers(&text, NULL, 0);
		if (!well)
			fprintf(stderr, "\n%s\n: %s\n", text.data, mr_error_text());
		CU_ASSERT_TRUE(well);
		mr_strbuf_fini(&text);
		mr_strbuf_fini(&insert);
	}
	mr_test_files_remove();
}

void mr_suite_config_fuzz(void);
void mr_suite_config_fuzz(void)
{
	MR_SUITE("config_fuzz");
	MR_TEST(random_sets);
	MR_TEST(random_damage);
}
