/*
 * margins.h - the range in which the time of a step lies, given its prediction: from the measured errors of the
 * predictions for each system.
 *
 * margins.def is a table of measured errors. A system that it does not list gets the widest of them. Errors of one
 * machine and one model are no bound for others: they show which differences between predictions mean nothing.
 */
#ifndef MR_SESSION_MARGINS_H
#define MR_SESSION_MARGINS_H

#include <stdbool.h>

typedef struct mr_margin {
	double less, more; /* a step takes from (1 - less) to (1 + more) times the prediction */
	bool measured;     /* for this system; else the widest of all */
} mr_margin;

/** The margin of the system called @name. */
mr_margin mr_margin_of(const char *name);

/** Where the errors were measured: one line for people. */
const char *mr_margin_source(void);

/** May a step of @a seconds with @ma and one of @b with @mb be equally long? */
bool mr_margin_alike(double a, const mr_margin *ma, double b, const mr_margin *mb);

#endif
