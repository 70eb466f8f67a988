/* clean_env.h - the second start that a clean OpenMP environment may need, for commands that compute. */
#ifndef MR_CLI_CLEAN_ENV_H
#define MR_CLI_CLEAN_ENV_H

#include "cli/args.h"
#include "config/config.h"

/** Clean the environment (host/env.h) for the threads of @config; what was done goes to the log (base/log.h). Call
 * before any thread exists. */
mr_status mr_clean_env(const mr_args *args, const mr_config *config) MR_MUST_USE;

#endif
