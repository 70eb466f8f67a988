/*
 * record.h - the order in which a racing plan was carried out, as an ordinary plan.
 *
 * While it races each worker notes what it did next, F or B, and which version that read (mr_run_config.record_micro; 8
 * bytes an instruction, in memory that is set aside before the first step). Written back as lists that is a finite
 * static plan: its checker says whether what happened was legal, and carrying it out gives the same bits.
 *
 * Where W are placed on any worker (ir/plan.h, "Stealing") the note is which W a worker took out of turn or from
 * another (20 bytes), and the record the plan that has them where they were carried out (lower/steal.h).
 */
#ifndef MR_REPLAY_RECORD_H
#define MR_REPLAY_RECORD_H

#include "exec/run.h"

/* At most this many micro-batches are recorded: as a plan they are 48 bytes a stage each, and as text about 80. */
#define MR_RECORD_MAX 65536u

/**
 * What @run has done from its start to the pause point where it stands, as a lowered and checked plan; the caller
 * destroys it. Paused. Errors: MR_EINVAL nothing is recorded, more was done than was to be recorded, or what was read
 * is not what the plan says; as mr_plan_finish.
 */
mr_status mr_record_plan(const mr_run *run, mr_plan **out) MR_MUST_USE;

#endif
