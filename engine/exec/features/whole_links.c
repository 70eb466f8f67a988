#include "exec/features/whole_links.h"

#include <stdlib.h>

#include "base/size.h"
#include "base/zeroed.h"
#include "host/clock.h"

static mr_range *total_of(const mr_run *run, const mr_whole_links *l, uint16_t s, uint8_t pipe, uint32_t copy)
{
	return &l->totals[((size_t)s * run->n_pipes + pipe) * run->n_copies + copy];
}

static mr_range *sum_to(const mr_run *run, const mr_whole_links *l, uint16_t s, uint8_t pipe)
{
	return &l->sums[(size_t)s * run->n_pipes + pipe];
}

static bool in_ring(const mr_run *run)
{
	return run->c.plan->contract.ring;
}

/* The pipe that makes version @v, and how many steps it has made then. */
static uint8_t maker_of(const mr_whole_links *l, uint64_t v)
{
	return l->by[(v - 1) % l->n_steps];
}

static uint64_t number_of(const mr_whole_links *l, uint64_t v)
{
	uint32_t k = (uint32_t)((v - 1) % l->n_steps);

	return (v - 1) / l->n_steps * l->n_of[l->by[k]] + l->place[k] + 1;
}

/* Steps of @pipe up to version @v. */
static uint64_t steps_of(const mr_whole_links *l, uint8_t pipe, uint64_t v)
{
	uint64_t n = v / l->n_steps * l->n_of[pipe];

	for (uint32_t k = 0; k < v % l->n_steps; k++)
		n += l->by[k] == pipe;
	return n;
}

static uint8_t pipe_before(const mr_run *run, uint8_t pipe)
{
	return (uint8_t)((pipe ? pipe : run->n_pipes) - 1);
}

static uint16_t worker_of_copy(const mr_run *run, uint32_t copy, uint16_t s)
{
	return mr_plan_worker(run->c.plan, run->first_of[copy], s);
}

/* --- building --- */

static bool take_memory(const mr_run *run, mr_whole_links *l)
{
	size_t places = (size_t)run->n_stages * run->n_pipes;

	l->by = calloc(l->n_steps, sizeof(*l->by));
	l->place = calloc(l->n_steps, sizeof(*l->place));
	l->n_of = calloc(run->n_pipes, sizeof(*l->n_of));
	l->at = calloc(run->n_workers, sizeof(*l->at));
	l->copy = mr_zeroed(run->n_copies * sizeof(*l->copy));
	l->totals = calloc(places * run->n_copies, sizeof(*l->totals));
	l->sums = calloc(places, sizeof(*l->sums));
	for (uint32_t c = 0; l->copy && c < run->n_copies; c++) {
		l->copy[c].next = calloc(run->n_stages, sizeof(*l->copy[c].next));
		l->copy[c].parker = calloc(run->n_workers, sizeof(mr_parker *));
		if (!l->copy[c].next || !l->copy[c].parker)
			return false;
	}
	return l->by && l->place && l->n_of && l->at && l->copy && l->totals && l->sums;
}

mr_status mr_whole_links_create(mr_run *run, const uint8_t *pipe_of, mr_whole_links **out)
{
	const mr_plan *p = run->c.plan;
	mr_whole_links *l = *out = calloc(1, sizeof(*l));

	if (l)
		l->n_steps = p->n_micro / p->contract.need;
	if (!l || !take_memory(run, l))
		return mr_fail(MR_ERESOURCE, "no memory for the steps of %u copies", run->n_copies);
	for (uint32_t k = 0; k < l->n_steps; k++) {
		l->by[k] = pipe_of[(k + 1) * p->contract.need - 1];
		l->place[k] = l->n_of[l->by[k]]++;
	}
	for (size_t i = 0; i < (size_t)run->n_pipes * run->n_stages; i++)
		l->at[p->worker_of[i]] = run->copy_of[i / run->n_stages];
	return MR_OK;
}

void mr_whole_links_destroy(const mr_run *run, mr_whole_links *l)
{
	size_t places = (size_t)run->n_stages * run->n_pipes;

	for (size_t i = 0; l && l->totals && i < places * run->n_copies; i++) {
		mr_channel_close(&l->totals[i].channel);
		free(l->totals[i].copy);
	}
	for (size_t i = 0; l && l->sums && i < places; i++)
		mr_channel_close(&l->sums[i].channel);
	for (uint32_t c = 0; l && l->copy && c < run->n_copies; c++) {
		free(l->copy[c].next);
		free(l->copy[c].parker);
	}
	if (!l)
		return;
	free(l->by);
	free(l->place);
	free(l->n_of);
	free(l->at);
	free(l->copy);
	free(l->totals);
	free(l->sums);
	free(l);
}

