/*
 * whole_steps.c - commits that one pipe makes for all (ir/plan.h, "Whole steps").
 *
 * The stage has one shard, which all workers use: they read its weights, and one after the other they step it. What is
 * counted of reads and ages is counted by the worker of the step, in the order of the steps, so that no two write at
 * once and every run counts alike. Workers that share no memory have a copy of it each: whole_links.h.
 *
 * Thread: the worker that makes version v writes what belongs to the shard, after it has seen that v - 1 is published;
 * publishing v hands it on. Sums belong to the pipes' workers.
 */
#include <stdlib.h>

#include "data/own_part.h"
#include "exec/features/whole_links.h"
#include "weights/carried.h"

struct mr_whole_steps {
	int32_t *read;  /* [n_stages][n_micro] version that F reads, as in the body */
	double *rates;  /* [n_micro] what each step of an iteration multiplies the rate by */
	uint8_t **sums; /* [n_stages][n_pipes]; in a ring all add to the shard's */
	uint32_t *place;   /* [n_micro] of each micro-batch among its pipe's in an iteration */
	uint32_t *of_pipe; /* [n_pipes] how many those are */
	mr_whole_links *links; /* NULL: all share memory */
};

static bool in_ring(const mr_run *run)
{
	return run->c.plan->contract.ring;
}

static uint8_t **sum_of(const mr_run *run, uint8_t pipe, uint16_t s)
{
	return &run->whole_steps->sums[(size_t)s * run->n_pipes + pipe];
}

/* F waits for the version that it reads, U for the one before its own, and so does B where all add to one sum. */
static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = mr_run_weights(w->run, t->in->pipe, t->in->stage);
	const mr_whole_links *links = w->run->whole_steps->links;
	const mr_contract *c = &t->links->plan->contract;
	uint64_t version = t->version;

	if (!t->links->train || t->in->op == MR_OP_R)
		return MR_WAIT_NONE;
	if (t->in->op == MR_OP_U)
		version--;
	if (t->in->op == MR_OP_B && c->ring) {
		version = t->micro / c->need;
		if (links && !mr_whole_links_has_sum(w->run, links, t))
			return MR_WAIT_UPSTREAM;
	}
	return mr_counter_reached(&b->published, w->id, (uint32_t)version) ? MR_WAIT_NONE : MR_WAIT_WEIGHTS;
}

static void passed(mr_worker *w, const mr_task *t)
{
	if (w->run->whole_steps->links && in_ring(w->run) && t->links->train && t->in->op == MR_OP_B)
		mr_whole_links_pass_sum(w->run, w->run->whole_steps->links, t);
}

static bool help(mr_worker *w, mr_links *links, mr_wait_cause cause, uint64_t since, mr_status *status)
{
	const mr_whole_links *l = w->run->whole_steps->links;

	(void)links;
	return l && mr_whole_links_help(w, l, cause, since, status);
}

static mr_status leave(mr_worker *w, const mr_links *links)
{
	const mr_whole_links *l = w->run->whole_steps->links;

	return l && links->train ? mr_whole_links_leave(w, l, w->train.step) : MR_OK;
}

static mr_status pass(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io)
{
	(void)slot;
	if (t->links->train && !in_ring(w->run))
		io->grads = *sum_of(w->run, t->in->pipe, t->in->stage);
	return MR_OK;
}

/* No pass counts as a reader: the step counts for it. */
static bool reads(const mr_worker *w, const mr_task *t)
{
	(void)w;
	(void)t;
	return false;
}

/* The version that micro-batch @m has read. */
static uint64_t read_of(const mr_run *run, uint16_t s, uint64_t m)
{
	const mr_plan *p = run->c.plan;
	int64_t read = run->whole_steps->read[(size_t)s * p->n_micro + m % p->n_micro];

	read += (int64_t)(m / p->n_micro * p->commits);
	return read > 0 ? (uint64_t)read : 0;
}

static mr_status complete(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	const mr_whole_links *links = w->run->whole_steps->links;
	uint64_t need = w->run->c.plan->contract.need, end = t->version * need;

	b->summed = links ? mr_whole_links_sum(w->run, links, t) : NULL;
	if (!b->summed)
		b->summed = in_ring(w->run) ? b->shard[0].grads : *sum_of(w->run, t->in->pipe, t->in->stage);
	if (links && !in_ring(w->run))
		mr_whole_links_send(w->run, links, t);
	for (uint64_t m = end - need; m < end; m++) {
		uint64_t read = read_of(w->run, t->in->stage, m), age = b->latest - read;

		b->shard[0].staleness[age < MR_STALENESS_BINS ? age : MR_STALENESS_BINS - 1]++;
		mr_version_count_read(&b->version_count, read);
	}
	return MR_OK;
}

static mr_status stepped(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	(void)b;
	if (w->run->whole_steps->links && in_ring(w->run))
		mr_whole_links_send(w->run, w->run->whole_steps->links, t);
	return MR_OK;
}

