#include "timing/walk_trace.h"

#include <math.h>
#include <stdlib.h>

static bool commits(const mr_instr *in)
{
	return in->op == MR_OP_U || in->op == MR_OP_N || in->op == MR_OP_AR || in->op == MR_OP_AVG;
}

static mr_trace_rec make_rec(const mr_plan *plan, const mr_walk_rec *from, uint16_t worker, double scale,
			     double *free_at)
{
	const mr_instr *in = from->in;
	mr_trace_rec r = {
		.begin_ns = (uint64_t)llround(from->begin * scale),
		.end_ns = (uint64_t)llround(from->end * scale),
		.micro = (uint32_t)mr_instr_micro(plan, in, from->n),
		.version =
			(uint32_t)(commits(in) ? mr_instr_target(plan, in, from->n) : mr_instr_read(plan, in, from->n)),
		.stage = in->stage,
		.worker = worker,
		.op = in->op,
		.pipe = in->pipe,
	};
	double wait = round((from->begin - *free_at) * scale);

	if (from->cause != MR_WAIT_NONE && from->cause < MR_N_WAITS && wait > 0)
		r.wait_ns[from->cause] = wait < UINT32_MAX ? (uint32_t)wait : UINT32_MAX;
	*free_at = from->end;
	return r;
}

mr_status mr_walk_trace(const mr_plan *plan, const mr_walk *walk, double scale, mr_trace_rec **recs, size_t *n)
{
	size_t total = walk->first[walk->n_workers];
	mr_trace_rec *at;

	if (!(scale > 0) || !(walk->makespan * scale < 9e18))
		return mr_fail(MR_EINVAL, "a walk of %g cannot be written in steps of 1/%g", walk->makespan, scale);
	at = malloc((total ? total : 1) * sizeof(*at));
	if (!at)
		return mr_fail(MR_ERESOURCE, "no memory for %zu trace records", total);
	for (uint16_t w = 0; w < walk->n_workers; w++) {
		double free_at = 0;

		for (size_t i = walk->first[w]; i < walk->first[w + 1]; i++)
			at[i] = make_rec(plan, &walk->at[i], w, scale, &free_at);
	}
	*recs = at;
	*n = total;
	return MR_OK;
}
