#include "host/env.h"

#include <errno.h>
#ifdef MR_OPENMP
#include <omp.h>
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pipes.h"

static const char guard[] = "MILLRACE_RESTARTED";

static const char *const harmful[] = {
	"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_HW_SUBSET", "OMP_WAIT_POLICY",
	"GOMP_SPINCOUNT", "KMP_BLOCKTIME", "OMP_NUM_THREADS", "OMP_DYNAMIC", "OMP_NESTED", "OMP_MAX_ACTIVE_LEVELS",
	"OMP_THREAD_LIMIT", "OMP_STACKSIZE",
};

static void add(char *story, size_t size, const char *fmt, const char *name, const char *value)
{
	size_t used = strlen(story);

	snprintf(story + used, size - used, fmt, used ? ", " : "", name, value);
}

static void say(const mr_env_params *p, const char *line)
{
	if (p->say)
		p->say(p->ctx, line);
}

/* Remove the harmful variables from the environment and list them in @story. Returns whether anything changed. */
static bool clean(bool shared, char *story, size_t size)
{
	bool changed = false;

	for (size_t i = 0; i < sizeof(harmful) / sizeof(harmful[0]); i++) {
		const char *value = getenv(harmful[i]);
		bool wanted = shared && !strcmp(harmful[i], MR_ENV_SPIN);

		if (!value || (wanted && !strcmp(value, MR_ENV_SHARED_SPIN)))
			continue;
		add(story, size, "%scleared %s=%s", harmful[i], value);
		unsetenv(harmful[i]);
		changed = true;
	}
	if (shared && !getenv(MR_ENV_SPIN)) {
		add(story, size, "%sset %s=%s", MR_ENV_SPIN, MR_ENV_SHARED_SPIN);
		setenv(MR_ENV_SPIN, MR_ENV_SHARED_SPIN, 1);
		changed = true;
	}
	return changed;
}

void mr_env_unbind(void)
{
#ifdef MR_OPENMP
	int n_places = omp_get_num_places();
	cpu_set_t all;

	if (n_places <= 0 || sched_getaffinity(0, sizeof(all), &all)) /* beyond CPU 1023 the runtime's binding stays */
		return;
	for (int i = 0; i < n_places; i++) {
		int n = omp_get_place_num_procs(i), *cpu = calloc((size_t)(n > 0 ? n : 1), sizeof(*cpu));

		if (cpu && n > 0)
			omp_get_place_proc_ids(i, cpu);
		for (int k = 0; cpu && k < n; k++)
			if (cpu[k] >= 0 && cpu[k] < CPU_SETSIZE)
				CPU_SET((size_t)cpu[k], &all);
		free(cpu);
	}
	(void)sched_setaffinity(0, sizeof(all), &all); /* a failure shows in the line about the machine */
#endif
}

mr_status mr_env_prepare(const mr_env_params *p)
{
	const char *exe = p->exe ? p->exe : "/proc/self/exe";
	const char *told = getenv(guard);
	char story[640] = "", line[768];
	int error;

	if (told) {
		snprintf(line, sizeof(line), "environment: started again with %s", told);
		unsetenv(guard);
		say(p, line);
		return MR_OK;
	}
	if (!clean(p->shared, story, sizeof(story)))
		return MR_OK;
	snprintf(line, sizeof(line), "environment: starting again, %s", story);
	say(p, line);
	setenv(guard, story, 1);
	mr_env_unbind();
	mr_pipes_leave();
	fflush(NULL); /* or text that stdio holds would be lost */
	execv(exe, p->argv);
	error = errno;
	unsetenv(guard);
	return mr_fail(MR_EIO, "cannot start %s again (%s): the OpenMP settings of the environment still hold", exe,
		       strerror(error));
}
