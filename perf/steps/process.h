/*
 * process.h - a program that runs beside this one and answers line by line.
 *
 * It is a process group of its own, so the terminal's Ctrl-C is not for it; and it never outlives this process, however
 * that ends: the kernel kills it. What it writes to standard error is kept; the last line of it says why it died.
 */
#ifndef PERF_STEPS_PROCESS_H
#define PERF_STEPS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct mr_process {
	pid_t pid;     /* 0: none */
	pid_t at_work; /* the child of it whose CPU counts; 0: itself */
	int in, out;   /* its standard input and output */
	FILE *errors;
	char buf[4096];
	size_t n;      /* bytes in buf that are not yet a line */
} mr_process;

typedef struct mr_process_params {
	const char *const *argv;
	const char *const *env; /* NAME=VALUE, in addition; NULL-terminated */
	const char *dir;        /* NULL: this one */
	bool terminal;          /* its output goes to a terminal, so that lines arrive when they are printed */
} mr_process_params;

/** Start it, from the main thread. Errors: MR_ERESOURCE. That the program does not exist shows in the first read. */
mr_status mr_process_start(mr_process *p, const mr_process_params *params) MR_MUST_USE;

/** Send @line and a newline. Errors: MR_EIO it ended, and why. */
mr_status mr_process_say(mr_process *p, const char *line) MR_MUST_USE;

/**
 * The next line of its output, without the newline, cut at @size. Errors: MR_EIO it ended (the text is its last word on
 * standard error), or is silent for @seconds.
 */
mr_status mr_process_line(mr_process *p, double seconds, char *line, size_t size) MR_MUST_USE;

/** Nanoseconds of CPU that it, or its child at work, has used so far, all threads. 0 when that is gone. */
uint64_t mr_process_cpu_ns(const mr_process *p);

/** Send @sig to it and its children. Fine without one. Async-signal-safe. */
void mr_process_signal(const mr_process *p, int sig);

/** Kill it. Fine without one. */
void mr_process_stop(mr_process *p);

#endif
