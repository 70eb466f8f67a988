/*
 * golden.h - the recorded systems of tests/golden/async/chain.json, opened, and which case holds which of them.
 *
 * The suites run over these lists; test_golden.c sees to it that each recorded system is in one of them, and each name
 * in the file.
 */
#ifndef MR_TESTS_SYSTEM_GOLDEN_H
#define MR_TESTS_SYSTEM_GOLDEN_H

#include "base/json.h"
#include "rig.h"

#define GOLDEN_TOLERANCE 1e-12 /* relative; both sides are f64 and differ by how products and sums are grouped */

/* A run that must have every recorded number of system @name. */
typedef struct golden_case {
	const char *name;
	const char *sets;  /* "system.name=..." and what goes with it */
	uint64_t steps;    /* replicas: of the run; others: as many as are recorded */
} golden_case;

/* Each ends with a case without a name. */
extern const golden_case golden_pipelines[]; /* test_chain.c: versions read, weights of every version, live versions,
                                                losses */
extern const golden_case golden_turns[];     /* test_turns.c: the same of stages whose replicas take turns */
extern const golden_case golden_replicas[];  /* test_replicas.c: every model before and after each average, and the
                                                reference */
extern const golden_case golden_steps[];     /* test_golden.c: steps of one stage each; the model after every step */

typedef struct golden {
	mr_json *root;
	const mr_json *in; /* the inputs */
} golden;

void golden_load(golden *g);
void golden_fini(golden *g);

/** All recorded systems, and one of them. */
const mr_json *golden_systems(const golden *g);
const mr_json *golden_system(const golden *g, const char *name);

/** "@key=[...]" with the numbers of @list. */
void golden_set_list(rig *r, const char *key, const mr_json *list);

/** rig_init, the recorded chain with its data and rate, a worker a stage. */
void golden_rig(rig *r, const golden *g);

/** Is @got the recorded @want? @what is printed otherwise. */
void golden_number(const char *what, const mr_json *want, double got);

#endif
