/* session_plan.c - the plan of a session: cut, place, order, lowering, check. */
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "session/costs.h"
#include "job/machine.h"
#include "session/plan_file.h"
#include "session/session_internal.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "planner/plan_identity.h"
#include "exec/run_plan.h"

/* Does the last stage use a parameter that an earlier one stores? Only the first stage may be its owner. */
static mr_status find_tied(const mr_session *s, bool *tied)
{
	const mr_graph *g = s->graph;

	*tied = false;
	for (uint32_t p = 0; p < g->n_params; p++) {
		uint16_t user, owner;

		if (g->params[p].tied_to < 0)
			continue;
		user = mr_partition_stage(&s->partition, g->params[p].node);
		owner = mr_partition_stage(&s->partition, g->params[g->params[p].tied_to].node);
		if (user == owner)
			continue;
		if (owner != 0 || user + 1 != s->partition.n_stages)
			return mr_fail(MR_ECONFIG,
				       "%s is tied to %s, but they lie in stages %u and %u: only the first and the "
				       "last stage can share a parameter",
				       g->params[p].name, g->params[g->params[p].tied_to].name, user, owner);
		*tied = true;
	}
	return MR_OK;
}

/* A plan file fits when workers and micro-batches a step match: the order may be any. */
static mr_status fits(const mr_session *s)
{
	const mr_plan *p = s->plan;
	uint16_t workers = mr_job_workers(s->job);

	if (p->contract.coverage == MR_COVER_FORWARD || (s->is_record && p->contract.coverage != MR_COVER_TRAIN))
		return mr_fail(MR_ECONFIG, "the plan does not train: its coverage must be train");
	if (p->n_workers != workers)
		return mr_fail(MR_ECONFIG,
			       "the plan has %u workers, and machine.workers is %u: set machine.workers = %u",
			       p->n_workers, workers, p->n_workers);
	if (p->contract.need != s->n_micro)
		return mr_fail(MR_ECONFIG,
			       "a step of the plan sums %u micro-batches, and train.microbatches is %u: set "
			       "train.microbatches = %u",
			       p->contract.need, s->n_micro, p->contract.need);
	return MR_OK;
}

/* What only a record can be replayed for: elsewhere the order changes no weight, or is not said. */
static mr_status check_record(const mr_plan *p)
{
	if (p->contract.racing)
		return mr_fail(MR_ECONFIG,
			       "a racing plan leaves the order open; what can be carried out again is a record of one");
	if (p->contract.flush != MR_FLUSH_NONE && !(p->contract.steal && mr_run_last_step(p) < UINT64_MAX))
		return mr_fail(MR_ECONFIG,
			       "this is no record of a run, but a plan that flushes: train --plan trains it");
	return MR_OK;
}

/* Does @plan repeat? A record does not. */
static bool repeats(const mr_plan *plan)
{
	for (uint16_t w = 0; w < plan->n_workers; w++)
		if (mr_plan_list(plan, w, MR_BODY)->n)
			return true;
	return false;
}

/* The one iteration of a flushing plan without a body is what a run repeats. */
static mr_status let_repeat(mr_plan *p)
{
	if (p->contract.flush == MR_FLUSH_NONE || repeats(p))
		return MR_OK;
	if (mr_plan_steps(p) != (mr_contract_replicates(&p->contract) ? p->contract.average.every : 1))
		return mr_fail(MR_ECONFIG,
			       "the lists hold %u steps, and a plan that flushes is trained by repeating one: give "
			       "that one alone",
			       mr_plan_steps(p));
	for (uint16_t w = 0; w < p->n_workers; w++) {
		mr_list *once = mr_plan_list(p, w, MR_PROLOGUE), *body = mr_plan_list(p, w, MR_BODY), empty = *body;

		*body = *once;
		*once = empty;
	}
	return MR_OK;
}

