#include "exec/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/zeroed.h"
#include "host/clock.h"
#include "host/group.h"
#include "ir/stage_ops.h"
#include "ir/pause.h"
#include "exec/snapshot.h"
#include "exec/eval_plan.h"
#include "exec/exec.h"
#include "exec/rank_losses.h"
#include "weights/owned.h"
#include "weights/reduction.h"
#include "weights/stored_states.h"
#include "exec/run_links.h"
#include "exec/run_plan.h"
#include "exec/shares.h"

/* --- building --- */

static uint16_t worker_of(const mr_run *run, uint8_t pipe, uint16_t stage)
{
	return mr_plan_worker(run->c.plan, pipe, stage);
}

/* Open what @b, stage @s, needs beside its weights. */
static mr_status open_features(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	if (mr_stage_has(run->c.plan, s, MR_OP_AR))
		MR_TRY(mr_reduction_open(b));
	if (run->norms)
		MR_TRY(mr_norms_open(b));
	MR_EACH_FEATURE(run, f, open)
		MR_TRY((*f)->open(run, b, s));
	return MR_OK;
}

static int64_t sum_piece(const mr_run *run, uint32_t p, uint16_t s)
{
	return (int64_t)MR_WEIGHTS_PIECE * run->c.place->worker[worker_of(run, (uint8_t)p, s)].n_threads;
}

/* The place of shard @p's range among those of @n: by the nodes of their workers, then by number. So the pages of a
 * node's ranges follow each other, and few are shared with another. */
static uint32_t place_of(const mr_run *run, uint32_t p, uint32_t n, uint16_t s)
{
	uint32_t node = run->c.place->worker[worker_of(run, (uint8_t)p, s)].node, place = 0;
	uint32_t groups = run->c.plan->contract.weight_groups, each = groups ? n / groups : n;

	if (groups) /* what one pipe of a group keeps lies together */
		return p % each * groups + p / each;
	if (run->c.ranks) /* whose nodes are not each other's */
		return p;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t of = run->c.place->worker[worker_of(run, (uint8_t)i, s)].node;

		place += of < node || (of == node && i < p);
	}
	return place;
}

/* Does nothing but an elementwise step read the summed gradients of @b, stage @s? Then that adds them up. */
static void join_sum_and_step(const mr_run *run, mr_stage_weights *b, uint16_t s)
{
	const mr_run_config *c = &run->c;

	if (!b->reduction || b->n_shards == 1 || b->joint || b->whole || b->whole_sums || c->clip > 0 || c->measures ||
	    c->sums_apart)
		return;
	for (uint32_t p = 0; p < b->n_shards; p++)
		b->shard[p].piece = sum_piece(run, p, s);
}

/* Open the weights of stage @s that begin with @pipe: those of all pipes, or of one replica. */
static mr_status open_weights(mr_run *run, uint8_t pipe, uint16_t s)
{
	const mr_run_config *c = &run->c;
	mr_stage_weights *b = mr_run_weights(run, pipe, s);

	b->stage = run->stage[s];
	b->k = c->kernels;
	b->seed = c->seed;
	b->optim = *c->optim;
	b->cap = c->plan->n_versions[s];
	b->private_weights = c->plan->contract.private_weights;
	b->n_shards = run->diverges ? 1 : mr_plan_partial_sums(c->plan, s);
	b->sum = mr_plan_sum(c->plan, s);
	b->in_step = 1;
	b->rate = 1;
	b->shard = run->shard + (size_t)s * run->n_pipes + pipe;
	for (uint32_t p = 0; p < b->n_shards; p++) {
		b->shard[p].need = mr_run_sums_of(c->plan, (uint8_t)(pipe + p), s);
		b->shard[p].block = sum_piece(run, p, s);
		b->shard[p].place = place_of(run, p, b->n_shards, s);
	}
	MR_TRY(open_features(run, b, s));
	mr_weights_cut(b);
	MR_EACH_FEATURE(run, f, cut)
		MR_TRY((*f)->cut(run, b));
	join_sum_and_step(run, b, s);
	return MR_OK;
}

