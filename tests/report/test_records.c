/* Records of figures.def: to JSON and back, their sums, and their cells. */
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "report/records.h"

static char *as_text(mr_record r, const void *x, void (*put)(mr_record, const void *, mr_json_writer *))
{
	char *text = NULL;
	size_t n;
	mr_json_writer w;
	FILE *f = open_memstream(&text, &n);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	mr_json_init(&w, f, false);
	put(r, x, &w);
	MR_CHECK_OK(mr_json_finish(&w));
	fclose(f);
	return text;
}

static char *as_json(mr_record r, const void *x)
{
	return as_text(r, x, mr_record_put_object);
}

static void read_back(mr_record r, const char *text, void *x)
{
	mr_json *j;

	MR_CHECK_OK(mr_json_read_text(text, strlen(text), &j));
	mr_record_get(r, j, x);
	mr_json_destroy(j);
}

/* Counts of each width, numbers in an object of their own, texts. */
static void files(void)
{
	mr_usage_row u = {3, 255, 7, 8, UINT64_C(1) << 50, 5, 0, 1, 2, 3}, v;
	mr_worker_row w = {.worker = 4, .stages = "0, 3", .doing = "F s0 m1", .instructions = 99}, x;
	char *text = as_json(MR_RECORD_USAGE, &u);

	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"pipe\":255,\"versions\":{\"measured\":7,\"predicted\":8},"
					    "\"weight_bytes\":{\"measured\":1125899906842624,"));
	read_back(MR_RECORD_USAGE, text, &v);
	CU_ASSERT(v.stage == 3 && v.pipe == 255 && v.versions_predicted == 8 && v.weights == u.weights &&
		  v.boundaries_predicted == 3);
	free(text);
	text = as_json(MR_RECORD_WORKER, &w);
	read_back(MR_RECORD_WORKER, text, &x);
	CU_ASSERT_STRING_EQUAL(x.stages, "0, 3");
	CU_ASSERT_STRING_EQUAL(x.cores, "");
	CU_ASSERT(x.worker == 4 && x.instructions == 99);
	free(text);
}

/* A number that is unknown is null, or left out where its row says so; what a file has not is unknown. */
static void unknown(void)
{
	mr_session_row s = {.begun = "today", .from = 5, .to = NAN, .seconds = NAN, .busy = NAN}, t;
	mr_roofline_point p = {.name = "w0 F", .flop = 2, .bytes = 1, .seconds = 0.5, .least = NAN}, q;
	char *text = as_json(MR_RECORD_SESSION, &s);

	CU_ASSERT_STRING_EQUAL(text, "{\"begun\":\"today\",\"host\":\"\",\"from\":5}\n");
	free(text);
	s.to = 60;
	s.seconds = 1.5;
	text = as_json(MR_RECORD_SESSION, &s);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"from\":5,\"to\":60,\"seconds\":1.5}"));
	read_back(MR_RECORD_SESSION, text, &t);
	CU_ASSERT(t.from == 5 && t.to == 60 && t.seconds == 1.5 && isnan(t.busy));
	free(text);
	text = as_json(MR_RECORD_POINT, &p);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"least\":null"));
	read_back(MR_RECORD_POINT, text, &q);
	CU_ASSERT(q.flop == 2 && isnan(q.least));
	free(text);
	read_back(MR_RECORD_USAGE, "{\"stage\": -1, \"pipe\": \"x\", \"versions\": 3}", &(mr_usage_row){0});
}

