/*
 * Plan files from any source: damaged plans that can still be read go through lowering, checker and walk.
 * None may crash; what the checker accepts must walk to its end, and what it refuses must be refused with a message.
 */
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "golden_files.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "timing/metrics.h"
#include "ir/plan_json.h"
#include "ir/text.h"

static uint64_t seed_state;

static uint32_t draw(uint32_t below)
{
	return (uint32_t)(mr_mix64(seed_state++) % below);
}

static unsigned n_walked, n_refused;

static void judge(const mr_plan *plan)
{
	mr_walk *walk = NULL;

	if (mr_plan_check(plan) != MR_OK) {
		CU_ASSERT_FATAL(*mr_error_text() != 0);
		n_refused++;
		return;
	}
	MR_CHECK_OK(mr_metrics_walk(plan, 1, 1, 1, 0, 2, &walk));
	mr_walk_destroy(walk);
	n_walked++;
}

static char *file_text(const char *name, size_t *len)
{
	char path[MR_GOLDEN_PATH], *text;
	FILE *f = fopen(mr_golden_path(path, "sync/%s", name), "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	text = calloc(1, 20000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	*len = fread(text, 1, 19999, f);
	fclose(f);
	return text;
}

/* Change one digit or one op of the instructions: the file stays JSON, and often a plan. */
static void damage_json(char *text, size_t len)
{
	char *workers = strstr(text, "\"workers\"");
	size_t from = workers ? (size_t)(workers - text) : 0, at;

	do
		at = from + draw((uint32_t)(len - from));
	while (!strchr("0123456789FBIW", text[at]));
	text[at] = text[at] >= 'A' ? "FBIWR"[draw(5)] : (char)('0' + draw(8));
}

static void untrusted_json(void)
{
	static const char *const names[] = {"1f1b_D2_T4.json", "gems_D2_T4.json", "zbv_hand_D2_T4_v2.json",
					    "dualpipe_D2_T6.json"};
	unsigned read = 0;

	n_walked = n_refused = 0;
	for (unsigned k = 0; k < 4; k++) {
		size_t len;
		char *good = file_text(names[k], &len), *text = malloc(len + 1);

		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		for (uint64_t seed = 0; seed < 150; seed++) {
			mr_plan *plan = NULL;

			seed_state = seed * 15485863 + k;
			memcpy(text, good, len + 1);
			for (unsigned i = draw(3); i < 3; i++)
				damage_json(text, len);
			if (mr_plan_json_read_text(text, len, &plan) != MR_OK)
				continue;
			read++;
			if (mr_plan_lower(plan, NULL) == MR_OK)
				judge(plan);
			mr_plan_destroy(plan);
		}
		free(text);
		free(good);
	}
	CU_ASSERT(read > 50 && n_walked >= 1);
}

/* A lowered plan as text with one number changed: slots, buffers, versions, counts, placement, anything. */
static void untrusted_text(void)
{
	static const char async[] =
		"plan pd\nstages 3 workers 3 pipes 1 micro 1 commits 1\n"
		"contract train flush=none read=latest sum=ascending need=1 staleness=2 same_version_b\n"
		"place p0 0 1 2\n[prologue]\nw0 F m0 s0 p0\nw0 F m1 s0 p0\nw1 F m0 s1 p0\n[body x N micro+1 ver+1]\n"
		"w0 F m+2 s0 p0\nw0 B m+0 s0 p0\nw1 F m+1 s1 p0\nw1 B m+0 s1 p0\nw2 F m+0 s2 p0\nw2 B m+0 s2 p0\n";
	size_t json_len;
	char *json = file_text("1f1b_D3_T5.json", &json_len);
	unsigned accepted = 0, refused = 0;

	for (unsigned k = 0; k < 2; k++) {
		mr_strbuf good = {0};
		mr_plan *plan = NULL;

		MR_CHECK_OK(k ? mr_text_read(async, sizeof(async) - 1, &plan)
			      : mr_plan_json_read_text(json, json_len, &plan));
		MR_CHECK_OK(mr_plan_lower(plan, NULL));
		MR_CHECK_OK(mr_text_print(plan, &good));
		mr_plan_destroy(plan);
		n_walked = n_refused = 0;
		for (uint64_t seed = 0; seed < 400; seed++) {
			char *text = strdup(mr_strbuf_text(&good));
			size_t at;

			CU_ASSERT_PTR_NOT_NULL_FATAL(text);
			seed_state = seed * 32452843 + k;
			do
				at = draw((uint32_t)good.len);
			while (text[at] < '0' || text[at] > '9');
			text[at] = (char)('0' + draw(10));
			plan = NULL;
			if (mr_text_read(text, good.len, &plan) == MR_OK)
				judge(plan);
			mr_plan_destroy(plan);
			free(text);
		}
		accepted += n_walked;
		refused += n_refused;
		mr_strbuf_fini(&good);
	}
	CU_ASSERT(accepted >= 20 && refused >= 200);
	free(json);
}

void mr_suite_untrusted(void); /* the runner declares it too */

void mr_suite_untrusted(void)
{
	MR_SUITE("untrusted");
	MR_TEST(untrusted_json);
	MR_TEST(untrusted_text);
}
