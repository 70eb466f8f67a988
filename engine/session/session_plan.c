/* session_plan.c - the plan of a session: cut, place, order, lowering, check. */
#include <math.h>
#include <stdlib.h>

#include "host/clock.h"
#include "session/rank_place.h"
#include "session/average_trigger.h"
#include "session/frozen.h"
#include "session/merges.h"
#include "costs/costs.h"
#include "session/host_map.h"
#include "session/link_cut.h"
#include "costs/sends.h"
#include "job/machine.h"
#include "session/plan_file.h"
#include "session/shares.h"
#include "session/session_internal.h"
#include "exec/run_plan.h"
#include "planner/make_plan.h"
#include "schedules/registry.h"

#define LEAST_ROOM ((uint64_t)64 << 20)

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

/* A plan file fits when workers and micro-batches a step match; its order is free. */
static mr_status fits(const mr_session *s)
{
	const mr_plan *p = s->plan;
	uint16_t workers = mr_job_workers(s->job);

	if (p->contract.coverage == MR_COVER_FORWARD || (s->is_record && p->contract.coverage != MR_COVER_TRAIN))
		return mr_fail(MR_ECONFIG, "the plan does not train: its coverage must be train");
	if (p->n_workers != workers && mr_job_system(s->job)->workers)
		return mr_fail(MR_ECONFIG, "the plan has %u workers, and %s takes %u alone: set system.name to another",
			       p->n_workers, s->job->system.name, workers);
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

/* Only records can be replayed: other plans have one order for all runs, or leave it open. */
static mr_status check_record(const mr_plan *p)
{
	if (p->contract.racing)
		return mr_fail(MR_ECONFIG,
			       "a racing plan leaves the order open; what can be carried out again is a record of one");
	if (p->contract.flush != MR_FLUSH_NONE && !(p->contract.steal && mr_run_last_step(p) < UINT64_MAX))
		return mr_fail(MR_ECONFIG,
			       "it is a plan that flushes, and not the record of a run: train it with --plan");
	return MR_OK;
}

/* What is trained, and is no record, repeats one step or is a finite list that never flushes. */
static mr_status check_repeats(const mr_plan *p)
{
	if (p->contract.flush == MR_FLUSH_NONE || mr_plan_repeats(p) || (p->contract.steal && p->lowered))
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "the lists are a run that ends after %u step%s, and a plan that flushes is trained by repeating "
		       "one: give one step as a body (in JSON \"repeats\": true)",
		       mr_plan_steps(p), mr_plan_steps(p) == 1 ? "" : "s");
}

static mr_status read_plan(mr_session *s)
{
	mr_status st;

	MR_TRY(mr_plan_file_read(s->plan_path, &s->plan));
	st = fits(s);
	if (st == MR_OK)
		st = s->is_record ? check_record(s->plan) : check_repeats(s->plan);
	return st == MR_OK ? st : mr_fail_in(st, "%s", s->plan_path);
}

mr_status mr_session_order_costs(const mr_session *s, mr_stage_cost *out)
{
	mr_workload of = mr_session_workload(s);
	mr_costs c;

	MR_TRY(mr_costs_at_hand(&of, &c));
	mr_costs_of_stages(&of, &c, out);
	mr_costs_fini(&c);
	return mr_sends_lengthen(&of, out);
}

/* @arg is the session whose plan is @plan. */
static mr_status costs_of(void *arg, const mr_plan *plan, mr_stage_cost *out)
{
	(void)plan;
	return mr_session_order_costs(arg, out);
}

/* See mr_sched_args. Stages that share parameters must be the first and the last, which only the user can see to. */
static uint16_t buckets_of(const mr_session *s)
{
	bool free = !s->job->n_cut && !mr_graph_ties(s->graph);

	return free ? (uint16_t)fmin(mr_graph_narrow_stages(s->graph), UINT16_MAX) : 0;
}

/* The session's question for a plan: the system of its job (none if the order comes from a file), and the terms of its
 * training. It needs no cut, so `tied` is not set. */
static mr_plan_question question_of(mr_session *s)
{
	const mr_sched_ops *ops = mr_job_system(s->job);
	uint64_t batches = s->data->n_train / (uint64_t)s->samples;
	bool clips = s->job->train.clip > 0;

	return (mr_plan_question){
		.system = s->plan_path ? NULL : ops,
		.args = {.n_workers = mr_job_workers(s->job),
			 .n_micro = s->n_micro,
			 .options = ops->options ? s->job->system.values : NULL,
			 .n_steps = ops->ends ? (uint64_t)s->job->train.steps : 0,
			 .buckets = buckets_of(s),
			 .host = s->hosts ? s->hosts->host : NULL,
			 .spread = mr_session_is_spread(s),
			 .n_apart = ops->apart ? mr_partition_count(s->graph, ops->apart) : 0,
			 .n_batches = batches < UINT32_MAX ? (uint32_t)batches : UINT32_MAX,
			 .now = mr_clock_s,
			 .proof = &s->proof,
			 .n_tries = &s->n_tries},
		.costs = {.of = costs_of, .arg = s, .nominal = !s->costs},
		.trains = true,
		.terms = {.clips = clips,
			  .predicts = s->mitigate.predicts,
			  .along = s->optim.ops->along != MR_ALONG_NOTHING,
			  .corrects = mr_mitigate_corrects(&s->mitigate)},
		.steps_inside = !clips && mr_optim_elementwise(&s->optim) &&
				!s->mitigate.ops->amend, /* what corrects says so in the contract */
	};
}

