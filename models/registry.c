#include "models/registry.h"

#include "base/registry.h"

#define MR_MODEL(id) extern const mr_model_ops mr_model_##id;
#include "models/models.def"
#undef MR_MODEL

static const mr_model_ops *const models[] = {
#define MR_MODEL(id) &mr_model_##id,
#include "models/models.def"
#undef MR_MODEL
};

#define N_MODELS (sizeof(models) / sizeof(models[0]))

MR_REGISTRY(mr_model_ops, models, mr_model_at, mr_model_find)

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
