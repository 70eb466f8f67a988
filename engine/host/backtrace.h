/*
 * backtrace.h - the stacks of the threads of a name: each gets a signal and answers from its handler.
 *
 * The threads that this program starts block all signals but MR_BACKTRACE_SIGNAL. The handler only walks the stack into
 * a buffer (glibc's backtrace, whose unwinder mr_backtrace_arm has loaded before); the requesting thread turns
 * addresses into names. Members of an OpenMP team have the name of their leader, so "mr-w0" names the whole team. A
 * thread that does not answer is inside the kernel, and its state is shown instead. Without glibc there are no
 * backtraces, and @line is not called.
 */
#ifndef MR_HOST_BACKTRACE_H
#define MR_HOST_BACKTRACE_H

#include <signal.h>
#include <stdbool.h>

#define MR_BACKTRACE_SIGNAL (SIGRTMAX - 3)

/** Install the handler and load what it needs. May be called again; call it before any thread that may be signalled. */
void mr_backtrace_arm(void);

/** The system call in which thread @tid is at this moment, such as "read of /data/train.bin", to @text; false: it is in
 * none that works with files, or the kernel does not tell. */
bool mr_backtrace_call(int tid, char *text, int size);

/** Call @line with the state and the frames of each thread of this process that is called @name. From one thread at a
 * time. */
void mr_backtrace_threads(const char *name, void (*line)(void *arg, const char *text), void *arg);

#endif
