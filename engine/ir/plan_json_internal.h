/*
 * plan_json_internal.h - reads and writes the contract of a plan file (contract_json.c), for plan_json.c. Its members
 * are listed in plan_json.h.
 */
#ifndef MR_IR_PLAN_JSON_INTERNAL_H
#define MR_IR_PLAN_JSON_INTERNAL_H

#include "ir/plan_json.h"

/** @j as a number from @low to @high. Errors: MR_ECONFIG with "@what must be ...". */
mr_status mr_plan_json_range(const mr_json *j, const char *what, int64_t low, int64_t high, uint32_t *out) MR_MUST_USE;

/**
 * The contract, turns and commits of @plan, whose counts are known, from the member @contract (NULL: the defaults).
 * Sets *@section by whether the lists are a body or the whole plan. Errors: MR_ECONFIG.
 */
mr_status mr_contract_json_read(const mr_json *contract, mr_plan *plan, mr_section *section) MR_MUST_USE;

/** Read "horizons": [[of F at each stage], [of B at each stage]] into the instructions of @plan. Errors: MR_ECONFIG,
 * MR_ERESOURCE. */
mr_status mr_contract_json_horizons(const mr_json *contract, mr_plan *plan) MR_MUST_USE;

/** Write the member "contract". */
void mr_contract_json_put(mr_json_writer *w, const mr_plan *plan, bool repeats);

#endif
