/* run_nodes.c - what a run has once for each memory: copies of the weights; and what it places on several NUMA nodes:
 * ranges of states, copies of weights, loaders. */
#include "exec/run.h"

#include <stdlib.h>
#include <string.h>

#include "weights/stored_states.h"

/* Do workers @a and @b share memory? */
static mr_status share_memory(const mr_run *run, uint16_t a, uint16_t b, bool *out)
{
	mr_edge e = {.kind = MR_EDGE_GRADIENTS, .from = a, .to = b};
	const mr_link_kind *kind;

	*out = true;
	if (a == b)
		return MR_OK;
	MR_TRY(mr_link_kind_of(run->c.links, &e, &kind));
	*out = mr_link_kind_shares(kind);
	return MR_OK;
}

/* Give @pipe the first copy whose workers share memory with its own, or a new one. */
static mr_status find_copy(mr_run *run, uint8_t pipe)
{
	const mr_plan *p = run->c.plan;
	uint16_t w = mr_plan_worker(p, pipe, 0);
	uint32_t i = 0;
	bool same;

	for (uint16_t s = 1; s < p->n_stages; s++) {
		MR_TRY(share_memory(run, w, mr_plan_worker(p, pipe, s), &same));
		if (!same)
			return mr_fail(MR_ECONFIG,
				       "pipe %u is on workers %u and %u, which share no memory: whole steps need each "
				       "pipe on one rank",
				       pipe, w, mr_plan_worker(p, pipe, s));
	}
	for (same = false; i < run->n_copies && !same; i += !same)
		MR_TRY(share_memory(run, mr_plan_worker(p, run->first_of[i], 0), w, &same));
	if (i == run->n_copies)
		run->first_of[run->n_copies++] = pipe;
	run->copy_of[pipe] = (uint8_t)i;
	return MR_OK;
}

mr_status mr_run_choose_copies(mr_run *run)
{
	run->copy_of = calloc(2u * run->n_pipes, sizeof(*run->copy_of));
	if (!run->copy_of)
		return mr_fail(MR_ERESOURCE, "no memory for %u pipes", run->n_pipes);
	run->first_of = run->copy_of + run->n_pipes;
	if (run->facts & MR_COPIES) {
		for (unsigned p = 0; p < run->n_pipes; p++)
			MR_TRY(find_copy(run, (uint8_t)p));
		return MR_OK;
	}
	run->n_copies = run->diverges ? run->n_pipes : 1;
	for (uint32_t i = 0; i < run->n_copies; i++)
		run->copy_of[i] = run->first_of[i] = (uint8_t)i;
	return MR_OK;
}

/* Is @w on one node, and the region of @owner on another one? A region that had no room there stays where it is. */
static bool elsewhere(const mr_place_worker *w, const mr_worker *owner)
{
	return w->bindable && w->memory.n == 1 && !owner->elsewhere &&
	       (owner->region.nodes.n != 1 || w->memory.os[0] != owner->region.nodes.os[0]);
}

/* Bind the optimizer's state of @pipe's range of stage @s. */
static void spread(mr_run *run, uint8_t pipe, uint16_t s)
{
	const mr_place_worker *w = &run->c.place->worker[mr_plan_worker(run->c.plan, pipe, s)];
	mr_worker *owner = &run->worker[mr_plan_worker(run->c.plan, 0, s)];
	const mr_stage_weights *b = &run->weights[s];
	const mr_types *t = &run->c.kernels->types;
	size_t each = mr_dtype_bytes(t->weights), state = mr_states_each(b);
	uint64_t begin = b->shard[pipe].begin / each * state, bytes = b->shard[pipe].end / each * state - begin;

	if (b->owned || !elsewhere(w, owner) || !mr_stage_size(b->stage)->state_bytes)
		return;
	for (uint32_t i = 0; i < run->c.optim->ops->n_states; i++)
		mr_region_bind_part(&owner->region,
				    (uint64_t)(b->state[i] - (uint8_t *)owner->region.base) + begin, bytes,
				    w->memory.os[0]);
}

void mr_run_spread_states(mr_run *run)
{
	for (uint16_t s = 0; run->facts & MR_SHARES_STAGES && s < run->n_stages; s++)
		for (uint32_t p = 1; p < run->weights[s].n_shards; p++)
			spread(run, (uint8_t)p, s);
}

bool mr_run_together(const mr_place_worker *a, const mr_place_worker *b)
{
	return a->memory.n == b->memory.n && !memcmp(a->memory.os, b->memory.os, a->memory.n * sizeof(*a->memory.os));
}

const mr_place_worker *mr_run_place_of(const mr_run *run, uint32_t i, uint16_t s)
{
	return &run->c.place->worker[mr_plan_worker(run->c.plan, (uint8_t)i, s)];
}

mr_status mr_run_choose_homes(mr_run *run)
{
	for (uint16_t s = 0; run->facts & MR_SHARES_STAGES && s < run->n_stages; s++) {
		mr_stage_weights *b = &run->weights[s];

		for (uint32_t i = 1; mr_weights_may_copy(b) && i < b->n_shards; i++)
			while (b->shard[i].home < i &&
			       !mr_run_together(mr_run_place_of(run, i, s), mr_run_place_of(run, b->shard[i].home, s)))
				b->shard[i].home++;
	}
	MR_EACH_FEATURE(run, f, choose_homes)
		MR_TRY((*f)->choose_homes(run));
	return MR_OK;
}

static const mr_place_worker *first_worker(const mr_run *run, unsigned pipe)
{
	return &run->c.place->worker[mr_plan_worker(run->c.plan, (uint8_t)pipe, 0)];
}

mr_status mr_run_choose_lanes(mr_run *run)
{
	run->lane_of = calloc(run->n_pipes, sizeof(*run->lane_of));
	if (!run->lane_of)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	for (unsigned p = 0; p < run->n_pipes; p++) {
		unsigned first = 0;

		while (first < p && !mr_run_together(first_worker(run, first), first_worker(run, p)))
			first++;
		run->lane_of[p] = first < p ? run->lane_of[first] : (uint8_t)run->n_lanes++;
	}
	run->loader_parker = calloc((size_t)2 * run->n_lanes, sizeof(*run->loader_parker));
	return run->loader_parker ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the loader");
}
