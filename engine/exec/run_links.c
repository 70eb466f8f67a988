#include "exec/run_links.h"

#include <stdlib.h>

#include "base/zeroed.h"

#include "nn/squares.h"
#include "weights/norm_parts.h"
#include "weights/reduction.h"

/* The counters of @b; NULL: the run does not have the feature. */
enum { N_COUNTERS = 4 };

static void counters_of(mr_stage_weights *b, mr_counter *out[N_COUNTERS])
{
	out[0] = &b->published;
	out[1] = b->norms ? &b->norms->known : NULL;
	out[2] = b->reduction ? &b->reduction->finished : NULL;
	out[3] = b->reduction ? &b->reduction->reduced : NULL;
}

void mr_run_workers_of(const mr_run *run, uint16_t s, uint16_t worker[UINT8_MAX + 1])
{
	for (uint32_t i = 0; i < run->weights[s].n_shards; i++)
		worker[i] = mr_plan_worker(run->c.plan, (uint8_t)i, s);
}

static mr_status choose_of_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	const mr_link_kind *const *kinds = run->c.links;
	mr_counter *counter[N_COUNTERS];

	counters_of(b, counter);
	for (int i = 0; i < N_COUNTERS && !(run->facts & MR_COPIES); i++) { /* those who use a copy share memory */
		if (!counter[i])
			continue;
		if (b->norms && counter[i] == &b->norms->known)
			MR_TRY(mr_norms_choose(b, s, mr_plan_worker(run->c.plan, 0, s), run->n_workers, kinds));
		else
			MR_TRY(mr_counter_choose(counter[i], s, run->n_workers, kinds));
		run->remote |= counter[i]->end != NULL;
		counter[i]->by_part = run->c.ranks && b->n_here && !(b->norms && counter[i] == &b->norms->known);
	}
	return MR_OK;
}

static mr_status open_of_stage(mr_stage_weights *b)
{
	mr_counter *counter[N_COUNTERS];

	counters_of(b, counter);
	for (int i = 0; i < N_COUNTERS; i++)
		if (counter[i] && !(b->norms && counter[i] == &b->norms->known))
			MR_TRY(mr_counter_open(counter[i]));
	return b->norms ? mr_norms_open_links(b) : MR_OK;
}

/* Why the run needs workers that share memory; NULL: it does not need them. */
static const char *why_shared(const mr_run *run)
{
	MR_EACH_FEATURE(run, f, shares)
		return (*f)->shares;
	return NULL;
}

static mr_status refuse_remote(const mr_run *run)
{
	const char *why = why_shared(run);

	if (!why || !run->remote)
		return MR_OK;
	return mr_fail(MR_ECONFIG, "%s: this needs workers that share memory, and the chosen links share none", why);
}

static bool is_remote(const mr_links *l)
{
	for (size_t i = 0; i < (size_t)l->plan->n_pipes * l->plan->n_stages; i++) {
		const mr_link_kind *in = l->st[i].in.kind, *grad = l->st[i].grad.kind;

		if ((in && !mr_link_kind_shares(in)) || (grad && !mr_link_kind_shares(grad)))
			return true;
	}
	return false;
}

mr_status mr_run_choose_links(mr_run *run)
{
	MR_TRY(mr_links_choose(&run->train, run->c.links));
	MR_TRY(mr_links_choose(&run->eval, run->c.links));
	run->remote = is_remote(&run->train) || is_remote(&run->eval);
	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		MR_TRY(choose_of_stage(run, &run->weights[i], (uint16_t)(i % run->n_stages)));
	MR_EACH_FEATURE(run, f, choose)
		MR_TRY((*f)->choose(run));
	return refuse_remote(run);
}

/* The stages that leave parts of norms for rank 0. */
static mr_status open_norm_parts(mr_run *run)
{
	mr_run_norms *x = run->norms;

	x->n_here = 0;
	for (uint16_t s = 0; s < run->n_stages; s++) {
		mr_stage_weights *b = &run->weights[s];

		if (!mr_run_leaves_norm(run, s))
			continue;
		/* as many as lie between steps for which losses are kept, so that none is overwritten before rank 0 has
		 * it */
		MR_TRY(mr_norm_parts_open(b, (uint32_t)(run->rank_steps / x->every) + 2, x->every));
		x->n_here += b->n_here > 0;
	}
	if (run->c.ranks->self)
		return MR_OK;
	x->come = calloc(run->c.ranks->n, sizeof(*x->come));
	x->room = mr_zeroed(MR_SQUARES_BLOCK * mr_dtype_bytes(run->c.kernels->types.gradients));
	x->squares = calloc(run->c.graph->n_params + 1u, sizeof(*x->squares));
	return x->come && x->room && x->squares ? MR_OK
						: mr_fail(MR_ERESOURCE, "no memory for the gradient norms of ranks");
}

mr_status mr_run_open_links(mr_run *run)
{
	MR_TRY(mr_links_open(&run->train));
	MR_TRY(mr_links_open(&run->eval));
	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		MR_TRY(open_of_stage(&run->weights[i]));
	MR_EACH_FEATURE(run, f, open_links)
		MR_TRY((*f)->open_links(run));
	return run->c.ranks && run->norms && run->norms->every ? open_norm_parts(run) : MR_OK;
}

void mr_run_close_links(mr_run *run)
{
	mr_counter *counter[N_COUNTERS];

	mr_links_close(&run->train);
	mr_links_close(&run->eval);
	for (uint32_t i = 0; run->weights && i < mr_run_n_weights(run); i++) {
		counters_of(&run->weights[i], counter);
		for (int k = 0; k < N_COUNTERS; k++)
			if (counter[k])
				mr_counter_close(counter[k]);
	}
}

void mr_run_parkers_of(const mr_run *run, uint16_t s, mr_parker *parker[UINT8_MAX + 1])
{
	uint16_t worker[UINT8_MAX + 1];

	mr_run_workers_of(run, s, worker);
	for (uint32_t i = 0; i < run->weights[s].n_shards; i++)
		parker[i] = run->parkers[worker[i]];
}
