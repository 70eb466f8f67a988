/* theory.h - the small recorded problems of the theory, opened: shared by its suites. */
#ifndef MR_TESTS_SYSTEM_THEORY_H
#define MR_TESTS_SYSTEM_THEORY_H

#include "base/json.h"
#include "planner/graph_objective.h"
#include "rig.h"
#include "perf/theory/aged_run.h"
#include "perf/theory/unit_run.h"

#define THEORY_STAGES 4
#define THEORY_D 13

typedef struct theory {
	rig r;
	mr_json *root;
	const mr_json *want;     /* deterministic.<kind> */
	mr_objective *f;
	double l2;
} theory;

/** The least-squares or the logistic problem with its data, a stage a block, and the recorded results. */
void theory_open(theory *t, bool logistic);
/** The same with further settings of the session, such as another system. */
void theory_open_with(theory *t, bool logistic, const char *sets);
void theory_close(theory *t);

/** Both ways of running, set up for the problem; the caller fills in what is missing. */
mr_aged_config theory_aged(const theory *t, const mr_aged *steps);
mr_unit_config theory_unit(const theory *t, const mr_unit_time *timeline);

/** @n steps of @delta drawn by the recorded linear congruential generator, over 8 minibatches. */
mr_aged *theory_lcg(uint32_t n, uint32_t delta);

/** @got is the recorded number @want to 1e-12 of its size (what is recorded as 0: below 1e-16). */
void theory_number(const char *what, size_t i, const mr_json *want, double got);

#endif
