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
 *	edge   writer                              reader                              what becomes visible
 *	W5/R5  mr_shares_meet raises `n` (seq_cst  mr_shares_meet of another share     the room of that meeting
 *	       as the waiter may sleep, pause.h)
 */
#ifndef MR_EXEC_SHARES_H
#define MR_EXEC_SHARES_H

#include <stdatomic.h>

#include "exec/run.h"

/* What one share shows at the meetings of one place. */
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
	uint16_t n_workers, n_stages;
	mr_shares_side *side; /* [n_workers + n_stages][n] */
	double *norms;        /* the stages' rooms */
	bool apart;           /* each works by itself, as at a warm-up: nobody waits, all parts are its own */
};

/** For @n runs of @plan, which have the parameters of @g. Errors: MR_ERESOURCE. */
mr_status mr_shares_create(uint32_t n, const mr_plan *plan, const mr_graph *g, mr_shares **out) MR_MUST_USE;
void mr_shares_destroy(mr_shares *s);

/** What keeps the run of @c from having shares: MR_ECONFIG with a message that names it. */
mr_status mr_shares_refuse(const mr_run_config *c) MR_MUST_USE;

/** Begin to count meetings anew. While no worker runs. */
void mr_shares_reset(mr_shares *s);

/** Bytes that a worker of @run shows at a meeting at most. */
size_t mr_shares_room(const mr_run *run);

/** mr_shares_face.meet, of a worker. */
mr_status mr_shares_meet(void *worker, const void *mine, size_t bytes, size_t reads,
			 const void *part[MR_SHARES_MOST]) MR_MUST_USE;

/** Add up the squared norms of the parameters that are cut, of the gradient of @b that makes @version, over all shares:
 * then each has those of the whole model. Errors: MR_ESTOPPED. */
mr_status mr_shares_add_norms(mr_worker *w, mr_stage_weights *b, uint64_t version) MR_MUST_USE;

#endif
