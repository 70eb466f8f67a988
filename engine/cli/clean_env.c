#include "cli/clean_env.h"

#include <stdio.h>
#include <stdlib.h>

#include "host/env.h"

static void say(void *ctx, const char *line)
{
	(void)ctx;
	fprintf(stderr, "millrace: %s\n", line);
}

mr_status mr_clean_env(const mr_args *args, const mr_config *config)
{
	mr_env_params env = {.argv = args->argv};

	/* Logged once, by the re-executed process. */
	if (getenv("MILLRACE_RESTARTED"))
		env.say = say;
	/* Only an explicit list of CPUs can put teams of several threads on shared cores. */
	env.shared = *mr_config_job(config)->machine.cpus != 0;
	return mr_env_prepare(&env);
}
