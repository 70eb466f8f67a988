/* The JSON form of a plan: files of other programs are read, a written plan is read back, and damage gives a message,
 * never a crash. */
#include "ir/plan_json.h"

#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "golden_files.h"
#include "ir/text.h"

static const char tiny[] =
	"{\"system\":\"tiny\",\"D\":2,\"T\":2,\"stages\":2,\"extra\":{\"x\":[1,2]},\n"
	"\"pipes\":[{\"stage_to_worker\":[0,1],\"microbatches\":[0,1]}],\n"
	"\"workers\":[[[\"F\",0,0,0],[\"F\",1,0,0],[\"B\",0,0,0],[\"B\",1,0,0]],\n"
	"[[\"F\",0,1,0],[\"I\",0,1,0],[\"W\",0,1,0],[\"F\",1,1,0],[\"B\",1,1,0]]]}";

static mr_plan *read_ok(const char *text)
{
	mr_plan *plan = NULL;

	MR_CHECK_OK(mr_plan_json_read_text(text, strlen(text), &plan));
	return plan;
}

static char *write_text(const mr_plan *plan)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	mr_json_writer w;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	w = mr_json_begin(f, true);
	MR_CHECK_OK(mr_plan_json_put(&w, plan));
	MR_CHECK_OK(mr_json_finish(&w));
	fclose(f);
	return text;
}

static void json_tiny_plan(void)
{
	mr_plan *plan = read_ok(tiny);
	const mr_list *w1 = mr_plan_list(plan, 1, MR_BODY);

	CU_ASSERT_STRING_EQUAL(plan->system, "tiny");
	CU_ASSERT_EQUAL(plan->n_micro, 2);
	CU_ASSERT_EQUAL(plan->commits, 1);
	CU_ASSERT_EQUAL(plan->contract.need, 2);
	CU_ASSERT_EQUAL(plan->contract.flush, MR_FLUSH_BARRIER);
	CU_ASSERT_EQUAL(plan->contract.sum, MR_SUM_LISTED);
	CU_ASSERT_FALSE(plan->lowered);
	CU_ASSERT_EQUAL_FATAL(w1->n, 5);
	CU_ASSERT_EQUAL(w1->at[2].op, MR_OP_W);
	CU_ASSERT_EQUAL(w1->at[3].micro, 1);
	CU_ASSERT_EQUAL(w1->at[3].span, 1);
	mr_plan_destroy(plan);
}

static void json_without_pipes(void)
{
	mr_plan *plan = read_ok(
		"{\"D\":2,\"T\":2,\"stages\":2,\"workers\":[[[\"F\",0,0,0],[\"F\",1,1,1],[\"B\",1,1,1],[\"B\",0,0,0]],"
		"[[\"F\",1,0,1],[\"F\",0,1,0],[\"B\",0,1,0],[\"B\",1,0,1]]]}");

	CU_ASSERT_EQUAL(plan->n_pipes, 2);
	CU_ASSERT_EQUAL(mr_plan_worker(plan, 0, 1), 1);
	CU_ASSERT_EQUAL(mr_plan_worker(plan, 1, 0), 1);
	CU_ASSERT_EQUAL(mr_plan_worker(plan, 1, 1), 0);
	CU_ASSERT_EQUAL(plan->contract.need, 2);
	mr_plan_destroy(plan);
}

static void json_comes_back(void)
{
	mr_plan *plan = read_ok(tiny), *again;
	char *one = write_text(plan), *two;

	again = read_ok(one);
	two = write_text(again);
	CU_ASSERT_STRING_EQUAL(one, two);
	CU_ASSERT_EQUAL(mr_plan_hash(plan), mr_plan_hash(again));
	free(one);
	free(two);
	mr_plan_destroy(again);
	mr_plan_destroy(plan);
}

static void json_keeps_spans(void)
{
	mr_plan *plan = read_ok("{\"D\":1,\"T\":2,\"stages\":1,\"workers\":[[[\"F\",0,0,0],[\"I\",0,0,0],[\"F\",1,0,0],"
				"[\"I\",1,0,0],[\"W\",0,0,0,2]]]}"), *again;
	char *text = write_text(plan);

	CU_ASSERT_EQUAL(mr_plan_list(plan, 0, MR_BODY)->at[4].span, 2);
	again = read_ok(text);
	CU_ASSERT_EQUAL(mr_plan_hash(plan), mr_plan_hash(again));
	free(text);
	mr_plan_destroy(again);
	mr_plan_destroy(plan);
}