/* The fewest threads of a worker that has stage @i. */
static uint32_t threads_of(const mr_session *s, uint16_t i)
{
	uint32_t least = UINT32_MAX;

	for (uint8_t p = 0; p < s->plan->n_pipes; p++) {
		uint32_t k = s->place.worker[mr_plan_worker(s->plan, p, i)].n_threads;

		least = k < least ? k : least;
	}
	return least;
}

/* Uneven teams: a stage counts in proportion to its load by the threads that carry it out, the slowest one 255 times.
 * Returns whether stages differ in @load, which is changed. *@second: what a second of a link then counts. */
static bool weigh_by_teams(const mr_session *s, uint32_t *load, double *second)
{
	double slowest = 0;
	bool differs = false;

	for (uint16_t i = 0; i < s->plan->n_stages; i++)
		slowest = fmax(slowest, load[i] / (double)threads_of(s, i));
	*second = 255 / slowest;
	for (uint16_t i = 0; i < s->plan->n_stages; i++) {
		load[i] = (uint32_t)fmax(1, round(255 * load[i] / (threads_of(s, i) * slowest)));
		differs |= load[i] != load[0];
	}
	return differs;
}

/* Cut so that the workers of a stage share its cost, if some stages have more of them than others, or more threads. */
static mr_status cut_evenly(mr_session *s, uint16_t stages)
{
	uint32_t *load = calloc(stages, sizeof(*load));
	bool weighed = load && s->plan && mr_plan_load(s->plan, load), links = mr_session_crosses_links(s);
	double second = links ? s->place.worker[0].n_threads : 0;
	mr_status st;

	for (uint16_t i = 0; load && !weighed && i < stages; i++)
		load[i] = 1;
	if (load && s->plan && s->place.worker && s->job->machine.teams == MR_TEAMS_UNEVEN)
		weighed = weigh_by_teams(s, load, &second);
	st = load && links ? mr_session_cut_links(s, stages, weighed ? load : NULL, second)
	     : load ? mr_partition_auto(s->graph, stages, weighed ? load : NULL, s->samples, s->kernels, &s->partition)
		    : mr_fail(MR_ERESOURCE, "no memory for the cut of %u stages", stages);
	free(load);
	return st;
}

/* As the session's system asks; a plan from a file asks for nothing. */
static mr_status cut_as_asked(mr_session *s, uint16_t stages)
{
	const char *apart = mr_job_system(s->job)->apart;

	if (apart && stages > 1 && stages == 2 * mr_partition_count(s->graph, apart) + 1)
		return mr_partition_around(s->graph, apart, &s->partition);
	return cut_evenly(s, stages);
}

mr_status mr_session_cut(mr_session *s, uint16_t stages)
{
	uint32_t n = s->job->n_cut;
	const char *const *names = (const char *const *)s->job->cut;
	mr_status st = !names && s->plan_path ? cut_evenly(s, stages) : MR_OK;

	if (!names && s->plan_path)
		return st == MR_OK ? st : mr_fail_in(st, "%s", s->plan_path);
	if (!names)
		return mr_job_blame(s->job, MR_JOB_MACHINE, "workers", cut_as_asked(s, stages));
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

/* Predictions need a direction that the optimizer keeps. */
static mr_status check_direction(const mr_session *s)
{
	const mr_optim_ops *o = mr_job_optimizer(s->job);

	if (s->plan->contract.predict != MR_PREDICT_AHEAD || o->along != MR_ALONG_NOTHING)
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "%s predicts weights along the optimizer's direction, and %s keeps none: take momentum, ema, "
		       "adam or adamw",
		       s->job->system.name, o->name);
}