/* Of the shards of @b, stage @s, count those of this rank. */
static void count_here(const mr_run *run, mr_stage_weights *b, uint8_t pipe, uint16_t s)
{
	b->n_here = b->parts_here = b->first_here = 0;
	for (uint32_t i = b->n_shards; i-- > 0;) {
		bool here = mr_run_is_here(&run->c, worker_of(run, (uint8_t)(pipe + i), s));

		b->shard[i].here = here;
		b->n_here += here;
		b->first_here = here ? i : b->first_here;
		b->parts_here += here && b->shard[i].need;
	}
}

static mr_status create_stages(mr_run *run)
{
	const mr_run_config *c = &run->c;
	bool split = mr_run_has_split(c->plan);

	for (uint16_t s = 0; s < run->n_stages; s++) {
		bool borrows = c->plan->contract.tied && s > 0 && s + 1 == run->n_stages;

		MR_TRY(mr_stage_create(c->graph, c->partition->first[s], c->partition->first[s + 1], c->samples,
				       c->kernels, split, borrows ? run->stage[0] : NULL, &run->stage[s]));
		MR_TRY(mr_run_share_grads(c, s, c->norm_every || run->facts & MR_NEEDS_NORMS, run->stage[s]));
		for (uint32_t i = 0; i < run->n_copies; i++) {
			uint8_t p = run->first_of[i];

			MR_TRY(open_weights(run, p, s));
			count_here(run, mr_run_weights(run, p, s), p, s);
		}
	}
	return MR_OK;
}

/* The largest span in worker @w's lists; only W have spans above 1. */
static uint32_t largest_span(const mr_plan *p, uint16_t w)
{
	uint32_t most = 1;

	for (int sec = 0; sec < MR_N_SECTIONS; sec++) {
		const mr_list *l = mr_plan_list(p, w, (mr_section)sec);

		for (uint32_t i = 0; i < l->n; i++)
			most = l->at[i].span > most ? l->at[i].span : most;
	}
	return most;
}

static void layout_span(mr_worker *w, uint32_t span, mr_arena *a)
{
	w->span.io = mr_arena_take(a, span * sizeof(*w->span.io), MR_CACHE_LINE);
	w->span.call = mr_arena_take(a, span * sizeof(*w->span.call), MR_CACHE_LINE);
	w->span.slot = mr_arena_take(a, span * sizeof(*w->span.slot), MR_CACHE_LINE);
}

/* Scratch of stage @s, whose links are laid out, followed by the buffer that a recomputation uses as its output. */
static size_t scratch_bytes(const mr_run *run, uint8_t pipe, uint16_t s)
{
	const mr_stage_sizes *z = mr_stage_size(run->stage[s]);

	return z->scratch_bytes + (mr_links_at(&run->train, pipe, s)->n_kept ? z->spare_bytes : 0);
}

/* Are all slots free while the run pauses? Then evaluations may use them. */
static bool slots_rest(const mr_run *run)
{
	mr_flush flush = run->c.plan->contract.flush;

	return (flush == MR_FLUSH_LOCAL || flush == MR_FLUSH_BARRIER) && !(run->facts & MR_ANY_WORKER);
}

