#include "replay/record.h"

#include <stdlib.h>

#include "exec/features/race.h"
#include "exec/run_plan.h"
#include "ir/op.h"
#include "ir/steal.h"
#include "planner/make_plan.h"
#include "weights/steal_queue.h"

static mr_status not_asked(void)
{
	return mr_fail(MR_EINVAL, "only the order of a racing plan, or of one whose W any worker may take, can be "
				  "recorded, and only when that "
				  "is asked for before it begins");
}

static mr_status check_log(const mr_run *run)
{
	const mr_plan *p = run->c.plan;

	if (!p->contract.racing || !run->c.record_micro)
		return not_asked();
	for (uint16_t w = 0; w < run->n_workers; w++) {
		const mr_race *r = run->worker[w].race;

		if (r->n_log != r->n_f + r->n_b)
			return mr_fail(MR_EINVAL,
				       "worker %u did %llu instructions and recorded %llu of them: room was for %llu "
				       "micro-batches from the start",
				       w, (unsigned long long)(r->n_f + r->n_b), (unsigned long long)r->n_log,
				       (unsigned long long)run->c.record_micro);
	}
	return MR_OK;
}

/* Write the instructions of @w into @to, in the order of its log. */
static mr_status write_list(const mr_run *run, uint16_t w, mr_plan *to)
{
	const mr_race *r = run->worker[w].race;
	uint16_t stage = mr_plan_list(run->c.plan, w, MR_BODY)->at[0].stage;
	int32_t ahead[2] = {mr_plan_horizon(run->c.plan, stage, false), mr_plan_horizon(run->c.plan, stage, true)};
	uint32_t next[MR_N_OPS] = {0};

	for (uint64_t i = 0; i < r->n_log; i++) {
		mr_instr in = {.op = (uint8_t)r->log[i].op, .span = 1, .stage = stage};

		in.micro = next[in.op]++;
		in.target = ahead[in.op == MR_OP_F];
		MR_TRY(mr_plan_append(to, w, MR_PROLOGUE, in));
	}
	return MR_OK;
}

/* The plan's versions follow from its lists; they must equal those in the log, which were really read. */
static mr_status compare(const mr_run *run, uint16_t w, const mr_plan *plan)
{
	const mr_list *l = mr_plan_list(plan, w, MR_PROLOGUE);
	const mr_race_rec *rec = run->worker[w].race->log;

	for (uint32_t i = 0; i < l->n; i++) {
		const mr_instr *in = &l->at[i];

		if (!mr_op_is_compute(in->op))
			continue;
		if (in->read != (int32_t)rec->read)
			return mr_fail(
				MR_EINVAL,
				"worker %u: %s of micro-batch %u read version %u, and its place in the order says %d",
				w, mr_op_name((mr_op)in->op), in->micro, rec->read, in->read);
		rec++;
	}
	return MR_OK;
}

static mr_status fill(const mr_run *run, mr_plan *to)
{
	const mr_plan *p = run->c.plan;
	mr_plan_question q = {.steps_inside = mr_run_steps_inside(p, 0), .room = p};

	to->contract.racing = false;
	to->n_micro = (uint32_t)run->worker[0].race->n_b;
	to->commits = to->n_micro / p->contract.need;
	for (uint16_t w = 0; w < p->n_workers; w++)
		MR_TRY(write_list(run, w, to));
	MR_TRY(mr_plan_finish(&q, &to, NULL));
	for (uint16_t w = 0; w < p->n_workers; w++)
		MR_TRY(compare(run, w, to));
	return MR_OK;
}

/* --- W that were taken --- */

static mr_status check_moves(const mr_run *run, size_t *n)
{
	const mr_plan *p = run->c.plan;
	uint64_t done = run->worker[0].train.n * p->n_micro;

	*n = 0;
	if (!run->c.record_micro || !mr_plan_list(p, 0, MR_BODY)->n)
		return not_asked();
	for (uint16_t w = 0; w < run->n_workers; w++)
		*n += (size_t)run->worker[w].steal_queue->n_log;
	if (done > run->c.record_micro || run->resumed)
		return mr_fail(MR_EINVAL, "%llu micro-batches were to be recorded from the start: %llu are done%s",
			       (unsigned long long)run->c.record_micro, (unsigned long long)done,
			       run->resumed ? ", not all by this run" : "");
	return MR_OK;
}

static mr_status record_moves(const mr_run *run, mr_plan **out)
{
	mr_steal *all;
	mr_status st;
	size_t n, k = 0;

	MR_TRY(check_moves(run, &n));
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return mr_fail(MR_ERESOURCE, "no memory for %zu moves", n);
	for (uint16_t w = 0; w < run->n_workers; w++) {
		const mr_steal_queue *t = run->worker[w].steal_queue;

		for (uint64_t i = 0; i < t->n_log; i++)
			all[k++] = t->log[i];
	}
	st = mr_steal_plan(run->c.plan, (uint32_t)run->worker[0].train.n, all, n, out);
	free(all);
	if (st == MR_OK && (st = mr_plan_finish(&(mr_plan_question){0}, out, NULL)) != MR_OK)
		mr_plan_destroy(*out);
	return st;
}

mr_status mr_record_plan(const mr_run *run, mr_plan **out)
{
	const mr_plan *p = run->c.plan;
	mr_plan *plan;
	mr_status st;

	if (p->contract.steal)
		return record_moves(run, out);
	MR_TRY(check_log(run));
	MR_TRY(mr_plan_create_like(p, false, &plan));
	st = fill(run, plan);
	if (st != MR_OK) {
		mr_plan_destroy(plan);
		return st;
	}
	*out = plan;
	return MR_OK;
}
