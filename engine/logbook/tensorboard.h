/*
 * tensorboard.h - what TensorBoard shows of a run beside its figures: the texts of run.json, the configuration, the
 * timeline.
 */
#ifndef MR_LOGBOOK_TENSORBOARD_H
#define MR_LOGBOOK_TENSORBOARD_H

#include "logbook/run_facts.h"
#include "report/events.h"

/** Begin an event file in the folder tensorboard of the run in @dir, which has run.json and resolved.cfg; the training
 * goes on after @step. The caller closes *@out. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_tensorboard_open(const char *dir, uint64_t step, mr_events **out) MR_MUST_USE;

/** The timeline of @f, if it has one. @e may be NULL. Errors: as mr_events_picture. */
mr_status mr_tensorboard_timeline(mr_events *e, const mr_run_facts *f, uint64_t step) MR_MUST_USE;

#endif
