/*
 * keys.h - the groups of a job, and the keys of those that are not plug-ins.
 */
#ifndef MR_JOB_KEYS_H
#define MR_JOB_KEYS_H

#include <stdbool.h>

#include "base/option.h"
#include "job/plugins.h"
#include "millrace/job.h"

typedef struct mr_job_group_info {
	const char *name;         /* "train"; "" for MR_JOB_TOP */
	const char *help;         /* one line */
	bool plugin;
	mr_plugin_kind kind;      /* when plugin */
	const mr_option *options; /* when not */
	const char *usual;        /* plugin: the default if the group is missing; NULL: the group is required */
} mr_job_group_info;

/** In the order in which a resolved configuration prints them. */
const mr_job_group_info *mr_job_group_of(mr_job_group group);

/* Does the option @o of data name a file? Strings do that have no unit, as names of columns have. */
static inline bool mr_job_is_file(const mr_option *o)
{
	return o->type == MR_OPT_STRING && !o->unit;
}

#endif
