#include "cli/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/str.h"
#include "cli/budget.h"
#include "cli/costs.h"
#include "cli/known.h"
#include "cli/machine.h"
#include "cli/plan_file.h"
#include "host/memory.h"
#include "ir/check.h"
#include "ir/lower.h"
#include "planner/graph_objective.h"
#include "planner/plan_identity.h"
#include "run/run_plan.h"
#include "run/sequential_size.h"

/* What a process needs beside its arenas, kernels and data: code that is touched late, stacks, buffers of files. */
#define PROCESS_BYTES ((uint64_t)8 << 20)

static mr_status open_data(mr_session *s)
{
	const mr_model_ops *model = mr_config_model(s->config);
	const mr_values *mv = mr_config_values(s->config, MR_CONFIG_MODEL);
	mr_data_want want = {
		.dtype = mr_config_dtype(s->config),
		.seed = (uint64_t)mr_values_int(mr_config_values(s->config, MR_CONFIG_TRAIN), "seed"),
		.context = model->context ? model->context(mv) : 0,
		.base_dir = mr_config_base_dir(s->config),
	};
	mr_model_data md;

	if (!s->beside)
		MR_TRY(mr_config_blame(s->config, MR_CONFIG_DATA, "name",
				       mr_dataset_open(mr_config_data(s->config), mr_config_values(s->config, MR_CONFIG_DATA),
						       &want, &s->data)));
	md = (mr_model_data){.input = s->data->input, .target = s->data->target, .classes = s->data->classes};
	return mr_config_blame(s->config, MR_CONFIG_MODEL, "name", model->build(mv, &md, &s->graph));
}

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
			return mr_fail(MR_ECONFIG, "%s is tied to %s, but they lie in stages %u and %u: only the first and the last stage can share a parameter",
				       g->params[p].name, g->params[g->params[p].tied_to].name, user, owner);
		*tied = true;
	}
	return MR_OK;
}

/* A plan file is of this configuration when its steps are: the order may be any. */
static mr_status fits(const mr_session *s)
{
	const mr_plan *p = s->plan;

	if (p->n_workers != mr_config_workers(s->config) || p->contract.need != s->n_micro ||
	    p->contract.coverage != MR_COVER_TRAIN)
		return mr_fail(MR_ECONFIG, "a plan of %u workers that sums %u micro-batches a step is no order for machine.workers = %u and train.microbatches = %u",
			       p->n_workers, p->contract.need, mr_config_workers(s->config), s->n_micro);
	if (p->contract.racing)
		return mr_fail(MR_ECONFIG, "a racing plan leaves the order open; what can be carried out again is a record of one");
	if (p->contract.flush != MR_FLUSH_NONE && !(p->contract.steal && mr_run_last_step(p) < UINT64_MAX))
		return mr_fail(MR_ECONFIG, "the plan flushes, and the weights of such a system do not depend on its order: train with the system");
	return MR_OK;
}

static mr_status read_plan(mr_session *s)
{
	mr_status st;

	MR_TRY(mr_plan_file_read(s->plan_path, &s->plan));
	st = fits(s);
	return st == MR_OK ? st : mr_fail_in(st, "%s", s->plan_path);
}

/* The plan before its lowering; the model is cut into as many stages as it has. @costs: NULL, or those of its stages. A system that
 * is given time has it for the last of the two. */
static mr_status emit_plan(mr_session *s, const mr_cost *costs)
{
	bool last = costs || !*mr_values_string(mr_config_values(s->config, MR_CONFIG_TOP), "costs");
	const mr_sched_ops *ops = mr_config_system(s->config);
	mr_sched_args a = {
		.n_workers = mr_config_workers(s->config),
		.n_micro = s->n_micro,
		.options = ops->options ? mr_config_values(s->config, MR_CONFIG_SYSTEM) : NULL,
		.costs = costs,
		.now = last ? mr_budget_now : NULL,
		.n_counted = &s->n_counted,
	};
	int64_t steps = mr_values_int(mr_config_values(s->config, MR_CONFIG_TRAIN), "steps");
	uint64_t batches = s->data->n_train / (uint64_t)s->samples;

	if (ops->ends && steps > UINT32_MAX)
		return mr_fail(MR_ECONFIG, "%s: a list of %lld steps is more than a plan may hold", ops->name, (long long)steps);
	a.n_steps = ops->ends ? (uint32_t)steps : 0;
	a.n_batches = batches < UINT32_MAX ? (uint32_t)batches : UINT32_MAX;
	return mr_schedule_emit(ops, &a, &s->plan);
}

