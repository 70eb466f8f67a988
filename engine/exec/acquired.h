/*
 * acquired.h - what a worker has acquired for an instruction that waits for more.
 *
 * Thread: the worker.
 */
#ifndef MR_EXEC_ACQUIRED_H
#define MR_EXEC_ACQUIRED_H

#include <stdint.h>

enum { MR_GOT_IN = 1, MR_GOT_OUT = 2, MR_GOT_TARGET = 4 };

typedef struct mr_acquired {
	unsigned got;             /* MR_GOT_IN and so on: which of the next are there */
	uint32_t in, out, target; /* numbers of buffers: with the input, for the output, with the targets */
} mr_acquired;

#endif
