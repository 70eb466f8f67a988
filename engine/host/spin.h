/*
 * spin.h - how long the threads of one run spin before they sleep.
 *
 * Spinning is right while each thread has its core: the other side answers soon, and a wake-up costs more than the
 * spin. When other programs want the cores it is wrong: the other side may not run for milliseconds, and the scheduler
 * takes back the time that the spin uses up when there is work to do. So a thread that was kept from its core for a
 * good part of an interval notes it, and all threads of the run spin briefly from their next look on. The limit
 * grows back with the time that has passed, a thousandth of it: on a host that stays busy it stays at its least, and on
 * a quiet one the full spin returns after a fifth of a second. Short disturbances (the system's own work, the run's
 * loader) stay below the threshold and change nothing.
 *
 * One word is shared, relaxed: it carries no data, and an old value does no harm for a moment.
 */
#ifndef MR_HOST_SPIN_H
#define MR_HOST_SPIN_H

#include <stdatomic.h>
#include <stdint.h>

#define MR_SPIN_LEAST_NS 50000u /* worth it even on a busy host: most answers of a running thread come within it */
#define MR_SPIN_INTERVAL_NS 20000000u /* several turns of a scheduler */
#define MR_SPIN_LOST_PART 4u /* an interval counts as lost when others had the core for more than 1 / this of it */
#define MR_SPIN_GROWS_BY 1000u /* the limit is the quiet time divided by this */

/* Shared by the threads of a run. */
typedef struct mr_spin {
	_Alignas(64) _Atomic uint64_t busy_ns; /* when a thread of the run last found the host busy; 0: never */
} mr_spin;

/* The interval of one thread; all zeros at first. */
typedef struct mr_spin_interval {
	uint64_t begin_ns, lost_ns;
} mr_spin_interval;

/** Begin in the state of a quiet host. */
void mr_spin_init(mr_spin *s);

/** At @now, the owner of @i was kept from its core for @delay_ns since its last call. */
void mr_spin_delayed(mr_spin *s, mr_spin_interval *i, uint64_t now, uint64_t delay_ns);

/** Nanoseconds to spin at @now; @most_ns on a quiet host. */
uint64_t mr_spin_ns(const mr_spin *s, uint64_t now, uint64_t most_ns);

#endif
