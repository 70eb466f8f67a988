/* check.h - shared by the files of this folder. */
#ifndef MR_JOB_CHECK_H
#define MR_JOB_CHECK_H

#include "job/job.h"

/** Report a mistake about @key of @group to @l; if the text begins with "KEY: ", it is about that key of the group. */
void mr_job_note(const mr_job_listener *l, mr_job_group group, const char *key, const char *fmt, ...) MR_PRINTF(4, 5);

/** Is there a mistake about @key of @group (NULL: about any key of it)? Wrong values are then at their defaults. */
bool mr_job_doubtful(const mr_job_listener *l, mr_job_group group, const char *key);

/** Check the model and the placement, as far as that needs no data. Errors: MR_ERESOURCE. */
mr_status mr_job_check_build(mr_job *j, const mr_job_listener *l) MR_MUST_USE;

/** Check the keys of the learning rate, when those with their default values count as not given. */
void mr_job_check_rate(const mr_job *j, const mr_job_listener *l);

/** Make @text a string owned by the job; NULL stands for an allocation that failed. Errors: MR_ERESOURCE, and @text is
 * freed. */
mr_status mr_job_own(mr_job *j, char *text, const char **out) MR_MUST_USE;
/** Make each string of the fields one that the job owns. Errors: MR_ERESOURCE. */
mr_status mr_job_own_all(mr_job *j) MR_MUST_USE;

/** Set the field of @key of @group from @v. The job copies strings. Errors: MR_ERESOURCE. */
mr_status mr_job_take_one(mr_job *j, mr_job_group group, const char *key, const mr_values *v) MR_MUST_USE;

#endif
