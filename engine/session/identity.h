/*
 * identity.h - which run a checkpoint is of: a hash of what must not change between a checkpoint and its resumption.
 *
 * It holds all that a step depends on but its learning rate (so a run may be given more steps): every plug-in's options
 * by the plug-in's own table, every layer's configuration and every parameter by the lists of their fields (nn/layer.h,
 * planner/graph.h), the cut, the plan. Nothing has to be remembered for a new option or field: it counts wherever it is
 * not at its default, and while it is, checkpoints of older builds go on.
 *
 * Builds before that wrote "run_hash" into their manifests, for which fields were chosen by hand. A manifest that says
 * only that is held to the same number, and options that are younger than it must be at their defaults.
 */
#ifndef MR_SESSION_IDENTITY_H
#define MR_SESSION_IDENTITY_H

#include "session/session.h"

/** The hash. @s is open. Errors: MR_ERESOURCE. */
mr_status mr_identity(const mr_session *s, uint64_t *out) MR_MUST_USE;

/** @p, whose fields @fields lists (mr_param_fields), as a part of that, continuing the hash @h. */
uint64_t mr_identity_of_param(const mr_field *fields, const mr_param *p, uint64_t h);

/** What the slots of a plan that never drains hold, at all stages: the names and sizes of the pieces (nn/saved.h). 0
 * without slots. @s is started. */
uint64_t mr_identity_slots(const mr_session *s);

/** The number that manifests carried as "run_hash". */
uint64_t mr_identity_former(const mr_session *s);

/** Has @s anything that is younger than "run_hash" and not at its default? Then MR_ECKPT with a message that names
 * it. Errors: also MR_ERESOURCE. */
mr_status mr_identity_former_has_all(const mr_session *s) MR_MUST_USE;

/** Do slots hold what they held when manifests said "slots 2": is every piece that layers save one of that time? */
bool mr_identity_former_slots(const mr_session *s);

#endif
