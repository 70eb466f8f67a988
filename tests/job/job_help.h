/*
 * job_help.h - jobs for tests, from words "key=value" as mr_job_set takes them.
 */
#ifndef MR_TESTS_JOB_JOB_HELP_H
#define MR_TESTS_JOB_JOB_HELP_H

#include "job/job.h"

/**
 * Make a checked job of the words of @base, which blanks separate, and of @sets[@n] after them. Plug-ins are chosen
 * first, wherever their names stand, and the last name wins; keys of @base that the chosen plug-in does not have are
 * left out. The caller ends *@j with mr_job_fini, which an error has done. Errors: those of mr_job_set and
 * mr_job_check.
 */
mr_status mr_test_job(mr_job *j, const char *base, const char *const *sets, size_t n) MR_MUST_USE;

/** The same with @sets as words of one text. Ends the test on failure, with the message. */
void mr_test_job_of(mr_job *j, const char *base, const char *sets);

#endif