/* Measure or take the memory of stage @s in @pipe; returns the bytes of scratch that it needs from its worker. */
static size_t layout_stage(mr_run *run, uint8_t pipe, uint16_t s, mr_arena *a)
{
	const mr_links_stage *lender = NULL;

	if (mr_run_leads(run, pipe, s))
		mr_weights_layout(mr_run_weights(run, pipe, s), a, mr_run_shard(run, pipe, s));
	if (pipe == 0)
		MR_EACH_FEATURE(run, f, layout)
			(*f)->layout(run, s, a);
	MR_EACH_FEATURE(run, f, layout_pipe)
		(*f)->layout_pipe(run, pipe, s, a);
	if (run->hooks.instead.lender)
		lender = run->hooks.instead.lender(run, pipe, s);
	mr_links_layout(&run->train, pipe, s, run->stage[s], lender, a);
	if (slots_rest(run))
		lender = mr_links_at(&run->train, pipe, s);
	if (pipe < run->eval_plan->n_pipes)
		mr_links_layout(&run->eval, pipe, s, run->stage[s], lender, a);
	return scratch_bytes(run, pipe, s);
}

/* Measure or take the memory of worker @w. */
static void layout_worker(mr_run *run, mr_worker *w, mr_arena *a)
{
	uint32_t span = 1;
	size_t scratch = 0, before;

	for (uint16_t i = 0; i < run->n_workers; i++)
		if (i == w->id || run->facts & MR_ANY_WORKER)
			span = largest_span(run->c.plan, i) > span ? largest_span(run->c.plan, i) : span;
	for (uint16_t s = 0; run->facts & MR_ANY_WORKER && s < run->n_stages; s++)
		scratch = mr_stage_size(run->stage[s])->scratch_bytes > scratch
				  ? mr_stage_size(run->stage[s])->scratch_bytes
				  : scratch;

	for (unsigned p = 0; p < run->n_pipes; p++)
		for (uint16_t s = 0; s < run->n_stages; s++)
			if (worker_of(run, (uint8_t)p, s) == w->id) {
				size_t bytes = layout_stage(run, (uint8_t)p, s, a);

				scratch = bytes > scratch ? bytes : scratch;
			}
	if (w->shares.n)
		mr_shares_layout(w, a);
	before = a->used;
	w->scratch = mr_arena_take(a, scratch, MR_CACHE_LINE);
	if (span > 1)
		layout_span(w, span, a);
	w->scratch_bytes = a->used - before;
}

static mr_status create_worker(mr_run *run, uint16_t id)
{
	mr_worker *w = &run->worker[id];
	const mr_place_worker *pl = &run->c.place->worker[id];
	bool here = mr_run_is_here(&run->c, id);
	mr_arena a;

	w->run = run;
	w->id = id;
	if (run->c.shares)
		w->shares = (mr_shares_face){.n = run->c.shares->n, .self = run->c.share, .meet = mr_shares_meet,
					     .meet_own = mr_shares_meet_own, .arg = w};
	w->spin_ns = pl->shared ? MR_PAUSE_SHARED_NS : MR_PAUSE_OWN_NS;
	if (run->c.spin_us != UINT32_MAX)
		w->spin_ns = (uint64_t)run->c.spin_us * 1000;
	mr_parker_init(&w->parker);
	mr_waiter_init(&w->waiter, &w->parker, &run->stop, mr_pause_spins(w->spin_ns));
	run->parkers[id] = &w->parker;
	w->n_pauses = mr_pauses_of(run->c.plan, id, NULL, 0);
	w->pause_at = calloc(w->n_pauses + 1u, sizeof(*w->pause_at));
	if (!w->pause_at)
		return mr_fail(MR_ERESOURCE, "no memory for %u pause points", w->n_pauses);
	mr_pauses_of(run->c.plan, id, w->pause_at, w->n_pauses);
	if (run->c.trace && !(w->trace = malloc(MR_TRACE_BYTES)))
		return mr_fail(MR_ERESOURCE, "no memory for %u trace records", MR_TRACE_RING);
	if (run->c.counts)
		MR_TRY(mr_counted_create(run->n_stages, &w->counted));
	MR_EACH_FEATURE(run, f, create_worker)
		MR_TRY((*f)->create_worker(w));
	mr_arena_init(&a, NULL, 0);
	layout_worker(run, w, &a);
	if (here) /* what another rank owns takes no room of this host's nodes */
		w->nodes = mr_place_claim(run->c.place, pl, mr_region_round(a.used + !a.used), run->claimed,
					  &w->elsewhere);
	MR_TRY(here ? mr_region_map(&w->region, a.used ? a.used : 1, pl->bindable ? &w->nodes : NULL)
		    : mr_region_map_sparse(&w->region, a.used ? a.used : 1, MR_CACHE_LINE)); /* lines of each stage */
	mr_arena_init(&a, w->region.base, w->region.bytes);
	layout_worker(run, w, &a);
	return MR_OK;
}

