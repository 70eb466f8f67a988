/*
 * replay_shares.h - a training in virtual time whose workers are several shares (exec/shares.h): a replay of each, on a
 * thread of its own, in lockstep.
 *
 * The first share's replay has its order from outside and says when each turn begins. The others take the same turns
 * with the same times, none before the first has begun it: so all meet where layers need the others, and stop at the
 * same step when the first is asked to pause. Their weights are those of an engine, to the bit.
 */
#ifndef MR_REPLAY_REPLAY_SHARES_H
#define MR_REPLAY_REPLAY_SHARES_H

#include "exec/shares.h"
#include "replay/replay.h"

typedef struct mr_replay_shares mr_replay_shares;

/** Replays of @c[0 .. @n), the shares' graphs and places. Errors: those of mr_replay_create. */
mr_status mr_replay_shares_create(const mr_run_config *c, uint32_t n, mr_replay_shares **out) MR_MUST_USE;
void mr_replay_shares_destroy(mr_replay_shares *s); /* accepts NULL */

/** As mr_replay_follow, or without @source as mr_replay_by_clock, of all shares; @progress gets the first one's steps.
 */
mr_status mr_replay_shares_run(mr_replay_shares *s, uint64_t until, mr_replay_source *source, void *source_arg,
			       const mr_replay_clock *clock, mr_engine_progress *progress, void *arg,
			       uint64_t *reached) MR_MUST_USE;

/** As mr_replay_eval. */
mr_status mr_replay_shares_eval(mr_replay_shares *s, mr_eval_wanted *wanted, void *arg, double *loss) MR_MUST_USE;

/** The replay of the first share, whose run is shares->run[0] of its own configuration. */
mr_replay *mr_replay_shares_first(mr_replay_shares *s);

#endif
