/*
 * fifo.h - does a boundary hand over in one order at both ends?
 */
#ifndef MR_IR_FIFO_H
#define MR_IR_FIFO_H

#include "ir/plan.h"

/**
 * Whether the reader of a boundary takes its messages in the order in which the writer sends them: forward those that
 * enter @stage, else the gradients that @stage hands to the stage before it. In plans whose storage is MR_MODULO every
 * boundary does (the checker proves it), for what is under way at a pause follows from counts there.
 */
bool mr_boundary_is_fifo(const mr_plan *plan, uint8_t pipe, uint16_t stage, bool forward);

#endif