static mr_status make_partition(mr_session *s)
{
	uint16_t stages = s->plan ? s->plan->n_stages : 1;
	uint32_t n;
	const char *const *names = mr_config_partition(s->config, &n);

	if (!names)
		return mr_config_blame(s->config, MR_CONFIG_MACHINE, "workers",
				       mr_partition_auto(s->graph, stages, s->plan && mr_plan_has_turns(s->plan) ? s->plan->turns : NULL, s->samples, s->kernels, &s->partition));
	MR_TRY(mr_config_blame(s->config, MR_CONFIG_TOP, "partition",
			       mr_partition_explicit(s->graph, names, n, &s->partition)));
	if (s->partition.n_stages == stages)
		return MR_OK;
	return mr_config_blame(s->config, MR_CONFIG_TOP, "partition",
			       mr_fail(MR_ECONFIG, "%s makes %u stages of %u workers, but %u further stages are named, which makes %u",
				       mr_config_plugin(s->config, MR_CONFIG_SYSTEM), stages, mr_config_workers(s->config), n,
				       s->partition.n_stages));
}

/* What predicts weights goes along a direction that the optimizer keeps. */
static mr_status check_direction(const mr_session *s)
{
	const mr_optim_ops *o = mr_config_optimizer(s->config);

	if (!s->plan || s->plan->contract.aim != MR_AIM_AHEAD || o->along != MR_ALONG_NOTHING)
		return MR_OK;
	return mr_fail(MR_ECONFIG, "%s predicts weights along the optimizer's direction, and %s keeps none: take momentum, ema, adam or adamw",
		       mr_config_plugin(s->config, MR_CONFIG_SYSTEM), o->name);
}

/* An open order: only what follows the ages as they come gives the same numbers when its record is carried out again. */
static mr_status check_order(const mr_session *s)
{
	const mr_mitigate *m = &s->mitigate;
	bool open = s->plan && (s->plan->contract.racing || s->plan_path);

	if (s->plan && mr_plan_has_turns(s->plan) && mr_session_is_mitigated(s))
		return mr_fail(MR_ECONFIG, "%s looks at one worker's gradients, and the replicated stages of %s share each commit: take one worker a stage",
			       m->ops->name, mr_config_plugin(s->config, MR_CONFIG_SYSTEM));
	if (!open || (!m->ops->settle && !m->ops->correct && !m->slow_start))
		return MR_OK;
	return mr_fail(MR_ECONFIG, "%s asks for ages that are known before the run, and %s takes its order as it comes: take staleness_aware",
		       m->ops->name, mr_config_plugin(s->config, MR_CONFIG_SYSTEM));
}

/* Replicas stop only behind an average, and others where they have drained, so that is where everything must fall that a run stops
 * for. */
static mr_status check_stops(const mr_session *s)
{
	static const struct {
		mr_config_group group;
		const char *name, *key;
	} stops[] = {
		{MR_CONFIG_TRAIN, "train", "steps"}, {MR_CONFIG_TRAIN, "train", "eval_every"}, {MR_CONFIG_CHECKPOINT, "checkpoint", "every"}};
	uint32_t each = mr_plan_stride(s->plan);

	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		const mr_values *v = mr_config_values(s->config, stops[i].group);
		long long n = v ? (long long)mr_values_int(v, stops[i].key) : 0;

		if (n % each)
			return mr_fail(MR_ECONFIG, "%s %s every %u steps, and a run stops only there: %s.%s must be a multiple of %u, got %lld",
				       mr_config_system(s->config)->name, mr_plan_drains(s->plan) ? "drains" : "averages", each, stops[i].name, stops[i].key, each, n);
	}
	return MR_OK;
}

