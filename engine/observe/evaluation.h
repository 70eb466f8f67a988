/*
 * evaluation.h - an evaluation of the present weights, as figures (report/figures.def).
 */
#ifndef MR_OBSERVE_EVALUATION_H
#define MR_OBSERVE_EVALUATION_H

#include "report/figures.h"
#include "session/session.h"

/** Evaluate the weights of the started session @s; @wanted and @arg as mr_executor_eval has them. @out gets its figures
 * and no others. Errors: those of mr_executor_eval. */
mr_status mr_evaluate(mr_session *s, mr_eval_wanted *wanted, void *arg, mr_figures *out) MR_MUST_USE;

#endif
