#include "nn/mitigate.h"

#include <string.h>

#define MR_MITIGATE(id) extern const mr_mitigate_ops mr_mitigate_##id;
#include "nn/mitigate/mitigate.def"
#undef MR_MITIGATE

static const mr_mitigate_ops *const mitigations[] = {
#define MR_MITIGATE(id) &mr_mitigate_##id,
#include "nn/mitigate/mitigate.def"
#undef MR_MITIGATE
};

#define N_MITIGATIONS (sizeof(mitigations) / sizeof(mitigations[0]))

const mr_mitigate_ops *mr_mitigate_at(uint32_t i)
{
	return i < N_MITIGATIONS ? mitigations[i] : NULL;
}

const mr_mitigate_ops *mr_mitigate_find(const char *name)
{
	for (size_t i = 0; i < N_MITIGATIONS; i++)
		if (!strcmp(mitigations[i]->name, name))
			return mitigations[i];
	return NULL;
}

void mr_mitigate_init(mr_mitigate *m, const mr_mitigate_ops *ops, const mr_values *values)
{
	*m = (mr_mitigate){.ops = ops};
	if (ops->init)
		ops->init(m, values);
}

bool mr_mitigate_is_none(const mr_mitigate_ops *ops)
{
	return !strcmp(ops->name, MR_MITIGATE_NONE);
}
