/*
 * env.h - removes the OpenMP runtime's environment variables before they do harm.
 *
 * libgomp reads its variables before main, so clearing them needs a new start: mr_env_prepare runs this program
 * again, once (/proc/self/exe, same arguments), without OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY (they put the
 * members of every team on the same places, whatever the threads were pinned to), OMP_WAIT_POLICY, OMP_NUM_THREADS,
 * OMP_DYNAMIC, OMP_NESTED, OMP_MAX_ACTIVE_LEVELS, OMP_THREAD_LIMIT, OMP_STACKSIZE, GOMP_SPINCOUNT, KMP_AFFINITY,
 * KMP_BLOCKTIME and KMP_HW_SUBSET. When workers share cores it adds a short spin (MR_ENV_SPIN), because idle teams that
 * spin steal the core from the worker that has work. This thread, which the runtime has already bound, may again run on
 * all of the runtime's places. The second start is recognised by the variable MILLRACE_RESTARTED, which carries the
 * text for the log and is then removed. It finds what the first one has read from pipes (base/pipes.h).
 */
#ifndef MR_HOST_ENV_H
#define MR_HOST_ENV_H

#include <stdbool.h>

#include "base/status.h"

/* The spin that is set when cores are shared, by the variable that the runtime of this compiler reads. Of GCC's: turns,
 * measured as short enough for two teams on one core. Of LLVM's: milliseconds. */
#ifdef __clang__
#define MR_ENV_SPIN "KMP_BLOCKTIME"
#define MR_ENV_SHARED_SPIN "0"
#else
#define MR_ENV_SPIN "GOMP_SPINCOUNT"
#define MR_ENV_SHARED_SPIN "1000"
#endif

typedef struct mr_env_params {
	char *const *argv;     /* arguments for the second start, NULL-terminated */
	const char *exe;       /* program to start; NULL = /proc/self/exe */
	bool shared;           /* teams of several threads will share cores: use a short spin */
	void (*say)(void *ctx, const char *line); /* gets a line for each action, on both starts; may be NULL */
	void *ctx;
} mr_env_params;

/**
 * If the environment makes the runtime bind threads, it has bound the main thread to the first of its places before
 * main, and a query for the usable CPUs, or a new thread, sees that one core alone. Its places are the CPUs that the
 * user gave or that it found usable: let this thread use all of them. Call it before anything else, from the main
 * thread; mr_env_prepare also does it.
 */
void mr_env_unbind(void);

/**
 * Start again if the environment needs it; otherwise return. Call before any thread exists and before any OpenMP
 * region. Does not return when it starts again. Errors: MR_EIO the second start failed (errno in the text); the
 * caller may go on.
 */
mr_status mr_env_prepare(const mr_env_params *p) MR_MUST_USE;

#endif
