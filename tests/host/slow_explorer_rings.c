/*
 * All executions of the rings, events and waits on small cases, and then the same code with one memory order weakened
 * at a time: each mutant must fail in some case, or the order would not be needed.
 */
#include <string.h>

#include "check.h"
#include "host/explorer_code.h"
#include "host/explorer_scenarios.h"

/* From cheap to dear; mutants die in the first ones. */
static const exs_case cases[] = {
	{EXS_POLL_STOP, 1, 1, 0, false, 0}, {EXS_TRY, 1, 3, 0, false, 0},
	{EXS_TRY, 2, 5, 0, false, 0},       {EXS_TRY, 3, 5, 0, false, 0},      {EXS_EVENT, 1, 2, 0, false, 0},
	{EXS_RING, 1, 2, 0, false, 0},      {EXS_STOP_POP, 1, 1, 0, false, 0}, {EXS_STOP_ALL, 1, 0, 0, false, 0},
	{EXS_PAIR, 1, 2, 0, false, 0},      {EXS_TWO, 1, 1, 0, false, 0},      {EXS_RING, 1, 3, 0, false, 0},
	{EXS_PAIR, 1, 5, 0, true, 0},       {EXS_STOP_POP, 1, 3, 0, true, 0},  {EXS_STOP_POP, 2, 3, 1, true, 0},
	{EXS_RING, 1, 5, 0, true, 0},       {EXS_RING, 2, 5, 0, true, 0},      {EXS_RING, 3, 5, 0, true, 0},
	{EXS_RING, 1, 5, 1, true, 0},       {EXS_RING, 2, 5, 1, true, 0},      {EXS_RING, 3, 5, 1, true, 0},
	{EXS_PAIR, 2, 5, 0, true, 0},       {EXS_EVENT, 1, 5, 1, true, 0},      {EXS_EVENT_TWO, 1, 1, 1, true, 0},
	{EXS_PAIR, 2, 5, 0, true, 2},       {EXS_PAIR, 3, 5, 0, true, 2},
};

enum { N_CASES = sizeof(cases) / sizeof(cases[0]), N_MUTANTS = 22 };

static ex_report report;

static const char *order_name(memory_order o)
{
	return o == memory_order_relaxed ? "relaxed" : o == memory_order_acquire ? "acquire" : "release";
}

static void test_all_executions(void)
{
	char name[64];

	printf("\n");
	for (uint32_t i = 0; i < N_CASES; i++) {
		exs_run(&cases[i], &report);
		printf("    %-46s %8llu states %6llu ends\n", exs_name(&cases[i], name),
		       (unsigned long long)report.n_states, (unsigned long long)report.n_ends);
		if (report.failed)
			printf("%s\n%s", report.what, report.trace);
		CU_ASSERT_FALSE(report.failed);
		CU_ASSERT(report.n_ends > 0);
	}
}

/* A ring whose pushes wake too seldom for the buffers that there are: both sides wait in the end, and that is seen. */
static void test_hushed_too_much(void)
{
	static const exs_case c = {EXS_PAIR, 2, 5, 0, true, 4};

	exs_run(&c, &report);
	CU_ASSERT_TRUE(report.failed);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.what, "lost wake-up"));
}

/* Line @number of a source file, or "". */
static void read_source(const char *file, uint32_t number, char *line, int size)
{
	const char *root = getenv("MR_SOURCE");
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/engine/host/%s", root ? root : ".", file);
	f = fopen(path, "r");
	line[0] = '\0';
	for (; f && number > 0; number--)
		if (!fgets(line, size, f)) {
			line[0] = '\0';
			break;
		}
	if (f)
		fclose(f);
}

/* The label ("W0") that the comment above a site gives it. */
static void find_label(const char *file, uint32_t line, char label[8])
{
	char text[256];

	strcpy(label, "-");
	for (uint32_t back = 1; back <= 2 && label[0] == '-'; back++) {
		read_source(file, line - back, text, sizeof(text));
		if (strstr(text, "/* "))
			sscanf(strstr(text, "/* ") + 3, "%7[A-Z0-9]", label);
	}
}

static bool killed(char *by, size_t size)
{
	char name[64];

	for (uint32_t i = 0; i < N_CASES; i++) {
		exs_run(&cases[i], &report);
		if (report.failed) {
			snprintf(by, size, "%s (%s)", report.what, exs_name(&cases[i], name));
			return true;
		}
	}
	return false;
}

/* Weaken the order at @site to @weaker; returns 1 for a mutant that died. */
static uint32_t try_mutant(uint32_t site, memory_order weaker)
{
	static const char *const files[] = {EXC_FILES};
	const char *file = files[site / 1000 - 1];
	char label[8], by[256] = "";
	bool dead;

	ex_mutate(site, (int)weaker);
	dead = killed(by, sizeof(by));
	ex_mutate(site, -1);
	find_label(file, site % 1000, label);
	printf("    %-3s %-8s line %3u -> %-7s  %s\n", label, file, site % 1000, order_name(weaker),
	       dead ? by : "SURVIVES: the order is not needed, or a case is missing");
	CU_ASSERT_TRUE(dead);
	return dead;
}

static void test_every_order_is_needed(void)
{
	uint32_t n = 0, n_dead = 0;
	memory_order written;
	ex_kind kind;

	printf("\n");
	for (uint32_t i = 0; i < N_CASES && i < 12; i++) /* visit all sites */
		exs_run(&cases[i], &report);
	for (uint32_t site = 0; site < EX_MAX_SITES; site++) {
		memory_order middle;

		if (!ex_site_seen(site, &kind, &written) || written == memory_order_relaxed)
			continue;
		middle = kind == EX_LOAD ? memory_order_acquire : memory_order_release;
		if (written == memory_order_seq_cst) {
			n++;
			n_dead += try_mutant(site, middle);
		}
		n++;
		n_dead += try_mutant(site, memory_order_relaxed);
	}
	printf("    %u of %u mutants killed\n", n_dead, n);
	CU_ASSERT_EQUAL(n_dead, n);
	CU_ASSERT_EQUAL(n, N_MUTANTS);
}

/* No strong order in the three files escapes: each line that names one is a site that the cases visited. */
static void test_every_site_is_visited(void)
{
	static const char *const files[] = {EXC_FILES};
	memory_order written;
	ex_kind kind;

	for (uint32_t f = 0; f < EXC_N_FILES; f++) {
		uint32_t n_lines = 0;
		char text[256];

		for (uint32_t line = 1; line < 1000; line++) {
			read_source(files[f], line, text, sizeof(text));
			n_lines += text[0] != '\0';
			if (!strstr(text, "memory_order_acquire") && !strstr(text, "memory_order_release") &&
			    !strstr(text, "memory_order_acq_rel") && !strstr(text, "memory_order_seq_cst"))
				continue;
			if (!ex_site_seen((f + 1) * 1000 + line, &kind, &written))
				printf("    %s line %u was never executed\n", files[f], line);
			CU_ASSERT_TRUE(ex_site_seen((f + 1) * 1000 + line, &kind, &written));
		}
		CU_ASSERT(n_lines > 40); /* the source was found */
	}
}

void mr_suite_explorer_rings(void); /* the runner declares it too */

void mr_suite_explorer_rings(void)
{
	MR_SUITE("explorer_rings");
	MR_TEST(test_all_executions);
	MR_TEST(test_hushed_too_much);
	MR_TEST(test_every_order_is_needed);
	MR_TEST(test_every_site_is_visited);
}
