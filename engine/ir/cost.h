/*
 * cost.h - how long instructions take, as data: the walk and the partitioner read it, the profiler writes it.
 * Times are in one unit throughout a table (seconds, nanoseconds or units of the literature); the walk does not care.
 */
#ifndef MR_IR_COST_H
#define MR_IR_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Costs per micro-batch of one stage (one chunk), of a layer or of any run of layers; or the bytes that they move in
   place of times. B costs i + w. */
typedef struct mr_stage_cost {
	double f, i, w; /* forward, input-gradient half, weight-gradient half */
	double u;       /* optimizer step, per commit */
	double c;       /* hand-over to the next worker, per direction */
	double o, b;    /* what the output, and the gradient of the input, take beyond c: over links between hosts */
	double r;       /* reduction of the gradients of all pipes and uses to one, per commit */
	double n;       /* norm of the gradient, per commit, where it is an instruction */
	double g;       /* saving of each further micro-batch of a merged W, compared with w; 0 to w */
	double s;       /* saving of a step inside a B or W (MR_INSTR_UPDATE), compared with u; 0 to u */
	double a;       /* average of all replicas, all ranges of it, per average */
	double v;       /* validation of a step that is not rolled back, per commit */
} mr_stage_cost;

typedef struct mr_cost {
	uint16_t n_stages;
	const mr_stage_cost *stage; /* [n_stages], borrowed */
} mr_cost;

/** A hand-over from a stage that costs @c: of its output, or of the @gradient of its input. */
static inline double mr_cost_handover(const mr_stage_cost *c, bool gradient)
{
	return c->c + (gradient ? c->b : c->o);
}

/** Add @x to @to, member by member. */
void mr_cost_add(mr_stage_cost *to, const mr_stage_cost *x);

/** Multiply f, i, w and u of @c by those of @by, and g as w. */
void mr_cost_scale(mr_stage_cost *c, const mr_stage_cost *by);

/**
 * Read "f,i,w" or "f,i,w,c" into the fields of these names; the other fields become 0. Errors: MR_ECONFIG with a
 * message that ends in @text; *@out is then unchanged.
 */
mr_status mr_cost_read(const char *text, mr_stage_cost *out) MR_MUST_USE;

#endif
