/*
 * config_keys.h - the groups of a configuration file, and the keys of those that are not plug-ins.
 */
#ifndef MR_CONFIG_CONFIG_KEYS_H
#define MR_CONFIG_CONFIG_KEYS_H

#include <stdbool.h>

#include "base/option.h"
#include "config/plugins.h"

typedef enum mr_config_group {
	MR_CONFIG_TOP,       /* keys outside any group */
	MR_CONFIG_MODEL,     /* these five hold `name` and the keys of the plug-in of that name */
	MR_CONFIG_DATA,
	MR_CONFIG_OPTIMIZER,
	MR_CONFIG_MITIGATION,
	MR_CONFIG_SYSTEM,
	MR_CONFIG_TRAIN,
	MR_CONFIG_RUN,
	MR_CONFIG_MACHINE,
	MR_CONFIG_CHECKPOINT,
	MR_CONFIG_TRACE,
	MR_CONFIG_SAMPLE,
	MR_N_CONFIG_GROUPS
} mr_config_group;

typedef struct mr_config_group_info {
	const char *name;         /* "train"; "" for MR_CONFIG_TOP */
	const char *help;         /* one line */
	bool plugin;
	mr_plugin_kind kind;      /* when plugin */
	const mr_option *options; /* when not */
	const char *usual;        /* plugin: the one that there is where the group is missing; NULL: it must be there */
} mr_config_group_info;

/** In the order in which a resolved configuration prints them. */
const mr_config_group_info *mr_config_group_of(mr_config_group group);

#endif
