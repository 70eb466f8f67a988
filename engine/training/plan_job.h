/*
 * plan_job.h - what a training of a job would be, without training it: for `millrace plan` and the library.
 */
#ifndef MR_TRAINING_PLAN_JOB_H
#define MR_TRAINING_PLAN_JOB_H

#include "costs/forecast.h"
#include "session/session.h"

/** Call @work with the session of @job, which is checked, and what its plan, or that of the file @plan (NULL: none),
 * is predicted to take. The machine is measured where nothing says what it can. Errors: those of opening a session and
 * of @work. */
mr_status mr_with_forecast(const mr_job *job, const char *plan,
			   mr_status (*work)(void *arg, const mr_session *s, const mr_forecast *f),
			   void *arg) MR_MUST_USE;

#endif
