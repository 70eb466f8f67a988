/*
 * fault.h - places where a test may kill, fail or delay the program.
 *
 * Everything here exists only in builds with MR_FAULTS (cmake -DMILLRACE_FAULTS=ON); in others it is nothing at all,
 * so no caller needs an #ifdef. Tests in other processes steer it by environment, read once at the first use:
 *
 *	MR_KILL_AT=name:n          SIGKILL to itself at the n-th pass through point "name", n from 1
 *	MR_SIGNAL_AT=name:n:SIGNAL the same with another signal (a number, or INT, TERM, HUP, USR1 or USR2), and goes on
 *	                           if a handler catches it
 *	MR_KILL_LIST=file          append the name of each point passed to the file, one a line
 *	MR_FAIL_AT=name:n:ERRNO    the n-th I/O call "name" fails with that errno (a number, or a name such as ENOSPC)
 *	MR_SLOW=name:ms            every pass through point "name" takes that many milliseconds, whatever signals come
 *	MR_LATE=name:us            what the program calls "name" takes effect that many microseconds late
 *	MR_HURRY=n                 measurements of the machine take an n-th of their time and memory
 *	MR_BLOCK=n                 messages that are cut into blocks have blocks of n bytes
 *	MR_DELAY=max_us:one_in:seed  one call of mr_fault_delay in one_in waits 0..max_us microseconds
 *
 * Malformed settings end the process with a message (exit 2): a test that silently tests nothing is worse. Tests in
 * this process use the setters, which override the environment; call them while no other thread is in here.
 */
#ifndef MR_BASE_FAULT_H
#define MR_BASE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef MR_FAULTS

/** A named place, such as MR_FAULT_POINT("checkpoint.rename"). Any thread. */
#define MR_FAULT_POINT(name) mr_fault_point(name)

void mr_fault_point(const char *name);

/** A place that MR_SLOW may name, and nothing else. Any thread. */
void mr_fault_slow(const char *name);

/** By how many nanoseconds MR_LATE holds back what is called @name; 0: not at all. */
uint64_t mr_fault_late_ns(const char *name);

/** What a measurement of @n nanoseconds or bytes may take: as many, or what MR_HURRY says. */
uint64_t mr_fault_hurry(uint64_t n);

/** Bytes of a block of a message: @n, or what MR_BLOCK says. */
uint64_t mr_fault_block(uint64_t n);

/** Ask before the real call: `if (mr_fault_io("checkpoint.write", &err)) ...`. True: pretend that it failed with *@err,
 * which errno holds too. */
bool mr_fault_io(const char *name, int *err);

/** Wait as MR_DELAY says; whether and how long depends only on the seed, @worker and @n. Nothing unless configured. */
void mr_fault_delay(uint32_t worker, uint64_t n);

/** What mr_fault_delay would wait, in nanoseconds. */
uint64_t mr_fault_delay_ns(uint32_t worker, uint64_t n);

/** @one_in == 0: no delays. */
void mr_fault_set_delay(uint32_t max_us, uint32_t one_in, uint64_t seed);
/** @name NULL: no kill. The count of passes begins again. */
void mr_fault_set_kill(const char *name, uint64_t nth);
/** @name NULL: no failure. The count of calls begins again. */
void mr_fault_set_fail(const char *name, uint64_t nth, int err);

#else

#define MR_FAULT_POINT(name) ((void)0)

static inline void mr_fault_slow(const char *name)
{
	(void)name;
}

static inline uint64_t mr_fault_late_ns(const char *name)
{
	(void)name;
	return 0;
}

static inline uint64_t mr_fault_hurry(uint64_t n)
{
	return n;
}

static inline uint64_t mr_fault_block(uint64_t n)
{
	return n;
}

static inline bool mr_fault_io(const char *name, int *err)
{
	(void)name;
	(void)err;
	return false;
}

static inline void mr_fault_delay(uint32_t worker, uint64_t n)
{
	(void)worker;
	(void)n;
}

#endif
#endif
