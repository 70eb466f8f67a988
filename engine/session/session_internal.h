/* session_internal.h - the inside of a session, shared by its files: session.c, session_plan.c, rank_data.c,
 * session_judge.c. */
#ifndef MR_SESSION_SESSION_INTERNAL_H
#define MR_SESSION_SESSION_INTERNAL_H

#include "session/session.h"

/** Cut the model, place the workers, take the costs, and make the plan for them, from what the session has read so far.
 * Errors: those of mr_session_open. */
mr_status mr_session_make_plan(mr_session *s) MR_MUST_USE;

/** Cut the model of @s into @stages as its configuration says. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_session_cut(mr_session *s, uint16_t stages) MR_MUST_USE;

/** Costs of the stages of @s, which is cut, for an order: with what its messages between hosts take. Errors:
 * MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_session_order_costs(const mr_session *s, mr_stage_cost *out) MR_MUST_USE;

/** Finish the draft of @s as its plan, for its cut and its costs. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_session_finish_plan(mr_session *s) MR_MUST_USE;

/** Make the plan of @s again, from the draft on. Errors: as above. */
mr_status mr_session_plan_again(mr_session *s) MR_MUST_USE;

/** Load the data of @s from the files of this host. Errors: MR_EDATA, MR_ERESOURCE. */
mr_status mr_session_load_here(mr_session *s) MR_MUST_USE;

/* --- session_judge.c --- */

typedef struct mr_session_judge mr_session_judge;

/** A judge of plans for the session @s, whose workers are placed and whose costs are taken; borrows it. The caller
 * destroys *@out, also after an error. Errors: MR_ERESOURCE. */
mr_status mr_session_judge_create(mr_session *s, mr_session_judge **out) MR_MUST_USE;
void mr_session_judge_destroy(mr_session_judge *j);
const mr_sched_judge *mr_session_judge_face(const mr_session_judge *j);

#endif
