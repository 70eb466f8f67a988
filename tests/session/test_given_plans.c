/*
 * test_given_plans.c - a plan file is carried out instruction by instruction as it stands: plans of all systems, as
 * they are and with an instruction moved, wherever the checker accepts that. What the workers did is compared with the
 * lists in the file: order, micro-batches and versions read.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "check.h"
#include "exec/run.h"
#include "ir/op.h"
#include "ir/text.h"
#include "job/job_help.h"
#include "lower/check.h"
#include "planner/make_plan.h"
#include "planner/plan_identity.h"
#include "schedules/registry.h"
#include "session/plan_file.h"
#include "session/session.h"

#define STEPS 12
#define MOST 4096 /* instructions of a worker in a run */
#define MOVES 20  /* of a plan */

#define MODEL                                                                                                \
	"model.name=mlp model.hidden=[6,6,6,6,6,6] data.name=synthetic data.features=6 data.classes=3 "      \
	"data.samples=60 optimizer.name=momentum system.name=%s train.steps=12 train.batch=4 "               \
	"train.microbatches=%u optimizer.lr=0.01 train.clip=%d train.eval_every=0 machine.workers=2 "           \
	"machine.threads=1 backend=reference precision=f64"

typedef struct done {
	mr_instr in;
	uint64_t micro, version;
} done;

typedef struct diary {
	const mr_plan *plan;
	done *of[8]; /* [worker][MOST] */
	size_t n[8];
} diary;

static char path[] = "/tmp/mr-given-XXXXXX";

static void note(void *arg, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version)
{
	diary *d = arg;
	uint16_t w = mr_plan_worker(run->c.plan, in->pipe, in->stage);

	if (mr_op_is_compute(in->op) && d->n[w] < MOST)
		d->of[w][d->n[w]++] = (done){*in, micro, version};
}

/* --- what the lists in the file say --- */

/* The next compute instruction of @worker behind place *@at of section *@sec in iteration *@n. */
static const mr_instr *next(const mr_plan *p, uint16_t worker, int *sec, uint64_t *n, uint32_t *at)
{
	for (;;) {
		const mr_list *l = mr_plan_list(p, worker, (mr_section)*sec);

		if (*at < l->n) {
			const mr_instr *in = &l->at[(*at)++];

			if (mr_op_is_compute(in->op))
				return in;
			continue;
		}
		*at = 0;
		if (*sec == MR_BODY && l->n)
			++*n;
		else if (*sec == MR_PROLOGUE)
			*sec = MR_BODY;
		else
			return NULL;
	}
}

/* Returns the largest staleness that the run had. */
static uint64_t compare(const mr_plan *file, const diary *d)
{
	uint64_t most = 0;

	for (uint16_t w = 0; w < file->n_workers; w++) {
		int sec = MR_PROLOGUE;
		uint32_t at = 0;
		uint64_t n = 0;

		CU_ASSERT_FATAL(d->n[w] > 0 && d->n[w] < MOST);
		for (size_t i = 0; i < d->n[w]; i++) {
			const mr_instr *in = next(file, w, &sec, &n, &at);
			const done *x = &d->of[w][i];
			uint64_t on;

			CU_ASSERT_PTR_NOT_NULL_FATAL(in);
			CU_ASSERT_FATAL(in->op == x->in.op && in->stage == x->in.stage && in->pipe == x->in.pipe);
			CU_ASSERT_FATAL(mr_instr_micro(file, in, n) == x->micro);
			CU_ASSERT_FATAL(mr_instr_read(file, in, n) == x->version);
			on = mr_plan_applied_on(file, in->stage, x->micro);
			if (in->op == MR_OP_F && !mr_contract_replicates(&file->contract) && on > x->version &&
			    on - x->version > most)
				most = on - x->version;
		}
	}
	return most;
}

static bool go_on(void *arg, const mr_step_rec *rec)
{
	(void)arg;
	(void)rec;
	return true;
}

