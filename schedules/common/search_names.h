/*
 * search_names.h - the systems of the registry as candidates of `search`: those that flush, with one pipe, each with
 * its usual options and with every number of chunks that is asked for.
 */
#ifndef MR_SCHEDULES_SEARCH_NAMES_H
#define MR_SCHEDULES_SEARCH_NAMES_H

#include "schedules/common/search_judge.h"

typedef struct mr_search_name {
	const mr_sched_ops *ops;
	uint16_t chunks;
	double sight; /* first sight of its plan */
} mr_search_name;

/**
 * All that @chunks [@n] allow and the cap admits, by first sight; of equals in the order of the registry. What a system
 * refuses it cannot do here. The caller frees *@out. Errors: MR_ERESOURCE.
 */
mr_status mr_search_names(const mr_search_judge *j, const uint16_t *chunks, uint32_t n, mr_search_name **out,
			  uint32_t *n_out) MR_MUST_USE;

/** The plan of @name; the caller's. Errors: as mr_schedule_emit. */
mr_status mr_search_emit_name(const mr_search_judge *j, const mr_search_name *name, mr_plan **out) MR_MUST_USE;

#endif