#define UNDER(contract)                                                                                     \
	"{\"D\":1,\"T\":2,\"stages\":1,\"contract\":{" contract "},"                                             \
	"\"workers\":[[[\"F\",0,0,0],[\"B\",0,0,0],[\"F\",1,0,0],[\"B\",1,0,0]]]}"

/* A plan without flushes says so, and is then a finite list with a commit for each micro-batch. */
static void json_contract(void)
{
	mr_plan *plan = read_ok(
		UNDER("\"flush\":\"none\",\"read\":\"latest\",\"sum\":\"ascending\",\"need\":1,\"staleness\":3"));
	mr_plan *again;
	char *text;

	CU_ASSERT_EQUAL(plan->contract.flush, MR_FLUSH_NONE);
	CU_ASSERT_EQUAL(plan->contract.read_f, MR_READ_LATEST);
	CU_ASSERT_EQUAL(plan->contract.sum, MR_SUM_ASCENDING);
	CU_ASSERT_EQUAL(plan->contract.need, 1);
	CU_ASSERT_EQUAL(plan->contract.max_staleness, 3);
	CU_ASSERT_TRUE(plan->contract.same_version_b);
	CU_ASSERT_EQUAL(plan->commits, 2);
	CU_ASSERT_EQUAL(mr_plan_list(plan, 0, MR_PROLOGUE)->n, 4);
	CU_ASSERT_EQUAL(mr_plan_list(plan, 0, MR_BODY)->n, 0);
	text = write_text(plan);
	again = read_ok(text);
	CU_ASSERT_EQUAL(mr_plan_hash(plan), mr_plan_hash(again));
	mr_plan_destroy(again);
	mr_plan_destroy(plan);
	free(text);
	plan = read_ok(
		UNDER("\"clip\":true,\"tied\":true,\"private_weights\":true,\"racing\":true,\"flush\":\"local\""));
	CU_ASSERT_EQUAL(plan->contract.flush, MR_FLUSH_LOCAL);
	CU_ASSERT_EQUAL(plan->contract.need, 2);
	CU_ASSERT_TRUE(plan->contract.clip && plan->contract.tied && plan->contract.private_weights &&
		       plan->contract.racing);
	CU_ASSERT_EQUAL(mr_plan_list(plan, 0, MR_BODY)->n, 4);
	mr_plan_destroy(plan);
	plan = read_ok(UNDER("\"repeats\":false"));
	CU_ASSERT_EQUAL(mr_plan_list(plan, 0, MR_PROLOGUE)->n, 4);
	mr_plan_destroy(plan);
}

static void json_refuses_to_write_what_repeats(void)
{
	mr_plan *plan = read_ok(tiny);
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	mr_json_writer w;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	mr_json_init(&w, f, false);
	mr_json_begin_object(&w);
	MR_CHECK_OK(mr_plan_append(plan, 0, MR_PROLOGUE, (mr_instr){.op = MR_OP_F, .span = 1}));
	MR_CHECK_FAIL(mr_plan_json_put(&w, plan), MR_EINVAL, "a finite one has");
	fclose(f);
	free(text);
	mr_plan_destroy(plan);
}

#define TWO(op0, op1) "{\"D\":2,\"T\":2,\"stages\":2,\"workers\":[[" op0 "],[" op1 "]]}"
#define PIPED(pipes) "{\"D\":2,\"T\":2,\"stages\":2,\"pipes\":" pipes ",\"workers\":[[],[]]}"