/* Carry @plan out as a file. Returns the staleness, or UINT64_MAX where the engine refuses it by name. */
static uint64_t carry_out(const mr_job *job, const mr_plan *plan)
{
	diary d = {.plan = plan};
	uint64_t staleness = UINT64_MAX, reached, identity;
	mr_session s;
	mr_status st;

	MR_CHECK_OK(mr_plan_file_write(plan, path, MR_RESULT_OWN));
	MR_CHECK_OK(mr_plan_identity(plan, &identity));
	st = mr_session_open_plan(job, path, &s);
	if (st != MR_OK) {
		if (getenv("MR_VERBOSE"))
			fprintf(stderr, "\n%s: %s\n", plan->system, mr_error_text());
		CU_ASSERT_EQUAL(st, MR_ECONFIG);
		CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), path));
		return UINT64_MAX;
	}
	CU_ASSERT_EQUAL(s.plan_hash, identity);
	CU_ASSERT_EQUAL(s.file_hash, identity);
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		d.of[w] = malloc(MOST * sizeof(done));
		CU_ASSERT_PTR_NOT_NULL_FATAL(d.of[w]);
	}
	MR_CHECK_OK(mr_session_start(&s, &(mr_session_opts){.observer = note, .observer_arg = &d}));
	MR_CHECK_OK(mr_executor_run(&s.executor, STEPS, go_on, NULL, &reached));
	CU_ASSERT_EQUAL(reached, STEPS);
	staleness = compare(plan, &d);
	CU_ASSERT(staleness <= plan->contract.max_staleness);
	mr_session_close(&s);
	for (uint16_t w = 0; w < plan->n_workers; w++)
		free(d.of[w]);
	return staleness;
}

/* --- instructions that are moved --- */

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(*seed >> 4) * below >> 28);
}

static mr_plan *copy_of(const mr_plan *plan)
{
	mr_strbuf text = {0};
	mr_plan *p;

	MR_CHECK_OK(mr_text_print(plan, &text));
	MR_CHECK_OK(mr_text_read(mr_strbuf_text(&text), text.len, &p));
	mr_strbuf_fini(&text);
	return p;
}

/* Let F of @stage at places @from to @to of @l read @by versions later, and B of the same micro-batches with them; or
 * without @along B at these places. */
static void shift(mr_list *l, uint16_t stage, uint32_t from, uint32_t to, bool along, int by)
{
	for (uint32_t i = from; i <= to && i < l->n; i++) {
		mr_instr *in = &l->at[i];

		if (in->stage != stage || (along ? in->op != MR_OP_F : in->op == MR_OP_F || !mr_op_is_compute(in->op)))
			continue;
		in->read += by;
		for (uint32_t k = 0; along && k < l->n; k++)
			if (l->at[k].stage == stage && mr_op_is_compute(l->at[k].op) && l->at[k].op != MR_OP_F &&
			    l->at[k].micro == in->micro)
				l->at[k].read += by;
	}
}

/*
 * One instruction of the only list of @good's worker @w is moved, and the versions that the stage's F and B read are
 * changed so that the checker accepts it. Returns NULL if it accepts none.
 */
static mr_plan *moved(const mr_plan *good, uint32_t seed)
{
	uint16_t w = (uint16_t)draw(&seed, good->n_workers);
	mr_section sec = mr_plan_repeats(good) ? MR_BODY : MR_PROLOGUE;
	uint32_t n = mr_plan_list(good, w, sec)->n, from, to, low, high;

	if (n < 2)
		return NULL;
	from = draw(&seed, n);
	for (int k = 0; k < 8 && sec == MR_PROLOGUE && mr_plan_list(good, w, sec)->at[from].op != MR_OP_U; k++)
		from = draw(&seed, n);
	to = sec == MR_BODY || from < 4 || from + 5 > n ? draw(&seed, n) : from - 1 + draw(&seed, 4);
	low = from < to ? from : to;
	high = from < to ? to : from;
	for (int k = 0; k < 9; k++) {
		mr_plan *p = copy_of(good);
		mr_list *l = mr_plan_list(p, w, sec);
		mr_instr in = l->at[from];

		memmove(&l->at[from], &l->at[from + 1], (n - 1 - from) * sizeof(in));
		memmove(&l->at[to + 1], &l->at[to], (n - 1 - to) * sizeof(in));
		l->at[to] = in;
		shift(l, in.stage, low, high, true, k % 3 - 1);
		shift(l, in.stage, low, high, false, k / 3 - 1);
		if (p->contract.flush == MR_FLUSH_NONE) {
			p->contract.max_staleness += 2;
			p->n_versions[in.stage] = (uint16_t)(p->n_versions[in.stage] + 2);
		}
		if (mr_plan_check(p) == MR_OK)
			return p;
		mr_plan_destroy(p);
	}
	return NULL;
}