/* All copies of a process make the step: the first one has its record. */
static bool completes(mr_run *run, const mr_stage_weights *b, uint64_t step, double *norm)
{
	uint32_t first = 0;

	(void)step;
	(void)norm;
	while (!run->weights[first].n_here)
		first += run->n_stages;
	return (uint32_t)(b - run->weights) / run->n_stages * run->n_stages == first;
}

/* By the pipe's own numbers, where its data are its own. */
static void make_sample(const mr_run *run, uint8_t pipe, uint64_t micro, int64_t i, void *input, void *target)
{
	const mr_whole_steps *x = run->whole_steps;
	const mr_plan *p = run->c.plan;
	const mr_dataset *d = run->c.data;
	uint64_t own = micro / p->n_micro * x->of_pipe[pipe] + x->place[micro % p->n_micro];

	if (p->contract.own_data)
		mr_own_part_train(d, pipe, p->n_pipes, own * (uint64_t)run->c.samples + (uint64_t)i, input, target);
	else
		d->ops->train(d, micro * (uint64_t)run->c.samples + (uint64_t)i, input, target);
}

void mr_exec_each_sum(const mr_run *run, void (*put)(void *arg, const mr_channel *c, double times), void *arg)
{
	if (run->whole_steps && run->whole_steps->links)
		mr_whole_links_each(run, run->whole_steps->links, put, arg);
}

/* --- the feature --- */

static mr_status refuse(const mr_run_config *c)
{
	const char *what = c->mitigate && (mr_mitigate_corrects(c->mitigate) || c->mitigate->slow_start)
				   ? "a mitigation"
			   : c->graph->n_states	      ? "a model whose layers keep running means"
			   : mr_carried_is_in(c->graph) ? "a model that carries values from step to step"
						      : NULL;

	if (!mr_plan_repeats(c->plan))
		return mr_fail(MR_ECONFIG, "the engine carries out whole steps only in plans that repeat");
	if (c->plan->contract.ring && c->plan->n_stages < c->plan->n_pipes)
		return mr_fail(MR_ECONFIG,
			       "the engine carries out whole steps in a ring of at least as many stages as pipes, not "
			       "of %u stages and %u pipes",
			       c->plan->n_stages, c->plan->n_pipes);
	if (what)
		return mr_fail(MR_ECONFIG,
			       "%s is not possible where several workers pass through a stage at once and each makes "
			       "whole steps",
			       what);
	return c->plan->contract.own_data ? mr_own_part_check(c->data, c->plan->n_pipes) : MR_OK;
}

static void read_lists(const mr_plan *p, mr_whole_steps *x, uint8_t *pipe_of)
{
	for (uint16_t w = 0; w < p->n_workers; w++) {
		const mr_list *l = mr_plan_list(p, w, MR_BODY);

		for (uint32_t i = 0; i < l->n; i++) {
			const mr_instr *in = &l->at[i];

			if (in->op != MR_OP_F)
				continue;
			x->read[(size_t)in->stage * p->n_micro + in->micro] = in->read;
			pipe_of[in->micro] = in->pipe;
		}
	}
	for (uint32_t m = 0; m < p->n_micro; m++)
		x->place[m] = x->of_pipe[pipe_of[m]]++;
	for (uint32_t m = 0; x->rates && m < p->n_micro; m++)
		x->rates[m] = (double)p->n_micro / ((double)p->n_pipes * x->of_pipe[pipe_of[m]]);
}

static mr_status create(mr_run *run)
{
	const mr_plan *p = run->c.plan;
	mr_whole_steps *x = run->whole_steps = calloc(1, sizeof(*x));
	uint8_t *pipe_of = calloc(p->n_micro, sizeof(*pipe_of));
	bool ok = x && pipe_of;

	if (ok) {
		x->read = calloc((size_t)p->n_stages * p->n_micro, sizeof(*x->read));
		x->sums = calloc((size_t)p->n_stages * p->n_pipes, sizeof(*x->sums));
		x->place = calloc(p->n_micro, sizeof(*x->place));
		x->of_pipe = calloc(p->n_pipes, sizeof(*x->of_pipe));
		x->rates = p->contract.equal_rates ? calloc(p->n_micro, sizeof(*x->rates)) : NULL;
		ok = x->read && x->sums && x->place && x->of_pipe && (x->rates || !p->contract.equal_rates);
	}
	if (ok)
		read_lists(p, x, pipe_of);
	/* F of counts that are ahead of a step; copies may be as much ahead of the one that has its record */
	run->n_losses = p->contract.need * (2 * p->contract.max_staleness + 2);
	if (ok && run->n_copies > 1) {
		mr_status st = mr_whole_links_create(run, pipe_of, &x->links);

		free(pipe_of);
		return st;
	}
	free(pipe_of);
	return ok ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the steps of %u pipes", p->n_pipes);
}

