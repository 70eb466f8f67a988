/* run_carried.h - what a run needs so that layers carry values from one micro-batch to another (weights/carried.h). */
#ifndef MR_EXEC_RUN_CARRIED_H
#define MR_EXEC_RUN_CARRIED_H

#include "exec/run.h"

/** Create run->carried after the stages; it stays NULL if no layer carries values. Errors: MR_ERESOURCE; MR_ECONFIG if
 * the data are not in as many columns as a step has samples. */
mr_status mr_run_open_carried(mr_run *run) MR_MUST_USE;

#endif
