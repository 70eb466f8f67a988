/* open_config.h - from a command line to its configuration, or on to an open session. */
#ifndef MR_CLI_OPEN_CONFIG_H
#define MR_CLI_OPEN_CONFIG_H

#include "cli/args.h"
#include "config/config.h"
#include "session/session.h"

/** Operand 0 and --set of @args. Mistakes go to standard error, a line each; the message counts them. Errors:
 * MR_ECONFIG. */
mr_status mr_open_config(const mr_args *args, mr_config **out) MR_MUST_USE;
/** The same with the file @path in place of operand 0. */
mr_status mr_open_config_file(const mr_args *args, const char *path, mr_config **out) MR_MUST_USE;


/**
 * Load the configuration, see to a clean environment, open a session, call @work with it and take all down again, for
 * commands that do one thing with a model. Errors: of each step, and what @work returns; after MR_ESTALLED a thread
 * hangs, so the session stays up.
 */
mr_status mr_with_session(const mr_args *args, mr_status (*work)(const mr_args *args, mr_session *s)) MR_MUST_USE;

/**
 * The same with the checkpoint that --checkpoint of @args names, or run.dir: text is read and written with the
 * characters that the model was trained on, as the checkpoint has them. @speechless: the text itself is not needed.
 * Where an older build's checkpoint does not say them, they are those of the configuration's text, with a warning.
 * Errors: also MR_ECKPT when model and data do not go together.
 */
mr_status mr_with_trained(const mr_args *args, bool speechless,
			  mr_status (*work)(const mr_args *args, mr_session *s)) MR_MUST_USE;

#endif