static void destroy(mr_run *run)
{
	if (!run->whole_steps)
		return;
	mr_whole_links_destroy(run, run->whole_steps->links);
	free(run->whole_steps->read);
	free(run->whole_steps->rates);
	free(run->whole_steps->sums);
	free(run->whole_steps->place);
	free(run->whole_steps->of_pipe);
	free(run->whole_steps);
}

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	(void)s;
	b->rates = run->whole_steps->rates;
	b->n_rates = run->c.plan->n_micro;
	return MR_OK;
}

/* In a ring pipe p warms up in the sum of stage p, so each has room for that of any stage. */
static mr_status choose(mr_run *run)
{
	size_t most = 0;

	for (uint16_t s = 0; s < run->n_stages; s++)
		most = mr_weights_sum_bytes(&run->weights[s]) > most ? mr_weights_sum_bytes(&run->weights[s]) : most;
	for (uint32_t i = 0; in_ring(run) && i < mr_run_n_weights(run); i++)
		run->weights[i].grad_room = most;
	if (!run->whole_steps->links)
		return MR_OK;
	if (run->c.shares && run->norms)
		return mr_fail(MR_ECONFIG,
			       "workers of several ranks make each other's whole steps when they come, each share at a "
			       "place of its own, and a norm would make the shares of a worker wait for each other "
			       "there: set train.clip = 0 and train.norm_every = 0, or leave machine.shares out");
	run->remote = true;
	return mr_whole_links_choose(run, run->whole_steps->links);
}

static mr_status open_links(mr_run *run)
{
	const mr_whole_steps *x = run->whole_steps;

	return x->links ? mr_whole_links_open(run, x->links, x->sums) : MR_OK;
}

static void reset_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	uint32_t copy = (uint32_t)(b - run->weights) / run->n_stages;

	if (run->whole_steps->links)
		mr_whole_links_reset(run, run->whole_steps->links, copy, s, b->latest);
}

/* The first pipe of a copy has the shard's own. */
static void layout_pipe(mr_run *run, uint8_t pipe, uint16_t s, mr_arena *a)
{
	const mr_stage_weights *b = mr_run_weights(run, pipe, s);

	if (!in_ring(run))
		*sum_of(run, pipe, s) = mr_run_leads(run, pipe, s)
						? b->shard[0].grads
						: mr_arena_take(a, mr_weights_sum_bytes(b), MR_CACHE_LINE);
}

/* Bytes of links, of a pipe in this process. */
static uint64_t bytes_of(const mr_run *run, uint8_t pipe, uint16_t s)
{
	const mr_whole_links *l = run->whole_steps->links;

	if (!l || !mr_run_is_here(&run->c, mr_plan_worker(run->c.plan, pipe, s)))
		return 0;
	return mr_whole_links_bytes(run, l, pipe, s);
}

static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	if (!mr_run_leads(run, pipe, s) && !in_ring(run))
		out->grads += mr_weights_sum_bytes(mr_run_weights(run, pipe, s));
	out->scratch += bytes_of(run, pipe, s);
}

static uint64_t mapped(const mr_run *run)
{
	uint64_t sum = 0;

	for (unsigned p = 0; p < run->n_pipes; p++)
		for (uint16_t s = 0; s < run->n_stages; s++)
			sum += bytes_of(run, (uint8_t)p, s);
	return sum;
}

static void warm_up(const mr_run *run, uint8_t pipe, uint16_t s, mr_stage_io *io)
{
	io->grads = in_ring(run) ? mr_run_weights(run, pipe, pipe)->shard[0].grads : *sum_of(run, pipe, s);
}

/* What was restored into the first copy, which takes no more memory where it is another process's. */
static void spread(mr_run *run)
{
	const mr_region *first = &run->worker[mr_plan_worker(run->c.plan, 0, 0)].region;

	for (uint32_t i = run->n_stages; i < mr_run_n_weights(run); i++)
		if (run->weights[i].n_here)
			mr_weights_take_over(&run->weights[i], &run->weights[i % run->n_stages]);
	if (run->n_copies > 1 && !run->weights[0].n_here)
		mr_memory_release(first->base, first->bytes);
}

const mr_feature mr_feature_whole_steps = {
	.facts = MR_SHARES_STAGES | MR_OVERWRITES | MR_COUNTS_AT_STEPS | MR_COPIES,
	.instead = {.make_sample = make_sample, .completes = completes, .help = help},
	.refuse = refuse,
	.create = create,
	.destroy = destroy,
	.open = open_stage,
	.choose = choose,
	.open_links = open_links,
	.layout_pipe = layout_pipe,
	.memory = memory,
	.mapped = mapped,
	.warm_up = warm_up,
	.reset_stage = reset_stage,
	.spread = spread,
	.ready = ready,
	.passed = passed,
	.leave = leave,
	.pass = pass,
	.reads = reads,
	.complete = complete,
	.stepped = stepped,
};
