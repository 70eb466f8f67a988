/*
 * plugins.h - the registries of the program seen alike: what `list` prints, and what `name = "..."` in a configuration
 * may say.
 *
 * Systems, models, layers, optimizers, mitigations and data sources live in registries of their own types; here each is
 * a name, a line, and a table of options. The system "sequential" is in no registry of schedules: the run layer carries
 * it out itself. All tables are constant; any thread may read.
 */
#ifndef MR_JOB_PLUGINS_H
#define MR_JOB_PLUGINS_H

#include "base/option.h"
#include "base/str.h"

#define MR_SEQUENTIAL "sequential"

typedef enum mr_plugin_kind {
	MR_PLUGIN_SYSTEM,
	MR_PLUGIN_MODEL,
	MR_PLUGIN_LAYER,
	MR_PLUGIN_OPTIMIZER,
	MR_PLUGIN_MITIGATION,
	MR_PLUGIN_DATA,
	MR_N_PLUGIN_KINDS
} mr_plugin_kind;

typedef struct mr_plugin {
	const char *name;
	const char *summary;
	const char *alias;        /* another name that it may be called by; NULL: none */
	const char *source;       /* where it is described; NULL: not said */
	const char *needs;        /* what it goes with alone; NULL: with anything, or not said */
	const mr_option *options; /* never NULL; may be empty */
} mr_plugin;

/** "systems", "models", "layers", "optimizers", "mitigations", "data": the words of `list`. Never NULL. */
const char *mr_plugin_kind_word(mr_plugin_kind kind);

/** Number @i of @kind; false beyond the last. */
bool mr_plugin_at(mr_plugin_kind kind, uint32_t i, mr_plugin *out);

/** The one called @name, or by its other name. Errors: MR_ECONFIG with a message that names the nearest and lists all.
 */
mr_status mr_plugin_get(mr_plugin_kind kind, const char *name, mr_plugin *out) MR_MUST_USE;

#endif