static void json_errors(void)
{
	static const struct {
		const char *text, *part;
	} bad[] = {
		{"", ""},
		{"[]", "a plan must be an object, got array"},
		{"{}", "D (workers) must be an integer from 1 to 4096, got nothing"},
		{"{\"D\":0}", "D (workers) must be from 1 to 4096, got 0"},
		{"{\"D\":2.5}", "D (workers) must be an integer"},
		{"{\"D\":4294967297}", "got 4294967297"},
		{"{\"D\":2,\"T\":0}", "T (micro-batches) must be from 1 to 1000000, got 0"},
		{"{\"D\":2,\"T\":2,\"stages\":5000}", "stages must be from 1 to 4096, got 5000"},
		{"{\"D\":2,\"T\":2,\"stages\":2}", "workers must be an array of D = 2 instruction lists, got nothing"},
		{"{\"D\":2,\"T\":2,\"stages\":2,\"workers\":[[]]}", "got array with 1 entries"},
		{"{\"D\":1,\"T\":2,\"stages\":2,\"workers\":[7]}",
		 "worker 0 must be an array of instructions, got integer"},
		{PIPED("[]"), "pipes must be an array of 1 to 64 entries"},
		{PIPED("{}"), "pipes must be an array"},
		{PIPED("[3]"), "pipe 0: stage_to_worker must be an array of 2 workers, got nothing"},
		{PIPED("[{\"stage_to_worker\":[0]}]"), "got array with 1 entries"},
		{PIPED("[{\"stage_to_worker\":[0,2]}]"),
		 "pipe 0: a worker in stage_to_worker must be from 0 to 1, got 2"},
		{PIPED("[{\"stage_to_worker\":[0,1],\"microbatches\":[2]}]"), "must be from 0 to 1, got 2"},
		{PIPED("[{\"stage_to_worker\":[0,1],\"microbatches\":[1,1]}]"),
		 "micro-batch 1 already belongs to pipe 0"},
		{"{\"D\":1,\"T\":2,\"stages\":1,\"pipes\":[{\"stage_to_worker\":[0],\"microbatches\":[1]}],\"workers\":"
		 "[[[\"F\",0,0,0]]]}",
		 "micro-batch 0 is none of the microbatches of pipe 0"},
		{PIPED("[{\"stage_to_worker\":[0,1],\"microbatches\":7}]"),
		 "microbatches must be an array, got integer"},
		{TWO("[\"F\",0,0]", ""), "worker 0, instruction 0: expected [op, micro-batch, stage, pipe], and a span "
					 "behind it or none, got array with 3 entries"},
		{TWO("", "3"), "worker 1, instruction 0: expected [op"},
		{TWO("[\"F\",0,0,0],[\"U\",0,0,0]", ""),
		 "worker 0, instruction 1: the op must be \"F\", \"B\", \"I\", \"W\" or \"R\", got \"U\""},
		{TWO("[\"\",0,0,0]", ""), "got \"\""},
		{TWO("[1,0,0,0]", ""), "got integer"},
		{TWO("[\"F\",0,0,0,2]", ""), "worker 0, instruction 0: the span must be from 1 to 1, got 2"},
		{TWO("[\"W\",0,0,0,0]", ""), "worker 0, instruction 0: the span must be from 1 to 255, got 0"},
		{TWO("[\"F\",2,0,0]", ""), "worker 0, instruction 0: the micro-batch must be from 0 to 1, got 2"},
		{TWO("[\"F\",0,-1,0]", ""), "worker 0, instruction 0: the stage must be from 0 to 1, got -1"},
		{TWO("[\"F\",0,0,64]", ""), "pipe 64: at most 64 pipes"},
		{TWO("[\"F\",0,0,-1]", ""), "the pipe must be from 0 to 0, got -1"},
		{TWO("[\"F\",0,0,0]", "[\"F\",1,0,0]"), "worker 1, instruction 0: stage 0 of pipe 0 lives on worker 0"},
		{TWO("[\"F\",0,0,0],[\"F\",0,0,1]", ""),
		 "worker 0, instruction 1: micro-batch 0 belongs to pipe 0, not to pipe 1"},
		{TWO("[\"F\",0,0,0]", ""), "stage 1 of pipe 0 has no instruction"},
		{UNDER("\"flush\":\"never\""),
		 "contract: flush must be one of \"barrier\", \"local\", \"validated\", \"none\", got \"never\""},
		{UNDER("\"read\":7"),
		 "contract: read must be one of \"batch\", \"latest\", \"tag\", \"aged\", \"first\", got integer"},
		{UNDER("\"need\":3"), "contract: need must be from 1 to 2, got 3"},
		{UNDER("\"staleness\":-1"), "contract: staleness must be from 0 to 1000000, got -1"},
		{UNDER("\"clip\":1"), "contract: clip must be true or false, got integer"},
		{UNDER("\"flsh\":\"none\""), "contract: \"flsh\" is not a key of a contract"},
		{"{\"D\":1,\"T\":3,\"stages\":1,\"contract\":{\"need\":2},\"workers\":[[]]}",
		 "contract: need: 3 micro-batches make no whole number of commits of 2"},
		{"{\"D\":1,\"T\":1,\"stages\":1,\"contract\":3,\"workers\":[[]]}",
		 "contract: must be an object, got integer"},
		{"{\"D\":1,\"T\":1,\"stages\":4096,\"workers\":[[[\"F\",0,0,63]]]}", "too large"},
	};
	mr_plan *plan = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		MR_CHECK_FAIL(mr_plan_json_read_text(bad[i].text, strlen(bad[i].text), &plan), MR_ECONFIG, bad[i].part);
	MR_CHECK_FAIL(mr_plan_json_read("/nonexistent/plan.json", &plan), MR_ECONFIG, "/nonexistent/plan.json");
	CU_ASSERT_PTR_NULL(plan);
}

