/*
 * profile_stage.h - measures the layers of one stage, on a thread set up like its worker's. For
 * engine/profile/profile.c.
 */
#ifndef MR_PROFILE_PROFILE_STAGE_H
#define MR_PROFILE_PROFILE_STAGE_H

#include <stdatomic.h>

#include "profile/profile.h"

/* Counts of the stages measured at once that are not ready yet, and that are not done yet. */
typedef struct mr_bench_gate {
	_Atomic uint32_t warming, measuring;
} mr_bench_gate;

/* Shared by all measurements of a profile. */
typedef struct mr_bench_series {
	const mr_run_config *c;
	uint32_t n_micro; /* micro-batches a sum */
	double seconds;
	mr_profile *out;
	bool brief;       /* MR_PROFILE_BRIEF */
} mr_bench_series;

typedef struct mr_stage_bench mr_stage_bench;

/**
 * Begin to measure @stage on worker @w. @g: the gate of the stages measured at once; NULL: alone. @keeps: the times go
 * to s->out; otherwise it only keeps its worker busy. Borrows @s and @g. The caller joins it, and lowers the counts of
 * @g for each stage that it did not begin. Errors: MR_ERESOURCE.
 */
mr_status mr_stage_bench_begin(const mr_bench_series *s, uint16_t w, uint16_t stage, mr_bench_gate *g, bool keeps,
			       mr_stage_bench **out) MR_MUST_USE;

/** Wait for it, and free it. Errors: those of mr_profile_measure, with the stage. */
mr_status mr_stage_bench_join(mr_stage_bench *b) MR_MUST_USE;

#endif
