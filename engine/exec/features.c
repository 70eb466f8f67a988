#include "exec/exec.h"
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

/* Take over what @f does in place of the engine. */
static void replace(mr_instead *h, const mr_instead *f)
{
	for (int op = 0; op < MR_N_OPS; op++)
		h->carry_out[op] = f->carry_out[op] ? f->carry_out[op] : h->carry_out[op];
	h->step = f->step ? f->step : h->step;
	h->apply = f->apply ? f->apply : h->apply;
	h->completes = f->completes ? f->completes : h->completes;
	h->train = f->train ? f->train : h->train;
	h->list = f->list ? f->list : h->list;
	h->advance = f->advance ? f->advance : h->advance;
	h->read = f->read ? f->read : h->read;
	h->sample = f->sample ? f->sample : h->sample;
	h->leave_sample = f->leave_sample ? f->leave_sample : h->leave_sample;
	h->done = f->done ? f->done : h->done;
	h->may_step = f->may_step ? f->may_step : h->may_step;
	h->repeats = f->repeats ? f->repeats : h->repeats;
	h->claim = f->claim ? f->claim : h->claim;
	h->help = f->help ? f->help : h->help;
	h->save_param = f->save_param ? f->save_param : h->save_param;
	h->leaves_slot = f->leaves_slot ? f->leaves_slot : h->leaves_slot;
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