static void read_golden(void *arg, const char *path, uint32_t number)
{
	mr_plan *plan = NULL, *again, *printed = NULL;
	mr_strbuf text = {0};
	char *json;

	(void)arg;
	(void)number;
	MR_CHECK_OK(mr_plan_json_read(path, &plan));
	json = write_text(plan);
	again = read_ok(json);
	CU_ASSERT_EQUAL(mr_plan_hash(plan), mr_plan_hash(again));
	MR_CHECK_OK(mr_text_print(plan, &text));
	MR_CHECK_OK(mr_text_read(mr_strbuf_text(&text), text.len, &printed));
	CU_ASSERT_EQUAL(mr_plan_hash(plan), mr_plan_hash(printed));
	mr_strbuf_fini(&text);
	free(json);
	mr_plan_destroy(plan);
	mr_plan_destroy(again);
	mr_plan_destroy(printed);
}

/* All recorded orders of published systems are plan files: read, written, read again, also through the text form. */
static void json_reads_every_golden(void)
{
	CU_ASSERT(mr_golden_each("sync", read_golden, NULL) >= 50);
}

static uint64_t seed_state;

static uint32_t draw(uint32_t below)
{
	return (uint32_t)(mr_mix64(seed_state++) % below);
}

/* Half of the damage is put into values, so that the text often stays JSON and the reader of plans sees it. */
static void json_survives_damage(void)
{
	static const char *const values[] = {
		"-1",   "0",  "1",  "2",     "3",     "4096", "4097",  "1000000", "9223372036854775807", "1.5", "null",
		"true", "[]", "{}", "\"F\"", "\"B\"", "[[]]", "[0,1]", "\"\""};
	unsigned read = 0, refused = 0;

	for (uint64_t seed = 0; seed < 4000; seed++) {
		char text[2 * sizeof(tiny) + 256];
		mr_plan *plan = NULL;

		seed_state = seed * 104729 + 5;
		snprintf(text, sizeof(text), "%s", tiny);
		for (unsigned k = 1 + draw(3); k; k--) {
			size_t len = strlen(text), at = draw((uint32_t)len);

			if (draw(2)) {
				char tail[sizeof(text)];

				while (text[at] && !strchr("0123456789\"", text[at]))
					at++;
				snprintf(tail, sizeof(tail), "%s", text + at + (text[at] != 0));
				snprintf(text + at, sizeof(text) - at, "%s%s",
					 values[draw(sizeof(values) / sizeof(values[0]))], tail);
			} else {
				text[at] = (char)draw(256);
			}
			if (!text[0])
				text[0] = ' ';
		}
		if (mr_plan_json_read_text(text, strlen(text), &plan) == MR_OK) {
			mr_strbuf printed = {0};

			read++;
			MR_CHECK_OK(mr_text_print(plan, &printed));
			mr_strbuf_fini(&printed);
			free(write_text(plan));
		} else {
			refused++;
			CU_ASSERT_FATAL(*mr_error_text() != 0);
		}
		mr_plan_destroy(plan);
	}
	CU_ASSERT(read > 50 && refused > 1000);
}

void mr_suite_plan_json(void); /* the runner declares it too */

void mr_suite_plan_json(void)
{
	MR_SUITE("plan_json");
	MR_TEST(json_tiny_plan);
	MR_TEST(json_without_pipes);
	MR_TEST(json_comes_back);
	MR_TEST(json_keeps_spans);
	MR_TEST(json_contract);
	MR_TEST(json_refuses_to_write_what_repeats);
	MR_TEST(json_errors);
	MR_TEST(json_reads_every_golden);
	MR_TEST(json_survives_damage);
}
