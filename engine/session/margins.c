#include "session/margins.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/stats.h"

static const struct {
	const char *name;
	double percent; /* predicted over measured, less 1 */
} errors[] = {
#define MR_MARGIN(name, percent) {name, percent},
#define MR_MARGIN_MACHINE(text)
#include "session/margins.def"
#undef MR_MARGIN
#undef MR_MARGIN_MACHINE
};

static const char machine[] =
#define MR_MARGIN(name, percent)
#define MR_MARGIN_MACHINE(text) text
#include "session/margins.def"
#undef MR_MARGIN
#undef MR_MARGIN_MACHINE
	;

#define N_ERRORS (sizeof(errors) / sizeof(errors[0]))

/* The factor by which a step with error @e took longer than predicted. */
static double longer_by(double e)
{
	return 1 / (1 + e / 100) - 1;
}

/* The median error of all systems: a closer measurement of one was luck. */
static double median_error(void)
{
	double e[N_ERRORS];

	for (size_t i = 0; i < N_ERRORS; i++)
		e[i] = fabs(errors[i].percent) / 100;
	return mr_median(e, N_ERRORS);
}

static void widen(mr_margin *m, double e, double usual)
{
	m->less = fmax(m->less, usual - longer_by(e));
	m->more = fmax(m->more, usual + longer_by(e));
}

mr_margin mr_margin_of(const char *name)
{
	double usual = median_error();
	mr_margin m = {usual, usual, true};

	for (size_t i = 0; i < N_ERRORS; i++)
		if (!strcmp(errors[i].name, name)) {
			widen(&m, errors[i].percent, usual);
			return m;
		}
	m.measured = false;
	for (size_t i = 0; i < N_ERRORS; i++)
		widen(&m, errors[i].percent, usual);
	return m;
}

const char *mr_margin_source(void)
{
	return machine;
}

bool mr_margin_alike(double a, const mr_margin *ma, double b, const mr_margin *mb)
{
	return a * (1 - ma->less) <= b * (1 + mb->more) && b * (1 - mb->less) <= a * (1 + ma->more);
}
