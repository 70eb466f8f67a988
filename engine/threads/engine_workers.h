/* engine_workers.h - the inside of an engine, for those who steer its workers: engine.c, and engine/ranks. */
#ifndef MR_THREADS_ENGINE_WORKERS_H
#define MR_THREADS_ENGINE_WORKERS_H

#include "threads/engine.h"
#include "threads/loader.h"
#include "threads/watchdog.h"
#include "host/group.h"

#define MR_ENGINE_POLL_NS 100000000 /* a tenth of a second between looks at a running engine */
#define PAUSE_AHEAD 2     /* iterations from the furthest worker to a pause that is requested while workers run */

typedef enum mr_engine_command {
	MR_ENGINE_SETUP,
	MR_ENGINE_WARM_UP,
	MR_ENGINE_TRAIN,
	MR_ENGINE_SETTLE,
	MR_ENGINE_EVAL,
	MR_ENGINE_QUIT
} mr_engine_command;

/* The caller's commands to a worker. Guarded by the engine's lock. */
typedef struct mr_engine_mailbox {
	mr_engine *e;
	mr_worker *worker;
	mr_engine_command cmd;
	uint64_t n_given, n_done; /* commands */
	pthread_cond_t given;     /* its own: a command wakes no other worker */
	mr_group *group;
} mr_engine_mailbox;

/*
 * Where to pause. A training command runs to `limit`, which workers read before each iteration; all must stop at the
 * same one. The caller may lower the limit while they run: to a little beyond the iteration in which it last saw the
 * furthest worker. If a worker has passed it by then, it stops later than the others, or waits for a worker that has
 * stopped already; settle() in engine.c detects both, raises the limit beyond that worker and lets the others
 * continue. No iteration is undone, and the place of the pause changes no number.
 */
struct mr_engine {
	mr_run *run;                /* of the first share, for what all have alike */
	mr_run **runs;              /* [n_runs] one a share (shares.h), else one */
	uint32_t n_runs;
	mr_shares *shares;          /* NULL: workers are whole */
	mr_engine_mailbox *box;     /* [n_boxes] of all workers of all runs */
	uint32_t n_boxes;
	pthread_mutex_t lock;
	pthread_cond_t done;
	_Alignas(64) _Atomic uint64_t limit;
	uint64_t until;             /* where the present stretch ends, unless `pausing`; 0: none is under way */
	_Alignas(64) uint64_t step; /* the pause point of all workers while paused */
	mr_loader **loader, **eval_loader; /* [n_runs] */
	double watchdog_s;
	int64_t ahead_ns;           /* over ranks: rank 0's clock less this one's */
	uint64_t sent_before;       /* over ranks: bytes that this one had sent when it began to run */
	bool started;               /* the training loader runs */
	bool restored;              /* weights may have been restored since a worker ran */
	bool broken;                /* an error has stopped the workers: only quit may follow */
	bool holds_state;           /* over ranks, rank 0: a state was loaded, and the others do not have it yet */
	bool stalled;               /* a thread hangs: it cannot be joined */
	bool pausing;               /* the caller has requested a pause in the present stretch */
	bool obeys;                 /* no worker runs further than the caller has agreed to (mr_engine_obey) */
};

/** Give worker @id of all runs', which is here and has finished the one before, a command. */
void mr_engine_give(mr_engine *e, uint32_t id, mr_engine_command cmd);

/** Is that worker here? */
bool mr_engine_is_here(const mr_engine *e, uint32_t id);

/** Give one to all workers that are here. */
void mr_engine_give_all(mr_engine *e, mr_engine_command cmd);

/** Wait at most @ns for all workers that are here to finish their command; true: they have. */
bool mr_engine_wait_done(mr_engine *e, uint64_t ns);

/** The run's first error as this thread's, or MR_OK. */
mr_status mr_engine_result(mr_engine *e) MR_MUST_USE;

/** Let workers go on that have stopped before the limit; false: there are none. */
bool mr_engine_go_on(mr_engine *e);

/** Stop the loader, which may sleep on a full ring for ever. */
void mr_engine_stop_loader(mr_engine *e);

/** The evaluation was stopped with its loader: the training goes on from its pause point. */
void mr_engine_drop_eval(mr_engine *e);

/** Weights that were restored reach all copies. */
void mr_engine_spread(mr_engine *e);

#endif