/* Create the structs of features of the whole @run; its weights exist already. */
static mr_status create_features(mr_run *run)
{
	const mr_run_config *c = &run->c;
	const mr_contract *k = &c->plan->contract;
	uint32_t steps = mr_plan_steps(c->plan);
	uint64_t every = c->clip > 0 ? 0 : c->norm_every; /* a run that clips has each norm */

	MR_EACH_FEATURE(run, f, create)
		MR_TRY((*f)->create(run));
	if (every || c->clip > 0 || c->measures || k->clip || run->facts & MR_NEEDS_NORMS)
		MR_TRY(mr_run_norms_create(every, every && k->flush != MR_FLUSH_NONE && !run->diverges,
					   steps > MR_STEP_RING ? steps : MR_STEP_RING, &run->norms));
	return MR_OK;
}

/* Number of losses that a run keeps: those that a step sums, and those of F ahead of its commit. */
static uint32_t count_losses(const mr_run *run)
{
	const mr_plan *p = run->c.plan;

	return p->contract.need + p->n_slots[run->n_stages - 1];
}

static mr_status build(mr_run *run)
{
	const mr_run_config *c = &run->c;
	MR_TRY(mr_run_refuse(c));
	mr_features_find(run);
	MR_TRY(mr_eval_plan_create(c->plan, &run->eval_plan));
	run->n_stages = c->plan->n_stages;
	run->n_workers = c->plan->n_workers;
	for (uint16_t s = 0; s < run->n_stages; s++)
		if (mr_stage_has(c->plan, s, MR_OP_U)) {
			run->n_trained++;
			run->last_trained = s;
		}
	run->n_pipes = c->plan->n_pipes;
	run->diverges = mr_contract_replicates(&c->plan->contract);
	MR_TRY(mr_run_choose_copies(run));
	run->stage = calloc(run->n_stages, sizeof(mr_stage *));
	run->weights = mr_zeroed(mr_run_n_weights(run) * sizeof(mr_stage_weights));
	run->shard = mr_zeroed((size_t)run->n_stages * run->n_pipes * sizeof(mr_shard));
	run->worker = mr_zeroed(run->n_workers * sizeof(mr_worker));
	run->claimed = calloc(c->place->n_memories + 1u, sizeof(*run->claimed));
	MR_TRY(mr_run_choose_lanes(run));
	run->parkers = calloc(run->n_workers + 2u * run->n_lanes, sizeof(mr_parker *));
	if (!run->stage || !run->weights || !run->shard || !run->worker || !run->claimed || !run->parkers)
		return mr_fail(MR_ERESOURCE, "no memory for a run of %u stages", run->n_stages);
	MR_TRY(create_features(run));
	if (!run->n_losses)
		run->n_losses = count_losses(run);
	run->losses = calloc(run->n_losses, sizeof(double));
	run->rank_steps = MR_RANK_STEPS + 2 * mr_plan_stride(c->plan);
	if (c->ranks && !(run->part_losses = calloc(run->rank_steps * (size_t)c->plan->contract.need, sizeof(double))))
		return mr_fail(MR_ERESOURCE, "no memory for the losses of %u micro-batches", c->plan->contract.need);
	if (c->ranks) {
		run->between = calloc((size_t)c->ranks->n * c->ranks->n, sizeof(*run->between));
		run->messages = calloc(c->ranks->n, sizeof(*run->messages));
		if (!run->between || !run->messages)
			return mr_fail(MR_ERESOURCE, "no memory for the messages of %u ranks", c->ranks->n);
	}
	run->train =
		(mr_links){.plan = c->plan, .train = true, .stride = mr_plan_stride(c->plan), .samples = c->samples};
	run->eval = (mr_links){.plan = run->eval_plan, .stride = mr_plan_stride(run->eval_plan), .samples = c->samples};
	if (!c->data->ops->halves)
		run->train.half_bytes = run->eval.half_bytes =
			(size_t)c->samples * mr_shape_bytes(c->data->target, c->kernels->types.compute);
	/* two samples for each thread that makes some */
	run->train.ahead = run->eval.ahead = (uint32_t)((2 * mr_run_loaders(c) + c->samples - 1) / c->samples);
	run->train.st = mr_zeroed((size_t)run->n_pipes * run->n_stages * sizeof(mr_links_stage));
	run->eval.st = mr_zeroed((size_t)run->eval_plan->n_pipes * run->n_stages * sizeof(mr_links_stage));
	run->n_eval = (c->data->n_valid + (uint64_t)c->samples - 1) / (uint64_t)c->samples;
	run->eval_loss = calloc(run->n_eval + 1, sizeof(double));
	MR_TRY(mr_judging_init(&run->judging, mr_graph_judged_classes(c->graph), run->n_eval,
			       (uint64_t)(c->samples * c->data->target.rows),
			       c->data->n_valid * (uint64_t)c->data->target.rows));
	if (!run->losses || !run->eval_loss || !run->train.st || !run->eval.st)
		return mr_fail(MR_ERESOURCE, "no memory for a run of %u stages", run->n_stages);
	for (uint32_t i = 0; i < 2 * run->n_lanes; i++) {
		mr_parker_init(&run->loader_parker[i]);
		run->parkers[run->n_workers + i] = &run->loader_parker[i];
	}
	mr_stop_init(&run->stop, run->parkers, run->n_workers + 2u * run->n_lanes);
	mr_spin_init(&run->spin);
	MR_TRY(create_stages(run));
	MR_TRY(mr_run_choose_links(run));
	MR_TRY(mr_run_choose_homes(run));
	run->base_bytes = mr_memory_resident_bytes();
	run->before_bytes = mr_memory_peak_bytes();
	for (uint16_t w = 0; w < run->n_workers; w++)
		MR_TRY(create_worker(run, w));
	mr_run_spread_states(run);
	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		mr_weights_join(&run->weights[i]);
	return c->only_layout ? MR_OK : mr_run_open_links(run);
}