/* Flags, words, counts that lie apart, and a record that is an array. */
static void kinds(void)
{
	const uint32_t core[] = {5, 99, 7, 99};
	mr_place_row p = {1, NAN, 2, {core, 2, sizeof(core[0]), 2 * sizeof(core[0]), NULL}, "here"}, q;
	mr_timeline_row t = {NULL, true, false}, u;
	mr_instruction_row i = {.worker = 3, .op = 1, .begin = 8, .end = UINT64_C(1) << 40}, k;
	char *text = as_json(MR_RECORD_PLACE, &p);
	mr_json *j;

	CU_ASSERT_STRING_EQUAL(text, "{\"worker\":1,\"share\":null,\"node\":2,\"cpus\":[5,7],\"text\":\"here\"}\n");
	MR_CHECK_OK(mr_json_read_text(text, strlen(text), &j));
	mr_record_get(MR_RECORD_PLACE, j, &q);
	CU_ASSERT(q.worker == 1 && q.cpus.n == 2 && mr_counts_at(&q.cpus, 0) == 5 && mr_counts_at(&q.cpus, 1) == 7);
	CU_ASSERT_STRING_EQUAL(q.text, "here");
	CU_ASSERT(isnan(q.share));
	mr_json_destroy(j);
	free(text);
	p.share = 1;
	text = as_json(MR_RECORD_PLACE, &p);
	CU_ASSERT_STRING_EQUAL(text, "{\"worker\":1,\"share\":1,\"node\":2,\"cpus\":[5,7],\"text\":\"here\"}\n");
	free(text);
	text = as_json(MR_RECORD_TIMELINE, &t);
	CU_ASSERT_STRING_EQUAL(text, "{\"what\":\"\",\"measured\":true,\"versions\":false}\n");
	read_back(MR_RECORD_TIMELINE, text, &u);
	CU_ASSERT(u.measured && !u.versions);
	free(text);
	text = as_text(MR_RECORD_INSTRUCTION, &i, mr_record_put_array);
	CU_ASSERT_STRING_EQUAL(text, "[3,1,0,0,0,0,8,1099511627776,0]\n");
	read_back(MR_RECORD_INSTRUCTION, text, &k);
	CU_ASSERT(k.worker == 3 && k.op == 1 && k.begin == 8 && k.end == i.end);
	free(text);
	read_back(MR_RECORD_PLACE, "{\"cpus\": 4, \"text\": 5}", &q); /* neither is what it should be */
	CU_ASSERT(q.cpus.n == 0 && q.worker == 0);
	text = as_json(MR_RECORD_ENVIRONMENT, &(mr_run_environment){.program = "p", .compiler = "c", .products = "o"});
	CU_ASSERT_STRING_EQUAL(text, "{\"program\":\"p\",\"compiler\":\"c\",\"products\":\"o\"}\n");
	free(text);
}

static void sums(void)
{
	mr_times a = {{.elapsed = 10, .busy = 4, .data = 1}};
	mr_times b = {{.elapsed = 5, .busy = 1, .upstream = 2, .data = NAN}};

	mr_record_add(MR_RECORD_TIMES, &b, &a);
	CU_ASSERT(a.elapsed == 15 && a.row.busy == 5 && a.row.upstream == 2 && a.row.data == 1);
	CU_ASSERT(a.at[MR_WAIT_NONE] == 5 && a.at[MR_WAIT_UPSTREAM] == 2);
}

static void cells(void)
{
	mr_speed s = {.cores = 1.5, .ipc = NAN, .hz = 3e9, .stalled = 0.25, .flops = 2e9, .peak = 0.1, .bytes = NAN,
		      .remote = NAN, .intensity = NAN, .roof = NAN};
	mr_table_column columns[MR_MEMBERS_SPEED];
	char *text = NULL;
	size_t n;
	mr_table *t;
	FILE *f = open_memstream(&text, &n);

	CU_ASSERT_EQUAL_FATAL(mr_record_columns(MR_RECORD_SPEED, columns, 0), MR_MEMBERS_SPEED);
	MR_CHECK_OK(mr_table_create(columns, MR_MEMBERS_SPEED, &t));
	mr_record_cells(MR_RECORD_SPEED, &s, t);
	MR_CHECK_OK(mr_table_finish(t, f));
	fclose(f);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "cores  IPC   GHz  stalled  GFLOP/s   peak  DRAM GB/s"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, " 1.50    -  3.00      25%      2.0  10.0%          -"));
	free(text);
}

/* The rows of a record follow each other, and each says what it means, once. */
static void rows(void)
{
	unsigned n = 0;

	for (int r = 0; r < MR_N_RECORDS; r++) {
		const mr_member *first = mr_record_members((mr_record)r), *m = first;

		CU_ASSERT_PTR_NOT_NULL(strstr(mr_record_in((mr_record)r), ".json"));
		CU_ASSERT_EQUAL_FATAL(m->of, (mr_record)r);
		for (; m->of == (mr_record)r; m++, n++) {
			CU_ASSERT(m->meaning && strlen(m->meaning) > 5);
			for (const mr_member *k = first; k < m; k++)
				CU_ASSERT_STRING_NOT_EQUAL(mr_member_key(k), mr_member_key(m));
		}
		CU_ASSERT_EQUAL(mr_record_member((mr_record)r, (m - 1)->at), m - 1);
	}
	CU_ASSERT(n > 40);
}

void mr_suite_records(void);

void mr_suite_records(void)
{
	MR_SUITE("records");
	MR_TEST(files);
	MR_TEST(unknown);
	MR_TEST(kinds);
	MR_TEST(sums);
	MR_TEST(cells);
	MR_TEST(rows);
}
