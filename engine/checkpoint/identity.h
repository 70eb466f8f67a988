/*
 * identity.h - the identity of a run: a hash of everything that must not change between a checkpoint and its
 * resumption.
 *
 * It covers all that a step depends on except its learning rate (so a run may be given more steps): every plug-in's
 * options by the plug-in's own table, every layer's configuration and every parameter by the lists of their fields
 * (nn/layer.h, planner/graph.h), the cut, the plan. A new option or field is covered without further code: it counts if
 * it is not at its default, and while it is, checkpoints from before it can be resumed.
 *
 * The instructions that compute the run are covered, too: the choices of a table and the last bits depend on them. A
 * run may be resumed by other instructions; it then has another identity, and a warning says so.
 */
#ifndef MR_CHECKPOINT_IDENTITY_H
#define MR_CHECKPOINT_IDENTITY_H

#include "session/session.h"

/** The instructions, as tables of choices call them (mr_kernels_isa); of the backend `reference` "". */
const char *mr_identity_isa(const mr_session *s);

/** The hash, were @s computed by @isa. @s is open. Errors: MR_ERESOURCE. */
mr_status mr_identity(const mr_session *s, const char *isa, uint64_t *out) MR_MUST_USE;

/** The same without what only decides who computes what and when: equal for runs of plans that flush and add up
 * gradients in the same order (ir/sum_order.h), whatever the system and the cut. 0: @s is no such run. */
mr_status mr_identity_elastic(const mr_session *s, const char *isa, uint64_t *out) MR_MUST_USE;

/** Continue the hash @h with @p, whose fields @fields lists (mr_param_fields). */
uint64_t mr_identity_of_param(const mr_field *fields, const mr_param *p, uint64_t h);

/** A hash of the contents of the slots of a plan that never drains, at all stages: the names and sizes of the pieces
 * (nn/saved.h). 0 without slots. @s is started. */
uint64_t mr_identity_slots(const mr_session *s);

#endif
