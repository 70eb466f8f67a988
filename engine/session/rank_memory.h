/*
 * rank_memory.h - the memory of each rank of a training that is planned for several hosts and that nobody has started:
 * each is a process of its own, with a copy of what its stages need and of the program.
 */
#ifndef MR_SESSION_RANK_MEMORY_H
#define MR_SESSION_RANK_MEMORY_H

#include "session/memory_plan.h"

/** Is the training of @s planned for ranks, of which this process is none? */
bool mr_session_plans_ranks(const mr_session *s);

/** Plan the memory of rank @rank, as mr_memory_plan_of does that of a process. Errors: as that. */
mr_status mr_memory_plan_of_rank(const mr_session *s, uint16_t rank, mr_memory_plan *out) MR_MUST_USE;

/** Does each rank fit into the limit of a process, and do those of a host together into its memory? A machine with the
 * cores of all hosts (machine.topology) has the memory of all in equal parts; else each host is this one. Errors:
 * MR_ERESOURCE, which names the rank or the host. */
mr_status mr_rank_memory_fits(const mr_session *s) MR_MUST_USE;

#endif
