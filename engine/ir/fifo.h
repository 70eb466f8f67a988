/*
 * fifo.h - whether the messages of a boundary are received in the order in which they are sent.
 */
#ifndef MR_IR_FIFO_H
#define MR_IR_FIFO_H

#include "ir/plan.h"

/**
 * Whether the reader of a boundary takes its messages in the order in which the writer sends them: forward those that
 * enter @stage, else the gradients that @stage sends to the stage before it. The checker proves that in plans whose
 * storage is MR_MODULO every boundary does; counts at a pause then determine which messages are under way.
 */
bool mr_boundary_is_fifo(const mr_plan *plan, uint8_t pipe, uint16_t stage, bool forward);

#endif
