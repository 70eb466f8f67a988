/*
 * sweep.h - a topological order of a plan's graph, found worker by worker: each list advances until it has to wait,
 * then another one does. Nodes that follow each other in a list mostly follow each other in the order, so their edges
 * and times are near in memory; that makes it several times as fast as the search of ir/unroll.h. A cycle only ends the
 * order early: mr_unroll_order describes the cycle.
 */#ifndef MR_IR_SWEEP_H
#define MR_IR_SWEEP_H

#include "ir/unroll.h"

/* A line is a sequence that advances by itself: the nodes of a worker, or one join. */
typedef struct mr_sweep {
	const mr_unroll *g;
	uint32_t *node, *last; /* [n_lines] the next node of each line, and where it ends */
	uint32_t *source;      /* [n_lines] which source of that node is looked at next; 0: its storage edge */
	uint32_t *ready;       /* lines that can advance; the last one is being advanced */
	uint32_t n_ready;
	uint32_t *waiting;     /* [n_all] the line that waits for a node, or MR_NO_NODE; `other` links further ones */
	uint32_t *other;       /* [n_lines] */
	uint8_t *done;         /* [n_all] */
	uint32_t n_done;       /* n_all at the end, or less if a cycle forbids an order */
} mr_sweep;

/** Begin. Errors: MR_ERESOURCE. The sweep borrows @g, which stays as it is. */
mr_status mr_sweep_init(mr_sweep *s, const mr_unroll *g) MR_MUST_USE;
void mr_sweep_fini(mr_sweep *s);

/** The next node, all of whose sources have come before; MR_NO_NODE when there is none. */
uint32_t mr_sweep_next(mr_sweep *s);

/** All nodes into @order [n_all]; *@complete is false where a cycle forbids that. Errors: MR_ERESOURCE. */
mr_status mr_sweep_order(const mr_unroll *g, uint32_t *order, bool *complete) MR_MUST_USE;

#endif
