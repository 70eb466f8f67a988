/*
 * test_unit_time.c - timelines of unit time against recorded ones (tests/golden/rpd), closed forms against timelines,
 * and steps that read at an age.
 */
#include "timing/unit_time.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "timing/aged.h"

static mr_json *golden;

static const mr_json *get(const char *key)
{
	const mr_json *j = mr_json_get(golden, key);

	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	return j;
}

static void open_golden(void)
{
	char path[MR_GOLDEN_PATH];

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "rpd/rpd.json"), 1 << 22, &golden));
}

static void close_golden(void)
{
	mr_json_destroy(golden);
	golden = NULL;
}

/* The row of @stage as it is recorded: four characters a step, micro-batches from 1. */
static void print_row(const mr_unit_time *u, uint16_t stage, char *row)
{
	uint32_t t = 0;

	for (uint32_t i = 0; i < u->n; i++) {
		char cell[16];

		if (u->at[i].stage != stage)
			continue;
		for (; t < u->at[i].time; t++)
			row += sprintf(row, "   .");
		snprintf(cell, sizeof(cell), "%c%u", u->at[i].backward ? 'B' : 'F', u->at[i].micro + 1);
		row += sprintf(row, "%4s", cell);
		t++;
	}
	for (; t < u->length; t++)
		row += sprintf(row, "   .");
}

static void check_timeline(const char *name, mr_unit_time *u)
{
	const mr_json *want = mr_json_get(get("timelines"), name);
	const mr_json *rows = mr_json_get(want, "rows");

	CU_ASSERT_EQUAL(u->length, (uint32_t)mr_json_int(mr_json_get(want, "len")));
	CU_ASSERT_EQUAL_FATAL(mr_json_size(rows), u->n_stages);
	for (uint16_t s = 0; s < u->n_stages; s++) {
		char row[4096];

		print_row(u, s, row);
		if (strcmp(row, mr_json_string(mr_json_at(rows, s))) != 0)
			fprintf(stderr, "\n%s, stage %u\nwant %s\ngot  %s\n", name, s,
				mr_json_string(mr_json_at(rows, s)), row);
		CU_ASSERT_STRING_EQUAL(row, mr_json_string(mr_json_at(rows, s)));
	}
	for (uint32_t i = 1; i < u->n; i++) /* in order */
		CU_ASSERT(u->at[i - 1].time < u->at[i].time ||
			  (u->at[i - 1].time == u->at[i].time && u->at[i - 1].stage < u->at[i].stage));
	mr_unit_time_fini(u);
}

static void recorded_timelines(void)
{
	static const uint32_t pd[][2] = {{2, 4}, {3, 6}, {4, 4}, {4, 8}, {4, 10}, {5, 8}};
	static const uint32_t local[][4] = {{4, 4, 1, 8}, {4, 4, 2, 16}, {4, 4, 3, 24}, {3, 3, 2, 12}, {4, 2, 2, 8}};
	mr_unit_time u;
	char name[64];

	open_golden();
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "pd_S%u_N%u", pd[i][0], pd[i][1]);
		MR_CHECK_OK(mr_unit_greedy((uint16_t)pd[i][0], pd[i][1], 0, &u));
		check_timeline(name, &u);
	}
	MR_CHECK_OK(mr_unit_greedy(4, 3, 1, &u));
	check_timeline("naive_noam1_S4_N3", &u);
	for (int i = 0; i < 5; i++) {
		const uint32_t *l = local[i];

		snprintf(name, sizeof(name), "local_S%u_R%u_H%u_N%u", l[0], l[1], l[2], l[3]);
		MR_CHECK_OK(mr_unit_rounds((uint16_t)l[0], l[3], (uint16_t)l[1], l[2], &u));
		check_timeline(name, &u);
	}
	close_golden();
}

/* The recorded number called by @format with these figures. */
static uint32_t recorded(const char *table, const char *key)
{
	const mr_json *j = mr_json_get(get(table), key);

	if (!j)
		fprintf(stderr, "\nno %s in %s\n", key, table);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	return (uint32_t)mr_json_int(j);
}

