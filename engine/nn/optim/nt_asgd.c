/*
 * Merity, Keskar, Socher: "Regularizing and optimizing LSTM language models", ICLR 2018: plain SGD, which begins to
 * average the weights when the validation loss has not become less for some evaluations (session/average_trigger.h).
 * With T the step at which it began, and t the present one:
 *
 *	w = w (1 - lr wd) - lr g;  m = mu w + (1 - mu) m,  mu = 1 / max(1, t - T - 1)
 *
 * which is PyTorch's ASGD with lambd 0 and t0 0, as the paper's program has it. Before T, and at the first two steps
 * behind it, m is w. Evaluations and checkpoints take m for the weights from T on.
 */
#if defined(MR_OPTIM_LIST)
MR_OPTIM(nt_asgd)
MR_STEP(AVERAGED, averaged, 1, true, s->lr, 0)
#elif defined(MR_OPTIM_RULES)
static inline V step_averaged_v(const step_lanes *c, V w, V g, V *m, V *v)
{
	(void)v;
	w = v_fnma(c->rate, step_gradient_v(c, w, g), v_mul(w, c->keep));
	*m = v_fma(c->b1, *m, v_mul(c->a1, w));
	return w;
}
#else
#include "nn/optim/part.h"

static const mr_option options[] = {
	MR_OPTIM_LR,
	{"wait", MR_OPT_INT, "5", 1, MR_OPTIM_MOST_WAIT, NULL, "evaluations",
	 "average the weights once the validation loss is above the least of those before the last this many"},
	MR_OPTIM_DECAY_KINDS("0"),
	{NULL},
};

static const char *const states[1] = {"average"};

static void init(mr_optim *o, const mr_values *values)
{
	o->wait = (uint32_t)mr_values_int(values, "wait");
	mr_optim_decay_init(o, values);
}

static void fill(const mr_optim *o, const mr_optim_call *c, mr_step *out)
{
	uint64_t behind = o->average_from && c->t > o->average_from ? c->t - o->average_from : 0;

	*out = mr_optim_base(o, c, MR_STEP_AVERAGED);
	out->b1 = behind > 2 ? 1 - 1 / (double)(behind - 1) : 0;
}

extern const mr_optim_ops mr_optim_nt_asgd;
const mr_optim_ops mr_optim_nt_asgd = {
	.name = "nt_asgd",
	.summary = "plain SGD that averages the weights once evaluations no longer get better",
	.options = options,
	.n_states = 1,
	.state_names = states,
	.averages = true,
	.init = init,
	.fill = fill,
};
#endif