/* --- all systems --- */

typedef struct tally {
	unsigned plans, mutants, trained, staler;
} tally;

/* Carry out @plan and what becomes of it by moves. */
static void one_plan(const mr_job *job, const mr_plan *plan, uint32_t seed, tally *t)
{
	uint64_t staleness = carry_out(job, plan), now;

	CU_ASSERT_NOT_EQUAL(staleness, UINT64_MAX);
	t->plans++;
	for (uint32_t i = 0; i < MOVES; i++) {
		mr_plan *p = moved(plan, (seed + i) * 2654435761u);

		if (!p)
			continue;
		now = carry_out(job, p);
		t->mutants++;
		t->trained += now != UINT64_MAX;
		t->staler += now != UINT64_MAX && now > staleness;
		mr_plan_destroy(p);
	}
}

/* @ops's plan of @s as one list of STEPS steps, none of which is carried out inside a B. */
static mr_plan *as_one_list(const mr_session *s, const mr_sched_ops *ops, uint32_t micro)
{
	mr_plan_question q = {.system = ops,
			      .args = {.n_workers = s->plan->n_workers,
				       .n_micro = ops->accumulates ? micro : STEPS * micro,
				       .n_commits = STEPS,
				       .finite = true,
				       .options = s->job->system.values}};
	mr_plan *p;

	MR_CHECK_OK(mr_plan_make(&q, &p, NULL));
	return p;
}

static void one_system(const mr_sched_ops *ops, bool clips, tally *t)
{
	uint32_t micro = ops->asynchronous && !ops->accumulates ? mr_schedule_step_micro(ops, NULL) : 4;
	uint32_t seed = 77u * (uint32_t)(ops->name[0] + 256 * ops->name[1]);
	mr_plan *once = NULL;
	mr_session s;
	mr_job job, other;
	char text[800], workers[40];

	snprintf(text, sizeof(text), MODEL, ops->name, micro, clips);
	mr_test_job_of(&job, text, ops->judged ? "system.tries=20" : "");
	MR_CHECK_OK(mr_session_survey(&job, &s));
	/* Its lists are made as it runs, or timing decides about them. */
	if (s.plan->endless || s.plan->contract.racing || s.plan->contract.steal) {
		mr_session_close(&s);
		mr_job_fini(&job);
		return;
	}
	snprintf(text, sizeof(text), MODEL, "naive", micro, clips);
	snprintf(workers, sizeof(workers), "machine.workers=%u", s.plan->n_workers);
	mr_test_job_of(&other, text, workers);
	one_plan(&other, s.plan, seed, t);
	/* A run as one list, in which steps may also stand behind the forwards that follow them. The engine carries out
	 * whole steps of plans that repeat alone. */
	if (s.plan->contract.flush == MR_FLUSH_NONE && !mr_plan_drains(s.plan) && !ops->ends &&
	    !s.plan->contract.whole_steps) {
		once = as_one_list(&s, ops, micro);
		one_plan(&other, once, seed, t);
		mr_plan_destroy(once);
	}
	mr_session_close(&s);
	mr_job_fini(&job);
	mr_job_fini(&other);
}

static void a_plan_file_is_carried_out_as_it_stands(void)
{
	tally t = {0};
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	for (size_t i = 0; mr_schedule_at(i); i++)
		for (int clips = 0; clips < 2; clips++)
			one_system(mr_schedule_at(i), clips, &t);
	unlink(path);
	if (getenv("MR_VERBOSE"))
		fprintf(stderr, "\n%u plans; of %u with a move %u were trained, %u of them staler\n", t.plans,
			t.mutants, t.trained, t.staler);
	CU_ASSERT(t.plans > 50);
	CU_ASSERT(t.trained > 200);
	CU_ASSERT(t.staler > 2);
}

void mr_suite_given_plans(void);

void mr_suite_given_plans(void)
{
	MR_SUITE("given_plans");
	MR_TEST(a_plan_file_is_carried_out_as_it_stands);
}
