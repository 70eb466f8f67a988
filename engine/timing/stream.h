/*
 * stream.h - a simulation of any length: one instruction after the other, in the order in which they begin.
 *
 * Of two that begin at once, the one for which the other waits comes first (instructions may take no time). So the
 * order is legal: a thread that carries out one after the other finds all inputs of each done. That is how a run
 * is trained in virtual time (replay/replay.h).
 *
 * A window of the plan's iterations is unrolled once and then moved along: its overlap with its last place is known,
 * the rest is computed anew. Times are those of one simulation of the whole (mr_plan_walk), to the last bit, because
 *   - an instruction waits for nothing that lies further back than the reach of the plan's edges, and the window keeps
 *     the known times that far back;
 *   - from a late enough iteration on, all iterations wait alike, and only from there on times are computed after a
 *     move;
 *   - jitter is drawn for the true number of the micro-batch.
 */
#ifndef MR_TIMING_STREAM_H
#define MR_TIMING_STREAM_H

#include "timing/walk.h"

typedef struct mr_walk_event {
	const mr_instr *in; /* in the plan's lists */
	uint64_t n;         /* iteration of the body; 0 in the prologue */
	uint16_t worker;
	uint8_t cause;      /* mr_wait_cause of what it waited for last */
	double begin, end;
} mr_walk_event;

typedef struct mr_walk_stream mr_walk_stream;

/** A simulation of @plan, lowered, from its start; Of the options unlimited and what bends
 * times count. Borrows all three until destroyed.
 * Errors: as mr_plan_walk; MR_EINVAL for a plan that is not lowered. */
mr_status mr_walk_stream_create(const mr_plan *plan, const mr_cost *cost, const mr_walk_opts *params,
			       mr_walk_stream **out) MR_MUST_USE;
void mr_walk_stream_destroy(mr_walk_stream *s);

/** An upper bound of the memory of a simulation of @plan, lowered, with a window of the usual size. */
uint64_t mr_walk_stream_bytes(const mr_plan *plan);

/**
 * The next instruction before pause point @until (ir/pause.h: without pause points in the prologue, before iteration
 * @until); *@more is false when there is none. @until may grow from call to call: later instructions wait until then.
 * There is no epilogue. Errors: MR_EINVAL workers drift apart beyond the window, which no lowered plan allows.
 */
mr_status mr_walk_stream_next(mr_walk_stream *s, uint64_t until, mr_walk_event *out, bool *more) MR_MUST_USE;

#endif
