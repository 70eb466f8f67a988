/*
 * eval_plan.c - every stage once an iteration, at different micro-batches, so that all workers compute at the same time.
 *
 * A worker with v stages has v places an iteration. Stage s gets the first free place of its worker behind that of stage s - 1,
 * counted through all iterations: place t is in iteration t / v. So stage s lags a(s) = t / v iterations behind stage 0; in
 * steady state each finds the output of the one before it ready. With one stage a worker all lags are 0. Two workers, two
 * stages each (places 0 1 | 2 3):
 *
 *	w0   s0 at place 0, s2 at place 3      lag 0, 1
 *	w1   s1 at place 1, s3 at place 4      lag 0, 2
 *
 * The prologue gives the early stages their lead.
 */
#include "run/eval_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "ir/check.h"

/* Where a stage stands in the iterations of its worker. */
typedef struct place {
	uint32_t lag, slot; /* iterations behind stage 0; place within one, of v */
} place;

static uint32_t most_stages(const mr_plan *train)
{
	uint32_t most = 1;

	for (uint16_t w = 0; w < train->n_workers; w++) {
		uint32_t n = 0;

		for (uint16_t s = 0; s < train->n_stages; s++)
			n += mr_plan_worker(train, 0, s) == w;
		most = n > most ? n : most;
	}
	return most;
}

/* @at: [n_stages]; @busy: [n_workers * v], false. Returns the largest lag. */
static uint32_t find_places(const mr_plan *train, uint32_t v, place *at, bool *busy)
{
	uint32_t t = 0;

	for (uint16_t s = 0; s < train->n_stages; s++) {
		bool *own = busy + (size_t)mr_plan_worker(train, 0, s) * v;

		for (t += s > 0; own[t % v]; t++)
			;
		own[t % v] = true;
		at[s] = (place){t / v, t % v};
	}
	return at[train->n_stages - 1].lag;
}

/* One iteration of worker @w, the stages in the order of their places, @lead iterations before the last stage begins; a
 * micro-batch below 0 is left out. In the body @lead is 0. */
static mr_status append_iteration(mr_plan *p, const mr_plan *train, uint16_t w, const place *at, uint32_t v, uint32_t last,
				  uint32_t lead)
{
	for (uint32_t slot = 0; slot < v; slot++)
		for (uint16_t s = 0; s < p->n_stages; s++) {
			mr_instr f = {.op = MR_OP_F, .span = 1, .stage = s};

			if (mr_plan_worker(train, 0, s) != w || at[s].slot != slot || last - at[s].lag < lead)
				continue;
			f.micro = last - at[s].lag - lead;
			MR_TRY(mr_plan_append(p, w, lead ? MR_PROLOGUE : MR_BODY, f));
		}
	return MR_OK;
}

static mr_status fill(const mr_plan *train, mr_plan *p, place *at, bool *busy)
{
	uint32_t v = most_stages(train), last = find_places(train, v, at, busy);

	snprintf(p->system, sizeof(p->system), "evaluation");
	p->n_micro = 1;
	p->contract = (mr_contract){
		.coverage = MR_COVER_FORWARD,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_LATEST,
		.need = 1,
	};
	p->storage = MR_MODULO;
	for (uint16_t s = 0; s < p->n_stages; s++) {
		p->worker_of[s] = mr_plan_worker(train, 0, s);
		p->n_slots[s] = 1;
		p->n_fwd[s] = s ? (uint16_t)(at[s].lag - at[s - 1].lag + 2) : 0;
		p->n_versions[s] = 1;
	}
	for (uint16_t w = 0; w < p->n_workers; w++)
		for (uint32_t lead = last + 1; lead-- > 0;)
			MR_TRY(append_iteration(p, train, w, at, v, last, lead));
	p->lowered = true;
	MR_TRY(mr_plan_check(p));
	p->contract.tied = train->contract.tied; /* the last stage then reads the first one's published version */
	return MR_OK;
}

mr_status mr_eval_plan_create(const mr_plan *train, mr_plan **out)
{
	place *at = calloc(train->n_stages, sizeof(*at));
	bool *busy = calloc((size_t)train->n_workers * most_stages(train), sizeof(*busy));
	mr_plan *p = NULL;
	mr_status st = at && busy ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %u stages", train->n_stages);

	if (st == MR_OK)
		st = mr_plan_create(train->n_stages, train->n_workers, 1, &p);
	if (st == MR_OK)
		st = fill(train, p, at, busy);
	free(at);
	free(busy);
	if (st != MR_OK) {
		mr_plan_destroy(p);
		return mr_fail_in(st, "evaluation plan");
	}
	*out = p;
	return MR_OK;
}
