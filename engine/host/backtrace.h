/*
 * backtrace.h - where the threads of a name stand: each is asked by a signal, and answers from its handler.
 *
 * The threads that this program starts block all signals but MR_BACKTRACE_SIGNAL. The handler only walks the stack into
 * a buffer (glibc's backtrace, whose unwinder mr_backtrace_arm has loaded before); the asking thread turns addresses
 * into names. Members of an OpenMP team have the name of their leader, so asking for "mr-w0" shows the whole team. A
 * thread that does not answer is inside the kernel, and its state is shown instead. Without glibc there are no
 * backtraces, and no lines.
 */
#ifndef MR_HOST_BACKTRACE_H
#define MR_HOST_BACKTRACE_H

#include <signal.h>

#define MR_BACKTRACE_SIGNAL (SIGRTMAX - 3)

/** Install the handler and load what it needs. Any number of times; before the threads that may be asked. */
void mr_backtrace_arm(void);

/** Call @line with the state and the frames of each thread of this process that is called @name. From one thread at a
 * time. */
void mr_backtrace_threads(const char *name, void (*line)(void *arg, const char *text), void *arg);

#endif