/* As a system would have emitted it: what the lowering adds depends on the configuration. */
static mr_status take_order(mr_session *s)
{
	mr_plan *given = s->plan;

	if (given->lowered) {
		MR_TRY(mr_plan_emitted(given, &s->plan));
		mr_plan_destroy(given);
	}
	return let_repeat(s->plan);
}

static mr_status read_plan(mr_session *s)
{
	mr_status st;

	MR_TRY(mr_plan_file_read(s->plan_path, &s->plan));
	st = fits(s);
	if (st == MR_OK)
		st = s->is_record ? check_record(s->plan) : take_order(s);
	return st == MR_OK ? st : mr_fail_in(st, "%s", s->plan_path);
}

/* The plan before its lowering; the model is cut into as many stages as it has. @costs: NULL, or those of its stages;
 * @judge: NULL, or of a system that chooses. */
static mr_status emit_plan(mr_session *s, const mr_cost *costs, const mr_sched_judge *judge, mr_plan **out)
{
	const mr_sched_ops *ops = mr_job_system(s->job);
	mr_sched_args a = {
		.n_workers = mr_job_workers(s->job),
		.n_micro = s->n_micro,
		.options = ops->options ? s->job->system.values : NULL,
		.costs = costs,
		.judge = judge,
		.now = mr_clock_s,
		.n_counted = &s->n_counted,
	};
	int64_t steps = s->job->train.steps;
	uint64_t batches = s->data->n_train / (uint64_t)s->samples;

	a.n_steps = ops->ends ? (uint64_t)steps : 0;
	a.n_batches = batches < UINT32_MAX ? (uint32_t)batches : UINT32_MAX;
	return mr_schedule_emit(ops, &a, out);
}

/* The workers of a stage share what it costs, where some stages have more of them than others. */
static mr_status cut_evenly(mr_session *s, uint16_t stages)
{
	uint32_t *load = calloc(stages, sizeof(*load));
	bool weighed = load && s->plan && mr_plan_load(s->plan, load);
	mr_status st =
		load ? mr_partition_auto(s->graph, stages, weighed ? load : NULL, s->samples, s->kernels, &s->partition)
		     : mr_fail(MR_ERESOURCE, "no memory for the cut of %u stages", stages);

	free(load);
	return st;
}

mr_status mr_session_cut(mr_session *s, uint16_t stages)
{
	uint32_t n = s->job->n_cut;
	const char *const *names = (const char *const *)s->job->cut;
	mr_status st = !names && s->plan_path ? cut_evenly(s, stages) : MR_OK;

	if (!names && s->plan_path)
		return st == MR_OK ? st : mr_fail_in(st, "%s", s->plan_path);
	if (!names)
		return mr_job_blame(s->job, MR_JOB_MACHINE, "workers", cut_evenly(s, stages));
	MR_TRY(mr_job_blame(s->job, MR_JOB_TOP, "partition",
			       mr_partition_explicit(s->graph, names, n, &s->partition)));
	if (s->partition.n_stages == stages)
		return MR_OK;
	return mr_job_blame(s->job, MR_JOB_TOP, "partition",
			    mr_fail(MR_ECONFIG,
				    "%s makes %u stages of %u workers, but %u further stages are named, which makes %u",
				    s->plan_path ? s->plan_path : s->job->system.name, stages, mr_job_workers(s->job),
				    n, s->partition.n_stages));
}

/* What predicts weights goes along a direction that the optimizer keeps. */
static mr_status check_direction(const mr_session *s)
{
	const mr_optim_ops *o = mr_job_optimizer(s->job);

	if (!s->plan || s->plan->contract.predict != MR_PREDICT_AHEAD || o->along != MR_ALONG_NOTHING)
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "%s predicts weights along the optimizer's direction, and %s keeps none: take momentum, ema, "
		       "adam or adamw",
		       s->job->system.name, o->name);
}

/*
 * Why no weights can be predicted for the forward of @own, the system's own plan; NULL: they can. Any version that is
 * read can be moved on by the step that made it, but it must have been made by one.
 */
