#include "exec/exec.h"
#include "weights/carried.h"

#define MR_FEATURE(id, present) extern const mr_feature mr_feature_##id;
#include "exec/features.def"

/* Take over what @f does in place of the engine. */
static void replace(mr_instead *h, const mr_instead *f)
{
	for (int op = 0; op < MR_N_OPS; op++)
		h->carry_out[op] = f->carry_out[op] ? f->carry_out[op] : h->carry_out[op];
	h->step = f->step ? f->step : h->step;
	h->train = f->train ? f->train : h->train;
	h->done = f->done ? f->done : h->done;
	h->may_step = f->may_step ? f->may_step : h->may_step;
	h->repeats = f->repeats ? f->repeats : h->repeats;
	h->claim = f->claim ? f->claim : h->claim;
	h->help = f->help ? f->help : h->help;
	h->leaves_slot = f->leaves_slot ? f->leaves_slot : h->leaves_slot;
}

/* The hooks @name of all features of @run. */
#define COLLECT(run, name) \
	do { \
		uint32_t n_hooks = 0; \
		MR_EACH_FEATURE(run, f, name) \
			(run)->hooks.name[n_hooks++] = (*f)->name; \
	} while (0)

mr_status mr_features_find(mr_run *run)
{
	const mr_run_config *c = &run->c;
	uint32_t n = 0;

#define MR_FEATURE(id, present) \
	if (present) \
		run->feature[n++] = &mr_feature_##id;
#include "exec/features.def"
	run->hooks.instead = mr_exec_own;
	for (const mr_feature *const *f = run->feature; *f; f++) {
		run->facts |= (*f)->facts;
		replace(&run->hooks.instead, &(*f)->instead);
		if ((*f)->refuse)
			MR_TRY((*f)->refuse(c));
	}
	COLLECT(run, ready);
	COLLECT(run, pass);
	COLLECT(run, reads);
	COLLECT(run, summed);
	COLLECT(run, complete);
	COLLECT(run, stepped);
	return MR_OK;
}
