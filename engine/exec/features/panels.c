/*
 * panels.c - weights of a version as F reads them fastest (mr_layer_call.panels), for the further micro-batches of a
 * step: the first F of a version fills them, and those that follow read them. Each pipe has its own at each of its
 * stages, in the memory of its worker, which alone touches them. They are of no use where every F reads another
 * version.
 *
 * What they were made of is known by the version and by where it lies. That is enough where a version stays as it was
 * published until the next one comes, so plans in which weights are averaged, taken back, fetched into rooms or made
 * from others have none; at a pause weights may be restored, so panels do not outlive it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "exec/exec_internal.h"

struct mr_panels {
	_Alignas(MR_CACHE_LINE) uint8_t *memory; /* of one stage in one pipe */
	const void *weights; /* of which they are made; NULL: of none */
	uint64_t version;
};

static mr_panels *at(const mr_run *run, uint8_t pipe, uint16_t s)
{
	return &run->panels[mr_plan_at(run->c.plan, pipe, s)];
}

static mr_status create(mr_run *run)
{
	size_t bytes = (size_t)run->n_pipes * run->n_stages * sizeof(*run->panels);

	run->panels = aligned_alloc(MR_CACHE_LINE, bytes);
	if (!run->panels)
		return mr_fail(MR_ERESOURCE, "no memory for the panels of %u stages", run->n_stages);
	memset(run->panels, 0, bytes);
	return MR_OK;
}

static void destroy(mr_run *run)
{
	free(run->panels);
}

static size_t bytes_of(const mr_run *run, uint8_t pipe, uint16_t s)
{
	bool passes = run->c.plan->n_slots[mr_plan_at(run->c.plan, pipe, s)] > 0;

	return passes ? mr_stage_size(run->stage[s])->panel_bytes : 0;
}

static void layout_pipe(mr_run *run, uint8_t pipe, uint16_t s, mr_arena *a)
{
	size_t bytes = bytes_of(run, pipe, s);

	at(run, pipe, s)->memory = bytes ? mr_arena_take(a, bytes, MR_CACHE_LINE) : NULL;
}

static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	out->scratch += bytes_of(run, pipe, s);
}

static mr_status pass(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io)
{
	mr_panels *p = at(w->run, t->in->pipe, t->in->stage);
	bool current = p->weights == io->weights && p->version == io->version;

	(void)slot;
	if (!t->links->train || (t->in->op != MR_OP_F && !current))
		return MR_OK;
	io->panels = p->memory;
	io->packs = !current;
	p->weights = io->weights;
	p->version = io->version;
	return MR_OK;
}

static mr_status leave(mr_worker *w, const mr_links *l)
{
	const mr_plan *p = w->run->c.plan;

	for (size_t i = 0; l->train && i < (size_t)p->n_pipes * p->n_stages; i++)
		if (p->worker_of[i] == w->id)
			w->run->panels[i].weights = NULL;
	return MR_OK;
}

static void spread(mr_run *run)
{
	for (size_t i = 0; i < (size_t)run->n_pipes * run->n_stages; i++)
		run->panels[i].weights = NULL;
}

static void warm_up(const mr_run *run, uint8_t pipe, uint16_t s, mr_stage_io *io)
{
	io->panels = at(run, pipe, s)->memory;
	io->packs = true;
}

const mr_feature mr_feature_panels = {
	.create = create,
	.layout_pipe = layout_pipe,
	.memory = memory,
	.warm_up = warm_up,
	.destroy = destroy,
	.spread = spread,
	.pass = pass,
	.leave = leave,
};