/* Weights are predicted from the latest that there are. */
static mr_status check_predicts(const mr_session *s)
{
	const mr_contract *k = s->plan ? &s->plan->contract : NULL;

	if (!s->mitigate.predicts || !k || k->flush != MR_FLUSH_NONE)
		return MR_OK;
	if (k->read_f == MR_READ_LATEST && k->coverage == MR_COVER_TRAIN && k->aim == MR_AIM_NONE && !k->racing && !s->plan->lowered)
		return MR_OK;
	return mr_fail(MR_ECONFIG, "%s predicts from the latest weights, and the forward of %s reads %s: take a system that reads these, in a fixed order",
		       s->mitigate.ops->name, mr_config_plugin(s->config, MR_CONFIG_SYSTEM),
		       k->aim != MR_AIM_NONE ? "predictions or corrections already" : "something else, or in an open order");
}

/* F aims at the version that its gradient will be added to, and B with it where it reads the same. How late gradients are shows
 * when a plan is lowered: a copy is. */
static mr_status aim_ahead(mr_plan *plan)
{
	int32_t *age = calloc(2 * (size_t)plan->n_stages, sizeof(*age)); /* of F, and zeros */
	mr_plan *copy = NULL;
	mr_status st = age ? mr_plan_copy(plan, &copy) : mr_fail(MR_ERESOURCE, "no memory for the ages of %u stages", plan->n_stages);

	if (st == MR_OK)
		st = mr_plan_lower(copy, NULL);
	for (uint16_t k = 0; st == MR_OK && k < plan->n_stages; k++)
		age[k] = (int32_t)mr_plan_staleness(copy, k);
	if (st == MR_OK) {
		plan->contract.aim = MR_AIM_AHEAD;
		mr_sched_aim(plan, age, plan->contract.same_version_b ? age : age + plan->n_stages);
	}
	mr_plan_destroy(copy);
	free(age);
	return st;
}

static mr_status finish_plan(mr_session *s, const mr_cost *costs)
{
	const mr_sched_ops *ops = mr_config_system(s->config);
	double clip = mr_values_float(mr_config_values(s->config, MR_CONFIG_TRAIN), "clip");
	mr_contract *k = &s->plan->contract;

	MR_TRY(find_tied(s, &k->tied));
	if (k->tied && k->flush == MR_FLUSH_NONE)
		return mr_fail(MR_ECONFIG, "%s never flushes, so the first and the last stage cannot share a tied embedding: set model.tied = false, or use one stage or a system that flushes",
			       ops->name);
	if (k->tied && mr_contract_replicates(k))
		return mr_fail(MR_ECONFIG, "%s reduces nothing between stages, so the first and the last stage cannot share a tied embedding: set model.tied = false, or use one stage or another system",
			       ops->name);
	/* Replicas clip per stage, as systems that never flush do: each has a norm of its own. */
	if (k->flush != MR_FLUSH_NONE && !mr_contract_replicates(k)) {
		/* Clipping by the global norm needs a barrier or validation, and so do workers that take over what others have left; nothing
		 * else does: the weights are the same. */
		k->clip = clip > 0;
		k->flush = !k->clip && !k->steal ? MR_FLUSH_LOCAL : k->flush == MR_FLUSH_VALIDATED ? k->flush : MR_FLUSH_BARRIER;
	}
	if (k->flush == MR_FLUSH_NONE && s->mitigate.predicts)
		MR_TRY(aim_ahead(s->plan));
	k->keep_read = k->flush == MR_FLUSH_NONE && mr_mitigate_corrects(&s->mitigate);
	/* Where nobody has to see the whole gradient before it is used, each layer's step goes right behind its gradient. */
	if (!s->plan->lowered)
		MR_TRY(mr_plan_lower(s->plan, &(mr_lower_opts){.update_inside = !(clip > 0) && !mr_graph_ties(s->graph) &&
										mr_optim_elementwise(&s->optim) && !k->keep_read,
							       .hand_over_first = true,
							       .costs = costs,
							       .n_costs = costs ? 1 : 0}));
	MR_TRY(mr_plan_check(s->plan));
	MR_TRY(mr_plan_identity(s->plan, &s->plan_hash));
	s->sum = k->sum;
	return MR_OK;
}

