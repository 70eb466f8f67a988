#include "exec/run.h"

#define MR_FEATURE(id) extern const mr_feature mr_feature_##id;
#include "exec/features.def"

static const mr_feature *const registered[] = {
#define MR_FEATURE(id) &mr_feature_##id,
#include "exec/features.def"
};

/* The hooks @name of all features of @run. */
#define COLLECT(run, name) \
	do { \
		uint32_t n_hooks = 0; \
		MR_EACH_FEATURE(run, f, name) \
			(run)->hooks.name[n_hooks++] = (*f)->name; \
	} while (0)

mr_status mr_features_find(mr_run *run)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < MR_N_FEATURES; i++)
		if (registered[i]->present(&run->c))
			run->feature[n++] = registered[i];
	MR_EACH_FEATURE(run, f, refuse)
		MR_TRY((*f)->refuse(&run->c));
	COLLECT(run, ready);
	COLLECT(run, pass);
	COLLECT(run, commit);
	return MR_OK;
}
