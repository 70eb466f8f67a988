/*
 * foreign_load.h - how much of the processors' time other programs take while something is measured: what the kernel
 * counts as busy or stolen, of all CPUs (/proc/stat), without what this process used.
 *
 * The kernel counts in hundredths of a second, so shares of less than some tenths of a second are rough.
 */
#ifndef MR_HOST_FOREIGN_LOAD_H
#define MR_HOST_FOREIGN_LOAD_H

#include <stdbool.h>

#include "base/status.h"

typedef struct mr_foreign_load {
	bool known;                  /* there is a /proc/stat */
	double wall_s, busy_s, own_s;
	double idle_s;               /* of all CPUs */
} mr_foreign_load;

/** The present counts. */
mr_foreign_load mr_foreign_load_now(void);

/** The counts in @text, which looks like /proc/stat, whose ticks are @tick_s long; wall_s and own_s are the caller's.
 * known: it does look so. */
mr_foreign_load mr_foreign_load_of(const char *text, double tick_s);

/** From @then to @now: the share of all processors' time, 0 to 1; 0 where it is not known. */
double mr_foreign_load_between(const mr_foreign_load *then, const mr_foreign_load *now);

#endif
