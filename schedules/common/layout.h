/*
 * layout.h - the workers of each stage, when stages are replicated on several workers.
 *
 * Stage s has the workers that follow those of stage s - 1; the option `replicas` gives their number. P, the least
 * common multiple of all these numbers, is the number of pipes: pipe p meets replica p mod r of a stage of r replicas.
 */
#ifndef MR_SCHEDULES_LAYOUT_H
#define MR_SCHEDULES_LAYOUT_H

#include "ir/sched.h"

typedef struct mr_layout {
	uint32_t n_stages, n_pipes;
	const double *n_of; /* replicas of each stage; NULL: 1 each */
} mr_layout;

/** Stages by the option `replicas` of @args; without it, as many as workers. */
uint32_t mr_layout_stages(const mr_sched_args *args);

/** Read the option. Errors: MR_ECONFIG for fractions, a sum that is not the number of workers, or more than 255 pipes.
 */
mr_status mr_layout_read(const mr_sched_args *args, mr_layout *l) MR_MUST_USE;

/** Give each stage of @plan its workers, in all pipes. */
void mr_layout_place(mr_plan *plan, const mr_layout *l);

static inline uint32_t mr_layout_replicas(const mr_layout *l, uint32_t stage)
{
	return l->n_of ? (uint32_t)l->n_of[stage] : 1;
}

#endif
