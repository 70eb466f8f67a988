#include "schedules/common/search_prove.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schedules/exact/exact.h"
#include "timing/bound.h"
#include "timing/walk.h"

/* Times this close are equal: sums of doubles in another order. */
#define SAME 1e-9

/* A node takes about (passes) * (passes of a worker) units of work, of which a second does 7e7. */
#define WORK_AT_MOST 4e6 /* of all nodes, where the user names no number of them */
#define MOST_WORK 1e7    /* of one, likewise: a bound takes 20 */
#define USUAL_NODES 200.0
#define USUAL_STEPS 4e5  /* swaps, times passes */
#define STEPS_A_NODE 4u

typedef struct proof_of {
	const mr_search_judge *judge;
	const mr_plan *plan;
	mr_stage_cost *cost;  /* [n_stages] */
	uint32_t *cap;        /* [n_workers] */
	int64_t *begin;       /* [3][n_stages][n_micro] */
	mr_exact_job job;
	mr_exact_order order;
} proof_of;

/* Only orders of F, I, W and B of one micro-batch each in one pipe that flush are ordered again. */
static bool is_plain(const mr_plan *p)
{
	if (p->n_pipes != 1 || p->contract.flush == MR_FLUSH_NONE || p->contract.steal)
		return false;
	for (uint16_t w = 0; w < p->n_workers; w++) {
		const mr_list *l = mr_plan_list(p, w, MR_BODY);

		for (uint32_t k = 0; k < l->n; k++)
			if (l->at[k].op == MR_OP_R || l->at[k].span > 1)
				return false;
	}
	return true;
}

static int by_time(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return (a > b) - (a < b);
}

/* The begins of passes in @walk, those of each chain in ascending order: micro-batches are alike. */
static void take_begins(proof_of *p, const mr_walk *walk)
{
	uint32_t n = p->plan->n_micro;

	for (size_t k = 0; k < walk->first[walk->n_workers]; k++) {
		const mr_instr *in = walk->at[k].in;
		int64_t *at = &p->begin[MR_EXACT_KINDS * in->stage * (size_t)n + in->micro];
		double begin = walk->at[k].begin;

		if (in->op == MR_OP_F)
			at[MR_EXACT_F * n] = llround(begin / p->job.unit);
		if (in->op == MR_OP_I || in->op == MR_OP_B)
			at[MR_EXACT_I * n] = llround(begin / p->job.unit);
		if (in->op == MR_OP_B)
			begin += p->cost[in->stage].i;
		if (in->op == MR_OP_W || in->op == MR_OP_B)
			at[MR_EXACT_W * n] = llround(begin / p->job.unit);
	}
	for (uint32_t c = 0; c < p->job.n_chains; c++)
		qsort(&p->begin[(size_t)c * n], n, sizeof(*p->begin), by_time);
}

static mr_status init(proof_of *p)
{
	const mr_plan *plan = p->plan;
	mr_list_job job = {.n_workers = plan->n_workers,
			   .n_stages = plan->n_stages,
			   .n_pipes = 1,
			   .n_micro = plan->n_micro,
			   .worker_of = plan->worker_of};
	double chunks = (double)plan->n_stages / plan->n_workers;

	p->cost = calloc(plan->n_stages, sizeof(*p->cost));
	p->cap = calloc(plan->n_workers, sizeof(*p->cap));
	p->begin = calloc((size_t)MR_EXACT_KINDS * plan->n_stages * plan->n_micro, sizeof(*p->begin));
	if (!p->cost || !p->cap || !p->begin)
		return mr_fail(MR_ERESOURCE, "no memory to prove an order of %u stages", plan->n_stages);
	for (uint16_t w = 0; w < plan->n_workers; w++)
		p->cap[w] = (uint32_t)fmin(p->judge->cap * chunks + SAME, (double)plan->n_stages * plan->n_micro);
	job.cost = p->cost;
	job.cap = p->cap;
	MR_TRY(mr_search_costs(p->judge, plan, p->cost));
	for (uint16_t s = 0; s < plan->n_stages; s++) { /* the passes alone */
		const mr_stage_cost *c = &p->cost[s];

		p->cost[s] = (mr_stage_cost){.f = c->f, .i = c->i, .w = c->w, .c = c->c, .g = c->g};
	}
	MR_TRY(mr_exact_job_init(&p->job, &job));
	return mr_exact_order_init(&p->job, &p->order);
}

