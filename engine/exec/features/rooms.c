/*
 * rooms.c - activations of all pipes in rooms that they use in turn (ir/plan.h, "Whole steps").
 *
 * The rooms of all stages lie in the memory of the first pipe's worker. Workers that share no memory have rooms for
 * each copy of the weights (mr_run.copy_of): as many as the plan has, or as there are pipes of the copy if those are
 * fewer, which the copy's own micro-batches use in turn. K of these in a row are K or more of all, and as many as there
 * are pipes go through each pipe once, so a room is free when the plan's is.
 *
 * A pipe's slots are names, by which the worker finds what it has under way; where they have to have memory, before the
 * first step and in evaluations, when all rooms are free, it is that of one room of the first stage, which has one for
 * each pipe of the copy, large enough for any stage.
 *
 * Thread: the worker of micro-batch m has its room from F to B; the counters of the ring (ring.c) pass it on.
 */
#include <stdlib.h>

#include "base/size.h"
#include "exec/exec_internal.h"

struct mr_rooms {
	uint8_t **room;         /* [n_copies][n_stages] the first of each stage */
	size_t *bytes;          /* [n_stages] of a room */
	mr_links_stage *lender; /* [n_pipes][n_stages] */
	uint32_t *n_pipes;      /* [n_copies] pipes of each copy */
	uint32_t *place;        /* [n_pipes] of each among those of its copy */
};

static uint32_t n_rooms(const mr_run *run, uint32_t copy, uint16_t s)
{
	uint32_t rooms = run->c.plan->rooms[s], pipes = run->rooms->n_pipes[copy];

	return rooms < pipes ? rooms : pipes;
}

static uint8_t **room_of(const mr_run *run, uint32_t copy, uint16_t s)
{
	return &run->rooms->room[(size_t)copy * run->n_stages + s];
}

static mr_status pass(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io)
{
	const mr_run *run = w->run;
	const mr_rooms *x = run->rooms;
	uint16_t s = t->in->stage;
	uint32_t copy = run->copy_of[t->in->pipe];
	uint64_t own = slot->micro / run->n_pipes * x->n_pipes[copy] + x->place[t->in->pipe];

	if (t->links->train)
		io->slot = *room_of(run, copy, s) + own % n_rooms(run, copy, s) * x->bytes[s];
	return MR_OK;
}

static const mr_links_stage *lender(const mr_run *run, uint8_t pipe, uint16_t s)
{
	return &run->rooms->lender[mr_plan_at(run->c.plan, pipe, s)];
}

/* --- the feature --- */

static mr_status refuse(const mr_run_config *c)
{
	for (uint16_t s = 0; s < c->plan->n_stages; s++)
		if (!c->plan->rooms[s] || c->plan->rooms[0] < c->plan->n_pipes)
			return mr_fail(MR_ECONFIG,
				       "stage %u has %u rooms: the engine takes rooms in all stages, and at the first "
				       "one for each of the %u pipes",
				       s, c->plan->rooms[s], c->plan->n_pipes);
	return MR_OK;
}

static mr_status create(mr_run *run)
{
	size_t places = (size_t)run->n_pipes * run->n_stages;
	mr_rooms *x = run->rooms = calloc(1, sizeof(*x));

	if (x) {
		x->room = calloc(mr_run_n_weights(run), sizeof(*x->room));
		x->bytes = calloc(run->n_stages, sizeof(*x->bytes));
		x->lender = calloc(places, sizeof(*x->lender));
		x->n_pipes = calloc(run->n_copies, sizeof(*x->n_pipes));
		x->place = calloc(run->n_pipes, sizeof(*x->place));
	}
	if (!x || !x->room || !x->bytes || !x->lender || !x->n_pipes || !x->place)
		return mr_fail(MR_ERESOURCE, "no memory for the rooms of %u stages", run->n_stages);
	for (unsigned p = 0; p < run->n_pipes; p++)
		x->place[p] = x->n_pipes[run->copy_of[p]]++;
	return MR_OK;
}

static void destroy(mr_run *run)
{
	if (!run->rooms)
		return;
	free(run->rooms->room);
	free(run->rooms->bytes);
	free(run->rooms->lender);
	free(run->rooms->n_pipes);
	free(run->rooms->place);
	free(run->rooms);
}

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	size_t bytes = mr_align_up(mr_stage_size(b->stage)->slot_bytes, MR_CACHE_LINE);

	run->rooms->bytes[s] = bytes;
	if (bytes > run->rooms->bytes[0])
		run->rooms->bytes[0] = bytes;
	return MR_OK;
}

/* Of each stage as many pipes lend a slot as it has rooms: so it counts as many. */
static void layout_pipe(mr_run *run, uint8_t pipe, uint16_t s, mr_arena *a)
{
	mr_rooms *x = run->rooms;
	uint32_t copy = run->copy_of[pipe], rooms = n_rooms(run, copy, s);

	if (!mr_run_leads(run, pipe, s))
		return;
	*room_of(run, copy, s) = mr_arena_take(a, rooms * x->bytes[s], MR_CACHE_LINE);
	for (unsigned p = pipe; p < run->n_pipes; p++)
		if (run->copy_of[p] == copy)
			x->lender[mr_plan_at(run->c.plan, (uint8_t)p, s)] =
				(mr_links_stage){.n_slots = UINT32_MAX,
						 .slot_memory = *room_of(run, copy, 0) + x->place[p] * x->bytes[0],
						 .slot_bytes = x->place[p] < rooms ? x->bytes[s] : 0};
}

static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	if (mr_run_leads(run, pipe, s))
		out->activations += n_rooms(run, run->copy_of[pipe], s) * run->rooms->bytes[s];
}

const mr_feature mr_feature_rooms = {
	.instead = {.lender = lender},
	.refuse = refuse,
	.create = create,
	.destroy = destroy,
	.open = open_stage,
	.layout_pipe = layout_pipe,
	.memory = memory,
	.pass = pass,
};
