/* partition_report.h - a solved partition of a table of layers as text or JSON, and what would fit where none does. */
#ifndef MR_CHOOSE_PARTITION_REPORT_H
#define MR_CHOOSE_PARTITION_REPORT_H

#include <stdio.h>

#include "planner/level_partition.h"
#include "planner/replica_partition.h"
#include "planner/width_depth.h"

/** @c solves @p; @straight is the best cut with one worker a stage, or has no stage where there is none. Errors:
 * MR_EIO, MR_ERESOURCE. */
mr_status mr_replica_partition_print(const mr_replica_problem *p, const mr_replica_partition *c,
				     const mr_replica_partition *straight, bool json, FILE *out) MR_MUST_USE;

/** @c solves @p. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_level_partition_print(const mr_level_problem *p, const mr_level_partition *c, bool json,
				   FILE *out) MR_MUST_USE;

/** The choices @rows [@n] of @p, @best among them. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_width_depth_print(const mr_width_depth_problem *p, const mr_width_depth *rows, uint32_t n, uint32_t best,
			       bool json, FILE *out) MR_MUST_USE;

/** MR_ERESOURCE, with a message that says what would fit in place of @p, which has no solution. */
mr_status mr_replica_partition_refuse(const mr_replica_problem *p) MR_MUST_USE;

/** The same for @p, none of whose @rows [@n] fits; MR_ECONFIG where there is no row. */
mr_status mr_width_depth_refuse(const mr_width_depth_problem *p, const mr_width_depth *rows, uint32_t n) MR_MUST_USE;

#endif