static const char *no_prediction(const mr_plan *own)
{
	const mr_contract *k = &own->contract;

	if (k->flush != MR_FLUSH_NONE)
		return NULL;
	if (k->predict == MR_PREDICT_BACK)
		return "what it corrects backward is the way from the weights of F to those of B, and F on predictions "
		       "would leave none, so the correction would go too far";
	if (k->predict != MR_PREDICT_NONE)
		return "its forward works on weights predicted that far already, and twice the way is too far";
	if (k->coverage == MR_COVER_BLOCK)
		return "a step moves one stage that is drawn, so at the others the last step is none, and how many "
		       "will come before the gradient does is not known";
	return NULL;
}

bool mr_session_takes(const mr_session *s, const mr_mitigate *m)
{
	return !s->plan || !m->predicts || !no_prediction(s->steady ? s->steady : s->plan);
}

static mr_status check_mitigation(const mr_session *s)
{
	const mr_plan *own = s->steady ? s->steady : s->plan;

	if (mr_session_takes(s, &s->mitigate))
		return MR_OK;
	return mr_fail(MR_ECONFIG, "%s predicts what %s must not: %s", s->mitigate.ops->name,
		       s->job->system.name, no_prediction(own));
}

/*
 * The record of a race has the ages that came up, another each time; what goes by the steady age of a stage takes it
 * from the system's own order, as the race itself did.
 */
static mr_status find_steady(mr_session *s)
{
	mr_plan *own = NULL;

	if (!s->plan_path || s->plan->contract.flush != MR_FLUSH_NONE || mr_mitigate_is_none(s->mitigate.ops) ||
	    repeats(s->plan))
		return MR_OK;
	MR_TRY(emit_plan(s, NULL, NULL, &own));
	s->steady = own;
	return own->n_stages == s->plan->n_stages
		       ? mr_plan_lower(own, NULL)
		       : mr_fail(MR_ECONFIG, "the plan has %u stages, and %s makes %u of %u workers", s->plan->n_stages,
				 own->system, own->n_stages, own->n_workers);
}

/* How late gradients are shows when a plan is lowered: a copy is. */
static mr_status find_ages(const mr_plan *plan, int32_t *age)
{
	mr_plan *copy;
	mr_status st;

	MR_TRY(mr_plan_copy(plan, &copy));
	st = mr_plan_lower(copy, NULL);
	for (uint16_t k = 0; st == MR_OK && k < plan->n_stages; k++)
		age[k] = (int32_t)mr_plan_staleness(copy, k);
	mr_plan_destroy(copy);
	return st;
}

/*
 * F aims at the version that its gradient will be added to, and B with it where it reads the same: along the
 * optimizer's direction from the latest version where it has one, which follows a changing rate; else by steps like the
 * last.
 */
static mr_status aim_ahead(mr_session *s)
{
	mr_plan *plan = s->plan;
	mr_contract *k = &plan->contract;
	int32_t *age = calloc(2 * (size_t)plan->n_stages, sizeof(*age)); /* of F, and zeros */
	mr_status st = age ? find_ages(plan, age)
			   : mr_fail(MR_ERESOURCE, "no memory for the ages of %u stages", plan->n_stages);

	if (st == MR_OK) {
		bool along = k->read_f == MR_READ_LATEST && !mr_plan_has_stage_replicas(plan) &&
			     s->optim.ops->along != MR_ALONG_NOTHING;

		k->predict = along ? MR_PREDICT_AHEAD : MR_PREDICT_STEPS;
		mr_sched_aim(plan, age, k->same_version_b ? age : age + plan->n_stages);
	}
	free(age);
	return st;
}

/* A record aims as its race did, and the run that follows it must have been configured alike. */
static mr_status set_aim(mr_session *s)
{
	bool predicts = s->mitigate.predicts && s->plan->contract.flush == MR_FLUSH_NONE;

	if (predicts && s->plan->lowered && s->plan->contract.predict == MR_PREDICT_NONE)
		return mr_fail(MR_ECONFIG, "the plan was recorded without predictions, and %s makes some",
			       s->mitigate.ops->name);
	return predicts && !s->plan->lowered ? aim_ahead(s) : MR_OK;
}

