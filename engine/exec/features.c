#include "exec/run.h"

#define MR_FEATURE(id) extern const mr_feature mr_feature_##id;
#include "exec/features.def"

static const mr_feature *const registered[] = {
#define MR_FEATURE(id) &mr_feature_##id,
#include "exec/features.def"
};

mr_status mr_features_find(mr_run *run)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < MR_N_FEATURES; i++)
		if (registered[i]->present(&run->c))
			run->feature[n++] = registered[i];
	MR_EACH_FEATURE(run, f, refuse)
		MR_TRY((*f)->refuse(&run->c));
	return MR_OK;
}
