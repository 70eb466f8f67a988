/*
 * config_keys.h - the groups of a configuration file, and the keys of those that are not plug-ins.
 */
#ifndef MR_JOB_KEYS_H
#define MR_JOB_KEYS_H

#include <stdbool.h>

#include "base/option.h"
#include "job/plugins.h"

typedef enum mr_job_group {
	MR_JOB_TOP,       /* keys outside any group */
	MR_JOB_MODEL,     /* these five hold `name` and the keys of the plug-in of that name */
	MR_JOB_DATA,
	MR_JOB_OPTIMIZER,
	MR_JOB_MITIGATION,
	MR_JOB_SYSTEM,
	MR_JOB_TRAIN,
	MR_JOB_RUN,
	MR_JOB_MACHINE,
	MR_JOB_CHECKPOINT,
	MR_JOB_TRACE,
	MR_JOB_SAMPLE,
	MR_N_JOB_GROUPS
} mr_job_group;

typedef struct mr_job_group_info {
	const char *name;         /* "train"; "" for MR_JOB_TOP */
	const char *help;         /* one line */
	bool plugin;
	mr_plugin_kind kind;      /* when plugin */
	const mr_option *options; /* when not */
	const char *usual;        /* plugin: the one that there is where the group is missing; NULL: it must be there */
} mr_job_group_info;

/** In the order in which a resolved configuration prints them. */
const mr_job_group_info *mr_job_group_of(mr_job_group group);

#endif