mr_status mr_session_finish_plan(mr_session *s, const mr_cost *costs)
{
	double clip = s->job->train.clip;
	mr_contract *k = &s->plan->contract;

	MR_TRY(find_tied(s, &k->tied));
	if (k->tied && k->flush == MR_FLUSH_NONE)
		return mr_fail(MR_ECONFIG,
			       "%s never flushes, so the first and the last stage cannot share a tied embedding: set "
			       "model.tied = false, or use one stage or a system that flushes",
			       s->plan->system);
	if (k->tied && mr_contract_replicates(k))
		return mr_fail(MR_ECONFIG,
			       "%s reduces nothing between stages, so the first and the last stage cannot share a tied "
			       "embedding: set model.tied = false, or use one stage or another system",
			       s->plan->system);
	if (!s->plan_path && k->flush == MR_FLUSH_VALIDATED && !(clip > 0))
		return mr_fail(MR_ECONFIG, "optimizer: what is validated is the norm of clipped gradients, and none "
					   "are clipped: set train.clip too");
	if (!s->plan_path && k->average.state && !s->optim.ops->n_states)
		return mr_fail(MR_ECONFIG, "state: %s keeps none that could be averaged", s->optim.ops->name);
	/* Replicas clip per stage, as systems that never flush do: each has a norm of its own. */
	if (k->flush != MR_FLUSH_NONE && !mr_contract_replicates(k)) {
		/* Clipping by the global norm needs a barrier or validation, and so do workers that take over what
		 * others have left; nothing else does: the weights are the same. */
		k->clip = clip > 0;
		k->flush = !k->clip && !k->steal            ? MR_FLUSH_LOCAL
			   : k->flush == MR_FLUSH_VALIDATED ? k->flush
							    : MR_FLUSH_BARRIER;
	}
	MR_TRY(set_aim(s));
	k->keep_read = k->flush == MR_FLUSH_NONE && mr_mitigate_corrects(&s->mitigate);
	/* Where nobody has to see the whole gradient before it is used, each layer's step goes right behind its
	 * gradient. */
	if (!s->plan->lowered)
		MR_TRY(mr_plan_lower(s->plan,
				     &(mr_lower_opts){.update_inside = !(clip > 0) && !mr_graph_ties(s->graph) &&
								       mr_optim_elementwise(&s->optim) && !k->keep_read,
						      .handoff_first = true,
						      .costs = costs,
						      .n_costs = costs ? 1 : 0}));
	MR_TRY(mr_plan_check(s->plan));
	MR_TRY(mr_plan_identity(s->plan, &s->plan_hash));
	s->sum = k->sum;
	return MR_OK;
}

/* Does the order follow from the costs, also from nominal ones where none were measured? */
static bool is_by_costs(const mr_session *s)
{
	const mr_sched_ops *ops = mr_job_system(s->job);

	return ops && !s->plan_path && ops->by_costs && ops->by_costs(s->job->system.values);
}

static mr_status find_costs(const mr_session *s, mr_stage_cost *stage)
{
	mr_costs c;

	MR_TRY(mr_costs_at_hand(s, &c));
	mr_costs_of_stages(s, &c, stage);
	mr_costs_fini(&c);
	return MR_OK;
}

/* Once more, in an order for the costs that the cut gives each stage. */
static mr_status order_by(mr_session *s, mr_stage_cost *stage)
{
	uint16_t n = s->plan->n_stages;

	MR_TRY(find_costs(s, stage));
	if (s->plan_path || mr_job_system(s->job)->judged)
		return MR_OK;
	mr_plan_destroy(s->plan);
	s->plan = NULL;
	MR_TRY(emit_plan(s, &(mr_cost){n, stage}, NULL, &s->plan));
	if (s->plan->n_stages != n)
		return mr_fail(MR_ECONFIG, "%s makes %u stages for the costs of %u", s->plan->system, s->plan->n_stages,
			       n);
	return find_costs(s, stage); /* it may place the stages otherwise, and boundaries cost between workers only */
}