/* Rooms of @copy for the sums of @pipe; 0: it makes no step. */
static uint32_t count_rooms(const mr_run *run, const mr_whole_links *l, uint8_t pipe, uint32_t copy)
{
	uint32_t most = 1, now = 0;
	bool steps = in_ring(run);

	for (uint32_t k = 0; k < 2 * l->n_steps && !in_ring(run); k++) { /* an iteration goes on in the next */
		uint8_t by = l->by[k % l->n_steps];
		bool own = run->copy_of[by] == copy;

		now = own ? 0 : now + (by == pipe);
		steps |= own;
		most = now > most ? now : most;
	}
	return steps ? most : 0;
}

/* The kind of link of @e, which it fits, in @out. */
static mr_status choose(const mr_run *run, mr_edge e, uint32_t n, bool stays, mr_range *out)
{
	size_t bytes = mr_stage_size(run->stage[e.stage])->grad_bytes;
	const mr_link_kind *kind;

	if (!n)
		return mr_fail(MR_ECONFIG, "worker %u makes no step, and so it cannot be a rank of its own", e.to);
	MR_TRY(mr_link_kind_of(run->c.links, &e, &kind));
	out->channel = (mr_channel){.kind = kind, .edge = e, .n = n, .stays = stays, .bytes = bytes};
	out->room = mr_align_up(bytes + 1, MR_CACHE_LINE);
	return MR_OK;
}

static mr_status choose_of_pipe(mr_run *run, mr_whole_links *l, uint16_t s, uint8_t pipe)
{
	mr_edge e = {.kind = MR_EDGE_GRADIENTS, .from = mr_plan_worker(run->c.plan, pipe, s), .stage = s};
	uint8_t before = pipe_before(run, pipe);

	for (uint32_t c = 0; l->n_of[pipe] && c < run->n_copies; c++) {
		e.to = worker_of_copy(run, c, s);
		if (c != run->copy_of[pipe])
			MR_TRY(choose(run, e, count_rooms(run, l, pipe, c), false, total_of(run, l, s, pipe, c)));
		total_of(run, l, s, pipe, c)->channel.beside = l->copy[c].parker;
		total_of(run, l, s, pipe, c)->channel.n_beside = l->copy[c].n_parkers;
	}
	e.to = e.from;
	e.from = mr_plan_worker(run->c.plan, before, s);
	if (in_ring(run) && run->copy_of[before] != run->copy_of[pipe])
		MR_TRY(choose(run, e, 1, true, sum_to(run, l, s, pipe)));
	return MR_OK;
}

mr_status mr_whole_links_choose(mr_run *run, mr_whole_links *l)
{
	for (uint16_t w = 0; w < run->n_workers; w++) {
		mr_whole_copy *copy = &l->copy[l->at[w]];

		copy->parker[copy->n_parkers++] = &run->worker[w].parker;
	}
	for (uint16_t s = 0; s < run->n_stages; s++)
		for (unsigned p = 0; mr_plan_trains(run->c.plan, s) && p < run->n_pipes; p++)
			MR_TRY(choose_of_pipe(run, l, s, (uint8_t)p));
	return MR_OK;
}

mr_status mr_whole_links_open(mr_run *run, mr_whole_links *l, uint8_t *const *sum)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		for (unsigned p = 0; p < run->n_pipes; p++) {
			mr_range_span all = {0, mr_stage_size(run->stage[s])->grad_bytes};
			uint8_t *own = mr_run_weights(run, (uint8_t)p, s)->shard[0].grads;
			mr_range *so_far = sum_to(run, l, s, (uint8_t)p);

			for (uint32_t c = 0; c < run->n_copies; c++)
				if (total_of(run, l, s, (uint8_t)p, c)->channel.kind)
					MR_TRY(mr_range_open_copies(
						total_of(run, l, s, (uint8_t)p, c), all,
						in_ring(run) ? own : sum[(size_t)s * run->n_pipes + p]));
			if (so_far->channel.kind)
				MR_TRY(mr_range_open(
					so_far, all, 0,
					mr_run_weights(run, pipe_before(run, (uint8_t)p), s)->shard[0].grads, own));
		}
	return MR_OK;
}

