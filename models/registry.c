#include "models/registry.h"

#include <string.h>

#include "base/str.h"

#define MR_MODEL(id) extern const mr_model_ops mr_model_##id;
#include "models/models.def"
#undef MR_MODEL

static const mr_model_ops *const models[] = {
#define MR_MODEL(id) &mr_model_##id,
#include "models/models.def"
#undef MR_MODEL
};

#define N_MODELS (sizeof(models) / sizeof(models[0]))

const mr_model_ops *mr_model_at(size_t i)
{
	return i < N_MODELS ? models[i] : NULL;
}

const mr_model_ops *mr_model_find(const char *name)
{
	for (size_t i = 0; i < N_MODELS; i++)
		if (!strcmp(models[i]->name, name))
			return models[i];
	return NULL;
}

mr_status mr_model_get(const char *name, const mr_model_ops **out)
{
	const char *names[N_MODELS], *near;
	mr_strbuf known;
	mr_status st;

	*out = mr_model_find(name);
	if (*out)
		return MR_OK;
	mr_strbuf_init(&known);
	for (size_t i = 0; i < N_MODELS; i++) {
		names[i] = models[i]->name;
		mr_strbuf_printf(&known, "%s%s", i ? ", " : "", names[i]);
	}
	near = mr_nearest(name, names, N_MODELS);
	st = mr_fail(MR_ECONFIG, "no model is called \"%s\"%s%s%s (known: %s)", name, near ? "; did you mean \"" : "",
		     near ? near : "", near ? "\"?" : "", mr_strbuf_text(&known));
	mr_strbuf_fini(&known);
	return st;
}

int64_t mr_model_context(const mr_model_ops *ops, const mr_values *values)
{
	return ops->context ? ops->context(values) : 0;
}

int64_t mr_model_features(const mr_model_ops *ops, const mr_values *values)
{
	return ops->features ? ops->features(values) : 1;
}

mr_status mr_model_build(const mr_model_ops *ops, const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	mr_status st = ops->build(values, data, out);

	return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", ops->name);
}
