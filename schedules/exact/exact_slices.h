/*
 * exact_slices.h - states of a problem (exact_job.h) from one slice of time to the next, of which the best few go on.
 *
 * A state is the passes begun up to some time; each worker has one stage. Passes are put down as in the tree
 * (exact_tree.h); the caller's function judges the states at the end of each slice. Nothing depends on a clock.
 */
#ifndef MR_SCHEDULES_EXACT_SLICES_H
#define MR_SCHEDULES_EXACT_SLICES_H

#include "schedules/exact/exact_job.h"

#define MR_EXACT_NEVER (INT64_MAX / 4)

/* The passes begun up to some time. */
typedef struct mr_exact_state {
	double score;       /* the least is the best */
	uint64_t hash;
	uint32_t trace;     /* the last pass begun since the traces were emptied, NOWHERE: none */
	uint32_t start;     /* for the user */
	int64_t t[];        /* see mr_exact_slices */
} mr_exact_state;

/* A number of states, each in a room of its own. */
typedef struct mr_exact_states {
	mr_exact_state **at;
	uint32_t n;
	uint32_t rooms; /* that are freed with it: the first of at */
} mr_exact_states;

typedef struct mr_exact_trace {
	uint32_t before;
	uint16_t chain;
} mr_exact_trace;

typedef struct mr_exact_slices {
	const mr_exact_job *job;
	/* where something of a state lies in t */
	size_t idle;    /* [n_workers] from when on a worker is idle */
	size_t soonest; /* [n_workers] the first end of what it could do next */
	size_t next;    /* [n_chains] */
	size_t ready;   /* [n_chains] when the next pass could begin; NEVER: it waits for one that has not begun */
	size_t end;     /* [n_chains][ring] of the last passes */
	size_t bytes;   /* of a state */
	uint32_t ring, mask;
	int64_t slice;
	uint32_t width;          /* states that go on */
	mr_exact_states now, all;
	mr_exact_states rooms, unused;
	mr_exact_trace *traces;
	uint32_t n_traces, most_traces;
	void *by;
	void (*judge)(void *by, mr_exact_state *s, int64_t now);        /* set the score */
	mr_status (*finish)(void *by, const mr_exact_state *s);         /* all passes of @s have begun */
} mr_exact_slices;

/** Fill @out, whose job, width, by, judge and finish are set. Errors: MR_ERESOURCE. */
mr_status mr_exact_slices_init(mr_exact_slices *out) MR_MUST_USE;
void mr_exact_slices_fini(mr_exact_slices *b);

/** @n rooms for states; false: no memory. */
bool mr_exact_states_init(const mr_exact_slices *b, uint32_t n, mr_exact_states *out);
void mr_exact_states_fini(mr_exact_states *s);

/** Nothing of @s has begun. */
void mr_exact_state_clear(const mr_exact_slices *b, mr_exact_state *s);

/** When @micro of @chain could begin for what it waits for; NEVER: for one that has not begun. */
int64_t mr_exact_state_ready(const mr_exact_slices *b, const mr_exact_state *s, uint32_t chain, uint32_t micro);

/** Begin the next pass of @chain. Errors: MR_ERESOURCE. */
mr_status mr_exact_state_put(mr_exact_slices *b, mr_exact_state *s, uint32_t chain) MR_MUST_USE;

/** The chains of @s's passes since the traces were emptied, in order, into @to; returns how many. */
uint32_t mr_exact_state_write(const mr_exact_slices *b, const mr_exact_state *s, uint16_t *to);

/** Sort @s, the best first; the first of equal ones come first, their copies behind all others, beyond s->n. */
void mr_exact_states_sort(mr_exact_states *s);

/** Go from *@start at time @from on to @to; b->now has the best states then, none if all ended. Errors: MR_ERESOURCE,
 * those of finish. */
mr_status mr_exact_slices_run(mr_exact_slices *b, const mr_exact_state *start, int64_t from, int64_t to) MR_MUST_USE;

#endif
