/*
 * search_names.h - the systems of the registry as candidates of `search`: those that flush and have one pipe, each with
 * its default options and with every given number of chunks.
 */
#ifndef MR_SCHEDULES_SEARCH_NAMES_H
#define MR_SCHEDULES_SEARCH_NAMES_H

#include "schedules/common/search_judge.h"

typedef struct mr_search_name {
	const mr_sched_ops *ops;
	uint16_t chunks;
	const char *cap; /* of its option `cap`; NULL: the default, or it has none. Borrowed from the options */
	double sight; /* first sight of its plan */
} mr_search_name;

/**
 * List all systems with the numbers of chunks in @chunks [@n] whose plans stay below the cap, sorted by first sight;
 * equal ones are in the order of the registry. Arguments that a system refuses are skipped. The caller frees *@out.
 * Errors: MR_ERESOURCE.
 */
mr_status mr_search_names(const mr_search_judge *j, const uint16_t *chunks, uint32_t n, mr_search_name **out,
			  uint32_t *n_out) MR_MUST_USE;

/** Emit the plan of @name into *@out, which the caller destroys. Errors: as mr_schedule_emit. */
mr_status mr_search_emit_name(const mr_search_judge *j, const mr_search_name *name, mr_plan **out) MR_MUST_USE;

#endif
