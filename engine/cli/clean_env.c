#include "cli/clean_env.h"

#include <stdlib.h>

#include "base/log.h"
#include "host/env.h"
#include "job/machine.h"

static void say(void *ctx, const char *line)
{
	(void)ctx;
	mr_log(MR_LOG_INFO, "start", "%s", line);
}

/* Do teams of several threads share cores? A mistake in the machine group is reported later. */
static bool teams_share_cores(const mr_job *j)
{
	mr_place place = {0};
	mr_topo topo = {0};
	bool several = false;
	const char *key;
	mr_status st;

	if (!*j->machine.cpus && j->machine.threads <= 1)
		return false; /* then no core is shared, or teams have one thread */
	st = mr_machine_place(j, &topo, &place, &key);
	for (uint32_t w = 0; st == MR_OK && w < place.n_workers; w++)
		several |= place.worker[w].shared && place.worker[w].n_threads > 1;
	several = several && place.bindable;
	mr_place_fini(&place);
	mr_topo_fini(&topo);
	return several;
}

mr_status mr_clean_env(const mr_args *args, const mr_config *config)
{
	mr_env_params env = {.argv = args->argv, .shared = teams_share_cores(mr_config_job(config))};

	/* Logged once, by the re-executed process. */
	if (getenv("MILLRACE_RESTARTED"))
		env.say = say;
	return mr_env_prepare(&env);
}