static void recorded_lengths(void)
{
	static const uint32_t stages[] = {2, 4, 8, 16},
			      replicas[4][5] = {{1, 2, 4}, {1, 2, 4, 8}, {1, 2, 4, 8, 16}, {1, 2, 8, 16, 32}};
	static const uint32_t locals[] = {1, 2, 5, 30}, checks[][3] = {{2, 1770}, {5, 1440}, {30, 1260}};
	mr_unit_time u;
	char key[64];

	open_golden();
	for (int i = 0; i < 4; i++)
		for (uint32_t n = 50; n <= 100; n += 50) {
			snprintf(key, sizeof(key), "S%u_N%u", stages[i], n);
			MR_CHECK_OK(mr_unit_greedy((uint16_t)stages[i], n, 0, &u));
			CU_ASSERT_EQUAL(u.length, recorded("pd_timeline_lengths", key));
			CU_ASSERT_EQUAL(u.length, 2 * n + 2 * stages[i] - 2);
			mr_unit_time_fini(&u);
		}
	for (int i = 0; i < 4; i++)
		for (int r = 0; r < 5 && replicas[i][r]; r++)
			for (int h = 0; h < 4; h++) {
				uint32_t n = 2 * replicas[i][r] * locals[h];

				snprintf(key, sizeof(key), "S%u_R%u_H%u_2rounds", stages[i], replicas[i][r], locals[h]);
				MR_CHECK_OK(mr_unit_rounds((uint16_t)stages[i], n, (uint16_t)replicas[i][r], locals[h],
							   &u));
				CU_ASSERT_EQUAL(u.length, recorded("local_timeline_lengths_2_rounds", key));
				CU_ASSERT_EQUAL(u.length, mr_unit_rounds_length((uint16_t)stages[i], n,
										(uint16_t)replicas[i][r], locals[h]));
				mr_unit_time_fini(&u);
			}
	for (int i = 0; i < 3; i++) { /* with a last round that is not whole */
		MR_CHECK_OK(mr_unit_rounds(16, 600, 16, checks[i][0], &u));
		CU_ASSERT_EQUAL(u.length, checks[i][1]);
		CU_ASSERT_EQUAL(mr_unit_rounds_length(16, 600, 16, checks[i][0]), checks[i][1]);
		mr_unit_time_fini(&u);
	}
	close_golden();
}

static void closed_forms_of_times(void)
{
	for (uint16_t s = 1; s <= 9; s++)
		for (uint32_t n = 1; n <= 2u * s + 3; n++) {
			mr_unit_time u;

			MR_CHECK_OK(mr_unit_greedy(s, n, 0, &u));
			CU_ASSERT_EQUAL(u.length, 2 * n + 2u * s - 2);
			CU_ASSERT_EQUAL(u.n, 2 * n * s);
			for (uint32_t i = 0; i < u.n; i++) {
				const mr_unit_op *o = &u.at[i];
				uint32_t w = 2u * s - 1 - 2u * o->stage, t = 2 * o->micro + o->stage;

				w = w < s ? w : s;
				if (o->backward)
					t = 2 * o->micro + 2u * s - 1 - o->stage;
				else if (o->micro < s)
					t = o->micro < w ? o->stage + o->micro : 2u * s - o->stage + 2 * (o->micro - w);
				CU_ASSERT_EQUAL(o->time, t);
			}
			mr_unit_time_fini(&u);
		}
}

/* --- delays --- */

/* Updates of block @read itself that a read in the steady state misses until the update of stage @active. */
static uint32_t missed_updates(uint16_t n_stages, uint16_t active, uint16_t read)
{
	return (2u * n_stages - 1 - active - read) / 2 + (read < active && (active + read) % 2 == 0);
}