/* Without masters, features that depend on small differences of weights, or on a long memory, do not work in bf16. */
static mr_status check_masters(const mr_session *s)
{
	const char *without = "which bf16_pure has no exact weights for: take precision = \"bf16\"";

	if (!mr_types_pure(&s->kernels->types))
		return MR_OK;
	if (mr_contract_replicates(&s->plan->contract))
		return mr_fail(MR_ECONFIG, "%s averages replicas of the weights, %s", s->job->system.name, without);
	if (s->optim.ops->n_factors)
		return mr_fail(MR_ECONFIG, "%s turns weights into a basis that must be orthogonal, %s",
			       s->optim.ops->name, without);
	if (s->mitigate.keeps_state && mr_session_is_mitigated(s))
		return mr_fail(MR_ECONFIG, "%s keeps %s, %s", s->mitigate.ops->name,
			       s->mitigate.ops->amend ? "the last step" : "a running mean of squares", without);
	return MR_OK;
}

/*
 * The reason why weights cannot be predicted for the forward of @own, the system's own plan; NULL: they can. Any
 * version can be moved on by the step that made it, but a step must have made it.
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
	if (s->plan->contract.whole_steps)
		return mr_mitigate_is_none(m->ops);
	return !m->predicts || !no_prediction(s->steady ? s->steady : s->plan);
}

static mr_status check_mitigation(const mr_session *s)
{
	const mr_plan *own = s->steady ? s->steady : s->plan;

	if (mr_session_takes(s, &s->mitigate))
		return MR_OK;
	if (own->contract.whole_steps)
		return mr_fail(MR_ECONFIG,
			       "%s goes with one worker a stage, and with %s several pass through a stage at once and "
			       "step it: set mitigation.name = \"none\"",
			       s->mitigate.ops->name, s->job->system.name);
	return mr_fail(MR_ECONFIG, "%s predicts what %s must not: %s", s->mitigate.ops->name,
		       s->job->system.name, no_prediction(own));
}

/*
 * The record of a race has the ages of that race, and another record has others; code that uses the steady age of a
 * stage takes it from the system's own order, as the race itself did.
 */
static mr_status find_steady(mr_session *s)
{
	mr_plan_question q;

	if (!s->plan_path || s->plan->contract.flush != MR_FLUSH_NONE ||
	    (mr_mitigate_is_none(s->mitigate.ops) && !s->optim.by_delay) || mr_plan_repeats(s->plan))
		return MR_OK;
	q = question_of(s);
	q.system = mr_job_system(s->job);
	q.trains = q.steps_inside = false; /* the system's own contract */
	q.args.costs = &mr_plan_equal_costs; /* ages do not depend on them */
	q.costs.of = NULL;
	MR_TRY(mr_plan_make(&q, &s->steady, NULL));
	if (s->steady->n_stages == s->plan->n_stages)
		return MR_OK;
	return mr_fail(MR_ECONFIG, "the plan has %u stages, and %s makes %u of %u workers", s->plan->n_stages,
		       s->steady->system, s->steady->n_stages, s->steady->n_workers);
}

/* Check what the system requires of the rest of the configuration. */
static mr_status check_system(const mr_session *s)
{
	const mr_contract *k = &s->plan->contract;

	if (!s->plan_path && k->flush == MR_FLUSH_VALIDATED && !(s->job->train.clip > 0))
		return mr_fail(MR_ECONFIG, "optimizer: what is validated is the norm of clipped gradients, and none "
					   "are clipped: set train.clip too");
	if (k->average.state && s->optim.ops->n_factors)
		return mr_fail(MR_ECONFIG,
			       "state: the means that %s keeps are in a basis of their own in each replica, and their "
			       "average is in none: take state = \"local\"",
			       s->optim.ops->name);
	if (k->average.state && s->optim.form)
		return mr_fail(MR_ECONFIG,
			       "state: %s averages the means that %s keeps, and they are stored in %s: take "
			       "optimizer.state = \"f32\"",
			       s->job->system.name, s->optim.ops->name, s->optim.form->name);
	if (!s->plan_path && k->average.state && !s->optim.ops->n_states)
		return mr_fail(MR_ECONFIG, "state: %s keeps none that could be averaged", s->optim.ops->name);
	return MR_OK;
}

/* The identity that `check` prints for the order in a file, to which the training adds terms. */
static mr_status identify_file(mr_session *s)
{
	mr_plan *alone;
	mr_status st;

	MR_TRY(mr_plan_copy(s->plan, &alone));
	st = mr_plan_finish(&(mr_plan_question){0}, &alone, &s->file_hash);
	mr_plan_destroy(alone);
	return st;
}

mr_status mr_session_finish_plan(mr_session *s)
{
	mr_plan_question q = question_of(s);
	bool given = s->plan_path != NULL, lowered = given && s->plan->lowered;

	q.terms.frozen = s->frozen;
	q.merges = s->merges;
	MR_TRY(find_tied(s, &q.terms.tied));
	MR_TRY(check_system(s));
	if (given && !lowered)
		MR_TRY(identify_file(s));
	MR_TRY(mr_plan_finish(&q, &s->plan, &s->plan_hash));
	if (lowered)
		s->file_hash = s->plan_hash;
	return MR_OK;
}

