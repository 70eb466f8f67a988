/*
 * board.h - building blocks on a board of unit slots, from which the systems with controllable memory make their
 * orders.
 *
 * A board has a row a worker and a column a slot; a slot holds one step (mr_vee_step) or is free. One micro-batch's
 * passes over all workers are the building block; laid down again every six slots, as a V needs six slots a
 * micro-batch on each worker (two F, two I, two W), blocks do not collide. The time for which a block keeps its
 * activations determines the peak of the repeating part. The front and the back of the board are then squeezed
 * together; in the end only the order in each row counts.
 *
 *	D = 2   0     3     6     9     12         a, b: legs 0 and 1; W goes into the first free slots after its I
 *	w0      Fa....FbIb..FaIa..FbIb..FaIa..
 *	w1      ..FaFb....IbIaFaFb....IbIaFaFb
 */
#ifndef MR_SCHEDULES_BOARD_H
#define MR_SCHEDULES_BOARD_H

#include "schedules/common/vee.h"

#define MR_BOARD_BLOCK 6u /* slots from micro-batch to micro-batch */
#define MR_BOARD_PASSES 4 /* steps that micro-batches are followed through: F0, F1, I1, I0 */
#define MR_BOARD_FREE MR_VEE_N

typedef struct mr_board {
	uint16_t n_workers;
	uint32_t n_micro;
	uint32_t n_slots;
	uint32_t back;  /* slots that a backward takes: 1, or 2 where its W follows at once (and stands in the second)
	                   */
	uint8_t *at;    /* [D][n_slots] the step in each slot */
	uint32_t *when; /* [D][MR_BOARD_PASSES][T] slot of each pass, the first of a backward's two */
} mr_board;

/* The slot of @pass on @worker in a building block. */
typedef uint32_t mr_board_start(uint32_t n_workers, uint32_t worker, mr_vee_step pass);

/**
 * Make a board for the V of @plan, whose backwards take @back slots, and put the passes of micro-batch m at @start + 6
 * m. There is room after them for weight gradients. Errors: MR_ECONFIG for more slots than any run can have;
 * MR_ERESOURCE.
 */
mr_status mr_board_create(const mr_plan *plan, mr_board_start *start, uint32_t back, mr_board *out) MR_MUST_USE;
void mr_board_fini(mr_board *b);

static inline uint8_t *mr_board_row(const mr_board *b, uint16_t worker)
{
	return &b->at[(size_t)worker * b->n_slots];
}

static inline uint32_t *mr_board_when(const mr_board *b, uint16_t worker, mr_vee_step pass)
{
	return &b->when[((size_t)worker * MR_BOARD_PASSES + pass) * b->n_micro];
}

/**
 * Earliest slot in which @pass of @micro may stand on @worker: after the pass of @micro that produces its input or
 * comes before it on this worker, and after @pass of the micro-batch before.
 */
uint32_t mr_board_earliest(const mr_board *b, uint16_t worker, mr_vee_step pass, uint32_t micro);

/** Append the steps of each row, in their order, to the lists of @plan; @fused: see mr_vee_emit_steps. */
mr_status mr_board_emit(const mr_board *b, mr_plan *plan, bool fused) MR_MUST_USE;

#endif
