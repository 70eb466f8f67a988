/* sends.h - the bytes that workers of different ranks send each other: of one message, and of a step. */
#ifndef MR_COSTS_SENDS_H
#define MR_COSTS_SENDS_H

#include "costs/workload.h"
#include "timing/hosts.h"

/** The bytes of a message of each stage of @of, which has a plan, into @out [stages]. */
void mr_sends_of_stages(const mr_workload *of, mr_stage_sends *out);

/** Add what a step of @of sends from rank i to rank j to @out[i * ranks + j], which is zeros: boundaries, gradients and
 * weights. A plan that never repeats has none. Norms are left out: each is a number. */
void mr_sends_of_step(const mr_workload *of, const mr_hosts *hosts, double *out);

#endif
