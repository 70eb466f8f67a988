/*
 * run_plan.h - what a plan requires of the engine, found in its lists when a run is built.
 */
#ifndef MR_EXEC_RUN_PLAN_H
#define MR_EXEC_RUN_PLAN_H

#include "exec/run.h"

/** MR_OK, or MR_ECONFIG with a message that names what the engine does not support in the plan, or in the plan with
 * this configuration. */
mr_status mr_run_refuse(const mr_run_config *c) MR_MUST_USE;

/** The same of steps that are taken inside passes, whose gradients nothing else may need. */
mr_status mr_run_refuse_inside(const mr_run_config *c) MR_MUST_USE;

/** Is any I apart from its W? */
bool mr_run_has_split(const mr_plan *p);

/** Does stage @s commit by a B or W with MR_INSTR_UPDATE, and never by U? */
bool mr_run_steps_inside(const mr_plan *p, uint16_t s);

/** Do versions stay as they are once they are published, and do enough micro-batches read each that weights as F reads
 * them fastest (mr_stage_io.panels) are worth being kept? Features that change weights on their way have none, too. */
bool mr_run_keeps_panels(const mr_run_config *c);

/** Lay out the gradients of @stage, number @s, as its steps allow: where none is read behind its step all lie in one
 * place, and a table tied with a head may have none (mr_stage_step_rows; @norms: see there). Before any size of @stage
 * is read. Errors: MR_ERESOURCE. */
mr_status mr_run_share_grads(const mr_run_config *c, uint16_t s, bool norms, mr_stage *stage) MR_MUST_USE;

/** Number of gradients of stage @s that @pipe, or part @pipe, adds up for a commit. */
uint32_t mr_run_sums_of(const mr_plan *p, uint8_t pipe, uint16_t s);

/** The last step that the plan's lists reach; UINT64_MAX where they repeat. */
uint64_t mr_run_last_step(const mr_plan *p);

#endif
