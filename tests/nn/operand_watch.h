/*
 * operand_watch.h - a table of kernels that holds each call to the row of its operation in nn/kernels.def.
 *
 * The call is made on copies of its operands, each in pages of its own that end with the operand and are followed by
 * one without access: it can read and write nothing else. Operands that are only read cannot be written. Those that are
 * only written hold marks (four bytes are no number in any type), so that a call that reads them gives no numbers.
 * Those that the row says the call does not look at are replaced by an address that no program has. And a recorder
 * refuses the call when any one of the used operands is missing.
 */
#ifndef MR_TESTS_NN_OPERAND_WATCH_H
#define MR_TESTS_NN_OPERAND_WATCH_H

#include "nn/operation.h"

/** The table of @k, watched; valid until the next call, which ends with NULL. One thread. */
const mr_kernels *watch_operands(const mr_kernels *k);

/** Calls of an operation so far, in all tables. */
uint32_t watched_calls(mr_kernel_id id);

#endif
