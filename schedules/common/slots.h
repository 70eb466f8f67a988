/*
 * slots.h - systems that are drawn as a table: every instruction names the column (slot) in which it stands, and a
 * worker's list is its row from left to right. Only the order is kept: slots are not times.
 *
 * A slot of a worker belongs to one (op, stage, pipe). Several micro-batches of it may share the slot; they stand in
 * ascending order.
 */
#ifndef MR_SCHEDULES_SLOTS_H
#define MR_SCHEDULES_SLOTS_H

#include "ir/sched.h"

typedef struct mr_slots {
	mr_plan *plan; /* borrowed */
	struct mr_slot_entry *at;
	size_t n;
} mr_slots;

/** An empty table for @plan, whose stages are placed. */
void mr_slots_init(mr_slots *s, mr_plan *plan);
void mr_slots_fini(mr_slots *s);

/** Enter one instruction in the row of the worker that hosts (@stage, @pipe). */
mr_status mr_slots_put(mr_slots *s, uint64_t slot, mr_op op, uint32_t micro, uint16_t stage, uint8_t pipe) MR_MUST_USE;

/** Append all rows to the bodies of the plan's workers. Errors: MR_EINVAL for two instructions that claim one slot. */
mr_status mr_slots_emit(mr_slots *s) MR_MUST_USE;

#endif
