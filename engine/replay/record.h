/*
 * record.h - the order in which a racing plan was carried out, as an ordinary plan.
 *
 * While it races each worker notes what it did next, F or B, and the version that it read (mr_run_config.record_micro;
 * 8 bytes an instruction, in memory that is set aside before the first step). Written back as lists this is a finite
 * static plan: its checker decides whether the order was legal, and carrying it out gives the same bits.
 *
 * Where W are placed on any worker (ir/plan.h, "Stealing") the notes are the W that a worker took out of order or from
 * another (20 bytes each), and the record is the plan that has them where they were carried out (ir/steal.h).
 */
#ifndef MR_REPLAY_RECORD_H
#define MR_REPLAY_RECORD_H

#include "exec/run.h"

/* At most this many micro-batches are recorded: as a plan they are 48 bytes a stage each, and as text about 80. */
#define MR_RECORD_MAX 65536u

/**
 * The instructions of @run from its start to its present pause point, as a lowered and checked plan; the caller
 * destroys it. Paused. Errors: MR_EINVAL nothing is recorded, the run is longer than its record, or the versions read
 * are not those of the plan; those of mr_plan_finish.
 */
mr_status mr_record_plan(const mr_run *run, mr_plan **out) MR_MUST_USE;

#endif
