/* The command line: operands, options, flags, --set, and messages for what is wrong. */
#include "check.h"

#include <string.h>

#include "cli/args.h"

static const mr_option options[] = {
	{"workers", MR_OPT_INT, "2", 1, 8, NULL, NULL, "how many"},
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL, "file"},
	{"resume", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "flag"},
	{"pin", MR_OPT_BOOL, "true", 0, 0, NULL, NULL, "takes a value"},
	{0},
};

static const mr_command command = {
	.name = "try", .operands = "A [B]", .min_operands = 1, .max_operands = 2, .options = options, .sets = true,
};

static mr_status parse(mr_args *out, bool *help, const char *const *words)
{
	char *argv[16] = {"millrace", "try"};
	int argc = 2;

	for (; words[argc - 2]; argc++)
		argv[argc] = (char *)words[argc - 2];
	return mr_args_parse(&command, argc, argv, out, help);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void everything(void)
{
	mr_args a;
	bool help;

	MR_CHECK_OK(parse(&a, &help,
			  WORDS("x", "--workers", "3", "--set", "a.b=1", "-o", "out", "--resume", "--pin=false",
				"--set=c=d", "--", "--y")));
	CU_ASSERT_FALSE(help);
	CU_ASSERT_EQUAL_FATAL(a.n_operands, 2);
	CU_ASSERT_STRING_EQUAL(a.operand[0], "x");
	CU_ASSERT_STRING_EQUAL(a.operand[1], "--y");
	CU_ASSERT_EQUAL_FATAL(a.n_sets, 2);
	CU_ASSERT_STRING_EQUAL(a.set[0], "a.b=1");
	CU_ASSERT_STRING_EQUAL(a.set[1], "c=d");
	CU_ASSERT_EQUAL(mr_values_int(a.values, "workers"), 3);
	CU_ASSERT_STRING_EQUAL(mr_values_string(a.values, "output"), "out");
	CU_ASSERT_TRUE(mr_values_bool(a.values, "resume"));
	CU_ASSERT_FALSE(mr_values_bool(a.values, "pin"));
	mr_args_fini(&a);
	MR_CHECK_OK(parse(&a, &help, WORDS("-", "--resume=false")));
	CU_ASSERT_STRING_EQUAL(a.operand[0], "-");
	CU_ASSERT_FALSE(mr_values_bool(a.values, "resume"));
	mr_args_fini(&a);
	MR_CHECK_OK(parse(&a, &help, WORDS("--workers", "3", "-h")));
	CU_ASSERT_TRUE(help);
}

static void messages(void)
{
	mr_args a;
	bool help;

	MR_CHECK_FAIL(parse(&a, &help, WORDS("--resume")), MR_EUSAGE,
		      "usage: millrace try A [B]; see millrace try --help");
	MR_CHECK_FAIL(parse(&a, &help, WORDS("x", "y", "z")), MR_EUSAGE, "try: one argument too many: \"z\"");
	MR_CHECK_FAIL(parse(&a, &help, WORDS("x", "--wokers", "3")), MR_EUSAGE,
		      "try has no option --wokers; did you mean --workers?");
	MR_CHECK_FAIL(parse(&a, &help, WORDS("x", "--xyzzy=3")), MR_EUSAGE,
		      "try has no option --xyzzy; see millrace try --help");
	MR_CHECK_FAIL(parse(&a, &help, WORDS("x", "--hlep")), MR_EUSAGE, "did you mean --help?");
	MR_CHECK_FAIL(parse(&a, &help, WORDS("x", "--ste", "a=b")), MR_EUSAGE, "did you mean --set?");
	MR_CHECK_FAIL(parse(&a, &help, WORDS("x", "-w")), MR_EUSAGE, "try has no option -w");
	MR_CHECK_FAIL(parse(&a, &help, WORDS("x", "--workers")), MR_EUSAGE, "--workers needs a value");
	MR_CHECK_FAIL(parse(&a, &help, WORDS("x", "-o")), MR_EUSAGE, "-o needs a value");
	MR_CHECK_FAIL(parse(&a, &help, WORDS("x", "--workers=9")), MR_EUSAGE,
		      "--workers: expected an integer from 1 to 8, got 9");
	MR_CHECK_FAIL(parse(&a, &help, WORDS("x", "--pin", "maybe")), MR_EUSAGE,
		      "--pin: expected true or false, got \"maybe\"");
}

static void commands(void)
{
	const mr_command *c;

	for (const mr_command *const *p = mr_commands(); *p; p++) {
		MR_CHECK_OK(mr_command_get((*p)->name, &c));
		CU_ASSERT_PTR_EQUAL(c, *p);
		CU_ASSERT_TRUE(*c->summary && c->run && c->operands);
		CU_ASSERT_TRUE(c->min_operands <= c->max_operands);
	}
	MR_CHECK_FAIL(mr_command_get("shedule", &c), MR_EUSAGE,
		      "no command is called \"shedule\"; did you mean \"schedule\"?");
	MR_CHECK_FAIL(mr_command_get("xyzzy", &c), MR_EUSAGE, "no command is called \"xyzzy\"; see millrace --help");
}

void mr_suite_args(void);
void mr_suite_args(void)
{
	MR_SUITE("args");
	MR_TEST(everything);
	MR_TEST(messages);
	MR_TEST(commands);
}
