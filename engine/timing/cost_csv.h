/*
 * cost_csv.h - costs of the stages of a plan as a table in text:
 *
 *	stage,f,i,w,u,c,r,n,s,a,v
 *	0,1,1,1,0.2,0.05,0.1,0,0.1,0,0
 *	1,2,2,1.5,0.2,0.05,0.1,0,0.1,0,0
 *
 * A row a stage, from 0 upwards without gaps, with the times of ir/cost.h, all in one unit: forward, input gradient and
 * weight gradient of one micro-batch, optimizer step of one commit, transfer to the next worker, reduction of the
 * gradients of several pipes and norm of a commit, the saving of a step inside a B or W compared with u, an average of
 * replicas, a validation. The head may end after w or any later column (missing columns are 0); their order is
 * fixed. Lines that begin with # and empty lines are skipped.
 */
#ifndef MR_TIMING_COST_CSV_H
#define MR_TIMING_COST_CSV_H

#include "base/status.h"
#include "ir/cost.h"

/** Parse @text. The caller frees *@stage [*@n]. Errors: MR_ECONFIG naming the line; MR_ERESOURCE. */
mr_status mr_cost_csv_read(const char *text, mr_stage_cost **stage, uint16_t *n) MR_MUST_USE;

#endif