mr_status mr_run_create(const mr_run_config *c, mr_run **out)
{
	mr_run *run = mr_zeroed(sizeof(*run));
	mr_status st;

	if (!run)
		return mr_fail(MR_ERESOURCE, "no memory for a run");
	run->c = *c;
	pthread_mutex_init(&run->error_lock, NULL);
	st = build(run);
	if (st != MR_OK) {
		mr_run_destroy(run);
		return st;
	}
	*out = run;
	return MR_OK;
}

void mr_run_destroy(mr_run *run)
{
	if (!run)
		return;
	for (uint16_t w = 0; run->worker && w < run->n_workers; w++) {
		MR_EACH_FEATURE(run, f, destroy_worker)
			(*f)->destroy_worker(&run->worker[w]);
		mr_region_unmap(&run->worker[w].region);
		free(run->worker[w].trace);
		mr_counted_destroy(run->worker[w].counted);
		free(run->worker[w].pause_at);
	}
	for (uint16_t s = 0; run->stage && s < run->n_stages; s++)
		mr_stage_destroy(run->stage[s]);
	mr_run_close_links(run);
	mr_snapshot_close(run);
	MR_EACH_FEATURE(run, f, destroy)
		(*f)->destroy(run);
	for (uint32_t i = 0; run->weights && i < mr_run_n_weights(run); i++)
		mr_weights_fini(&run->weights[i]);
	mr_plan_destroy(run->eval_plan);
	free(run->stage);
	free(run->weights);
	free(run->shard);
	mr_run_norms_destroy(run->norms);
	free(run->worker);
	free(run->claimed);
	free(run->parkers);
	free(run->lane_of);
	free(run->copy_of);
	free(run->loader_parker);
	free(run->losses);
	free(run->part_losses);
	free(run->between);
	for (uint32_t i = 0; run->messages && i < run->c.ranks->n; i++)
		free(run->messages[i].at);
	free(run->messages);
	free(run->train.st);
	free(run->eval.st);
	free(run->eval_loss);
	mr_judging_fini(&run->judging);
	pthread_mutex_destroy(&run->error_lock);
	free(run);
}

