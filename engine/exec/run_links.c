#include "exec/run_links.h"

#include <stdlib.h>

#include "weights/ranges.h"
#include "weights/reduction.h"
#include "weights/tied_links.h"
#include "weights/tied_sum.h"

/* The counters of @b; NULL: the run does not have the feature. */
enum { N_COUNTERS = 4 };

static void counters_of(mr_stage_weights *b, mr_counter *out[N_COUNTERS])
{
	out[0] = &b->published;
	out[1] = b->norms ? &b->norms->known : NULL;
	out[2] = b->reduction ? &b->reduction->finished : NULL;
	out[3] = b->reduction ? &b->reduction->reduced : NULL;
}

/* The workers of the shards of stage @s. */
static void workers_of(const mr_run *run, uint16_t s, uint16_t worker[UINT8_MAX + 1])
{
	for (uint32_t i = 0; i < run->weights[s].n_shards; i++)
		worker[i] = mr_plan_worker(run->c.plan, (uint8_t)i, s);
}

static mr_status choose_of_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	const mr_link_kind *const *kinds = run->c.links;
	uint16_t worker[UINT8_MAX + 1];
	mr_counter *counter[N_COUNTERS];
	uint32_t n_whole = 0;

	counters_of(b, counter);
	for (int i = 0; i < N_COUNTERS; i++) {
		if (!counter[i])
			continue;
		MR_TRY(mr_counter_open(counter[i], s, run->n_workers, kinds));
		run->remote |= counter[i]->end != NULL;
	}
	if (run->replicas)
		return MR_OK;
	workers_of(run, s, worker);
	if (run->c.plan->contract.clip)
		n_whole = 1; /* for N, which is shard 0's */
	else if (run->has_stage_replicas && run->c.clip > 0)
		n_whole = b->n_shards;
	MR_TRY(mr_ranges_choose(b, s, worker, n_whole, kinds));
	run->ranges |= b->ranges != NULL;
	return MR_OK;
}

/* Does a stage with ranges sum the gradients of a parameter that it uses twice? */
static bool sums_uses_in_ranges(const mr_run *run)
{
	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		if (run->weights[i].ranges && mr_tied_sum_uses_again(&run->weights[i]))
			return true;
	return false;
}

/* Does a stage with ranges have layers with states? */
static bool has_states_in_ranges(const mr_run *run)
{
	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		if (run->weights[i].ranges && run->weights[i].layer_states)
			return true;
	return false;
}

/* Why the run needs workers that share memory, whatever its edges are; NULL: it does not need them. */
static const char *why_shared(const mr_run *run)
{
	MR_EACH_FEATURE(run, f, shares)
		return (*f)->shares;
	if (run->replicas)
		return "an average reads and writes the weights of all replicas in place";
	if (has_states_in_ranges(run))
		return "what the micro-batches of several pipes have seen for the states of a layer is put together in "
		       "place";
	if (run->carried && run->n_pipes > 1)
		return "the values that the layers of a stage carry lie in one place for all its pipes";
	if (sums_uses_in_ranges(run))
		return "several pipes add up the gradients of a parameter that one stage uses twice in place";
	return NULL;
}

static mr_status refuse_remote(const mr_run *run)
{
	const char *why = why_shared(run);

	if (!why || !(run->remote || run->ranges))
		return MR_OK;
	return mr_fail(MR_ECONFIG, "%s: this needs workers that share memory, and the chosen links share none", why);
}

/* Kinds of link between the first and the last stage, which share parameters. */
static mr_status choose_tied(mr_run *run)
{
	uint16_t last = (uint16_t)(run->n_stages - 1), owner[UINT8_MAX + 1], user[UINT8_MAX + 1];

	if (!run->c.plan->contract.tied || run->replicas)
		return MR_OK;
	workers_of(run, 0, owner);
	workers_of(run, last, user);
	return mr_tied_links_choose(&run->weights[0], last, owner, user, run->c.links);
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
	MR_TRY(choose_tied(run));
	if (run->ranges && run->norms) { /* only N has a whole gradient */
		run->norms->every = 0;
		run->norms->global = false;
	}
	return refuse_remote(run);
}

mr_status mr_run_open_links(mr_run *run)
{
	MR_TRY(mr_links_open(&run->train));
	MR_TRY(mr_links_open(&run->eval));
	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		MR_TRY(mr_ranges_open(&run->weights[i]));
	return mr_tied_links_open(&run->weights[0]);
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
		mr_ranges_close(&run->weights[i]);
	}
}

/* The parkers of the workers of the shards of stage @s. */
static void parkers_of(const mr_run *run, uint16_t s, mr_parker *parker[UINT8_MAX + 1])
{
	uint16_t worker[UINT8_MAX + 1];

	workers_of(run, s, worker);
	for (uint32_t i = 0; i < run->weights[s].n_shards; i++)
		parker[i] = run->parkers[worker[i]];
}

void mr_run_reset_ranges(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	mr_parker *parker[UINT8_MAX + 1], *user[UINT8_MAX + 1];

	if (!b->ranges && !(b->tied && b->tied->links))
		return;
	parkers_of(run, s, parker);
	if (b->ranges)
		mr_ranges_reset(b, parker);
	if (!b->tied || !b->tied->links)
		return;
	parkers_of(run, (uint16_t)(run->n_stages - 1), user);
	mr_tied_links_reset(b, parker, user);
}

/* Wait for the ranges of the latest version of stage @s, in @shard. */
static mr_status receive(mr_worker *w, mr_stage_weights *b, uint32_t shard)
{
	while (!mr_ranges_have_weights(b, shard, b->latest))
		MR_TRY(mr_waiter_step(&w->waiter));
	mr_waiter_done(&w->waiter);
	return MR_OK;
}

/* The same for the tied parameters that user @j of the last stage reads. */
static mr_status receive_tied(mr_worker *w, mr_stage_weights *b, uint32_t j)
{
	while (!mr_tied_links_have_weights(b, j, b->latest))
		MR_TRY(mr_waiter_step(&w->waiter));
	mr_waiter_done(&w->waiter);
	return MR_OK;
}

mr_status mr_run_receive_ranges(mr_worker *w)
{
	mr_run *run = w->run;
	mr_stage_weights *first = &run->weights[0];
	uint16_t last = (uint16_t)(run->n_stages - 1);

	for (uint16_t s = 0; run->ranges && s < run->n_stages; s++)
		for (uint32_t i = 0; run->weights[s].ranges && i < run->weights[s].n_shards; i++)
			if (mr_plan_worker(run->c.plan, (uint8_t)i, s) == w->id)
				MR_TRY(receive(w, &run->weights[s], i));
	for (uint32_t j = 0; first->tied && first->tied->links && j < run->weights[last].n_shards; j++)
		if (mr_plan_worker(run->c.plan, (uint8_t)j, last) == w->id)
			MR_TRY(receive_tied(w, first, j));
	return MR_OK;
}
