/*
 * pause.h - how a worker waits: look, pause a bounded number of times, then sleep; and how it is woken or stopped.
 *
 * A wait is a loop that the caller writes (ring.c and event.c contain three of them):
 *
 *	while (!ready())                     ready() loads the other side's word with memory_order_seq_cst
 *		MR_TRY(mr_waiter_step(w));   MR_ESTOPPED when the stop flag is up
 *	mr_waiter_done(w);
 *
 * Each step pauses once; after w->spin pauses the next step raises the parker's `asleep` word (arms) and returns, so
 * that ready() and the stop flag are looked at once more; only then does a step sleep in the futex. The thread that
 * makes ready() true stores its word with memory_order_seq_cst and then calls mr_parker_wake() on the parker of each
 * thread that may wait. A thread has one parker for all its waits; a wake-up without a reason is normal, and the loop
 * looks again.
 *
 * No wake-up is lost. Four seq_cst accesses, two a side (Dekker's pattern):
 *
 *	waiter   S0: asleep = 1         then  R: load the published word (or the stop flag)
 *	waker    W:  store that word    then  S1: load asleep
 *
 * All seq_cst accesses lie in one order that agrees with each thread's program. If R misses W's value, then R
 * precedes W in it, so S0 < R < W < S1 and S1 sees the 1 (or the 0 of another waker's exchange that followed S0, and
 * then that waker is about to wake, or has). If S1 sees 0, then S1 < S0, so W < S1 < S0 < R and R sees the value. The
 * futex closes the gap between R and sleeping: a waker puts 0 into `asleep` before it wakes, and the kernel does not
 * let a thread sleep on a word that is no longer 1. A late 0 from an older wake-up only makes a sleep end early.
 * Acquire and release would not do: they let the load in each column overtake the store above it. On x86-64 the loads
 * are plain moves; W is one xchg (about 20 cycles), which is the whole price of a wake-up when no thread sleeps.
 *
 *	edge   writer                    reader                    what becomes visible
 *	S0/S1  waiter raises asleep      waker looks               that the waiter needs to be woken
 *	W3/R3  mr_stop_raise             mr_waiter_step            what the stopper wrote before (the first error)
 *
 * W0/R0 and W1/R1 are in ring.h, W2/R2 in event.h. tests/host explores all executions of these files on small cases and
 * shows, by weakening one order at a time, that each is needed. No fence is used, so ThreadSanitizer sees every edge.
 */
#ifndef MR_HOST_PAUSE_H
#define MR_HOST_PAUSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* One per waiting thread, on a cache line of its own: wakers read it, so nothing else may make that line move. */
typedef struct mr_parker {
	_Alignas(64) _Atomic uint32_t asleep; /* 1: the owner sleeps or is about to; wakers put back 0 */
} mr_parker;

/* A flag that ends all waits. Lives on the caller's memory; `parker` lends the parkers of all threads that may wait. */
typedef struct mr_stop {
	_Alignas(64) _Atomic uint32_t raised;
	_Alignas(64) mr_parker *const *parker;
	uint32_t n_parkers;
} mr_stop;

/*
 * The state of one thread's waits. Only its owner touches it, except `why` and `subject`, which a watchdog may read.
 * The counters are the owner's; others read them after joining it. On a line of its own, because each pause writes to
 * it.
 */
typedef struct mr_waiter {
	_Alignas(64) mr_parker *parker; /* the owner's; NULL: never sleep, give up the CPU instead (sched_yield) */
	const _Atomic uint32_t *stop;  /* &mr_stop.raised, or NULL: cannot be stopped */
	uint32_t spin;                 /* pauses before sleeping; see mr_pause_spins */
	uint32_t n_spun;               /* pauses in this wait so far */
	bool armed;                    /* this wait has raised parker->asleep */
	uint64_t n_pauses;             /* counters since init */
	uint64_t n_sleeps;
	_Atomic uint32_t why;          /* what it waits for: a code of the caller, 0 = it does not wait */
	_Atomic uint32_t subject;      /* which one: micro-batch, version, ... as the caller likes */
} mr_waiter;

/** Begin: no thread sleeps. */
void mr_parker_init(mr_parker *p);

/**
 * Wake the owner of @p if it sleeps or is about to. Call after a seq_cst store of what it waits for (S1).
 * One load when no thread sleeps. @p may be NULL: no thread ever waits there. Thread: any; async-signal-safe.
 */
void mr_parker_wake(mr_parker *p);

/** A waiter that uses @parker and @stop (either may be NULL) and @spin pauses before it sleeps. */
void mr_waiter_init(mr_waiter *w, mr_parker *parker, const mr_stop *stop, uint32_t spin);

/**
 * One step of a wait, see above. MR_ESTOPPED: the flag is up; the wait is over and mr_waiter_done must not be called.
 */
mr_status mr_waiter_step(mr_waiter *w) MR_MUST_USE;

/** End a wait that is over. Cheap if the wait never began. */
void mr_waiter_done(mr_waiter *w);

/**
 * Note what the next wait is for (@why != 0), or that there is none (@why = 0). For the watchdog; two relaxed stores.
 */
static inline void mr_waiter_note(mr_waiter *w, uint32_t why, uint32_t subject)
{
	atomic_store_explicit(&w->subject, subject, memory_order_relaxed);
	atomic_store_explicit(&w->why, why, memory_order_relaxed);
}

/** Begin with the flag down. @parker lends @n pointers until the last raise. */
void mr_stop_init(mr_stop *s, mr_parker *const *parker, uint32_t n);

/** Raise the flag and wake all sleepers (W3). Any thread, any number of times; async-signal-safe. */
void mr_stop_raise(mr_stop *s);

/** Whether the flag is up; true also shows what its raiser wrote before raising it. */
bool mr_stop_raised(const mr_stop *s);

/** Lower the flag again. Only while no thread waits. */
void mr_stop_clear(mr_stop *s);

/**
 * Number of pauses that take about @ns nanoseconds on this CPU (at least 1 for @ns > 0); measured once, on first use.
 */
uint32_t mr_pause_spins(uint64_t ns);

/*
 * Spin this long before sleeping: alone on a core, or with other workers on it. Being woken costs 20-60 us in a
 * virtual machine (perf/host_ring); a spin of a few times that bounds the loss to a fraction of the wait, and takes
 * the core from no other thread when it is the worker's own.
 */
#define MR_PAUSE_OWN_NS 200000
#define MR_PAUSE_SHARED_NS 1000

#endif
