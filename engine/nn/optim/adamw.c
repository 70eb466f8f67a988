/* Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019. Adam with decoupled decay, and
 * some of it by default. */
#if defined(MR_OPTIM_LIST)
MR_OPTIM(adamw)
#elif !defined(MR_OPTIM_RULES)
#include "nn/optim/part.h"

static const mr_option options[] = {
	MR_OPTIM_LR,
	MR_OPTIM_ADAM(MR_OPTIM_DECAY("0.01")),
	MR_OPTIM_STATE,
	{NULL},
};

extern const mr_optim_ops mr_optim_adamw;
const mr_optim_ops mr_optim_adamw = {
	.name = "adamw",
	.summary = "adam with weight decay by default",
	.options = options,
	.n_states = 2,
	.state_names = mr_optim_adam_states,
	.along = MR_ALONG_ADAM,
	.suffers = true,
	.init = mr_optim_adam_init,
	.fill = mr_optim_adam_fill,
};
#endif