/* Once more, in an order for the costs that the cut gives each stage. */
static mr_status order_by(mr_session *s, mr_stage_cost *stage)
{
	uint16_t n = s->plan->n_stages;

	mr_costs_of_stages(s, s->costs, stage);
	if (s->plan_path)
		return MR_OK;
	mr_plan_destroy(s->plan);
	s->plan = NULL;
	MR_TRY(emit_plan(s, &(mr_cost){n, stage}));
	if (s->plan->n_stages != n)
		return mr_fail(MR_ECONFIG, "%s makes %u stages for the costs of %u", s->plan->system, s->plan->n_stages, n);
	mr_costs_of_stages(s, s->costs, stage); /* it may place the stages otherwise, and boundaries cost between workers only */
	return MR_OK;
}

static mr_status order_plan(mr_session *s)
{
	mr_stage_cost *stage;
	mr_status st;

	if (!s->costs)
		return finish_plan(s, NULL);
	stage = calloc(s->partition.n_stages, sizeof(*stage));
	st = stage ? order_by(s, stage) : mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", s->partition.n_stages);
	if (st == MR_OK)
		st = finish_plan(s, &(mr_cost){s->partition.n_stages, stage});
	free(stage);
	return st;
}

static mr_status take_costs(mr_session *s)
{
	const char *path = mr_values_string(mr_config_values(s->config, MR_CONFIG_TOP), "costs");
	const mr_costs *other = s->beside ? s->beside->costs : NULL;
	mr_costs c;

	if (!*path)
		return MR_OK;
	MR_TRY(other ? mr_costs_scale(other, s, (double)s->samples / (double)s->beside->samples, &c)
		     : mr_config_blame(s->config, MR_CONFIG_TOP, "costs", mr_costs_read(path, s, &c)));
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
	mr_status st = mr_machine_place(s->config, &s->topo, &s->place, &key);

	if (st == MR_OK || !key)
		return st;
	return st == MR_ECONFIG ? mr_config_blame(s->config, MR_CONFIG_MACHINE, key, st) : mr_fail_in(st, "machine.%s", key);
}

/* The cut needs the number of stages, costs need the cut, and the order follows from the costs. */
static mr_status make_plan(mr_session *s)
{
	bool system = mr_config_system(s->config);

	if (s->plan_path)
		MR_TRY(system ? read_plan(s) : mr_fail(MR_ECONFIG, "sequential has no order but its own: it cannot follow %s", s->plan_path));
	else if (system)
		MR_TRY(mr_config_blame(s->config, MR_CONFIG_SYSTEM, "name", emit_plan(s, NULL)));
	MR_TRY(mr_config_blame(s->config, MR_CONFIG_OPTIMIZER, "name", check_direction(s)));
	MR_TRY(mr_config_blame(s->config, MR_CONFIG_MITIGATION, "name", check_order(s)));
	MR_TRY(mr_config_blame(s->config, MR_CONFIG_MITIGATION, "name", check_predicts(s)));
	MR_TRY(make_partition(s));
	MR_TRY(make_place(s));
	MR_TRY(take_costs(s));
	if (s->plan_path) {
		mr_status st = order_plan(s);

		return st == MR_OK ? st : mr_fail_in(st, "%s", s->plan_path);
	}
	return system ? mr_config_blame(s->config, MR_CONFIG_SYSTEM, "name", order_plan(s)) : MR_OK;
}

static mr_status check_suits(const mr_session *s)
{
	const mr_mitigate_ops *m = s->mitigate.ops;

	if (!m->suits || m->suits(&s->optim))
		return MR_OK;
	return mr_fail(MR_ECONFIG, "%s needs %s; this is %s", m->name, m->suits_text, s->optim.ops->name);
}

bool mr_session_is_mitigated(const mr_session *s)
{
	return s->plan && s->plan->contract.flush == MR_FLUSH_NONE && !mr_mitigate_is_none(s->mitigate.ops);
}

