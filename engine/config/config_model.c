/*
 * What only the model or the machine can judge, as far as the configuration alone tells: the options of the model, the
 * names in partition, how many stages there can be, tied weights, the topology and the CPUs.
 *
 * The model is built on made-up data of the kind that it takes: a vocabulary or a number of features changes the size of
 * layers, not their names, nor where a stage may begin. What depends on the data themselves is for mr_session_open,
 * which names file, line and key as well (mr_config_blame).
 */
#include <stdio.h>
#include <string.h>

#include "config/config_parts.h"
#include "config/machine.h"
#include "planner/partition.h"

/* Is a mistake about the group @word, or a key of it, known already? What was wrong is at its default then. */
static bool doubtful(const mr_config *c, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < c->mistakes.n; i++) {
		const char *key = c->mistakes.list[i].key;

		if (key && !strncmp(key, word, len) && (!key[len] || key[len] == '.'))
			return true;
	}
	return false;
}

static mr_status build(mr_config *c, mr_graph **out)
{
	const mr_model_ops *model = mr_config_model(c);
	const mr_values *values = mr_config_values(c, MR_CONFIG_MODEL);
	int64_t context = mr_model_context(model, values);
	mr_shape sample = {.rows = context ? context : 1, .cols = 1, .tokens = context > 0};
	mr_model_data data = {.input = sample, .target = sample, .classes = context ? 256 : 0};
	mr_status st;

	if (!context)
		data.input.cols = mr_model_features(model, values);
	st = model->build(values, &data, out);

	if (st == MR_ECONFIG) {
		mr_config_mistake(c, MR_CONFIG_MODEL, "name", mr_error_text());
		*out = NULL;
		return MR_OK;
	}
	return st;
}

/* Each name by itself, so that every wrong one is told; then their order. */
static mr_status check_names(mr_config *c, const mr_graph *g, mr_partition *p)
{
	bool well = true;

	for (uint32_t i = 0; i < c->n_partition; i++) {
		mr_partition one;
		mr_status st = mr_partition_explicit(g, (const char *const *)&c->partition[i], 1, &one);

		if (st == MR_OK)
			mr_partition_fini(&one);
		else if (st == MR_ECONFIG)
			mr_config_mistake(c, MR_CONFIG_TOP, "partition", mr_error_text());
		else
			return st;
		well = well && st == MR_OK;
	}
	if (well && mr_partition_explicit(g, (const char *const *)c->partition, c->n_partition, p) != MR_OK)
		mr_config_mistake(c, MR_CONFIG_TOP, "partition", mr_error_text());
	return MR_OK;
}

static mr_status cut(mr_config *c, const mr_graph *g, mr_partition *p)
{
	const mr_kernels *kernels = mr_config_kernels(c);
	uint32_t stages = mr_config_stages(c, mr_config_workers(c));
	mr_status st;

	if (c->n_partition)
		return check_names(c, g, p);
	if (!kernels || !stages || stages > UINT16_MAX)
		return MR_OK;
	st = mr_partition_auto(g, (uint16_t)stages, NULL, 1, kernels, p);
	if (st != MR_ECONFIG)
		return st;
	mr_config_mistake(c, MR_CONFIG_MACHINE, "workers", mr_error_text());
	return MR_OK;
}

/* Without a flush, two stages would read a shared block at different ages. */
static void check_tied(mr_config *c, const mr_graph *g, const mr_partition *p)
{
	char text[400];

	for (uint32_t i = 0; i < g->n_params; i++) {
		const mr_param *user = &g->params[i], *owner = user->tied_to < 0 ? NULL : &g->params[user->tied_to];

		if (!owner || mr_partition_stage(p, user->node) == mr_partition_stage(p, owner->node))
			continue;
		snprintf(text, sizeof(text),
			 "tied: %s and %s share a parameter, but lie in different stages and %s never flushes: "
			 "set model.tied = false, or use one stage or a system that flushes",
			 owner->name, user->name, mr_config_system(c)->name);
		mr_config_mistake(c, MR_CONFIG_MODEL, "name", text);
		return;
	}
}

static mr_status check_model(mr_config *c)
{
	mr_partition p = {0};
	mr_graph *g = NULL;
	mr_status st;

	if (!c->part[MR_CONFIG_MODEL].values || doubtful(c, "model"))
		return MR_OK;
	st = build(c, &g);
	if (st == MR_OK && g && c->part[MR_CONFIG_SYSTEM].values && !doubtful(c, "partition") &&
	    !doubtful(c, "machine.workers"))
		st = cut(c, g, &p);
	if (p.first && mr_config_system(c) && mr_config_system(c)->asynchronous)
		check_tied(c, g, &p);
	mr_partition_fini(&p);
	mr_graph_destroy(g);
	return st;
}

static mr_status check_machine(mr_config *c)
{
	const mr_values *mv = mr_config_values(c, MR_CONFIG_MACHINE);
	mr_place place = {0};
	mr_topo topo = {0};
	const char *key;
	mr_status st;

	if (!*mr_values_string(mv, "topology") && !*mr_values_string(mv, "cpus"))
		return MR_OK;
	if (!c->part[MR_CONFIG_SYSTEM].values || doubtful(c, "machine.workers"))
		return MR_OK;
	st = mr_machine_place(c, &topo, &place, &key);
	mr_place_fini(&place);
	mr_topo_fini(&topo);
	if (st == MR_ECONFIG && key)
		mr_config_mistake(c, MR_CONFIG_MACHINE, key, mr_error_text());
	return MR_OK; /* anything else is no mistake of the file: mr_session_open says it */
}

mr_status mr_config_check_build(mr_config *c)
{
	MR_TRY(check_model(c));
	return check_machine(c);
}