/* --- starting --- */

/* Initialise the weights in the memory of @pipe's worker. */
static void init_weights(mr_run *run, uint8_t pipe, uint16_t s)
{
	mr_stage_weights *b = mr_run_weights(run, pipe, s);
	uint8_t shard = mr_run_shard(run, pipe, s);

	mr_owned_clear(b, shard);
	if (shard == b->first_here)
		b->latest = 0;
	if (mr_weights_begins(b, shard))
		mr_weights_init(b, shard, run->c.seed);
	MR_EACH_FEATURE(run, f, init)
		(*f)->init(run, pipe, s);
}

mr_status mr_run_setup_worker(mr_run *run, uint16_t id)
{
	mr_worker *w = &run->worker[id];

	mr_team_prefault(&w->region);
	mr_region_settle(&w->region);
	if (w->trace)
		memset(w->trace, 0, MR_TRACE_BYTES);
	if (!w->kc)
		MR_TRY(run->c.kernels->ctx_create(run->c.kernels, run->c.place->worker[id].n_threads, &w->kc));
	for (unsigned p = 0; p < run->n_pipes; p++)
		for (uint16_t s = 0; s < run->n_stages; s++) {
			if (worker_of(run, (uint8_t)p, s) != id)
				continue;
			mr_links_set_up(&run->train, (uint8_t)p, s);
			if (p < run->eval_plan->n_pipes)
				mr_links_set_up(&run->eval, (uint8_t)p, s);
			if (mr_run_leads(run, (uint8_t)p, s))
				init_weights(run, (uint8_t)p, s);
		}
	return MR_OK;
}

void mr_run_finish_worker(mr_run *run, uint16_t id)
{
	run->c.kernels->ctx_destroy(run->worker[id].kc);
	run->worker[id].kc = NULL;
}

static mr_parker *parker_of(mr_run *run, uint8_t pipe, uint16_t s)
{
	return &run->worker[worker_of(run, pipe, s)].parker;
}

static mr_status reset_stage(mr_run *run, mr_links *l, uint8_t pipe, uint16_t s)
{
	mr_parker *loader = mr_run_loader_parker(run, pipe, l->train), *self = parker_of(run, pipe, s);
	mr_links_stage *st = mr_links_at(l, pipe, s);

	MR_TRY(mr_link_reset(&st->in, s ? parker_of(run, pipe, (uint16_t)(s - 1)) : loader, self));
	if (s + 1 < run->n_stages)
		MR_TRY(mr_link_reset(&st->grad, parker_of(run, pipe, (uint16_t)(s + 1)), self));
	MR_TRY(mr_link_reset(&st->target, loader, self));
	if (!mr_run_is_here(&run->c, worker_of(run, pipe, s))) /* whose worker has not */
		mr_links_set_up(l, pipe, s);
	for (uint32_t i = 0; i < st->n_slots; i++)
		st->slot[i].taken = false;
	st->n_taken = st->most_taken = 0;
	return MR_OK;
}

