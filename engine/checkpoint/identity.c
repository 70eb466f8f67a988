#include "checkpoint/identity.h"

#include <string.h>

#include "base/stats.h"
#include "ir/sum_order.h"

static uint64_t fold_text(uint64_t h, const char *text)
{
	return mr_hash64(h, text, strlen(text));
}

/* @plan: the hash of the plan, or of what of it decides the weights. */
static uint64_t fold_run(const mr_session *s, uint64_t plan)
{
	const mr_job_train *train = &s->job->train;
	uint64_t numbers[] = {s->data->fingerprint, (uint64_t)train->seed,  (uint64_t)s->samples, s->n_micro,
			      s->plan->contract.sum, s->kernels->types.weights, plan};
	uint64_t h = mr_hash64(mr_hash64(0, numbers, sizeof(numbers)), &train->clip, sizeof(train->clip));

	if (mr_types_pure(&s->kernels->types))
		h = fold_text(h, mr_types_name(&s->kernels->types));
	h = fold_text(h, s->kernels->name);
	if (s->graph->class_weight)
		h = mr_hash64(h, s->graph->class_weight, s->graph->n_class_weights * sizeof(*s->graph->class_weight));
	if (s->kernels->choices) {
		uint64_t choices = mr_choices_hash(s->kernels->choices);

		h = mr_hash64(h, &choices, sizeof(choices));
	}
	return h;
}

/* --- plug-ins --- */

typedef struct folder {
	uint64_t h;
	bool rate;  /* lr is among them: a run may go on with another one */
	bool files; /* texts are names of files: their contents are in the fingerprint, and the files may move */
} folder;

static mr_status fold_option(void *arg, const mr_option *o, const char *text)
{
	folder *f = arg;

	if (f->rate && !strcmp(o->name, "lr"))
		return MR_OK;
	if (!f->files || o->type != MR_OPT_STRING)
		f->h = fold_text(fold_text(f->h, o->name), text);
	return MR_OK;
}

static mr_status fold_choices_but(const mr_session *s, mr_job_group but, uint64_t *h)
{
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		const mr_job_plugin *c = mr_job_plugin_of(s->job, (mr_job_group)g);
		folder f = {*h, g == MR_JOB_OPTIMIZER, g == MR_JOB_DATA};

		if (!c || g == (int)but || (g == MR_JOB_MITIGATION && !mr_session_is_mitigated(s)))
			continue;
		f.h = fold_text(fold_text(f.h, mr_job_group_of((mr_job_group)g)->name), c->name);
		MR_TRY(mr_values_each_changed(c->values, fold_option, &f));
		*h = f.h;
	}
	return MR_OK;
}

static mr_status fold_choices(const mr_session *s, uint64_t *h)
{
	return fold_choices_but(s, MR_N_JOB_GROUPS, h);
}

/* --- the model --- */

static uint64_t fold_node(const mr_node *n, uint64_t h)
{
	h = fold_text(fold_text(h, n->name), n->ops->name);
	h = mr_hash64(h, n->in, n->n_in * sizeof(*n->in));
	return mr_fields_hash(mr_layer_cfg_fields, &n->cfg, h);
}

/* Number of a parameter's fields in the first identities; these keep their form in checkpoints. */
enum { FIRST_FIELDS = 7 };

uint64_t mr_identity_of_param(const mr_field *fields, const mr_param *p, uint64_t h)
{
	int64_t numbers[] = {p->rank, p->init, p->decay, p->tied_to};

	h = mr_hash64(fold_text(h, p->name), numbers, sizeof(numbers));
	h = mr_hash64(h, p->dim, p->rank * sizeof(*p->dim));
	h = mr_hash64(h, &p->std, sizeof(p->std));
	return mr_fields_hash(fields + FIRST_FIELDS, p, h);
}

static uint64_t fold_graph(const mr_graph *g, uint64_t h)
{
	for (uint32_t i = 0; i < g->n_nodes; i++)
		h = fold_node(&g->nodes[i], h);
	for (uint32_t i = 0; i < g->n_params; i++)
		h = mr_identity_of_param(mr_param_fields, &g->params[i], h);
	return h;
}

const char *mr_identity_isa(const mr_session *s)
{
	return strcmp(s->kernels->name, "reference") ? mr_kernels_isa(s->kernels->types.weights) : "";
}

mr_status mr_identity(const mr_session *s, const char *isa, uint64_t *out)
{
	uint64_t h = fold_run(s, s->plan_hash);

	if (*isa)
		h = fold_text(h, isa);
	MR_TRY(fold_choices(s, &h));
	h = fold_graph(s->graph, h);
	*out = mr_hash64(h, s->partition.first, (s->partition.n_stages + 1u) * sizeof(*s->partition.first));
	return MR_OK;
}

/* Does a layer keep something between micro-batches, whose order then matters too? */
static bool has_states(const mr_session *s)
{
	const mr_run *run = mr_executor_run_of(&s->executor);

	for (uint16_t i = 0; i < run->n_stages; i++)
		if (run->weights[i].layer_states)
			return true;
	return run->carried != NULL;
}

mr_status mr_identity_elastic(const mr_session *s, const char *isa, uint64_t *out)
{
	bool clips_alone = s->job->train.clip > 0 && !s->plan->contract.clip; /* by the norm of each stage */
	uint64_t h;

	*out = 0;
	if (clips_alone || has_states(s) || !mr_plan_sum_order(s->plan, &h))
		return MR_OK;
	h = fold_run(s, h);
	h = *isa ? fold_text(h, isa) : h;
	MR_TRY(fold_choices_but(s, MR_JOB_SYSTEM, &h));
	*out = fold_graph(s->graph, h);
	return MR_OK;
}

uint64_t mr_identity_slots(const mr_session *s)
{
	const mr_run *run = mr_executor_run_of(&s->executor);
	uint64_t h = 0;

	for (uint16_t i = 0; i < run->n_stages; i++) {
		uint64_t stage = mr_stage_size(run->weights[i].stage)->slot_hash;

		h = mr_hash64(h, &stage, sizeof(stage));
	}
	return h;
}
