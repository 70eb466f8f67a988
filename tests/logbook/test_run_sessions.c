/* What a resumed run keeps of the sessions before it, and the machine as a picture. */
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "logbook/run_sessions.h"

static char path[] = "/tmp/millrace-sessions-XXXXXX";

static void put_file(const char *text)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

/* What mr_run_sessions_put writes after @text, for a session that ended at step 60 or has not ended. */
static char *put(const char *text, bool ended)
{
	mr_session_row now = {.begun = "today", .host = "here", .from = 20, .to = ended ? 60 : NAN,
			      .seconds = ended ? 1.5 : NAN, .busy = ended ? 0.25 : NAN};
	mr_run_sessions r;
	mr_json_writer w;
	char *out = NULL;
	size_t n;
	FILE *f = open_memstream(&out, &n);

	put_file(text);
	mr_run_sessions_open(&r, path, 20);
	w = mr_json_begin(f, false);
	mr_run_sessions_put(&r, &now, &w);
	mr_run_sessions_keep(&r, "roofline", &w);
	mr_run_sessions_keep(&r, "nothing", &w);
	MR_CHECK_OK(mr_json_finish(&w));
	fclose(f);
	mr_run_sessions_fini(&r);
	return out;
}

#define FIRST "{\"begun\":\"before\",\"host\":\"there\",\"from\":0,\"to\":20,\"seconds\":0.5,\"busy\":0.75}"

static void sessions(void)
{
	char *text = put("{\"sessions\":[" FIRST "],\"roofline\":{\"cores\":2}}", true);

	CU_ASSERT_STRING_EQUAL(text, "{\"sessions\":[" FIRST ",{\"begun\":\"today\",\"host\":\"here\",\"from\":20,"
				     "\"to\":60,\"seconds\":1.5,\"busy\":0.25}],\"roofline\":{\"cores\":2}}\n");
	free(text);
	text = put("{\"sessions\":[" FIRST "]}", false);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"host\":\"here\",\"from\":20}]"));
	free(text);
	text = put("{ this is damaged", false); /* which counts as none */
	CU_ASSERT_STRING_EQUAL(text, "{\"sessions\":[{\"begun\":\"today\",\"host\":\"here\",\"from\":20}]}\n");
	free(text);
}

/* Times add up worker by worker, where there are as many; a damaged file adds nothing. */
static void times(void)
{
	static const char text[] = "{\"workers\":[{\"elapsed\":2,\"busy\":1,\"waits\":{\"upstream\":0.5}},"
				   "{\"elapsed\":2,\"busy\":1.5,\"waits\":{\"data\":0.25}}],"
				   "\"timeline\":{\"measured\":true}}";
	mr_times t = {{.elapsed = 10, .busy = 4, .data = 1}};
	mr_run_sessions r;

	put_file(text);
	mr_run_sessions_open(&r, path, 20);
	mr_run_sessions_add_times(&r, 2, 1, &t);
	CU_ASSERT(t.elapsed == 12 && t.row.busy == 5.5 && t.row.data == 1.25 && t.row.upstream == 0);
	mr_run_sessions_add_times(&r, 3, 1, &t); /* other workers than these */
	CU_ASSERT_EQUAL(t.elapsed, 12);
	CU_ASSERT_TRUE(mr_run_sessions_traced(&r));
	mr_run_sessions_fini(&r);
	mr_run_sessions_open(&r, path, 0); /* a run from its start has none before it */
	mr_run_sessions_add_times(&r, 2, 1, &t);
	CU_ASSERT_EQUAL(t.elapsed, 12);
	CU_ASSERT_FALSE(mr_run_sessions_traced(&r));
	mr_run_sessions_fini(&r);
}

static void staleness(void)
{
	mr_run_sessions r;
	uint32_t bins;

	put_file("{\"staleness\":[{\"gradients\":[5,0,2]},{\"gradients\":[7]}]}");
	mr_run_sessions_open(&r, path, 20);
	CU_ASSERT_EQUAL(mr_run_sessions_stale(&r, 2, 0, 2, &bins), 2);
	CU_ASSERT_EQUAL(bins, 3);
	CU_ASSERT_EQUAL(mr_run_sessions_stale(&r, 2, 1, 0, &bins), 7);
	CU_ASSERT_EQUAL(mr_run_sessions_stale(&r, 2, 1, 1, &bins), 0);
	CU_ASSERT_EQUAL(bins, 1);
	CU_ASSERT_EQUAL(mr_run_sessions_stale(&r, 3, 0, 0, &bins), 0); /* other stages than these */
	mr_run_sessions_fini(&r);
	unlink(path);
}

void mr_suite_run_sessions(void);

void mr_suite_run_sessions(void)
{
	close(mkstemp(path));
	MR_SUITE("run_sessions");
	MR_TEST(sessions);
	MR_TEST(times);
	MR_TEST(staleness);
}
