/* explorer_model.h - what the two halves of the explorer share: the state, and the step being made. */
#ifndef MR_TESTS_HOST_EXPLORER_MODEL_H
#define MR_TESTS_HOST_EXPLORER_MODEL_H

#include <setjmp.h>

#include "host/explorer.h"

enum { N_THREADS = 4, N_LOCS = 8, N_MSGS = 16, N_DATA = 16, N_LOG = 96, N_PRIVATE = 160, N_RANGES = 8 };

typedef struct message {
	uint32_t value;
	bool rmw;
	uint8_t view[N_LOCS];     /* what an acquire load of it may no longer read below */
	uint8_t clock[N_THREADS]; /* plain accesses that happened before it */
} message;

typedef struct location {
	uint8_t n;
	uint8_t floor; /* newest message that a seq_cst access stored or saw */
	message m[N_MSGS];
} location;

typedef struct datum {
	uint32_t value;
	uint8_t writer, written;   /* last writer and its epoch then; 0 = not written yet */
	uint8_t read[N_THREADS];   /* epoch of each thread's last read; 0 = none */
} datum;

typedef enum life { RUNS, SLEEPS, ENDED } life;

typedef struct thread {
	uint8_t view[N_LOCS];
	uint8_t clock[N_THREADS];
	uint8_t life, sleeps_on, op, n_log;
	uint32_t log[N_LOG];         /* results of the accesses of the present operation */
	uint8_t memory[N_PRIVATE];   /* private memory at the start of that operation */
} thread;

typedef struct state {
	thread t[N_THREADS];
	location loc[N_LOCS];
	datum data[N_DATA];
	uint32_t false_alarms;
} state;

typedef struct range {
	void *memory;
	size_t bytes;
} range;

typedef struct step {
	uint32_t thread, site, value;
	const char *verb;
	int where;
} step;

/* The exploration under way: its world, and the step that is being made. */
typedef struct exploration {
	const ex_scenario *scenario;
	uint32_t n_locs, n_data;
	const volatile void *loc[N_LOCS];
	uint8_t owner[N_LOCS];
	const void *data[N_DATA];
	range range[N_THREADS][N_RANGES];
	uint32_t n_ranges[N_THREADS];
	state *s;
	thread *t;
	uint32_t id, cursor, choice, n_choices;
	bool granted;
	step step;
	const char *error;
	jmp_buf out;
	bool building;
	state start;
} exploration;

extern exploration ex;

/** Give up with a message if the fixed tables are too small for a scenario, or it names a location it did not make. */
void ex_harness(bool ok, const char *what);

/** Note what the present step did, for the trace. */
void ex_explain(const char *verb, int where, uint32_t value, uint32_t site);

#endif
