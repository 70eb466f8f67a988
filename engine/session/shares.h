/* shares.h - the shares of a session's workers (machine.shares; exec/shares.h): their graphs and places. */
#ifndef MR_SESSION_SHARES_H
#define MR_SESSION_SHARES_H

#include "session/session.h"

/** Cut the model of @s, which trains, as machine.shares says. s->graph is then that of the first share. Errors:
 * MR_ECONFIG it cannot be cut; MR_ERESOURCE. */
mr_status mr_session_share(mr_session *s) MR_MUST_USE;

/** Elements of @at, @each bytes long, of @n shares of each of @workers workers, one worker's beside each other, become
 * those of the first share of all workers, with those of the others behind them. False: no memory. */
bool mr_session_by_share(void *at, size_t each, uint32_t workers, uint32_t n);

/** The place of @s, of as many workers as all shares have, worker by worker, becomes that of the first share, with
 * those of the others behind it; so do owners of workers over ranks. Errors: MR_ERESOURCE;
 * MR_ECONFIG these differ from share to share. */
mr_status mr_session_place_shares(mr_session *s) MR_MUST_USE;

/** The place of row @row of mr_executor_rows. */
const mr_place_worker *mr_session_row_place(const mr_session *s, uint32_t row);

/** The shares of a worker that are on the node of the first, as worker 0 has them; 0: workers are whole. */
uint32_t mr_session_shares_here(const mr_session *s);

/** Can the plan of @s be carried out by shares? Errors: MR_ECONFIG with the reason. */
mr_status mr_session_check_shares(const mr_session *s) MR_MUST_USE;

/** Start an engine of all shares, of which @c is the first one's, or replays where @opts (may be NULL) say when their
 * turns are. Errors: those of mr_executor_of_shares. */
mr_status mr_session_start_shares(mr_session *s, const mr_run_config *c, const mr_session_opts *opts) MR_MUST_USE;

/** @c, the first share's, as that of share @q. Points into @s. */
mr_run_config mr_session_share_config(const mr_session *s, const mr_run_config *c, uint32_t q);

void mr_session_end_shares(mr_session *s);

/** Bytes of what the shares show each other, beside the workers of their runs; and of the buffers in which parts are
 * joined for a checkpoint. */
uint64_t mr_session_meeting_bytes(const mr_session *s);

/** The former, of this rank of a training over ranks. */
uint64_t mr_session_rank_meeting_bytes(const mr_session *s);

uint64_t mr_session_joined_bytes(const mr_session *s);

/** Bytes that a share reads of the others in a step. */
uint64_t mr_session_shared_bytes(const mr_session *s);

/** "2 a worker: 12 of 22 layers are cut, 47 % of the FLOPs a share; a step reads 1.0 MiB of the other share" in @text;
 * "" without shares. Returns @text. */
const char *mr_session_shares_text(const mr_session *s, char text[160]);

#endif
