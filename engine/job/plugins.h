/*
 * plugins.h - one view of all registries of the program: for `list`, and for the names that `name = "..."` in a
 * configuration may have.
 *
 * Systems, models, layers, optimizers, mitigations and data sources live in registries of their own types; here each
 * plug-in is a name, a line, and a table of options. All tables are constant; any thread may read.
 */
#ifndef MR_JOB_PLUGINS_H
#define MR_JOB_PLUGINS_H

#include "base/option.h"
#include "base/str.h"

/* The system with which others are compared: one worker, all cores inside each layer. */
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
	const char *alias;        /* another name that users may write; NULL: none */
	const char *source;       /* where it is described; NULL: unknown */
	const char *needs;        /* the only things it goes with; NULL: anything, or unknown */
	const mr_option *options; /* never NULL; may be empty */
} mr_plugin;

/** "systems", "models", "layers", "optimizers", "mitigations", "data": the words of `list`. Never NULL. */
const char *mr_plugin_kind_word(mr_plugin_kind kind);

/** Number @i of @kind; false beyond the last. */
bool mr_plugin_at(mr_plugin_kind kind, uint32_t i, mr_plugin *out);

/** The plug-in called @name, or by its alias. Errors: MR_ECONFIG with a message that names the nearest and lists all.
 */
mr_status mr_plugin_get(mr_plugin_kind kind, const char *name, mr_plugin *out) MR_MUST_USE;

#endif
