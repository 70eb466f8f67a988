#include "costs/costs_live.h"

#include <math.h>
#include <stdlib.h>

#include "ir/op.h"
#include "timing/walk.h"

#define MOST_FACTOR 100 /* a larger ratio of run to table means that the layer was not measured at all */

/* Instructions of one kind: seconds in the run, and by the table. */
typedef struct tally {
	double live, table;
	uint32_t n;
} tally;

/* The sums of a stage. */
typedef struct stage_tally {
	tally op[MR_N_OPS][2]; /* [1]: with the optimizer step inside */
	double bytes;          /* of its parameters */
	mr_stage_cost sum;     /* of its layers */
	mr_stage_cost cost;    /* by the table, before scaling */
} stage_tally;

typedef struct run_tally {
	const mr_workload *of;
	mr_costs *c;
	mr_stage_cost *cost; /* [stages] */
	stage_tally *stage;  /* [stages] */
} run_tally;

static void sum_layers(run_tally *t)
{
	const mr_partition *p = t->of->partition;

	mr_costs_of_stages(t->of, t->c, t->cost);
	for (uint16_t k = 0; k < p->n_stages; k++) {
		stage_tally *st = &t->stage[k];

		st->cost = t->cost[k];
		for (uint32_t n = p->first[k]; n < p->first[k + 1]; n++) {
			mr_costs_add(t->of->graph, n, &t->c->layer[n], &st->sum);
			st->bytes += (double)mr_costs_stepped(t->of->graph, n) *
				     (double)mr_dtype_bytes(t->of->kernels->types.weights);
		}
	}
}

static void count(run_tally *t, const double *live)
{
	const mr_plan *plan = t->of->plan;
	mr_cost cost = {plan->n_stages, t->cost};

	for (uint16_t w = 0; w < plan->n_workers; w++) {
		const mr_list *l = mr_plan_list(plan, w, MR_BODY);

		for (uint32_t i = 0; i < l->n; i++, live++) {
			const mr_instr *in = &l->at[i];
			tally *k = &t->stage[in->stage].op[in->op][(in->flags & MR_INSTR_UPDATE) != 0];

			if (!isfinite(*live))
				continue;
			k->live += *live;
			k->table += mr_instr_cost(plan, in, &cost);
			k->n++;
		}
	}
}

/* The factor for the part @own of an instruction of @k, whose other part, @beside, is the cost of boundaries. */
static double factor(const tally *k, double beside)
{
	double live = k->live - k->n * beside, table = k->table - k->n * beside;

	return k->n && table > 0 && live > table / MOST_FACTOR ? fmin(live / table, MOST_FACTOR) : 1;
}

static void scale(const run_tally *t, uint16_t stage, double f, double i, double w, double u)
{
	const mr_partition *p = t->of->partition;

	for (uint32_t n = p->first[stage]; n < p->first[stage + 1]; n++)
		mr_cost_scale(&t->c->layer[n], &(mr_stage_cost){.f = f, .i = i, .w = w, .u = u});
}

/* The instructions of @k without a step inside; all of them if each has one: then it is part of W. */
static const tally *plain(const stage_tally *k, mr_op op)
{
	return k->op[op][0].n ? &k->op[op][0] : &k->op[op][1];
}

/* The time that a step adds to the backward instruction which contains it, when the factor of that instruction's own
 * part is @f; NAN: the plan has no such instruction, or no others. */
static double step_inside(const stage_tally *k, mr_op op, double f, double beside)
{
	const tally *with = &k->op[op][1];
	double own = op == MR_OP_B ? k->sum.i + k->sum.w : k->sum.w;

	return with->n && k->op[op][0].n ? with->live / with->n - f * own - beside : (double)NAN;
}

/* The factor for U of all stages that have one. */
static double factor_of(const run_tally *t, mr_op op)
{
	tally all = {0};

	for (uint16_t k = 0; k < t->of->partition->n_stages; k++) {
		const tally *one = &t->stage[k].op[op][0];

		all.live += one->live;
		all.table += one->table;
		all.n += one->n;
	}
	return factor(&all, 0);
}

/* Scale F, I and W of a stage; returns the time of a step inside, or NAN. */
static double follow(const run_tally *t, uint16_t stage, double u)
{
	const stage_tally *k = &t->stage[stage];
	double beside_f = k->cost.f - k->sum.f, beside_i = k->cost.i - k->sum.i;
	double f = factor(&k->op[MR_OP_F][0], beside_f), i, w;
	bool whole = plain(k, MR_OP_B)->n;

	i = whole ? factor(plain(k, MR_OP_B), beside_i) : factor(plain(k, MR_OP_I), beside_i);
	w = whole ? i : factor(plain(k, MR_OP_W), 0);
	scale(t, stage, f, i, w, u);
	return step_inside(k, whole ? MR_OP_B : MR_OP_W, w, whole ? beside_i : 0);
}

/* Scale the steps of several pipes on the same weights: all their U, over all stages. */
static void follow_shared(const run_tally *t)
{
	double seconds = 0, bytes = 0;

	for (uint16_t k = 0; k < t->of->partition->n_stages; k++)
		if (t->stage[k].op[MR_OP_U][0].n) {
			seconds += t->stage[k].op[MR_OP_U][0].live;
			bytes += t->stage[k].bytes;
		}
	if (seconds > 0 && bytes > 0)
		t->c->shared_s = seconds / bytes;
}

static void follow_all(const run_tally *t)
{
	const mr_contract *k = &t->of->plan->contract;
	bool shared = t->of->plan->n_pipes > 1 && !mr_contract_replicates(k);
	double u = shared ? 1 : factor_of(t, MR_OP_U), saved = 0, bytes = 0;

	for (uint16_t s = 0; s < t->of->partition->n_stages; s++) {
		double inside = follow(t, s, u);

		if (isnan(inside))
			continue;
		saved += u * t->stage[s].cost.u - fmax(0, inside);
		bytes += t->stage[s].bytes;
	}
	if (bytes > 0)
		t->c->save_s = fmax(0, saved / bytes);
	if (shared)
		follow_shared(t);
	t->c->sum_s *= factor_of(t, MR_OP_AR);
	t->c->norm_s *= factor_of(t, MR_OP_N);
	t->c->average_s *= factor_of(t, MR_OP_AVG);
}

mr_status mr_costs_follow_run(const mr_workload *of, const double *live, mr_costs *c)
{
	uint16_t n = of->partition->n_stages;
	run_tally t = {.of = of, .c = c, .cost = calloc(n, sizeof(*t.cost)), .stage = calloc(n, sizeof(*t.stage))};
	mr_status st = t.cost && t.stage ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the times of %u stages", n);

	if (st == MR_OK) {
		sum_layers(&t);
		count(&t, live);
		follow_all(&t);
	}
	free(t.cost);
	free(t.stage);
	return st;
}
