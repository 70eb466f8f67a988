/* check.h - what the files of this folder share. */
#ifndef MR_JOB_CHECK_H
#define MR_JOB_CHECK_H

#include "job/job.h"

/** Tell @l of a mistake about @key of @group, or about another key of it when the text begins with "KEY: ". */
void mr_job_note(const mr_job_listener *l, mr_job_group group, const char *key, const char *fmt, ...) MR_PRINTF(4, 5);

/** Is a mistake about @key of @group known (NULL: about anything of it)? What was wrong is at its default then. */
bool mr_job_doubtful(const mr_job_listener *l, mr_job_group group, const char *key);

/** Judge what shows when model and placement are made, as far as it needs no data. Errors: MR_ERESOURCE. */
mr_status mr_job_check_build(mr_job *j, const mr_job_listener *l) MR_MUST_USE;

/** Make @text a string of the job; NULL: there was no memory for it. Errors: MR_ERESOURCE, and @text is freed. */
mr_status mr_job_own(mr_job *j, char *text, const char **out) MR_MUST_USE;

/** The field of @key of @group from @v. Strings become the job's own. Errors: MR_ERESOURCE. */
mr_status mr_job_take_one(mr_job *j, mr_job_group group, const char *key, const mr_values *v) MR_MUST_USE;

#endif