static mr_status reset_links(mr_run *run, mr_links *l)
{
	for (unsigned p = 0; p < l->plan->n_pipes; p++)
		for (uint16_t s = 0; s < run->n_stages; s++)
			MR_TRY(reset_stage(run, l, (uint8_t)p, s));
	return MR_OK;
}

/* The parker of the worker that has stage @s in pipe 0. */
static mr_parker *const *entry_of(const mr_run *run, uint16_t s)
{
	return &run->parkers[worker_of(run, 0, s)];
}

/* Each event wakes the workers that may wait for it by the contract (exec_acquire.c), and no others. */
static void reset_events(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	const mr_contract *k = &run->c.plan->contract;
	const mr_waiters all = {run->parkers, run->n_workers};
	uint16_t last = (uint16_t)(run->n_stages - 1);
	bool tied = run->c.plan->contract.tied, shares = run->facts & MR_SHARES_STAGES;
	bool barrier = k->flush == MR_FLUSH_BARRIER || shares || run->diverges;
	mr_waiters published = barrier ? all : (mr_waiters){entry_of(run, last), tied && s == 0};
	mr_waiters finished =
		shares || run->facts & MR_ANY_WORKER ? all : (mr_waiters){entry_of(run, 0), tied && s == last};
	mr_waiters reduced = run->facts & MR_REDUCED_STEPS ? all : (mr_waiters){entry_of(run, s), k->clip && shares};

	mr_counter_reset(&b->published, (uint32_t)b->latest, published.parker, published.n, run->parkers);
	if (b->norms)
		mr_norms_reset(b, run->parkers, k->clip ? run->n_workers : 0);
	if (b->reduction)
		mr_reduction_reset(b, finished, reduced, run->parkers);
	MR_EACH_FEATURE(run, f, reset_stage)
		(*f)->reset_stage(run, b, s);
}

static void reset_weights(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	mr_version_count_begin(&b->version_count, b->latest);
	reset_events(run, b, s);
	mr_weights_no_parts(&b->n_stepped);
	for (uint32_t i = 0; i < b->n_shards; i++) {
		memset(b->shard[i].staleness, 0, sizeof(b->shard[i].staleness));
		b->shard[i].n_summed = 0;
	}
}

bool mr_run_next_step(mr_run *run, mr_step_rec *out)
{
	/* pairs with the release store in record_step */
	uint64_t n = atomic_load_explicit(&run->n_steps, memory_order_acquire);
	mr_step_rec *rec = &run->step[run->n_steps_read % MR_STEP_RING];
	const mr_run_norms *x = run->norms;
	bool asked = x && x->global && !run->c.ranks && run->n_steps_read < n && rec->step % x->every == 0;

	if (run->n_steps_read == n || (asked && atomic_load_explicit(&x->last, memory_order_acquire) < rec->step))
		return false;
	if (asked)
		rec->norm = x->at[rec->step % x->n];
	*out = *rec;
	run->n_steps_read++;
	return true;
}

static void first_cursor(const mr_plan *p, uint16_t w, mr_cursor *c)
{
	*c = (mr_cursor){.section = mr_plan_list(p, w, MR_PROLOGUE)->n ? MR_PROLOGUE : MR_BODY};
}

static mr_status reset_worker(mr_run *run, mr_worker *w)
{
	memset(&w->stats, 0, sizeof(w->stats));
	mr_exec_drop(w);
	w->n_done = w->n_trace = 0;
	first_cursor(run->c.plan, w->id, &w->train);
	w->rewinds = false;
	MR_EACH_FEATURE(run, f, stand_worker)
		MR_TRY((*f)->stand_worker(w, 0));
	return MR_OK;
}

