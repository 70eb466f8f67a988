/* open_config.h - loads the configuration of a command line, and opens a session of it. */
#ifndef MR_CLI_OPEN_CONFIG_H
#define MR_CLI_OPEN_CONFIG_H

#include "cli/args.h"
#include "config/config.h"
#include "session/session.h"

/** Load operand 0 and --set of @args. If there are several mistakes, they go to standard error, a line each; the
 * message counts them and has the first. Errors: MR_ECONFIG. */
mr_status mr_open_config(const mr_args *args, mr_config **out) MR_MUST_USE;
/** The same with the file @path in place of operand 0. */
mr_status mr_open_config_file(const mr_args *args, const char *path, mr_config **out) MR_MUST_USE;
/** As mr_open_config, for the plan in the file @plan, whose workers and stages count in place of the system's. @plan
 * NULL: that of the run in run.dir if it was begun with one and @own is set; else the system's. Errors: also those of
 * mr_plan_file_size. */
mr_status mr_open_config_of_plan(const mr_args *args, const char *plan, bool own, mr_config **out) MR_MUST_USE;

/**
 * Load the configuration, clean the environment, open a session, call @work with it and close everything again, for
 * commands that do one thing with a model. Errors: those of each step and of @work; after MR_ESTALLED a thread
 * hangs, so the session stays open.
 */
mr_status mr_with_session(const mr_args *args, mr_status (*work)(const mr_args *args, mr_session *s)) MR_MUST_USE;

/**
 * The same with the checkpoint of --checkpoint in @args, or of run.dir: text is read and written with the
 * characters of the model's training, from the checkpoint. @without_text: the text itself is not needed.
 * If an older build's checkpoint does not have them, they are those of the configuration's text, with a warning.
 * Errors: also MR_ECKPT when model and data do not fit each other.
 */
mr_status mr_with_trained(const mr_args *args, bool without_text,
			  mr_status (*work)(const mr_args *args, mr_session *s)) MR_MUST_USE;

#endif