static mr_status open_all(mr_session *s)
{
	s->kernels = mr_config_kernels(s->config);
	s->n_micro = mr_config_n_micro(s->config);
	s->samples = mr_config_samples(s->config);
	s->lr = mr_config_lr(s->config);
	mr_optim_init(&s->optim, mr_config_optimizer(s->config), mr_config_values(s->config, MR_CONFIG_OPTIMIZER));
	mr_mitigate_init(&s->mitigate, mr_config_mitigation(s->config), mr_config_values(s->config, MR_CONFIG_MITIGATION));
	MR_TRY(mr_config_blame(s->config, MR_CONFIG_MITIGATION, "name", check_suits(s)));
	MR_TRY(open_data(s));
	return make_plan(s);
}

static mr_status open_or_close(mr_session *s)
{
	mr_status st = open_all(s);

	if (st != MR_OK)
		mr_session_close(s);
	return st;
}

mr_status mr_session_open(const mr_config *config, mr_session *s)
{
	*s = (mr_session){.config = config};
	return open_or_close(s);
}

mr_status mr_session_open_plan(const mr_config *config, const char *path, mr_session *s)
{
	*s = (mr_session){.config = config, .plan_path = path};
	return open_or_close(s);
}

mr_status mr_session_open_beside(const mr_config *config, const mr_session *other, mr_session *s)
{
	*s = (mr_session){.config = config, .data = other->data, .beside = other};
	return open_or_close(s);
}

static uint64_t memory_limit(const mr_session *s)
{
	uint64_t limit = (uint64_t)mr_values_int(mr_config_values(s->config, MR_CONFIG_MACHINE), "memory_limit");
	uint64_t have = s->topo.memory_available_bytes;

	return limit && (limit < have || !have) ? limit : have;
}

mr_run_config mr_session_run_config(const mr_session *s, const mr_session_opts *opts)
{
	const mr_values *train = mr_config_values(s->config, MR_CONFIG_TRAIN);
	mr_run_config c = {
		.graph = s->graph,
		.partition = &s->partition,
		.plan = s->plan,
		.kernels = s->kernels,
		.data = s->data,
		.optim = &s->optim,
		.lr = &s->lr,
		.mitigate = mr_session_is_mitigated(s) ? &s->mitigate : NULL,
		.place = &s->place,
		.clip = mr_values_float(train, "clip"),
		.skip_nonfinite = !strcmp(mr_values_string(train, "nonfinite"), "skip"),
		.seed = (uint64_t)mr_values_int(train, "seed"),
		.samples = s->samples,
		.memory_limit = memory_limit(s),
		.measures = mr_graph_is_linear(s->graph),
		.spin_us = mr_config_spin_us(s->config),
	};

	if (opts) {
		c.trace = opts->trace;
		c.record_micro = opts->record_micro;
		c.observer = opts->observer;
		c.observer_arg = opts->observer_arg;
	}
	return c;
}

mr_sequential_config mr_session_sequential_config(const mr_session *s)
{
	const mr_values *train = mr_config_values(s->config, MR_CONFIG_TRAIN);

	return (mr_sequential_config){
		.graph = s->graph,
		.kernels = s->kernels,
		.data = s->data,
		.optim = &s->optim,
		.lr = &s->lr,
		.place = &s->place.worker[0],
		.clip = mr_values_float(train, "clip"),
		.skip_nonfinite = !strcmp(mr_values_string(train, "nonfinite"), "skip"),
		.seed = (uint64_t)mr_values_int(train, "seed"),
		.samples = s->samples,
		.measures = mr_graph_is_linear(s->graph),
		.n_micro = s->n_micro,
		.sum = s->sum,
	};
}

/* Engines measure while they lay out; sequential allocates piece by piece, so it is measured before. */
static mr_status check_sequential(const mr_session *s, const mr_sequential_config *c)
{
	uint64_t limit = memory_limit(s), need;
	char need_text[16], limit_text[16];
	mr_run_memory m;

	mr_sequential_size(c, &m);
	need = m.weights + m.grads + m.optimizer + m.activations + m.boundaries + m.scratch;
	if (limit == 0 || need <= limit)
		return MR_OK;
	return mr_fail(MR_ERESOURCE, "training needs %s of memory, and %s is the limit", mr_bytes_text(need, need_text),
		       mr_bytes_text(limit, limit_text));
}

