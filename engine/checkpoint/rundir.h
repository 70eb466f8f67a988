/*
 * rundir.h - the folder of a run, and the lock that gives it to one process.
 *
 *	<run.dir>/resolved.cfg       the resolved configuration
 *	          choices.def      the table of choices of backend auto (nn/choices.h)
 *	          plan.txt         the plan of train --plan, as it is carried out
 *	          metrics.jsonl    one line a step and one an evaluation
 *	          memory.json      weight versions and bytes in use at once, measured and predicted
 *	          run.json         what else a report shows (logbook/run_facts.h)
 *	          status.json      the present state, for millrace top (observe/run_status.h)
 *	          counters.json    when train --counters asks for it
 *	          trace.json       when trace.steps asks for it
 *	          checkpoints/     see checkpoint/checkpoints.h
 *	          LOCK             held by the process that trains
 */
#ifndef MR_CHECKPOINT_RUNDIR_H
#define MR_CHECKPOINT_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct mr_rundir {
	char *path, *config, *choices, *plan, *metrics, *memory, *facts, *trace, *checkpoints; /* owned */
	char *status, *counters;                                                       /* owned */
	int lock;
	bool fresh, made_lock; /* there was no run; there was no LOCK */
	size_t made;           /* length of the first folder on @path that was made; 0: all existed */
} mr_rundir;

/* What the folder may hold: no run; a run with checkpoints, which goes on; or no run, or one that ended before its
 * first checkpoint and begins anew: its metrics are then kept as metrics.jsonl.before. */
typedef enum mr_rundir_use { MR_RUNDIR_NEW, MR_RUNDIR_RESUME, MR_RUNDIR_ANEW } mr_rundir_use;

/**
 * Make (with parents) and lock the folder @path. It holds something else than @use allows: MR_EUSAGE with the ways out,
 * or MR_ECKPT. After an error the disk is as before. Errors: MR_ERESOURCE another process has it, or the disk has no
 * room; MR_EIO it cannot be made or written to (tried now, not at the first save).
 */
mr_status mr_rundir_open(const char *path, mr_rundir_use use, mr_rundir *out) MR_MUST_USE;
void mr_rundir_close(mr_rundir *r);

/** Make the folder @path with its parents, unless it is there. Errors: MR_ERESOURCE, MR_EIO. */
mr_status mr_rundir_make(const char *path) MR_MUST_USE;

/** Does the run folder @path hold a checkpoint? Whether it can be read shows when it is loaded. */
bool mr_rundir_has_checkpoint(const char *path);

/** Path of the plan in the run folder @path, if it has one; else NULL. The caller frees it. */
char *mr_rundir_plan(const char *path);

/** For a run that has not begun: remove everything that mr_rundir_open made. It must still be closed. May be called in
 * a signal handler. */
void mr_rundir_abandon(const mr_rundir *r);

#endif
