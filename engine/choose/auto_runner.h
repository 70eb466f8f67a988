/* auto_runner.h - a candidate of the search that trains, for auto_verify.c and auto_penalty.c. */
#ifndef MR_CHOOSE_AUTO_RUNNER_H
#define MR_CHOOSE_AUTO_RUNNER_H

#include "choose/auto_internal.h"

#define MR_AUTO_ROUNDS 15u
#define MR_AUTO_AGAIN 5u /* bursts that are made once more, since others disturbed them */

typedef struct mr_auto_runner {
	uint32_t row;
	mr_job made, job; /* job borrows from made */
	mr_session s;
	uint64_t steps;                 /* that it has made */
	uint64_t warm_steps;            /* of these, the ones before mr_auto_runner_is_warm */
	mr_worker_stats *warm;          /* [workers] what they had done by then; NULL: it was not called. Owned */
	uint32_t burst_steps;           /* of a burst */
	uint32_t again;                 /* bursts made once more; at most MR_AUTO_AGAIN */
	double burst_s[MR_AUTO_ROUNDS]; /* seconds of a step, for each burst */
	bool open;
} mr_auto_runner;

/** Start row @row, on CPUs @cpus (as machine.cpus; NULL: its own). The caller calls close, also after an error. Errors:
 * those of a training. */
mr_status mr_auto_runner_open(const mr_auto_search_state *s, uint32_t row, const char *cpus,
			      mr_auto_runner *x) MR_MUST_USE;
void mr_auto_runner_close(mr_auto_runner *x);

/** Train @n steps more; *@step_s: seconds of a step, from commit to commit; @loss: [n], NULL: none is kept. Errors:
 * those of a training. */
mr_status mr_auto_runner_burst(mr_auto_runner *x, uint32_t n, double *loss, double *step_s) MR_MUST_USE;

/** The steps so far do not count in what is learned from @x: memory was new, and kernels were made. Errors:
 * MR_ERESOURCE. */
mr_status mr_auto_runner_is_warm(mr_auto_runner *x) MR_MUST_USE;

#endif