mr_status mr_session_start(mr_session *s, const mr_session_opts *opts)
{
	s->base_bytes = mr_memory_resident_bytes();
	if (s->plan)
		MR_TRY(mr_config_blame(s->config, MR_CONFIG_SYSTEM, "name", check_stops(s)));
	if (s->plan) {
		double watchdog = mr_values_float(mr_config_values(s->config, MR_CONFIG_MACHINE), "watchdog");
		mr_run_config c = mr_session_run_config(s, opts);

		if (opts && opts->source) {
			s->executor.source = opts->source;
			s->executor.source_arg = opts->source_arg;
			return mr_replay_create(&c, &s->executor.replay);
		}
		return mr_engine_create(&c, watchdog, &s->executor.engine);
	}
	mr_sequential_config c = mr_session_sequential_config(s);

	MR_TRY(check_sequential(s, &c));
	return mr_sequential_create(&c, &s->executor.sequential);
}

void mr_session_close(mr_session *s)
{
	mr_known_destroy(s->known);
	mr_executor_fini(&s->executor);
	mr_place_fini(&s->place);
	mr_topo_fini(&s->topo);
	mr_plan_destroy(s->plan);
	mr_partition_fini(&s->partition);
	mr_graph_destroy(s->graph);
	if (s->costs)
		mr_costs_fini(s->costs);
	free(s->costs);
	if (!s->beside)
		mr_dataset_close(s->data);
	*s = (mr_session){0};
}

uint64_t mr_session_predicted_bytes(const mr_session *s)
{
	return s->base_bytes + mr_executor_bytes(&s->executor) + PROCESS_BYTES;
}

int64_t mr_session_tokens_per_sample(const mr_session *s)
{
	return s->data->input.tokens ? s->data->input.rows : 0;
}

uint64_t mr_session_hash(const mr_session *s)
{
	const mr_values *train = mr_config_values(s->config, MR_CONFIG_TRAIN);
	uint64_t facts[] = {
		s->data->fingerprint,
		(uint64_t)mr_values_int(train, "seed"),
		(uint64_t)s->samples,
		s->n_micro,
		s->sum,
		s->kernels->dtype,
		s->plan_hash,
	};
	const mr_optim *o = &s->optim;
	double rates[] = {o->mu, o->b1, o->b2, o->eps, o->psi, o->weight_decay, o->nesterov, o->rounds, o->rest_rate, mr_values_float(train, "clip")};
	uint64_t h = mr_hash64(mr_hash64(0, facts, sizeof(facts)), rates, sizeof(rates));

	h = mr_hash64(h, s->kernels->name, strlen(s->kernels->name));
	h = mr_hash64(h, s->optim.ops->name, strlen(s->optim.ops->name));
	if (mr_session_is_mitigated(s)) {
		const mr_mitigate *m = &s->mitigate;
		double set[] = {m->strength, m->memory, m->limit, m->adaptive, m->slow_start, m->predicts};

		h = mr_hash64(mr_hash64(h, m->ops->name, strlen(m->ops->name)), set, sizeof(set));
	}
	for (uint32_t i = 0; i < s->graph->n_nodes; i++) {
		const mr_node *n = &s->graph->nodes[i];

		h = mr_hash64(h, n->name, strlen(n->name));
		h = mr_hash64(h, n->ops->name, strlen(n->ops->name));
		h = mr_hash64(h, &n->cfg.act, sizeof(n->cfg.act));
		h = mr_hash64(h, &n->cfg.heads, sizeof(n->cfg.heads));
		h = mr_hash64(h, &n->cfg.rate, sizeof(n->cfg.rate));
		h = mr_hash64(h, &n->cfg.eps, sizeof(n->cfg.eps));
		h = mr_hash64(h, &n->cfg.l2, sizeof(n->cfg.l2));
		h = mr_hash64(h, &n->cfg.noise, sizeof(n->cfg.noise));
	}
	for (uint32_t i = 0; i < s->graph->n_params; i++)
		h = mr_hash64(h, s->graph->params[i].dim, sizeof(s->graph->params[i].dim));
	return mr_hash64(h, s->partition.first, (s->partition.n_stages + 1u) * sizeof(*s->partition.first));
}
