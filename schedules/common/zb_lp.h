/*
 * zb_lp.h - the problem that zb_auto's search solves approximately, written for a solver that solves it exactly.
 */
#ifndef MR_SCHEDULES_ZB_LP_H
#define MR_SCHEDULES_ZB_LP_H

#include "base/str.h"
#include "schedules/common/zb_greedy.h"

/**
 * Append @p as a mixed integer program in CPLEX LP format to @out: minimise R, the longest worker's span. @span is one
 * that can be reached, by the search's order: R is bounded by it. See zb_lp.c for variables and rows. Errors:
 * MR_ECONFIG for a program that no solver would finish; MR_ERESOURCE.
 */
mr_status mr_zb_lp(const mr_zb_problem *p, double span, mr_strbuf *out) MR_MUST_USE;

#endif
