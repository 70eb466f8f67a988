/*
 * replay_internal.h - the inside of a replay, shared by its files: replay.c, and replay_clock.c, which orders by a
 * clock.
 */
#ifndef MR_REPLAY_REPLAY_INTERNAL_H
#define MR_REPLAY_REPLAY_INTERNAL_H

#include "exec/exec.h"
#include "threads/loader.h"
#include "replay/replay.h"

/* The present task of a replay's thread. */
typedef enum duty { SET_UP, ORDERED, FOLLOW, TIMED, EVALUATE } duty;

/* A worker in virtual time. */
typedef struct mr_replay_lane {
	double free_at, begin, end; /* seconds: end of its last instruction; begin and end of the present one */
	mr_task task;               /* the present one */
	bool runs, asleep;          /* an instruction is under way; the clock has not reached free_at yet */
	mr_wait_cause cause;        /* of its wait so far */
} mr_replay_lane;

/* Virtual times of a replay that orders by a clock. */
typedef struct mr_replay_times {
	mr_replay_lane *at;      /* [n_workers] */
	double *forward, *back;  /* [stages][n_sent] end of F, and of B or I, by micro-batch modulo n_sent */
	double *norm;            /* [stages] end of the last N */
	uint32_t n_sent;
	double now;
} mr_replay_times;

struct mr_replay {
	mr_run *run;
	mr_loader *loader, *eval_loader;
	mr_links *links;     /* in use: training or evaluation */
	mr_loader *feeds;  /* the loader of these links */
	duty duty;
	/* of the run under way */
	uint64_t until, seed, n_drawn;
	mr_replay_order order;
	mr_replay_source *source;
	const mr_replay_clock *clock;
	mr_engine_progress *progress;
	mr_eval_wanted *wanted;
	void *source_arg, *progress_arg, *wanted_arg;
	uint16_t turn;
	void (*begins)(void *arg, const mr_replay_turn *turn); /* called before an instruction that has times is
	                                                          carried out; NULL: nobody asks */
	void *begins_arg;
	mr_replay_times times;
	uint64_t stands_ns; /* virtual end of the last instruction of all, since the start of the run */
	mr_status status;
	char text[1024];
};

/** Are all workers at r->until? */
bool mr_replay_finished(const mr_replay *r);

/** Make unvalidated steps certain. */
mr_status mr_replay_settle(mr_replay *r) MR_MUST_USE;

/** Hand on the new step records; false: the caller requests a pause. */
bool mr_replay_tell(mr_replay *r);

/** The first step at which all workers can stop. */
uint64_t mr_replay_nearest_pause(const mr_replay *r);

/* --- replay_clock.c --- */

/** Go on to r->until in the order of r->clock. */
mr_status mr_replay_go_by_clock(mr_replay *r) MR_MUST_USE;
void mr_replay_times_fini(mr_replay_times *t);

#endif