static mr_status order_plan(mr_session *s)
{
	mr_stage_cost *stage;
	mr_status st;

	if (!s->costs && !is_by_costs(s))
		return mr_session_finish_plan(s, NULL);
	stage = calloc(s->partition.n_stages, sizeof(*stage));
	st = stage ? order_by(s, stage)
		   : mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", s->partition.n_stages);
	if (st == MR_OK)
		st = mr_session_finish_plan(s, &(mr_cost){s->partition.n_stages, stage});
	free(stage);
	return st;
}

static mr_status take_costs(mr_session *s)
{
	const char *path = s->job->costs;
	const mr_costs *other = s->beside ? s->beside->costs : NULL;
	mr_costs c;

	if (!*path)
		return MR_OK;
	MR_TRY(other ? mr_costs_scale(other, s, (double)s->samples / (double)s->beside->samples, &c)
		     : mr_job_blame(s->job, MR_JOB_TOP, "costs", mr_costs_read(path, s, &c)));
	s->costs = malloc(sizeof(*s->costs));
	if (!s->costs) {
		mr_costs_fini(&c);
		return mr_fail(MR_ERESOURCE, "no memory for costs");
	}
	*s->costs = c;
	return MR_OK;
}

static mr_status make_place(mr_session *s)
{
	const char *key;
	mr_status st = mr_machine_place(s->job, &s->topo, &s->place, &key);

	if (st == MR_OK || !key)
		return st;
	return st == MR_ECONFIG ? mr_job_blame(s->job, MR_JOB_MACHINE, key, st) : mr_fail_in(st, "machine.%s", key);
}

/* A system that chooses among plans asks what each would be, and the number of stages follows from its choice. */
static mr_status choose_plan(mr_session *s)
{
	mr_session_judge *judge = NULL;
	mr_status st = mr_session_judge_create(s, &judge);

	if (st == MR_OK)
		st = emit_plan(s, NULL, mr_session_judge_face(judge), &s->plan);
	mr_session_judge_destroy(judge);
	return st;
}

/* The cut needs the number of stages, costs need the cut, and the order follows from the costs. */
mr_status mr_session_make_plan(mr_session *s)
{
	const mr_sched_ops *system = mr_job_system(s->job);
	bool judged = system && system->judged && !s->plan_path;

	if (s->speechless)
		return make_place(s);
	if (s->plan_path)
		MR_TRY(system ? read_plan(s)
			      : mr_fail(MR_ECONFIG,
					"sequential has no order but its own: to follow %s set system.name to "
					"another system",
					s->plan_path));
	if (judged) { /* which needs all that a plan is judged by */
		MR_TRY(make_place(s));
		MR_TRY(take_costs(s));
		MR_TRY(mr_job_blame(s->job, MR_JOB_SYSTEM, "name", choose_plan(s)));
	} else if (system && !s->plan_path) {
		MR_TRY(mr_job_blame(s->job, MR_JOB_SYSTEM, "name", emit_plan(s, NULL, NULL, &s->plan)));
	}
	MR_TRY(mr_job_blame(s->job, MR_JOB_OPTIMIZER, "name", check_direction(s)));
	MR_TRY(find_steady(s));
	MR_TRY(mr_job_blame(s->job, MR_JOB_MITIGATION, "name", check_mitigation(s)));
	MR_TRY(mr_session_cut(s, s->plan ? s->plan->n_stages : 1));
	if (!judged) {
		MR_TRY(make_place(s));
		MR_TRY(take_costs(s));
	}
	if (s->plan_path) {
		mr_status st = order_plan(s);

		return st == MR_OK ? st : mr_fail_in(st, "%s", s->plan_path);
	}
	return system ? mr_job_blame(s->job, MR_JOB_SYSTEM, "name", order_plan(s)) : MR_OK;
}
