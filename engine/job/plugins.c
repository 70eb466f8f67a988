#include "job/plugins.h"

#include <string.h>

#include "models/registry.h"
#include "data/dataset.h"
#include "nn/layer.h"
#include "mitigate/mitigate.h"
#include "nn/optim.h"
#include "schedules/registry.h"

#define MAX_NAMES 256

static const mr_option no_options[] = {{0}};

static const struct {
	const char *word; /* of `list` */
	const char *one;  /* of them */
} kinds[MR_N_PLUGIN_KINDS] = {
	[MR_PLUGIN_SYSTEM] = {"systems", "system"},
	[MR_PLUGIN_MODEL] = {"models", "model"},
	[MR_PLUGIN_LAYER] = {"layers", "layer"},
	[MR_PLUGIN_OPTIMIZER] = {"optimizers", "optimizer"},
	[MR_PLUGIN_MITIGATION] = {"mitigations", "mitigation"},
	[MR_PLUGIN_DATA] = {"data", "data source"},
};

const char *mr_plugin_kind_word(mr_plugin_kind kind)
{
	return kinds[kind].word;
}

static bool found(const char *name, const char *summary, const char *source, const mr_option *options, mr_plugin *out)
{
	*out = (mr_plugin){.name = name, .summary = summary, .source = source,
		.options = options ? options : no_options};
	return true;
}

bool mr_plugin_at(mr_plugin_kind kind, uint32_t i, mr_plugin *out)
{
	const mr_sched_ops *system = kind == MR_PLUGIN_SYSTEM ? mr_schedule_at(i) : NULL;
	const mr_dataset_ops *data = kind == MR_PLUGIN_DATA ? mr_dataset_at(i) : NULL;
	const mr_optim_ops *optimizer = kind == MR_PLUGIN_OPTIMIZER ? mr_optim_at(i) : NULL;
	const mr_mitigate_ops *mitigation = kind == MR_PLUGIN_MITIGATION ? mr_mitigate_at(i) : NULL;
	const mr_model_ops *model = kind == MR_PLUGIN_MODEL ? mr_model_at(i) : NULL;
	const mr_layer_ops *layer = kind == MR_PLUGIN_LAYER ? mr_layer_at(i) : NULL;

	if (system) {
		found(system->name, system->summary, system->source, system->options, out);
		out->alias = system->alias;
		return true;
	}
	if (data)
		return found(data->name, data->summary, NULL, data->options, out);
	if (optimizer)
		return found(optimizer->name, optimizer->summary, NULL, optimizer->options, out);
	if (mitigation) {
		found(mitigation->name, mitigation->summary, mitigation->source, mitigation->options, out);
		out->needs = mitigation->suits_text;
		return true;
	}
	if (model)
		return found(model->name, model->summary, NULL, model->options, out);
	return layer && found(layer->name, layer->summary, NULL, NULL, out);
}

/* Another kind that has a plug-in of this name, as its word of `list`; NULL: none. */
static const char *other_kind(mr_plugin_kind kind, const char *name)
{
	mr_plugin p;

	for (int k = 0; k < MR_N_PLUGIN_KINDS; k++)
		for (uint32_t i = 0; k != (int)kind && mr_plugin_at((mr_plugin_kind)k, i, &p); i++)
			if (!strcmp(p.name, name))
				return kinds[k].word;
	return NULL;
}

mr_status mr_plugin_get(mr_plugin_kind kind, const char *name, mr_plugin *out)
{
	const mr_sched_name *elsewhere = kind == MR_PLUGIN_SYSTEM ? mr_schedule_name_find(name) : NULL;
	const char *names[MAX_NAMES], *near, *other;
	mr_strbuf known = {0};
	mr_plugin p;
	mr_status st;
	uint32_t n;

	for (n = 0; n < MAX_NAMES && mr_plugin_at(kind, n, &p); n++) {
		if (!strcmp(p.name, name) || (p.alias && !strcmp(p.alias, name))) {
			*out = p;
			return MR_OK;
		}
		names[n] = p.name;
	}
	if (elsewhere)
		return mr_fail(MR_ECONFIG, "%s is no system of its own here: %s; the nearest is %s", name,
			       elsewhere->text, elsewhere->nearest);
	near = mr_nearest(name, names, n);
	for (uint32_t i = 0; i < n; i++)
		mr_strbuf_printf(&known, "%s%s", i ? ", " : "", names[i]);
	other = other_kind(kind, name);
	if (other)
		st = mr_fail(MR_ECONFIG, "no %s is called \"%.60s\"; it is among the %s (known: %s)", kinds[kind].one,
			     name, other, mr_strbuf_text(&known));
	else
		st = mr_fail(MR_ECONFIG, "no %s is called \"%.60s\"%s%s%s (known: %s)", kinds[kind].one, name,
			     near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "",
			     mr_strbuf_text(&known));
	mr_strbuf_fini(&known);
	return st;
}
