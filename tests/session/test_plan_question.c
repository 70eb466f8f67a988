/*
 * test_plan_question.c - a session's plan is the plan that the planner makes for the same arguments: here they are
 * filled by hand from the values of the job, for every system.
 */
#include <string.h>

#include "base/str.h"
#include "check.h"
#include "ir/text.h"
#include "job/job_help.h"
#include "planner/make_plan.h"
#include "schedules/registry.h"
#include "costs/costs.h"
#include "session/session.h"

#define WORKERS 2
#define STEPS 12
#define BATCH 4
#define SAMPLES 40 /* and a tenth of them for validation */
#define MODEL                                                                                                \
	"model.name=mlp model.hidden=[6,6,6,6,6,6] data.name=synthetic data.features=6 data.classes=3 "      \
	"data.samples=40 optimizer.name=momentum system.name=%s mitigation.name=%s train.steps=12 "       \
	"train.batch=4 train.microbatches=%u optimizer.lr=0.01 train.clip=%d machine.workers=2 "                 \
	"machine.threads=1 backend=reference precision=f64"

static const struct {
	bool clips, predicts, corrects;
	const char *mitigation;
} way[] = {
	{false, false, false, "none"},
	{true, false, false, "none"},
	{false, true, false, "weight_prediction"},
	{false, false, true, "gap_aware"},
};

#define N_WAYS (sizeof(way) / sizeof(way[0]))

static void fill(const mr_sched_ops *ops, uint32_t micro, size_t w, mr_job *job)
{
	char text[800];

	snprintf(text, sizeof(text), MODEL, ops->name, way[w].mitigation, micro, way[w].clips);
	mr_test_job_of(job, text, "");
}

/* What the stages of the session's own plan cost: it lies where the plan that is asked for will lie. */
static mr_status costs_of(void *arg, const mr_plan *plan, mr_stage_cost *out)
{
	const mr_session *s = arg;
	mr_workload of = mr_session_workload(s);
	mr_costs c;

	CU_ASSERT_EQUAL_FATAL(plan->n_stages, s->plan->n_stages);
	MR_TRY(mr_costs_at_hand(&of, &c));
	mr_costs_of_stages(&of, &c, out);
	mr_costs_fini(&c);
	return MR_OK;
}

static mr_plan_question by_hand(const mr_sched_ops *ops, uint32_t micro, size_t w, mr_session *s, mr_values *values)
{
	return (mr_plan_question){
		.system = ops,
		.args = {.n_workers = mr_job_workers(s->job),
			 .n_micro = micro,
			 .options = values,
			 .n_steps = ops->ends ? STEPS : 0,
			 .n_batches = SAMPLES * 9 / 10 / (BATCH / micro)},
		.costs = {.of = costs_of, .arg = s, .nominal = true},
		.trains = true,
		.terms = {.clips = way[w].clips,
			  .predicts = way[w].predicts,
			  .along = true, /* that of momentum */
			  .corrects = way[w].corrects},
		.steps_inside = !way[w].clips,
	};
}

static void compare(const mr_sched_ops *ops, const mr_session *s, const mr_plan_question *q)
{
	mr_strbuf mine = {0}, theirs = {0};
	uint64_t identity;
	mr_plan *p;

	MR_CHECK_OK(mr_plan_make(q, &p, &identity));
	MR_CHECK_OK(mr_text_print(p, &mine));
	MR_CHECK_OK(mr_text_print(s->plan, &theirs));
	if (identity != s->plan_hash || strcmp(mr_strbuf_text(&mine), mr_strbuf_text(&theirs)))
		fprintf(stderr, "\n%s, clip %d, %s\n", ops->name, s->job->train.clip > 0, s->job->mitigation.name);
	CU_ASSERT_EQUAL(identity, s->plan_hash);
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&mine), mr_strbuf_text(&theirs));
	mr_strbuf_fini(&mine);
	mr_strbuf_fini(&theirs);
	mr_plan_destroy(p);
}

/* Returns whether the system takes the way at all. */
static bool look(const mr_sched_ops *ops, size_t w)
{
	uint32_t micro = ops->asynchronous && !ops->accumulates ? mr_schedule_step_micro(ops, NULL) : BATCH;
	mr_values *values = NULL;
	mr_plan_question q;
	mr_session s;
	mr_job job;
	bool takes;

	fill(ops, micro, w, &job);
	if (ops->options)
		MR_CHECK_OK(mr_values_create(ops->options, &values));
	takes = mr_session_survey(&job, &s) == MR_OK;
	if (takes) {
		q = by_hand(ops, micro, w, &s, values);
		compare(ops, &s, &q);
		mr_session_close(&s);
	}
	mr_values_destroy(values);
	mr_job_fini(&job);
	return takes;
}

static void every_system_answers_alike(void)
{
	unsigned n[N_WAYS] = {0}, systems = 0;

	for (size_t i = 0; mr_schedule_at(i); i++) {
		const mr_sched_ops *ops = mr_schedule_at(i);

		if (ops->judged) /* its question holds more than one filled by hand can */
			continue;
		systems++;
		for (size_t w = 0; w < N_WAYS; w++)
			n[w] += look(ops, w);
	}
	/* None refuses to train or to clip; predictions are not for those that predict themselves, and neither they nor
	 * corrections for the two that make whole steps. */
	CU_ASSERT_EQUAL(n[0], systems);
	CU_ASSERT_EQUAL(n[1], systems);
	CU_ASSERT(n[2] + 8 >= systems);
	CU_ASSERT_EQUAL(n[3] + 2, systems);
}

void mr_suite_plan_question(void);

void mr_suite_plan_question(void)
{
	MR_SUITE("plan_question");
	MR_TEST(every_system_answers_alike);
}
