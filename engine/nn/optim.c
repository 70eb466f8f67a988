#include "nn/optim.h"

#include <string.h>

#include "base/registry.h"
#include "nn/lazy_rows.h"
#include "nn/optim/part.h"

#define MR_OPTIM_LIST
#define MR_STEP(kind, id, states, passes, rate, rate_g)
#define MR_OPTIM(id) extern const mr_optim_ops mr_optim_##id;
#include "nn/optim/optim.def"
#undef MR_OPTIM

static const mr_optim_ops *const optimizers[] = {
#define MR_OPTIM(id) &mr_optim_##id,
#include "nn/optim/optim.def"
#undef MR_OPTIM
#undef MR_STEP
#undef MR_OPTIM_LIST
};

MR_REGISTRY(mr_optim_ops, optimizers, mr_optim_at, mr_optim_find)

void mr_optim_init(mr_optim *o, const mr_optim_ops *ops, const mr_values *values)
{
	*o = (mr_optim){.ops = ops};
	if (mr_option_find(ops->options, "state"))
		o->form = mr_state_form_find(mr_values_string(values, "state"));
	ops->init(o, values);
}

mr_status mr_optim_fit(mr_optim *o, const mr_types *t)
{
	if (o->form && t->state == MR_F64)
		return mr_fail(MR_ECONFIG, "%s is a state of f32, bf16 and bf16_pure, and precision is f64",
			       o->form->name);
	if (o->form && o->form->type == t->state)
		o->form = NULL;
	return MR_OK;
}

void mr_optim_decay_init(mr_optim *o, const mr_values *values)
{
	o->weight_decay = mr_values_float(values, "weight_decay");
	o->decay_all = !strcmp(mr_values_string(values, "decay_scope"), "all");
	o->coupled = mr_option_find(mr_values_table(values), "decay_kind") &&
		     !strcmp(mr_values_string(values, "decay_kind"), "coupled");
}

mr_status mr_optim_step(const mr_optim *o, const mr_optim_call *c, const mr_kernels *k, mr_kctx *kc, int64_t n,
			const void *g)
{
	mr_row_sum sum;
	mr_step s;

	if (o->ops->step_matrix && c->matrix.rows)
		return o->ops->step_matrix(o, c, k, kc, g);
	o->ops->fill(o, c, &s);
	if (c->sum_rows) {
		sum = mr_row_sum_at((void *)(uintptr_t)g, c->sum_rows, c->lazy_cols, k->types.gradients);
		return mr_lazy_step_rows(k, kc, n, &s, &sum, c->old_rows);
	}
	return c->lazy_cols ? mr_lazy_step(k, kc, c->lazy_cols, n, &s, g, c->old_rows)
			    : mr_stored_step(k, kc, n, &s, g);
}
