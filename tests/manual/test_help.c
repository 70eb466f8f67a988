/* The texts that follow from a command's table: its help, what shells offer, its page. */
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "manual/completion.h"
#include "manual/help.h"
#include "manual/offer.h"
#include "manual/page.h"

static const mr_option options[] = {
	{"depth", MR_OPT_INT, NULL, 1, 64, NULL, "layers", "how deep a "
	 "word-that-is-longer-than-the-eighty-columns-which-a-line-of-help-has-at-the-most-goes"},
	{"rate", MR_OPT_FLOAT, "0.5", 0, INFINITY, NULL, NULL, "a number that may be as large as it likes"},
	{"order", MR_OPT_ENUM, "fifo", 0, 0, "fifo|lifo", NULL, "which one comes first"},
	{"fast", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "no value: it is a flag"},
	{"sure", MR_OPT_BOOL, "true", 0, 0, NULL, NULL, "takes a value"},
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL, ".begins with a point, has a \\ and a \"quote\""},
	{0},
};

static const mr_command dig = {
	.name = "dig",
	.operands = "CONF [RUN]",
	.min_operands = 1,
	.max_operands = 2,
	.summary = "dig a hole",
	.help = "First line.\n\nSecond paragraph.\n",
	.options = options,
	.sets = true,
};

static const mr_command *const commands[] = {&dig, NULL};

/* What @print writes. */
#define PRINTED(text, print)                         \
	do {                                         \
		size_t n_;                           \
		FILE *out = open_memstream(&text, &n_); \
		print;                               \
		fclose(out);                         \
	} while (0)

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fprintf(stderr, "\nno \"%s\" in:\n%s\n", part, text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
}

static void help(void)
{
	char *text;

	PRINTED(text, mr_command_help_print(&dig, out));
	has(text, "usage: millrace dig CONF [RUN] [OPTIONS] [--set key=value]...\n\ndig a hole\n\nFirst line.\n");
	has(text, "  --depth  integer, 1 to 64 layers, required\n      how deep a\n      word-that-is");
	has(text, "  --rate  number, at least 0, default 0.5\n");
	has(text, "  --order  fifo or lifo, default fifo\n");
	has(text, "  --fast\n      no value");
	has(text, "  --sure  true or false, default true\n");
	has(text, "  --output  string\n");
	for (const char *end, *line = text; (end = strchr(line, '\n')); line = end + 1)
		CU_ASSERT(end - line <= 80 || strstr(line, "word-that-is"));
	free(text);
	PRINTED(text, mr_help_print(commands, out));
	has(text, "\n  dig        dig a hole\n");
	free(text);
}

static void offered(const char *operands, mr_offer_kind kind, const char *words)
{
	mr_command c = {.name = "x", .operands = operands};
	mr_strbuf b = {0};

	CU_ASSERT_EQUAL(mr_offer_operand(&c, &b), kind);
	if (words)
		CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&b), words);
	mr_strbuf_fini(&b);
}

static void count_choices(void *arg, const char *key, const char *words)
{
	unsigned *n = arg;

	CU_ASSERT_PTR_NOT_NULL(strchr(words, ' '));
	*n += !strcmp(key, "lr_schedule.name") && strstr(words, "cosine ") && strstr(words, "wsd ");
	*n += !strcmp(key, "system.name") && strstr(words, "gpipe ");
	*n += !strcmp(key, "train.steps"); /* a number: never */
}

static void offers(void)
{
	static const mr_offer_kind kinds[] = {MR_OFFER_NOTHING, MR_OFFER_NOTHING, MR_OFFER_WORDS, MR_OFFER_WORDS,
					      MR_OFFER_WORDS, MR_OFFER_FILES};
	mr_strbuf b = {0};
	unsigned n = 0;

	offered("", MR_OFFER_NOTHING, "");
	offered("CONF [RUN]", MR_OFFER_CONFIGS, "");
	offered("RUN...", MR_OFFER_FOLDERS, "");
	offered("CHECKPOINT", MR_OFFER_FOLDERS, "");
	offered("[SYSTEM]", MR_OFFER_WORDS, NULL);
	offered("bash|zsh [NAME]", MR_OFFER_WORDS, "bash zsh ");
	offered("LAYERS", MR_OFFER_FILES, "");
	for (size_t i = 0; options[i].name; i++) {
		mr_strbuf_reset(&b);
		CU_ASSERT_EQUAL(mr_offer_value(&options[i], &b), kinds[i]);
		CU_ASSERT_EQUAL(mr_offer_is_flag(&options[i]), !strcmp(options[i].name, "fast"));
		if (!strcmp(options[i].name, "order"))
			CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&b), "fifo lifo ");
	}
	mr_strbuf_reset(&b);
	mr_offer_keys(&b);
	has(mr_strbuf_text(&b), "train.steps= ");
	has(mr_strbuf_text(&b), "model.name= ");
	has(mr_strbuf_text(&b), " backend= ");
	CU_ASSERT_PTR_NULL(strstr(strstr(mr_strbuf_text(&b), " optimizer.lr= ") + 1, " optimizer.lr= ")); /* once */
	mr_strbuf_fini(&b);
	mr_offer_each_choice(count_choices, &n);
	CU_ASSERT_EQUAL(n, 2);
}

static void completions(void)
{
	char *text;

	PRINTED(text, mr_completion_bash(commands, out));
	has(text, "--depth");
	has(text, "fifo lifo");
	free(text);
	PRINTED(text, mr_completion_zsh(commands, out));
	has(text, "--order");
	free(text);
	PRINTED(text, mr_completion_fish(commands, out));
	has(text, "-l depth");
	free(text);
}

/* Nothing of a text is a request of troff, and hyphens can be copied. */
static void page(void)
{
	char *text;

	PRINTED(text, mr_page_command(&dig, "1.2", out));
	has(text, ".TH MILLRACE-DIG 1 \"\" \"millrace 1.2\"");
	has(text, "has a \\e and a \\(dqquote\\(dq");
	has(text, "\n.PP\n");
	CU_ASSERT_PTR_NULL(strstr(text, "\n.begins"));
	has(text, "\\-\\-depth");
	free(text);
	PRINTED(text, mr_page_program(commands, "1.2", out));
	has(text, "\n.B val_loss\n");
	has(text, "\n.SS memory.json: stages\n");
	has(text, "\n.B waits.upstream\n");
	free(text);
	PRINTED(text, mr_page_config("1.2", out));
	has(text, "GROUP train");
	free(text);
}

void mr_suite_help(void);

void mr_suite_help(void)
{
	MR_SUITE("help");
	MR_TEST(help);
	MR_TEST(offers);
	MR_TEST(completions);
	MR_TEST(page);
}
