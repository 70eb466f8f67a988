/*
 * shares.h - the shares of the workers of a training (nn/share.h): one run each, in lockstep where they meet.
 *
 * With g shares the engine has g runs of one plan. Run q has the graph of share q, a place of its own for every worker,
 * and links, slots, versions and optimizer state as any run: worker w of run q talks to other workers of run q, and
 * meets worker w of the other runs where a layer needs the sum over shares (an all-reduce). All have the same lists, so
 * a worker only waits for others to reach the same place of theirs, and there is no deadlock.
 *
 * At a meeting each side copies what it shows into room of its own, which is one of two in turns: it may write the one
 * again when all others have come to the next meeting, and so have left this one.
 *
 * Shares that share no memory, as those of several ranks, are in groups, by place: each share sends what it shows to
 * the first share of every other group, which has room for it and lets the others of its group know. A meeting has
 * its number everywhere, so all add up the same parts in the same order, with the bits of one process.
 *
 *	edge   writer                              reader                              what becomes visible
 *	W5/R5  mr_shares_meet raises `n` (seq_cst  mr_shares_meet of another share     the room of that meeting
 *	       as the waiter may sleep, pause.h)
 */
#ifndef MR_EXEC_SHARES_H
#define MR_EXEC_SHARES_H

#include <stdatomic.h>

#include "exec/run.h"

/* What one share shows at the meetings of one place, as a group of shares sees it. */
typedef struct mr_shares_side {
	_Alignas(64) _Atomic uint32_t n; /* meetings so far, modulo 2^32 */
	uint8_t *room[2];
	uint64_t bytes[2];               /* shown there */
} mr_shares_side;

/* Places: of each worker, for the sums of its layers, in its memory; and of each stage, for the norms of its gradients,
 * which any worker of the stage may be the one to add up. */
struct mr_shares {
	uint32_t n;
	mr_run **run;         /* [n] */
	mr_share_links *links; /* [n] kinds of link of each run */
	uint16_t n_workers, n_stages;
	uint32_t n_places;    /* n_workers + n_stages */
	uint8_t *first;       /* [n_places][n] the first share that shares memory with each: its group */
	mr_shares_side *side; /* [n_places][n of groups][n] */
	mr_channel *channel;  /* [n_places][n][n of groups] by which a share shows a group that is not its own; kind
	                         NULL: none. NULL: all share memory */
	double *norms;        /* the stages' rooms */
	bool apart;           /* each works by itself, as at a warm-up: nobody waits, all parts are its own */
};

/** For @n runs as @c, the first's, which have the parameters of its graph. Errors: MR_ERESOURCE; MR_ECONFIG too many
 * workers. */
mr_status mr_shares_create(uint32_t n, const mr_run_config *c, mr_shares **out) MR_MUST_USE;
void mr_shares_destroy(mr_shares *s);

/** Open what goes between groups: all runs are made. Errors: the kind's. */
mr_status mr_shares_open(mr_shares *s) MR_MUST_USE;

/** Close it: messages and their waiting workers are of runs, so before these go. */
void mr_shares_close(mr_shares *s);

/** What keeps the run of @c from having shares: MR_ECONFIG with a message that names it. */
mr_status mr_shares_refuse(const mr_run_config *c) MR_MUST_USE;

/** Shares of @group at place @at. */
uint32_t mr_shares_members(const mr_shares *s, uint32_t at, uint32_t group);

/** Begin to count meetings anew. While no worker runs; over ranks as often in each. */
void mr_shares_reset(mr_shares *s);

/** Take (or measure) the memory that worker @w needs for meetings. */
void mr_shares_layout(const mr_worker *w, mr_arena *a);

/** Bytes that a worker of @c has in rooms for meetings: of its own, and of @others shares that show it what they have
 * by messages. */
uint64_t mr_shares_room_bytes(const mr_run_config *c, uint32_t others);

/** mr_shares_face.meet, of a worker. */
mr_status mr_shares_meet(void *worker, const void *mine, size_t bytes, const void *part[MR_SHARES_MOST]) MR_MUST_USE;

/** mr_shares_face.meet_own. */
mr_status mr_shares_meet_own(void *worker, const void *mine, size_t pieces, size_t piece,
			     mr_shares_part part[MR_SHARES_MOST]) MR_MUST_USE;

/** Add up the squared norms of the parameters that are cut, of the gradient of @b that makes @version, over all shares:
 * then each has those of the whole model. Errors: MR_ESTOPPED. */
mr_status mr_shares_add_norms(mr_worker *w, mr_stage_weights *b, uint64_t version) MR_MUST_USE;

#endif