static mr_status take_costs(mr_session *s)
{
	const char *path = s->job->costs;
	const mr_costs *other = s->beside ? s->beside->costs : NULL;
	mr_workload of = mr_session_workload(s);
	bool found = true;
	mr_costs c;

	if (!*path)
		return MR_OK;
	MR_TRY(mr_job_blame(s->job, MR_JOB_TOP, "costs", mr_costs_has_layers(path, &found)));
	if (!found)
		return MR_OK;
	MR_TRY(other ? mr_costs_scale(other, &of, &c)
		     : mr_job_blame(s->job, MR_JOB_TOP, "costs", mr_costs_read(path, &of, &c)));
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
	mr_status st = s->ranks ? mr_rank_place(s, &key) : mr_machine_place(s->job, &s->topo, &s->place, &key);
	uint64_t limit = (uint64_t)s->job->machine.memory_limit;

	/* Measurements of the machine take a part of this, too; below LEAST_ROOM they would show caches alone. */
	limit = limit && limit < LEAST_ROOM ? LEAST_ROOM : limit;
	if (limit && limit < s->topo.memory_available_bytes)
		s->topo.memory_available_bytes = limit;
	s->own_kernels.l2_bytes = s->topo.l2_bytes;
	if (st == MR_OK)
		return mr_session_place_shares(s);
	if (!key)
		return st;
	return st == MR_ECONFIG ? mr_job_blame(s->job, MR_JOB_MACHINE, key, st) : mr_fail_in(st, "machine.%s", key);
}

/* Make the order by itself; the model is then cut into its number of stages. */
static mr_status draft_plan(mr_session *s)
{
	mr_plan_question q = question_of(s);

	return mr_plan_draft(&q, &s->plan);
}

mr_status mr_session_plan_again(mr_session *s)
{
	mr_plan_destroy(s->plan);
	s->plan = NULL;
	MR_TRY(draft_plan(s));
	return mr_session_finish_plan(s);
}

/* A system that chooses among plans has each of them judged, and the number of stages follows from its choice. */
static mr_status choose_plan(mr_session *s)
{
	mr_plan_question q = question_of(s);
	mr_session_judge *judge = NULL;
	mr_status st = mr_session_judge_create(s, &judge);

	if (st == MR_OK) {
		q.args.judge = mr_session_judge_face(judge);
		st = mr_plan_draft(&q, &s->plan);
	}
	mr_session_judge_destroy(judge);
	return st;
}

/* The cut needs the number of stages, costs need the cut, and the order follows from the costs. */
mr_status mr_session_make_plan(mr_session *s)
{
	bool judged = mr_job_system(s->job)->judged && !s->plan_path;
	bool uneven = s->job->machine.teams == MR_TEAMS_UNEVEN; /* the cut needs the teams */
	bool early; /* the judge, or the cut, needs places and costs */

	if (s->without_text || s->shapes)
		return make_place(s);
	if (s->plan_path)
		MR_TRY(read_plan(s));
	MR_TRY(mr_session_find_hosts(s));
	early = judged || s->hosts;
	if (early) {
		MR_TRY(make_place(s));
		MR_TRY(take_costs(s));
	}
	if (judged) {
		MR_TRY(mr_job_blame(s->job, MR_JOB_SYSTEM, "name", choose_plan(s)));
	} else if (!s->plan_path) {
		MR_TRY(mr_job_blame(s->job, MR_JOB_SYSTEM, "name", draft_plan(s)));
	}
	MR_TRY(mr_job_blame(s->job, MR_JOB_OPTIMIZER, "name", check_direction(s)));
	MR_TRY(mr_job_blame(s->job, MR_JOB_OPTIMIZER, "name", mr_average_check(s)));
	MR_TRY(mr_job_blame(s->job, MR_JOB_TOP, "precision", check_masters(s)));
	MR_TRY(find_steady(s));
	MR_TRY(mr_job_blame(s->job, MR_JOB_MITIGATION, "name", check_mitigation(s)));
	if (uneven && !early)
		MR_TRY(make_place(s));
	MR_TRY(mr_session_cut(s, s->plan->n_stages));
	MR_TRY(mr_job_blame(s->job, MR_JOB_TRAIN, "frozen", mr_session_find_frozen(s)));
	MR_TRY(mr_session_find_merges(s));
	if (!early) {
		if (!uneven)
			MR_TRY(make_place(s));
		MR_TRY(take_costs(s));
	}
	if (s->plan_path) {
		mr_status st = mr_session_finish_plan(s);

		if (st == MR_OK) {
			mr_run_config c = mr_session_run_config(s, NULL);

			st = mr_run_refuse(&c);
		}
		return st == MR_OK ? st : mr_fail_in(st, "%s", s->plan_path);
	}
	return mr_job_blame(s->job, MR_JOB_SYSTEM, "name", mr_session_finish_plan(s));
}
