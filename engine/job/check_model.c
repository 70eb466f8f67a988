/*
 * check_model.c - checks that need the model or the machine, but no data: the options of the model, the
 * names in partition, the possible number of stages, tied weights, the topology and the CPUs.
 *
 * The model is built on made-up data of the kind that it takes: a vocabulary or a number of features changes the size
 * of layers, but not their names or the places where a stage may begin. Checks that depend on the data themselves are
 * made by mr_session_open, which names the key as well (mr_job_blame).
 */
#include <stdio.h>
#include <stdlib.h>

#include "job/check.h"
#include "job/machine.h"
#include "planner/make_plan.h"
#include "planner/partition.h"

/* Two values for each of @n categories; NULL: no memory. */
static int64_t *made_up_values(int64_t n)
{
	int64_t *values = malloc((size_t)(n + 1) * sizeof(*values));

	for (int64_t i = 0; values && i < n; i++)
		values[i] = 2;
	return values;
}

static mr_status build(mr_job *j, const mr_job_listener *l, mr_graph **out)
{
	const mr_model_ops *model = mr_job_model(j);
	const mr_values *values = j->model.values;
	int64_t context = mr_model_context(model, values);
	mr_shape sample = {.rows = context ? context : 1, .cols = 1, .tokens = context > 0};
	mr_model_data data = {.input = sample, .target = sample, .classes = context ? 256 : 0};
	int64_t categories = model->categories ? model->categories(values) : -1, *known = made_up_values(categories);
	mr_status st;

	if (!known)
		return mr_fail(MR_ERESOURCE, "no memory for %lld categories", (long long)categories);
	if (model->pairs)
		data = (mr_model_data){.input = {.rows = 6, .cols = 1, .tokens = true},
				       .target = {.rows = 3, .cols = 1, .tokens = true},
				       .classes = 10, .source_classes = 10};
	else if (model->captions)
		data = (mr_model_data){.input = {.rows = 6, .cols = 1, .tokens = true},
				       .target = {.rows = 3, .cols = 1, .tokens = true},
				       .classes = 10, .frames = 3};
	else if (model->image)
		data = (mr_model_data){.input = model->image(values), .image = model->image(values),
				       .target = {.rows = 1, .cols = 1, .tokens = true}, .classes = 10};
	else if (categories >= 0)
		data = (mr_model_data){.input = {.rows = 1, .cols = 1 + categories, .tokens = true},
				       .numbers = 1, .values = known, .target = {.rows = 1, .cols = 1},
				       .target_high = 1};
	else if (!context)
		data.input.cols = mr_model_features(model, values);
	st = model->build(values, &data, out);
	free(known);
	if (st == MR_ECONFIG) {
		mr_job_note(l, MR_JOB_MODEL, "name", "%s", mr_error_text());
		*out = NULL;
		return MR_OK;
	}
	return st;
}

/* Checks each name by itself, so that every wrong one is reported; then their order. */
static mr_status check_names(mr_job *j, const mr_job_listener *l, const mr_graph *g, mr_partition *p)
{
	bool well = true;

	for (uint32_t i = 0; i < j->n_cut; i++) {
		mr_partition one;
		mr_status st = mr_partition_explicit(g, (const char *const *)&j->cut[i], 1, &one);

		if (st == MR_OK)
			mr_partition_fini(&one);
		else if (st == MR_ECONFIG)
			mr_job_note(l, MR_JOB_TOP, "partition", "%s", mr_error_text());
		else
			return st;
		well = well && st == MR_OK;
	}
	if (well && mr_partition_explicit(g, (const char *const *)j->cut, j->n_cut, p) != MR_OK)
		mr_job_note(l, MR_JOB_TOP, "partition", "%s", mr_error_text());
	return MR_OK;
}

static mr_status cut(mr_job *j, const mr_job_listener *l, const mr_graph *g, mr_partition *p)
{
	const mr_kernels *kernels = mr_job_kernels(j);
	uint32_t stages = mr_job_stages(j, mr_job_workers(j));
	mr_status st;

	if (j->n_cut)
		return check_names(j, l, g, p);
	if (!kernels || !stages || stages > UINT16_MAX)
		return MR_OK;
	st = mr_partition_auto(g, (uint16_t)stages, NULL, 1, kernels, p);
	if (st != MR_ECONFIG)
		return st;
	if (j->order.workers)
		mr_job_note(l, MR_JOB_MODEL, "name", "the plan file: %s", mr_error_text());
	else
		mr_job_note(l, MR_JOB_MACHINE, "workers", "%s", mr_error_text());
	return MR_OK;
}

