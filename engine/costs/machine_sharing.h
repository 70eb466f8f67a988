/*
 * machine_sharing.h - what the workers of a workload share: memory and links of their nodes, where the costs have
 * bytes, and messages between hosts. plan and simulate ask here, so both have one clock.
 */
#ifndef MR_COSTS_MACHINE_SHARING_H
#define MR_COSTS_MACHINE_SHARING_H

#include "costs/costs.h"
#include "timing/sharing.h"

typedef struct mr_machine_sharing {
	mr_sharing sharing;
	mr_hosts hosts;
	mr_stage_sends *sends; /* [stages] with hosts; else NULL */
	mr_stage_cost *bytes;  /* [2 * stages] of memory, then of links */
	uint16_t *node;        /* [workers] */
} mr_machine_sharing;

/** Of @of, whose costs are @c; another run has all but @part of the nodes' memories and links. @m must not move. The
 * caller calls fini, also after an error. Errors: MR_ERESOURCE. */
mr_status mr_machine_sharing_init(mr_machine_sharing *m, const mr_workload *of, const mr_costs *c,
				  double part) MR_MUST_USE;
void mr_machine_sharing_fini(mr_machine_sharing *m);

#endif
