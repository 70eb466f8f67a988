/*
 * state.h - everything that a run must keep to continue as if it had never stopped, as lists of named tensors.
 *
 * The lists point into the run's own memory, so the same list is written by a save and filled by a load. Three of them:
 *
 *	model       the latest weights, one tensor a parameter, under the parameter's name (tied ones once); behind all
 *	            of them the states of layers (nn/layer.h), each under its own name
 *	optimizer   their optimizer state, "<parameter>.<state>", of replicas "r1.<parameter>.<state>" each, and its
 *	            factors likewise (nn/optim.h); an outer
 *	            step's "<parameter>.velocity"; "<parameter>.rest", the part of its master beyond the weight
 *	            (nn/tensor.h); "<parameter>.delta" if B is corrected (weights/predict.h), and the state of the
 *	            mitigation; what layers carry into the micro-batches of the next step, of a plan that drains:
 *	            "rnns.0.carried_h.2" of the third one
 *	inflight    the work under way at a pause point in a plan that never drains: older versions that backward passes
 *	            will still read ("v12.<parameter>"), saved activations ("slot.s0.m7"), the weights that were made
 *	            for them and that B will use ("aimed.s0.m7"), and boundary buffers ("in.s1.m7", "grad.s0.m7"),
 *	            all but the first as bytes, losses that no step has reported yet ("loss.m7"), and weights
 *	            held for the rest of a commit's forwards ("held.s0"), what layers
 *	            carry ("carried.s0") and for which micro-batches ("carried.s0.micro"). Of replicas that differ at
 *	            a pause, while the model is their reference: "r1.<parameter>", "r1.<parameter>.rest", and
 *	            "mean.<parameter>". Empty for
 *	            other systems that flush.
 *
 * Random numbers and the data order need nothing: they are functions of step and sample numbers. The slots and
 * versions under way follow from the plan and the step (mr_run_stand_at), so their list is not stored either.
 */
#ifndef MR_EXEC_STATE_H
#define MR_EXEC_STATE_H

#include "exec/run.h"
#include "store/safetensors.h"

typedef struct mr_state_list {
	mr_saved_tensor *at;
	size_t n, room;
} mr_state_list;

struct mr_state {
	mr_state_list model, optimizer, inflight;
};

/** The lists of a run that is paused at its present step. Free with mr_state_fini. Errors: MR_ERESOURCE. */
mr_status mr_state_of_run(const mr_run *run, mr_state *out) MR_MUST_USE;
/** Add what @stage has beside its work under way when its latest version is @latest. Errors: MR_ERESOURCE. */
mr_status mr_state_of_stage(const mr_run *run, uint16_t stage, uint64_t latest, mr_state *out) MR_MUST_USE;
void mr_state_fini(mr_state *s);
void mr_state_list_fini(mr_state_list *l);

/** Add @t under the name that @fmt makes to @l. Errors: MR_ERESOURCE. */
mr_status mr_state_add(mr_state_list *l, const mr_saved_tensor *t, const char *fmt, ...) MR_PRINTF(3, 4) MR_MUST_USE;
/** @p as numbers of @dtype at @data; the rest of its masters at @rest; and bytes. */
mr_saved_tensor mr_state_param(const mr_param *p, mr_dtype dtype, void *data);
mr_saved_tensor mr_state_rest(const mr_param *p, int16_t *rest);
mr_saved_tensor mr_state_bytes(void *data, size_t bytes);

/** Add the optimizer's states of parameter @p of @b, which is named @name, and their scales. Errors: MR_ERESOURCE. */
mr_status mr_state_optimizer(const mr_stage_weights *b, uint32_t p, const char *name, mr_state *out) MR_MUST_USE;

/** Add the factors of parameter @p of @b, which is named @name (weights/factors.h). Errors: MR_ERESOURCE. */
mr_status mr_state_factors(const mr_stage_weights *b, uint32_t p, const char *name, mr_state *out) MR_MUST_USE;

/** A hash of the latest weights, or of their masters, and of the states of layers: equal for equal ones, whatever the
 * cut, the versions and the padding. */
uint64_t mr_state_hash(const mr_state *s);

#endif