uint64_t mr_whole_links_bytes(const mr_run *run, const mr_whole_links *l, uint8_t pipe, uint16_t s)
{
	uint32_t own = run->copy_of[pipe];
	uint64_t sum = 0;

	for (uint32_t c = 0; c < run->n_copies; c++)
		if (total_of(run, l, s, pipe, c)->channel.kind)
			sum += mr_channel_kept_bytes(&total_of(run, l, s, pipe, c)->channel);
	for (unsigned p = 0; run->first_of[own] == pipe && p < run->n_pipes; p++)
		sum += total_of(run, l, s, (uint8_t)p, own)->channel.n * total_of(run, l, s, (uint8_t)p, own)->room;
	return sum;
}

void mr_whole_links_each(const mr_run *run, const mr_whole_links *l,
			 void (*put)(void *arg, const mr_channel *c, double times), void *arg)
{
	double rounds = run->c.plan->contract.need / (double)run->n_pipes;

	for (uint16_t s = 0; s < run->n_stages; s++)
		for (unsigned p = 0; p < run->n_pipes; p++) {
			const mr_channel *so_far = &sum_to(run, l, s, (uint8_t)p)->channel;

			for (uint32_t c = 0; c < run->n_copies; c++)
				if (total_of(run, l, s, (uint8_t)p, c)->channel.kind)
					put(arg, &total_of(run, l, s, (uint8_t)p, c)->channel,
					    l->n_of[p] / (double)l->n_steps);
			if (so_far->kind)
				put(arg, so_far, rounds - !p); /* the first one of a step adds to nothing */
		}
}

void mr_whole_links_reset(mr_run *run, mr_whole_links *l, uint32_t copy, uint16_t s, uint64_t latest)
{
	atomic_store_explicit(&l->copy[copy].turn, 0, memory_order_relaxed);
	l->copy[copy].next[s] = latest + 1;
	for (unsigned p = 0; p < run->n_pipes; p++) {
		mr_parker *parker = run->parkers[mr_plan_worker(run->c.plan, (uint8_t)p, s)];

		mr_range_reset(total_of(run, l, s, (uint8_t)p, copy), steps_of(l, (uint8_t)p, latest),
			       run->parkers[worker_of_copy(run, copy, s)]);
		if (run->copy_of[p] == copy)
			mr_range_reset(sum_to(run, l, s, (uint8_t)p), latest * run->c.plan->contract.need, parker);
	}
}

/* --- on the step path --- */

uint8_t *mr_whole_links_sum(const mr_run *run, const mr_whole_links *l, const mr_task *t)
{
	uint8_t maker = maker_of(l, t->version);
	uint32_t copy = run->copy_of[t->in->pipe];

	return run->copy_of[maker] == copy ? NULL : mr_range_copy(total_of(run, l, t->in->stage, maker, copy));
}

void mr_whole_links_send(const mr_run *run, const mr_whole_links *l, const mr_task *t)
{
	uint8_t maker = maker_of(l, t->version);
	uint32_t own = run->copy_of[t->in->pipe];

	for (uint32_t c = 0; run->copy_of[maker] == own && c < run->n_copies; c++)
		if (c != own)
			mr_channel_post(&total_of(run, l, t->in->stage, maker, c)->channel, number_of(l, t->version));
}

/* Does the B of micro-batch @micro, of @pipe, add to a sum that another copy has begun? */
static bool goes_on(const mr_run *run, uint8_t pipe, uint64_t micro)
{
	return micro % run->c.plan->contract.need && run->copy_of[pipe_before(run, pipe)] != run->copy_of[pipe];
}

bool mr_whole_links_has_sum(const mr_run *run, const mr_whole_links *l, const mr_task *t)
{
	return !goes_on(run, t->in->pipe, t->micro) ||
	       mr_range_has(sum_to(run, l, t->in->stage, t->in->pipe), t->micro);
}

void mr_whole_links_pass_sum(const mr_run *run, const mr_whole_links *l, const mr_task *t)
{
	uint8_t next = (uint8_t)((t->in->pipe + 1u) % run->n_pipes);

	if (goes_on(run, next, t->micro + 1))
		mr_channel_post(&sum_to(run, l, t->in->stage, next)->channel, t->micro + 1);
}

