/*
 * acquired.h - the buffers that a worker has already acquired for an instruction which still waits for others.
 *
 * Thread: the worker.
 */
#ifndef MR_EXEC_ACQUIRED_H
#define MR_EXEC_ACQUIRED_H

#include <stdint.h>

enum { MR_GOT_IN = 1, MR_GOT_OUT = 2, MR_GOT_TARGET = 4 };

typedef struct mr_acquired {
	unsigned got;             /* MR_GOT_IN and so on: which of the following are valid */
	uint32_t in, out, target; /* buffer numbers: of the input, the output and the targets */
} mr_acquired;

#endif