mr_status mr_run_reset(mr_run *run)
{
	mr_stop_clear(&run->stop);
	run->error = MR_OK;
	run->start_ns = mr_clock_ns();
	atomic_store_explicit(&run->n_steps, 0, memory_order_relaxed);
	run->n_steps_read = 0;
	if (run->norms)
		mr_run_norms_reset(run->norms);
	if (run->part_losses)
		mr_rank_losses_reset(run);
	atomic_store_explicit(&run->n_commits, 0, memory_order_relaxed);
	MR_TRY(reset_links(run, &run->train));
	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		reset_weights(run, &run->weights[i], (uint16_t)(i % run->n_stages));
	for (uint16_t w = 0; w < run->n_workers; w++)
		MR_TRY(reset_worker(run, &run->worker[w]));
	return MR_OK;
}

void mr_run_average_from(mr_run *run, uint64_t from)
{
	const mr_shares *s = run->c.shares;

	for (uint32_t q = 0; s && !run->c.share && q < s->n; q++)
		if (q)
			mr_run_average_from(s->run[q], from);
	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		run->weights[i].optim.average_from = from;
}

void mr_run_spread(mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		mr_weights_spread(&run->weights[s]);
	MR_EACH_FEATURE(run, f, spread)
		(*f)->spread(run);
}

mr_status mr_run_begin_eval(mr_run *run, uint64_t *until)
{
	uint32_t pipes = run->eval_plan->n_pipes;

	if (run->n_eval == 0)
		return mr_fail(MR_EDATA, "the data has no validation part");
	*until = (run->n_eval + pipes - 1) / pipes;
	MR_EACH_FEATURE(run, f, begin_eval)
		(*f)->begin_eval(run);
	run->eval.n_samples = run->c.data->n_valid;
	for (uint64_t m = 0; run->part_losses && m < run->n_eval; m++)
		run->eval_loss[m] = mr_elsewhere();
	for (uint16_t w = 0; w < run->n_workers; w++)
		first_cursor(run->eval_plan, w, &run->worker[w].eval);
	return reset_links(run, &run->eval);
}

double mr_run_eval_loss(const mr_run *run)
{
	double sum = 0;

	for (uint64_t m = 0; m < run->n_eval; m++)
		sum += run->eval_loss[m] * (double)mr_links_samples(&run->eval, m);
	return sum / (double)run->c.data->n_valid;
}

mr_scores mr_run_eval_scores(mr_run *run)
{
	return mr_judging_end(&run->judging);
}

double mr_run_largest_gradient(const mr_run *run)
{
	double most = 0;

	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		most = run->c.measures ? fmax(most, run->weights[i].norms->largest) : 0;
	return most;
}

void mr_run_staleness(const mr_run *run, uint16_t s, uint64_t *out)
{
	uint64_t bins[MR_STALENESS_BINS];

	memset(out, 0, MR_STALENESS_BINS * sizeof(*out));
	/* copies that do not diverge count the same */
	for (uint32_t i = s; i < (run->diverges ? mr_run_n_weights(run) : run->n_stages); i += run->n_stages) {
		mr_weights_staleness(&run->weights[i], bins);
		for (uint32_t k = 0; k < MR_STALENESS_BINS; k++)
			out[k] += bins[k];
	}
}

static void fail_one(mr_run *run, mr_status code)
{
	pthread_mutex_lock(&run->error_lock);
	if (run->error == MR_OK && code != MR_ESTOPPED) {
		run->error = code;
		memcpy(run->error_text, mr_error_text(), sizeof(run->error_text) - 1);
		run->error_text[sizeof(run->error_text) - 1] = 0;
	}
	pthread_mutex_unlock(&run->error_lock);
	mr_stop_raise(&run->stop);
}

void mr_run_fail(mr_run *run, mr_status code)
{
	const mr_shares *s = run->c.shares;

	fail_one(run, code);
	for (uint32_t q = 0; s && q < s->n; q++)
		if (s->run[q] && s->run[q] != run)
			fail_one(s->run[q], code);
}