/* May the calling worker look? If not, who does looks once more. */
static bool begin_look(mr_whole_copy *c)
{
	for (;;) {
		uint32_t seen = 0;

		if (atomic_compare_exchange_strong(&c->turn, &seen, 1)) /* R6 */
			return true;
		if (seen == 2 || atomic_compare_exchange_strong(&c->turn, &seen, 2))
			return false;
	}
}

/* False: another worker wants a look meanwhile. */
static bool end_look(mr_whole_copy *c)
{
	uint32_t seen = 1;

	if (atomic_compare_exchange_strong(&c->turn, &seen, 0)) /* W6 */
		return true;
	atomic_store(&c->turn, 1);
	return false;
}

/* Carry out the step of @copy of stage @s to @version; acquisitions for what @w would wait for are kept. */
static mr_status make_step(mr_worker *w, uint32_t copy, uint16_t s, uint64_t version)
{
	mr_run *run = w->run;
	const mr_plan *p = run->c.plan;
	uint64_t micro = version * p->contract.need - 1, doing = atomic_load_explicit(&w->doing, memory_order_relaxed);
	mr_instr in = {.op = MR_OP_U, .pipe = run->first_of[copy], .span = 1, .stage = s,
		       .micro = (uint32_t)(micro % p->n_micro)};
	mr_task t = {.links = &run->train, .st = mr_links_at(&run->train, in.pipe, s), .in = &in,
		     .n = micro / p->n_micro, .micro = micro, .version = version};
	mr_acquired before = w->acquired;
	mr_status st;

	atomic_store_explicit(&w->doing, mr_doing_pack(in.op, in.pipe, s, micro), memory_order_relaxed);
	st = mr_exec_do(w, &t);
	atomic_store_explicit(&w->doing, doing, memory_order_relaxed);
	w->acquired = before;
	return st;
}

/* Is there a next step of @copy of stage @s that another copy has begun, and is its sum here? Those of its own workers
 * are passed. */
static bool has_come(mr_worker *w, const mr_whole_links *l, uint32_t copy, uint16_t s)
{
	mr_run *run = w->run;
	mr_stage_weights *b = &run->weights[(size_t)copy * run->n_stages + s];
	uint64_t *next = &l->copy[copy].next[s];

	while (run->copy_of[maker_of(l, *next)] == copy && mr_counter_reached(&b->published, w->id, (uint32_t)*next))
		++*next;
	return run->copy_of[maker_of(l, *next)] != copy &&
	       mr_range_has(total_of(run, l, s, maker_of(l, *next), copy), number_of(l, *next));
}

bool mr_whole_links_help(mr_worker *w, const mr_whole_links *l, mr_wait_cause cause, uint64_t since, mr_status *status)
{
	uint32_t copy = l->at[w->id];
	mr_whole_copy *c = &l->copy[copy];

	if (!begin_look(c))
		return false;
	do
		for (uint16_t s = w->run->n_stages; s-- > 0;) { /* in a ring the last is the first to be stepped */
			if (!mr_plan_trains(w->run->c.plan, s) || !has_come(w, l, copy, s))
				continue;
			mr_waiter_note(&w->waiter, MR_WAIT_NONE, 0);
			mr_waiter_done(&w->waiter);
			if (cause != MR_WAIT_NONE)
				mr_exec_book(w, cause, mr_clock_ns() - since);
			*status = make_step(w, copy, s, c->next[s]++);
			atomic_store(&c->turn, 0); /* W6; publishing wakes who wants a look */
			return true;
		}
	while (!end_look(c));
	return false;
}

mr_status mr_whole_links_leave(mr_worker *w, const mr_whole_links *l, uint64_t step)
{
	mr_run *run = w->run;
	mr_status st = MR_OK;

	for (uint16_t s = 0; s < run->n_stages; s++) {
		mr_stage_weights *b = &run->weights[(size_t)l->at[w->id] * run->n_stages + s];

		while (mr_plan_trains(run->c.plan, s) &&
		       !mr_counter_reached(&b->published, w->id, (uint32_t)mr_run_version_at(run, s, step))) {
			if (!mr_whole_links_help(w, l, MR_WAIT_NONE, 0, &st))
				MR_TRY(mr_waiter_step(&w->waiter));
			MR_TRY(st);
		}
		mr_waiter_done(&w->waiter);
	}
	return MR_OK;
}
