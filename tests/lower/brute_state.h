/*
 * brute_state.h - the inside of the brute-force execution, for brute.c (one interleaving) and brute_explore.c (all of
 * them).
 */
#ifndef MR_TESTS_LOWER_BRUTE_STATE_H
#define MR_TESTS_LOWER_BRUTE_STATE_H

#include <setjmp.h>

#include "lower/brute.h"

#define MAX_MICRO 64 /* numbers above are wrong in the small plans of the tests */
#define MAX_STAGES 16
#define MAX_PIPES 4
#define MAX_PLACES 64 /* slots or buffers */
#define MAX_CAP 64
#define FREE (-1)

/* One way across a boundary. */
typedef struct brute_link {
	int held[MAX_PLACES]; /* micro-batch in each buffer */
	int queue[2 * MAX_MICRO], head, tail; /* buffer numbers sent */
	int at[MAX_MICRO];    /* buffer of a micro-batch, once sent */
} brute_link;

typedef struct brute_place {
	int slot[MAX_PLACES];
	int f_read[MAX_MICRO]; /* version that F read; FREE: no F yet */
	bool early[MAX_MICRO]; /* F came before V had looked at that version */
	bool r[MAX_MICRO], i[MAX_MICRO], w[MAX_MICRO];
	bool away[MAX_MICRO]; /* W was with another worker: what is saved is given back by U */
	uint8_t leaves[MAX_MICRO]; /* KEEP, PASS or neither: how B leaves the stage */
	brute_link fwd, bwd; /* into this stage; from this stage down */
	int sum[MAX_MICRO], n_sum; /* micro-batches in the sum */
	int added[MAX_MICRO + 1];  /* gradients ever added, by count */
} brute_place;

typedef struct brute_stage {
	int buffer[MAX_CAP], latest;
	int held; /* batch whose first forward's weights are held */
	int validated; /* version that V has looked at last */
	int reduced[MAX_PIPES], /* of replicas, pipe 0: AVG */ normed, stepped[MAX_PIPES]; /* versions for which AR, N
	                           and U have been done */
} brute_stage;

typedef struct brute {
	const mr_plan *p;
	uint32_t n_bodies;
	brute_place *place; /* [n_places] P * S */
	size_t n_places;
	brute_stage stage[MAX_STAGES * MAX_PIPES]; /* [P * S] of replicas; others: [S] */
	int pipe_of[MAX_MICRO];
	char *why;
	jmp_buf out;
} brute;

static inline brute_place *brute_at(brute *b, const mr_instr *in)
{
	return &b->place[in->pipe * b->p->n_stages + in->stage];
}

/* @in goes wrong: jumps to b->out. */
void brute_wrong(brute *b, const mr_instr *in, const char *what);

/* Rules (brute_rules.c). Those that return a bool say false where @in has to wait. */
void brute_only_validated(brute *b, const mr_instr *in, int read, uint16_t w);
bool brute_validate(brute *b, const mr_instr *in, int v);
void brute_one_stage_a_step(brute *b, const mr_instr *in, uint64_t micro);
bool brute_has_turn(brute *b, const mr_instr *in, int micro, bool away);
bool brute_has_sum(brute *b, const mr_instr *in, int micro);
bool brute_has_room(brute *b, const mr_instr *in, int micro);
bool brute_step_whole(brute *b, const mr_instr *in, int v);
void brute_tail_only(brute *b, const mr_instr *in, uint16_t w);

/* Nothing done yet. Free with brute_close. NULL: the plan is out of the range of the tests. */
brute *brute_open(const mr_plan *plan, uint32_t n_bodies, char why[80]);
void brute_close(brute *b);

/* The @k-th instruction of worker @w and its iteration, NULL behind the end. */
const mr_instr *brute_fetch(const brute *b, uint16_t w, uint32_t k, uint64_t *n);

/* Carry out @in of worker @w; false, and nothing changed, while it has to wait. Jumps to b->out when it goes wrong. */
bool brute_step(brute *b, const mr_instr *in, uint64_t n, uint16_t w);

/* Nobody can go on, with worker w at its pc[w]-th instruction: all must be at their ends, and all be done that the
 * contract promises. Jumps to b->out otherwise. */
void brute_judge(brute *b, const uint32_t *pc);

#endif