/* Can the first and the last stage share a parameter? Without a flush they would read it at different ages, and
 * nothing is reduced between the stages of replicas. */
static bool shares(const mr_job *j)
{
	const mr_sched_ops *system = mr_job_system(j);
	mr_sched_args a = {.n_workers = mr_job_workers(j), .n_micro = mr_job_n_micro(j),
			   .costs = &mr_plan_equal_costs};
	mr_plan *plan;
	bool yes;

	if (j->order.workers)
		return j->order.shares;
	if (system->judged || system->asynchronous || system->replicates)
		return system->judged;
	a.options = system->options ? j->system.values : NULL;
	a.n_micro = a.n_micro ? a.n_micro : system->default_micro(a.n_workers);
	if (mr_schedule_emit(system, &a, &plan) != MR_OK)
		return true; /* its own message comes later */
	yes = plan->contract.flush != MR_FLUSH_NONE;
	mr_plan_destroy(plan);
	return yes;
}

static void check_tied(mr_job *j, const mr_job_listener *l, const mr_graph *g, const mr_partition *p)
{
	char text[400];

	for (uint32_t i = 0; i < g->n_params; i++) {
		const mr_param *user = &g->params[i], *owner = user->tied_to < 0 ? NULL : &g->params[user->tied_to];

		if (!owner || mr_partition_stage(p, user->node) == mr_partition_stage(p, owner->node))
			continue;
		if (j->train.untie)
			j->untied = !shares(j);
		/* The session judges other systems by their plans. */
		if (j->train.untie || j->order.workers || !mr_job_system(j)->asynchronous)
			return;
		snprintf(text, sizeof(text),
			 "tied: %s and %s share a parameter, but lie in different stages and %s never flushes: "
			 "set model.tied = false, or train.untie = true for weights of their own, or use one stage or "
			 "a system that flushes",
			 owner->name, user->name, mr_job_system(j)->name);
		mr_job_note(l, MR_JOB_MODEL, "name", "%s", text);
		return;
	}
}

/* A micro-batch too small for a layer. */
static void check_samples(mr_job *j, const mr_job_listener *l, const mr_graph *g)
{
	if (mr_job_doubtful(l, MR_JOB_TRAIN, "batch") || mr_job_doubtful(l, MR_JOB_TRAIN, "microbatches") ||
	    !mr_job_n_micro(j) || mr_job_samples(j) < 1)
		return;
	if (mr_graph_takes(g, mr_job_samples(j)) != MR_OK)
		mr_job_note(l, MR_JOB_TRAIN, "batch", "%s", mr_error_text());
}

static mr_status check_model(mr_job *j, const mr_job_listener *l)
{
	mr_partition p = {0};
	mr_graph *g = NULL;
	mr_status st;

	if (!j->model.values || mr_job_doubtful(l, MR_JOB_MODEL, NULL))
		return MR_OK;
	st = build(j, l, &g);
	if (st == MR_OK && g && j->system.values && !mr_job_doubtful(l, MR_JOB_TOP, "partition") &&
	    !mr_job_doubtful(l, MR_JOB_MACHINE, "workers"))
		st = cut(j, l, g, &p);
	if (st == MR_OK && g && j->system.values)
		check_samples(j, l, g);
	if (p.first && mr_job_system(j))
		check_tied(j, l, g, &p);
	mr_partition_fini(&p);
	mr_graph_destroy(g);
	return st;
}

static mr_status check_machine(mr_job *j, const mr_job_listener *l)
{
	mr_place place = {0};
	mr_topo topo = {0};
	const char *key;
	mr_status st;

	if (!*j->machine.topology && !*j->machine.cpus)
		return MR_OK;
	if (!j->system.values || mr_job_doubtful(l, MR_JOB_MACHINE, "workers"))
		return MR_OK;
	st = mr_machine_place(j, &topo, &place, &key);
	mr_place_fini(&place);
	mr_topo_fini(&topo);
	if (st == MR_ECONFIG && key)
		mr_job_note(l, MR_JOB_MACHINE, key, "%s", mr_error_text());
	return MR_OK; /* other errors are no mistake of the file: mr_session_open reports them */
}

mr_status mr_job_check_build(mr_job *j, const mr_job_listener *l)
{
	MR_TRY(check_model(j, l));
	return check_machine(j, l);
}
