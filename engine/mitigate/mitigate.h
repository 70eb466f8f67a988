/*
 * mitigate.h - mitigations of stale gradients: one file in engine/mitigate, one line in mitigate.def each.
 *
 * A gradient is `age` commits old when it was computed from weights that are that many commits behind those to which it
 * is applied. In a plan that never flushes, stage s has a steady age that follows from the plan, tau; the first commits
 * are younger. A mitigation does any of four things, all at the commit of a stage:
 *	settle     sets the coefficients of the optimizer, once a stage, from tau;
 *	rate       gives a factor on the learning rate, from the age of the current commit;
 *	correct    changes the gradient itself, from the weights then and now and from a tensor of its own, which
 *	           `follow` updates;
 *	amend      changes the step that the optimizer made, from a tensor of its own.
 * With age 0 each of them changes nothing, to the bit. No arithmetic of a mitigation depends on time.
 */
#ifndef MR_NN_MITIGATE_H
#define MR_NN_MITIGATE_H

#include "base/option.h"
#include "nn/kernels.h"
#include "nn/optim.h"

#define MR_MITIGATE_NONE "none"

typedef struct mr_mitigate mr_mitigate;

/* One parameter at a commit, of @n elements. Weights are versions: of a master only the part that stages read. */
typedef struct mr_mitigate_call {
	mr_dtype dtype;   /* of gradients and state; bf16 only for mitigations that keep no state */
	mr_dtype weights;
	int64_t n;
	const void *now;  /* weights that the step starts from */
	const void *then; /* weights of the oldest version that F of its micro-batches read; may be @now */
	const int16_t *now_rest; /* amend: the rest of their masters; NULL: they are their own */
	void *state;      /* NULL if the mitigation keeps none */
	uint32_t delay;   /* the steady age of the stage */
	double gscale;    /* the mean gradient is the sum times this */
	uint64_t t;       /* number of this commit, from 1 */
} mr_mitigate_call;

typedef struct mr_mitigate_ops {
	const char *name;
	const char *summary;
	const char *source;       /* NULL: nothing to cite */
	const mr_option *options; /* NULL: none */
	const char *state_name;   /* name of the tensor that it keeps for each parameter if mr_mitigate.keeps_state */
	const char *suits_text;   /* the optimizers that `suits` takes, for a message */
	bool (*suits)(const mr_optim *o); /* NULL: all optimizers suit */
	/** Does @m change anything of @o's steps with late gradients? Errors: MR_ECONFIG. NULL: always.
	 */
	mr_status (*check)(const mr_mitigate *m, const mr_optim *o);
	void (*init)(mr_mitigate *m, const mr_values *values); /* NULL: it has no options */
	void (*settle)(const mr_mitigate *m, uint32_t tau, uint32_t n_stages, mr_optim *o);
	double (*rate)(const mr_mitigate *m, uint64_t age);
	/** Change elements [@lo, @hi) of the sum of gradients @g in place. NULL: gradients stay unchanged. */
	void (*correct)(const mr_mitigate *m, const mr_mitigate_call *c, void *g, int64_t lo, int64_t hi);
	/** Called after the step, with @made, the result of it from @c->now; elements [@lo, @hi). NULL: not needed. */
	void (*follow)(const mr_mitigate *m, const mr_mitigate_call *c, const void *made, int64_t lo, int64_t hi);
	/** Called after the step, of stages with delay: change elements [@lo, @hi) of @made, the result of it from
	 * @c->now, whose masters have @made_rest (NULL: none), in place. NULL: steps stay as they are. */
	void (*amend)(const mr_mitigate *m, const mr_mitigate_call *c, void *made, int16_t *made_rest, int64_t lo,
		      int64_t hi);
} mr_mitigate_ops;

struct mr_mitigate {
	const mr_mitigate_ops *ops;
	bool keeps_state;
	double strength, memory, limit;
	bool adaptive;
	bool by_delay;
	bool predicts; /* F, and the B that goes with it, work on weights moved on by tau steps (plan.h, mr_predict) */
	uint32_t slow_start; /* commits over which a stage's rate rises from lr / tau to lr, as plan.h has it; 0: none
	                        */
};

const mr_mitigate_ops *mr_mitigate_at(uint32_t i);
const mr_mitigate_ops *mr_mitigate_find(const char *name);

/** Fill @m from the values of @ops->options. */
void mr_mitigate_init(mr_mitigate *m, const mr_mitigate_ops *ops, const mr_values *values);

/**
 * m->ops->correct, m->ops->follow and m->ops->amend, which must not be NULL, over all elements, on the threads of
 * @kc's team: element by element, so the bits are those of one thread. Thread: @kc's leader.
 */
mr_status mr_mitigate_correct(const mr_mitigate *m, const mr_mitigate_call *c, const mr_kernels *k, mr_kctx *kc,
			      void *g) MR_MUST_USE;
mr_status mr_mitigate_follow(const mr_mitigate *m, const mr_mitigate_call *c, const mr_kernels *k, mr_kctx *kc,
			     const void *made) MR_MUST_USE;
mr_status mr_mitigate_amend(const mr_mitigate *m, const mr_mitigate_call *c, const mr_kernels *k, mr_kctx *kc,
			    void *made, int16_t *made_rest) MR_MUST_USE;

/** Is @ops the mitigation "none"? */
bool mr_mitigate_is_none(const mr_mitigate_ops *ops);

/** Does it need the whole gradient and the weights that F read? */
static inline bool mr_mitigate_corrects(const mr_mitigate *m)
{
	return m->ops->correct;
}

/** May its steps be carried out inside a backward pass? */
static inline bool mr_mitigate_steps_inside(const mr_mitigate *m)
{
	return !m->ops->correct && !m->ops->amend;
}

#endif
