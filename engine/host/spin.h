/*
 * spin.h - how long the threads of one run spin before they sleep.
 *
 * Spinning is right while each thread has its core: the other side answers soon, and being woken costs more than the
 * spin. When other programs want the cores it is wrong: the other side may not run for milliseconds, and what the spin
 * uses up the scheduler takes back when there is work to do. So a thread that was kept from its core for a good part of
 * a window of time says so, and all threads of the run spin briefly from their next look on. The limit grows back with
 * the time that has passed, a thousandth of it: a host that stays busy keeps it at the least, a quiet one has the full
 * spin back after a fifth of a second. Short disturbances (the system's own work, the run's loader) stay below the
 * threshold and change nothing.
 *
 * One word is shared, relaxed: it carries no data, and a limit that is old for a moment does no harm.
 */
#ifndef MR_HOST_SPIN_H
#define MR_HOST_SPIN_H

#include <stdatomic.h>
#include <stdint.h>

#define MR_SPIN_LEAST_NS  50000u /* still worth it on a busy host: most answers of a thread that runs come within it */
#define MR_SPIN_WINDOW_NS 20000000u /* several turns of a scheduler */
#define MR_SPIN_LOST_PART 4u /* a window is lost to others when more than one in this many of its nanoseconds is */
#define MR_SPIN_GROWS_BY 1000u      /* the limit is the quiet time divided by this */

/* Shared by the threads of a run. */
typedef struct mr_spin {
	_Alignas(64) _Atomic uint64_t busy_ns; /* when a thread of the run last found the host busy; 0: never */
} mr_spin;

/* The window of one thread; all zeros at first. */
typedef struct mr_spin_window {
	uint64_t begin_ns, lost_ns;
} mr_spin_window;

/** Begin as on a quiet host. */
void mr_spin_init(mr_spin *s);

/** The owner of @w has found at @now that it was kept from its core for @delay_ns since it looked last. */
void mr_spin_delayed(mr_spin *s, mr_spin_window *w, uint64_t now, uint64_t delay_ns);

/** Nanoseconds to spin at @now, where @most_ns are right on a quiet host. */
uint64_t mr_spin_ns(const mr_spin *s, uint64_t now, uint64_t most_ns);

#endif
