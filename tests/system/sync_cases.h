/* sync_cases.h - synchronous systems against sequential training, to the bit: shared by a fast suite and a slow one. */
#ifndef MR_TESTS_SYSTEM_SYNC_CASES_H
#define MR_TESTS_SYSTEM_SYNC_CASES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sync_case {
	const char *backend; /* "backend=... dtype=..." */
	bool gpt;
	const char *sets;    /* of model, optimizer and training */
	uint64_t steps;
	unsigned workers;    /* bit D: with D workers */
} sync_case;

/** gpipe fifo and lifo and 1f1b with every asked number of workers: weights, state, losses, norms, evaluation. */
void sync_case_check(const sync_case *c);

/** "backend=dnnl dtype=f32" where there is one, else NULL. */
const char *sync_dnnl(void);

#endif
