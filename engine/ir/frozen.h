/* frozen.h - stages whose weights stay as they are (plan.h, mr_frozen). */
#ifndef MR_IR_FROZEN_H
#define MR_IR_FROZEN_H

#include "ir/plan.h"

/** Is any stage of @plan frozen? */
bool mr_frozen_any(const mr_plan *plan);

/** Are these stages of @plan frozen as @frozen says, [stages]? NULL: none is. */
bool mr_frozen_alike(const mr_plan *plan, const uint8_t *frozen);

/** May layers be frozen in runs of @plan? Errors: MR_ECONFIG. */
mr_status mr_frozen_suits(const mr_plan *plan) MR_MUST_USE;

/** May the stages of @plan be frozen as they are? Errors: MR_ECONFIG. */
mr_status mr_frozen_check(const mr_plan *plan) MR_MUST_USE;

#endif
