/*
 * average_trigger.h - when an optimizer that averages the weights begins to (nn/optim/nt_asgd.c), and what then counts
 * as the weights.
 *
 * The validation losses of the evaluations that train.eval_every asks for decide, at the pause points where these are:
 * from the first of them on that is above the least loss of all before the last `wait` of its predecessors, steps are
 * averaged. So the step at which it begins follows from the configuration alone. What has been seen so far is a fact of
 * every checkpoint.
 *
 * From then on an evaluation reads the averages, and a checkpoint has them as its model, with the weights that are
 * stepped as the optimizer's state: what reads a model gets the average.
 */
#ifndef MR_SESSION_AVERAGE_TRIGGER_H
#define MR_SESSION_AVERAGE_TRIGGER_H

#include "session/session.h"
#include "exec/state.h"

/** Does the model, the system and the precision of @s go with its optimizer, if that averages? Errors: MR_ECONFIG. */
mr_status mr_average_check(const mr_session *s) MR_MUST_USE;

/** The evaluation behind step @step, a multiple of train.eval_every, has given @loss; calling it again does nothing.
 * While no worker runs. Errors: over ranks, the transport's. */
mr_status mr_average_note(mr_session *s, uint64_t step, double loss) MR_MUST_USE;

/** If averages count: exchange them with the weights, in memory, before an evaluation and behind it. Errors:
 * MR_ERESOURCE. */
mr_status mr_average_exchange(mr_session *s) MR_MUST_USE;

/** The same in the lists that a checkpoint is written from or read to, so that its model is the average. */
void mr_average_rename(const mr_session *s, mr_state *lists);

/** The fact, into @text, which is returned; "" for an optimizer that does not average. */
const char *mr_average_fact(const mr_session *s, char *text, size_t size);
/** Take up the fact of a checkpoint; NULL: it has none. Errors: MR_ECKPT. */
mr_status mr_average_take_up(mr_session *s, const char *fact) MR_MUST_USE;

#endif
