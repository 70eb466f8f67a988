/* nadam with decoupled decay by default, as adamw is to adam. */
#if defined(MR_OPTIM_LIST)
MR_OPTIM(nadamw)
#elif !defined(MR_OPTIM_RULES)
#include "nn/optim/part.h"

static const mr_option options[] = {
	MR_OPTIM_LR,
	MR_OPTIM_NADAM(MR_OPTIM_DECAY("0.01")),
	MR_OPTIM_STATE,
	{NULL},
};

extern const mr_optim_ops mr_optim_nadamw;
const mr_optim_ops mr_optim_nadamw = {
	.name = "nadamw",
	.summary = "nadam with weight decay by default",
	.options = options,
	.n_states = 2,
	.state_names = mr_optim_adam_states,
	.looks_ahead = true,
	.init = mr_optim_nadam_init,
	.fill = mr_optim_nadam_fill,
};
#endif