static void check_delays(uint16_t s, const mr_json *want)
{
	uint32_t n = (uint32_t)mr_json_int(mr_json_get(want, "N")), most = 0, half = 0, half_most = 0, steady_most = 0;
	const mr_json *matrix = mr_json_get(want, "steady_delay_matrix_active_by_read");
	const mr_json *missed = mr_json_get(want, "steady_per_block_update_count_matrix");
	double sum = 0, half_sum = 0, steady = 0;
	mr_unit_time u;
	mr_aged *a;

	MR_CHECK_OK(mr_unit_greedy(s, n, 0, &u));
	MR_CHECK_OK(mr_aged_of_timeline(&u, n, &a));
	CU_ASSERT_EQUAL(a->n_steps, (uint32_t)mr_json_int(mr_json_get(want, "K")));
	for (uint32_t k = 0; k < a->n_steps; k++)
		for (uint16_t b = 0; b < s; b++) {
			uint32_t d = mr_aged_delay(a, k, b), active = a->stage[k];

			sum += d;
			most = d > most ? d : most;
			if (k >= a->n_steps / 2) {
				half_sum += d;
				half_most = d > half_most ? d : half_most;
				half++;
			}
			if (a->batch[k] < s || a->batch[k] > n - s / 2)
				continue;
			CU_ASSERT_EQUAL(d, mr_unit_delay(s, (uint16_t)active, b));
			CU_ASSERT_EQUAL(mr_aged_latest(a, k, b) - mr_aged_version(a, k, b),
					missed_updates(s, (uint16_t)active, b));
		}
	for (uint16_t i = 0; i < s; i++)
		for (uint16_t b = 0; b < s; b++) {
			uint32_t d = mr_unit_delay(s, i, b);

			steady += d;
			steady_most = d > steady_most ? d : steady_most;
			if (mr_json_size(matrix) == 0) /* recorded for the smaller ones */
				continue;
			CU_ASSERT_EQUAL(d, (uint32_t)mr_json_int(mr_json_at(mr_json_at(matrix, i), b)));
			CU_ASSERT_EQUAL(missed_updates(s, i, b),
					(uint32_t)mr_json_int(mr_json_at(mr_json_at(missed, i), b)));
		}
	CU_ASSERT(mr_json_size(matrix) == s || s > 16);
	CU_ASSERT_EQUAL(steady_most, mr_unit_delay_max(s));
	CU_ASSERT_EQUAL(steady_most, (uint32_t)mr_json_int(mr_json_get(want, "steady_max")));
	CU_ASSERT_EQUAL(steady / s / s, ((double)s * s - 1) / 2);
	CU_ASSERT_EQUAL(most, (uint32_t)mr_json_int(mr_json_get(want, "all_rows_max")));
	CU_ASSERT_EQUAL(most, mr_unit_delay_startup(s));
	CU_ASSERT_DOUBLE_EQUAL(sum / a->n_steps / s, mr_json_double(mr_json_get(want, "all_rows_mean")), 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(half_sum / half, mr_json_double(mr_json_get(want, "repo_second_half_mean")), 1e-9);
	CU_ASSERT_EQUAL(half_most, (uint32_t)mr_json_int(mr_json_get(want, "repo_second_half_max")));
	mr_aged_destroy(a);
	mr_unit_time_fini(&u);
}

static void delays_of_pipedream(void)
{
	static const uint16_t stages[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 24, 32};

	open_golden();
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
		char key[8];

		snprintf(key, sizeof(key), "%u", stages[i]);
		check_delays(stages[i], mr_json_get(get("pd_1f1b_delays"), key));
	}
	close_golden();
}

static void every_row_of_a_run(void)
{
	const mr_json *rows;
	mr_unit_time u;
	mr_aged *a;

	open_golden();
	rows = get("pd_S4_N8_full_delay_rows");
	MR_CHECK_OK(mr_unit_greedy(4, 8, 0, &u));
	MR_CHECK_OK(mr_aged_of_timeline(&u, 5, &a));
	CU_ASSERT_EQUAL_FATAL(mr_json_size(rows), a->n_steps);
	for (uint32_t k = 0; k < a->n_steps; k++) {
		const mr_json *row = mr_json_at(rows, k);

		CU_ASSERT_EQUAL(a->stage[k], (uint16_t)mr_json_int(mr_json_get(row, "stage")));
		CU_ASSERT_EQUAL(a->batch[k], (uint32_t)mr_json_int(mr_json_get(row, "mb")) % 5);
		for (uint16_t b = 0; b < 4; b++) {
			CU_ASSERT_EQUAL(mr_aged_delay(a, k, b),
					(uint32_t)mr_json_int(mr_json_at(mr_json_get(row, "delays"), b)));
			CU_ASSERT_EQUAL(mr_aged_latest(a, k, b) - mr_aged_version(a, k, b),
					(uint32_t)mr_json_int(mr_json_at(mr_json_get(row, "per_block"), b)));
		}
	}
	mr_aged_destroy(a);
	mr_unit_time_fini(&u);
	close_golden();
}

/* --- recorded sequences --- */

