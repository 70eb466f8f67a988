/* sends.h - the bytes that workers of different ranks send each other: of one message, and of a step. */
#ifndef MR_COSTS_SENDS_H
#define MR_COSTS_SENDS_H

#include "costs/workload.h"
#include "ir/cost.h"
#include "timing/hosts.h"

/** The bytes of a message of each stage of @of, which has a plan, into @out [stages]. */
void mr_sends_of_stages(const mr_workload *of, mr_stage_sends *out);

/** Add to stages of @of that hand over to another rank what the message takes there: for orders, which know costs of
 * stages and no links. Where pipes differ the slowest counts. Nothing without hosts. Errors: MR_ERESOURCE. */
mr_status mr_sends_lengthen(const mr_workload *of, mr_stage_cost *stage) MR_MUST_USE;

/** Add what a step of @of sends from rank i to rank j to @out[i * ranks + j], which is zeros: boundaries, gradients and
 * weights. A plan that never repeats has none. Norms are left out: each is a number. */
void mr_sends_of_step(const mr_workload *of, const mr_hosts *hosts, double *out);

#endif
