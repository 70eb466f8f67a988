/* open_config.h - load the configuration that a command line names, printing all its mistakes. */
#ifndef MR_CLI_OPEN_CONFIG_H
#define MR_CLI_OPEN_CONFIG_H

#include "cli/args.h"
#include "cli/config.h"

/** Operand 0 and --set of @args. Mistakes go to standard error, a line each; the sentence counts them. Errors: MR_ECONFIG. */
mr_status mr_open_config(const mr_args *args, mr_config **out) MR_MUST_USE;

#endif
