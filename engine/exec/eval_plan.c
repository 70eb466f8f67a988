/*
 * eval_plan.c - runs every stage once an iteration, at different micro-batches, so that all workers compute at the same
 * time.
 *
 * A worker with v stages has v places an iteration. Stage s gets the first free place of its worker behind that of
 * stage s - 1, counted through all iterations: place t is in iteration t / v. So stage s lags a(s) = t / v iterations
 * behind stage 0; in steady state each finds the output of the one before it ready. With one stage a worker all lags
 * are 0. Two workers, two stages each (places 0 1 | 2 3):
 *
 *	w0   s0 at place 0, s2 at place 3      lag 0, 1
 *	w1   s1 at place 1, s3 at place 4      lag 0, 2
 *
 * The prologue gives the early stages their lead.
 */
#include "exec/eval_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lower/check.h"

/* The place of a stage in the iterations of its worker. */
typedef struct place {
	uint32_t lag, slot; /* iterations behind stage 0; place within one, of v */
} place;

/* Stages of the first @pipes pipes on worker @w. */
static uint32_t stages_on(const mr_plan *train, uint8_t pipes, uint16_t w)
{
	uint32_t n = 0;

	for (size_t i = 0; i < (size_t)pipes * train->n_stages; i++)
		n += train->worker_of[i] == w;
	return n;
}

/* One pipe, unless it leaves a worker idle that has a part in another. */
static uint8_t pipes_of(const mr_plan *train)
{
	for (uint16_t w = 0; w < train->n_workers; w++)
		if (stages_on(train, 1, w) == 0 && stages_on(train, train->n_pipes, w) > 0)
			return train->n_pipes;
	return 1;
}

static uint32_t most_stages(const mr_plan *train, uint8_t pipes)
{
	uint32_t most = 1;

	for (uint16_t w = 0; w < train->n_workers; w++)
		if (stages_on(train, pipes, w) > most)
			most = stages_on(train, pipes, w);
	return most;
}

/* Of one pipe after the other. @at: [P][S]; @busy: [n_workers * v], false. Returns the largest lag. */
static uint32_t find_places(const mr_plan *p, uint32_t v, place *at, bool *busy)
{
	uint32_t last = 0;

	for (unsigned pipe = 0; pipe < p->n_pipes; pipe++) {
		uint32_t t = 0;

		for (uint16_t s = 0; s < p->n_stages; s++) {
			bool *own = busy + (size_t)mr_plan_worker(p, (uint8_t)pipe, s) * v;

			for (t += s > 0; own[t % v]; t++)
				;
			own[t % v] = true;
			at[mr_plan_at(p, (uint8_t)pipe, s)] = (place){t / v, t % v};
		}
		last = t / v > last ? t / v : last;
	}
	return last;
}

/* Of worker @w, the stage at each of its places, or UINT32_MAX. */
static void stages_by_place(const mr_plan *p, uint16_t w, const place *at, uint32_t *stage, uint32_t v)
{
	memset(stage, 0xff, v * sizeof(*stage));
	for (uint32_t i = 0; i < (uint32_t)p->n_pipes * p->n_stages; i++)
		if (p->worker_of[i] == w)
			stage[at[i].slot] = i;
}

/* One iteration of worker @w, the stages in the order of their places, @lead iterations before the last one begins; a
 * micro-batch below 0 is left out. In the body @lead is 0. */
static mr_status append_iteration(mr_plan *p, uint16_t w, const place *at, const uint32_t *stage, uint32_t v,
				  uint32_t last, uint32_t lead)
{
	for (uint32_t slot = 0; slot < v; slot++) {
		uint32_t i = stage[slot];
		mr_instr f = {.op = MR_OP_F, .span = 1};

		if (i == UINT32_MAX || last - at[i].lag < lead)
			continue;
		f.pipe = (uint8_t)(i / p->n_stages);
		f.stage = (uint16_t)(i % p->n_stages);
		f.micro = (last - at[i].lag - lead) * p->n_micro + f.pipe;
		MR_TRY(mr_plan_append(p, w, lead ? MR_PROLOGUE : MR_BODY, f));
	}
	return MR_OK;
}

/* @at: [P][S]; @busy: [n_workers * v], false; @stage: [v]. */
static mr_status fill(const mr_plan *train, mr_plan *p, uint32_t v, place *at, bool *busy, uint32_t *stage)
{
	uint32_t last, places = (uint32_t)p->n_pipes * p->n_stages;

	memcpy(p->worker_of, train->worker_of, places * sizeof(*p->worker_of));
	last = find_places(p, v, at, busy);
	snprintf(p->system, sizeof(p->system), "evaluation");
	p->n_micro = p->n_pipes;
	p->contract = (mr_contract){
		.coverage = MR_COVER_FORWARD,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_LATEST,
		.need = 1,
	};
	p->storage = MR_MODULO;
	for (uint32_t i = 0; i < places; i++) {
		p->n_slots[i] = 1;
		p->n_fwd[i] = i % p->n_stages ? (uint16_t)(at[i].lag - at[i - 1].lag + 2) : 0;
		p->n_versions[i % p->n_stages] = 1;
	}
	for (uint16_t w = 0; w < p->n_workers; w++) {
		stages_by_place(p, w, at, stage, v);
		for (uint32_t lead = last + 1; lead-- > 0;)
			MR_TRY(append_iteration(p, w, at, stage, v, last, lead));
	}
	p->lowered = true;
	MR_TRY(mr_plan_check(p));
	p->contract.tied = train->contract.tied; /* the last stage then reads the first one's published version */
	return MR_OK;
}

mr_status mr_eval_plan_create(const mr_plan *train, mr_plan **out)
{
	uint8_t pipes = pipes_of(train);
	uint32_t v = most_stages(train, pipes);
	place *at = calloc((size_t)pipes * train->n_stages, sizeof(*at));
	bool *busy = calloc((size_t)train->n_workers * v, sizeof(*busy));
	uint32_t *stage = malloc(v * sizeof(*stage));
	mr_plan *p = NULL;
	mr_status st = at && busy && stage ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %u stages", train->n_stages);

	if (st == MR_OK)
		st = mr_plan_create(train->n_stages, train->n_workers, pipes, &p);
	if (st == MR_OK)
		st = fill(train, p, v, at, busy, stage);
	free(stage);
	free(at);
	free(busy);
	if (st != MR_OK) {
		mr_plan_destroy(p);
		return mr_fail_in(st, "evaluation plan");
	}
	*out = p;
	return MR_OK;
}