static void sequences_are_read(void)
{
	mr_strbuf text = {0};
	mr_aged *a;

	MR_CHECK_OK(mr_aged_parse("s", "# stage batch delays\n1 0 0 0\n\n1 7\t1 5 # min(5, 1)\r\n0 2 0 1\n1 1 0 2", 2,
				  0, &a));
	CU_ASSERT_EQUAL(a->n_steps, 4);
	CU_ASSERT(a->stage[1] == 1 && a->batch[1] == 7 && mr_aged_delay(a, 1, 1) == 5 && a->stage[2] == 0);
	CU_ASSERT(mr_aged_version(a, 1, 1) == 0 && mr_aged_latest(a, 1, 1) == 1);
	CU_ASSERT(mr_aged_version(a, 2, 0) == 0 && mr_aged_version(a, 2, 1) == 1 && mr_aged_latest(a, 2, 1) == 2);
	CU_ASSERT(mr_aged_version(a, 3, 0) == 1 && mr_aged_version(a, 3, 1) == 1);
	CU_ASSERT(mr_aged_cap(a, 0) == 1 && mr_aged_cap(a, 1) == 2);
	mr_aged_print(a, &text);
	CU_ASSERT_STRING_EQUAL(
		mr_strbuf_text(&text),
		"# stage, minibatch, delay at each of 2 stages, in updates\n1 0 0 0\n1 7 1 5\n0 2 0 1\n1 1 0 2\n");
	mr_strbuf_fini(&text);
	mr_aged_destroy(a);
	MR_CHECK_FAIL(mr_aged_parse("s", "0 0 0 0\n1 99 0 0\n", 2, 12, &a), MR_ECONFIG,
		      "s:2: expected a minibatch below 12, as many as the data have, got 99");
	MR_CHECK_OK(mr_aged_parse("s", "0 11 0 0\n1 2 0 0\n0 2 0 0\n1 3 0 0\n", 2, 3 * 4, &a));
	mr_aged_destroy(a);
	/* the second epoch */
	MR_CHECK_OK(mr_aged_parse("s", "0 0 0 0\n1 0 0 0\n0 1 0 0\n1 1 0 0\n0 2 0 0\n1 2 0 0\n", 2, 2, &a));
	mr_aged_destroy(a);
	MR_CHECK_FAIL(mr_aged_parse("s", "0 0 0 0\n2 0 0 0\n", 2, 0, &a), MR_ECONFIG,
		      "s:2: expected a stage below 2, got 2");
	MR_CHECK_FAIL(mr_aged_parse("s", "0 0 0\n", 2, 0, &a), MR_ECONFIG,
		      "s:1: expected a stage, a minibatch and 2 delays, got 3");
	MR_CHECK_FAIL(mr_aged_parse("s", "0 0 0 0 0\n", 2, 0, &a), MR_ECONFIG, "s:1: more than");
	MR_CHECK_FAIL(mr_aged_parse("s", "0 0 -1 0\n", 2, 0, &a), MR_ECONFIG, "got 2 numbers");
	MR_CHECK_FAIL(mr_aged_parse("s", "0 0 5000000000 0\n", 2, 0, &a), MR_ECONFIG, "got 2 numbers");
	MR_CHECK_FAIL(mr_aged_parse("s", "# nothing\n", 2, 0, &a), MR_ECONFIG, "s: no steps");
	MR_CHECK_FAIL(mr_aged_create(0, 1, &a), MR_EINVAL, "0 blocks");
}

static void what_is_no_pipeline_is_refused(void)
{
	mr_unit_time u;

	MR_CHECK_FAIL(mr_unit_greedy(0, 4, 0, &u), MR_EINVAL, "got 0 and 4");
	MR_CHECK_FAIL(mr_unit_greedy(60000, 60000, 0, &u), MR_EINVAL, "more operations");
	MR_CHECK_FAIL(mr_unit_rounds(4, 4, 0, 1, &u), MR_EINVAL, "got 0 and 1");
}

/* Any update of PipeDream's timeline without those before it. */
static void updates_in_closed_form(void)
{
	for (uint16_t s = 1; s <= 12; s++)
		for (uint32_t n = 1; n <= 3u * s + 4; n += n < 5 ? 1 : 3) {
			uint32_t delay[12];
			mr_unit_time u;
			mr_aged *a;

			MR_CHECK_OK(mr_unit_greedy(s, n, 0, &u));
			MR_CHECK_OK(mr_aged_of_timeline(&u, n, &a));
			for (uint32_t k = 0; k < a->n_steps; k++) {
				mr_unit_update at = mr_unit_update_at(s, n, k, delay);

				CU_ASSERT_FATAL(at.stage == a->stage[k] && at.micro == a->batch[k]);
				CU_ASSERT_FATAL(memcmp(delay, a->delay + (size_t)k * s, s * sizeof(*delay)) == 0);
			}
			mr_unit_time_fini(&u);
			mr_aged_destroy(a);
		}
}

void mr_suite_unit_time(void);
void mr_suite_unit_time(void)
{
	MR_SUITE("unit_time");
	MR_TEST(recorded_timelines);
	MR_TEST(recorded_lengths);
	MR_TEST(closed_forms_of_times);
	MR_TEST(delays_of_pipedream);
	MR_TEST(every_row_of_a_run);
	MR_TEST(sequences_are_read);
	MR_TEST(updates_in_closed_form);
	MR_TEST(what_is_no_pipeline_is_refused);
}
