/*
 * launch_file.h - the file by which rank 0 tells `millrace launch` on the same host which process it is, and how it
 * ended.
 *
 * `launch` names it in the environment of what it starts; elsewhere it is not there, and all of this does nothing. It
 * holds a number: less than 0, the process of rank 0; else its exit code.
 */
#ifndef MR_HOST_LAUNCH_FILE_H
#define MR_HOST_LAUNCH_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#define MR_LAUNCH_FILE "MILLRACE_LAUNCH"
/* The variable with the token of a launch: processes of another launch, or of none, do not train with its ranks. */
#define MR_LAUNCH_TOKEN "MILLRACE_LAUNCH_TOKEN"

/** Rank 0: it has begun. */
void mr_launch_begin(void);

/** It ends with @code. */
void mr_launch_end(int code);

typedef struct mr_launch_state {
	int code;      /* -1: it has not ended */
	pid_t process; /* 0: it has not begun, or has ended */
	bool stopped;  /* by a signal, as SIGSTOP does */
} mr_launch_state;

/** What the file @path says, and of its process the kernel. */
mr_launch_state mr_launch_look(const char *path);

/** Kill @process, if it has the token of this process's environment. */
void mr_launch_kill(pid_t process);

#endif
