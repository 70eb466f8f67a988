#include "exec/exec.h"

#include <string.h>

#include "exec/run_plan.h"
#include "ir/frozen.h"
#include "weights/carried.h"

#define MR_FEATURE(id, present) extern const mr_feature mr_feature_##id;
#include "exec/features.def"

static bool has_tables(const mr_run_config *c)
{
	for (uint32_t p = 0; p < c->graph->n_params; p++)
		if (c->graph->params[p].lazy)
			return true;
	return false;
}

/* Take over what @f does in place of the engine: functions, and nothing else. */
static void replace(mr_instead *h, const mr_instead *f)
{
	typedef void function(void);
	function *own;

	_Static_assert(sizeof(*h) % sizeof(own) == 0, "all members are pointers to functions");
	for (size_t at = 0; at < sizeof(*h); at += sizeof(own)) {
		memcpy(&own, (const uint8_t *)f + at, sizeof(own));
		if (own)
			memcpy((uint8_t *)h + at, &own, sizeof(own));
	}
}

/* The hooks @name of all features of @run. */
#define COLLECT(run, name) \
	do { \
		uint32_t n_hooks = 0; \
		MR_EACH_FEATURE(run, f, name) \
			(run)->hooks.name[n_hooks++] = (*f)->name; \
	} while (0)

void mr_features_of(const mr_run_config *c, const mr_feature **out)
{
#define MR_FEATURE(id, present) \
	if (present) \
		*out++ = &mr_feature_##id;
#include "exec/features.def"
	*out = NULL;
}

void mr_features_find(mr_run *run)
{
	mr_features_of(&run->c, run->feature);
	run->hooks.instead = mr_exec_own;
	for (const mr_feature *const *f = run->feature; *f; f++) {
		run->facts |= (*f)->facts;
		replace(&run->hooks.instead, &(*f)->instead);
	}
#define MR_HOOK(type, name) COLLECT(run, name);
	MR_HOOKS
#undef MR_HOOK
}