static void fini(proof_of *p)
{
	free(p->cost);
	free(p->cap);
	free(p->begin);
	mr_exact_order_fini(&p->order);
	mr_exact_job_fini(&p->job);
}

/* A plan with the lists of p->order. */
static mr_status make_plan(const proof_of *p, mr_plan **out)
{
	static const mr_op ops[] = {MR_OP_F, MR_OP_I, MR_OP_W};
	const mr_exact_job *j = &p->job;
	mr_plan *plan;
	mr_status st;

	MR_TRY(mr_sched_create(p->judge->args, "search", p->plan->n_stages, 1, 3, &plan));
	memcpy(plan->worker_of, p->plan->worker_of, plan->n_stages * sizeof(*plan->worker_of));
	mr_sched_flushes(plan, p->plan->n_micro, MR_SUM_ASCENDING);
	st = MR_OK;
	for (uint32_t k = 0; st == MR_OK && k < j->n_passes; k++) {
		uint32_t chain = p->order.pass[k] / j->n_micro;

		st = mr_sched_emit(plan, j->worker[chain], MR_BODY, ops[chain % MR_EXACT_KINDS],
				   p->order.pass[k] % j->n_micro, (uint16_t)(chain / MR_EXACT_KINDS), 0);
	}
	return mr_sched_finish(plan, st, out);
}

static mr_status prove(proof_of *p, const mr_walk *walk, uint64_t nodes, uint64_t swaps, mr_plan **shorter,
		       mr_sched_proof *proof)
{
	double passes = p->job.n_passes, work = passes * p->job.most_beside * p->job.n_micro;
	uint64_t usual = (uint64_t)fmin(USUAL_NODES, WORK_AT_MOST / work);
	mr_exact_result r;
	mr_status st;

	if (!nodes && !swaps && work > MOST_WORK)
		return MR_OK;
	nodes = nodes ? nodes : usual;
	swaps = swaps ? swaps : STEPS_A_NODE * nodes + (uint64_t)(USUAL_STEPS / passes);
	take_begins(p, walk);
	st = mr_exact_solve(&p->job, p->begin, nodes, swaps, &p->order, &r);
	if (st == MR_EINVAL) /* of stages in turn: rounded begins ran out of room; the simple bound stands */
		return MR_OK;
	MR_TRY(st);
	proof->nodes = r.nodes;
	proof->bound = fmax(proof->bound, r.bound);
	return r.makespan < walk->makespan * (1 - SAME) ? make_plan(p, shorter) : MR_OK;
}

mr_status mr_search_prove(const mr_search_judge *j, const mr_plan *plan, uint64_t nodes, uint64_t swaps,
			  mr_plan **shorter, mr_sched_proof *proof)
{
	proof_of p = {.judge = j, .plan = plan};
	mr_cost cost = {plan->n_stages, NULL};
	mr_walk *walk = NULL;
	mr_status st = init(&p);

	*shorter = NULL;
	*proof = (mr_sched_proof){0};
	cost.stage = p.cost;
	if (st == MR_OK)
		st = mr_plan_bound(plan, &cost, true, &proof->bound);
	if (st == MR_OK && is_plain(plan))
		st = mr_plan_walk(plan, &cost, 1, &(mr_walk_opts){.unlimited = true, .no_period = true}, &walk);
	if (walk)
		st = prove(&p, walk, nodes, swaps, shorter, proof);
	mr_walk_destroy(walk);
	fini(&p);
	return st;
}
