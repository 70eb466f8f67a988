/*
 * whole_steps.c - commits that one pipe makes for all (ir/plan.h, "Whole steps").
 *
 * The stage has one shard, which all workers use: they read its weights, and one after the other they step it. What is
 * counted of reads and ages is counted by the worker of the step, in the order of the steps, so that no two write at
 * once and every run counts alike.
 *
 * Thread: the worker that makes version v writes what belongs to the shard, after it has seen that v - 1 is published;
 * publishing v hands it on. Sums belong to the pipes' workers.
 */
#include <stdlib.h>

#include "data/own_part.h"
#include "exec/exec_internal.h"
#include "weights/carried.h"

struct mr_whole_steps {
	int32_t *read;  /* [n_stages][n_micro] version that F reads, as in the body */
	double *rates;  /* [n_micro] what each step of an iteration multiplies the rate by */
	uint8_t **sums; /* [n_stages][n_pipes]; in a ring all add to the shard's */
	uint32_t *place;   /* [n_micro] of each micro-batch among its pipe's in an iteration */
	uint32_t *of_pipe; /* [n_pipes] how many those are */
};

static bool in_ring(const mr_run *run)
{
	return run->c.plan->contract.ring;
}

static uint8_t **sum_of(const mr_run *run, uint8_t pipe, uint16_t s)
{
	return &run->whole_steps->sums[(size_t)s * run->n_pipes + pipe];
}

/* F waits for the version that it reads, U for the one before its own, and B for that where it begins a sum of all. */
static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];
	const mr_contract *c = &t->links->plan->contract;
	uint64_t version = t->version;

	if (!t->links->train || t->in->op == MR_OP_R)
		return MR_WAIT_NONE;
	if (t->in->op == MR_OP_U)
		version--;
	if (t->in->op == MR_OP_B && c->ring && t->micro % c->need == 0)
		version = t->micro / c->need;
	return mr_counter_reached(&b->published, w->id, (uint32_t)version) ? MR_WAIT_NONE : MR_WAIT_WEIGHTS;
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
	uint64_t need = w->run->c.plan->contract.need, end = t->version * need;

	b->summed = in_ring(w->run) ? b->shard[0].grads : *sum_of(w->run, t->in->pipe, t->in->stage);
	for (uint64_t m = end - need; m < end; m++) {
		uint64_t read = read_of(w->run, t->in->stage, m), age = b->latest - read;

		b->shard[0].staleness[age < MR_STALENESS_BINS ? age : MR_STALENESS_BINS - 1]++;
		mr_version_count_read(&b->version_count, read);
	}
	return MR_OK;
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
	free(pipe_of);
	run->n_losses = p->contract.need * (p->contract.max_staleness + 2); /* F of counts that are ahead of a step */
	return ok ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the steps of %u pipes", p->n_pipes);
}

static void destroy(mr_run *run)
{
	if (!run->whole_steps)
		return;
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
	for (uint16_t s = 0; in_ring(run) && s < run->n_stages; s++)
		run->weights[s].grad_room = most;
	return MR_OK;
}

/* The first pipe has the shard's own. */
static void layout(mr_run *run, uint16_t s, mr_arena *a)
{
	const mr_stage_weights *b = &run->weights[s];

	if (in_ring(run))
		return;
	*sum_of(run, 0, s) = b->shard[0].grads;
	for (unsigned p = 1; p < run->n_pipes; p++)
		*sum_of(run, (uint8_t)p, s) = mr_arena_take(a, mr_weights_sum_bytes(b), MR_CACHE_LINE);
}

static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	if (pipe == 0 && !in_ring(run))
		out->grads += (run->n_pipes - 1) * mr_weights_sum_bytes(&run->weights[s]);
}

static void warm_up(const mr_run *run, uint8_t pipe, uint16_t s, mr_stage_io *io)
{
	io->grads = in_ring(run) ? run->weights[pipe].shard[0].grads : *sum_of(run, pipe, s);
}

const mr_feature mr_feature_whole_steps = {
	.facts = MR_SHARES_STAGES | MR_OVERWRITES | MR_COUNTS_AT_STEPS,
	.instead = {.make_sample = make_sample},
	.shares = "each worker steps whole stages in place, and the others read them there",
	.refuse = refuse,
	.create = create,
	.destroy = destroy,
	.open = open_stage,
	.choose = choose,
	.layout = layout,
	.memory = memory,
	.warm_up = warm_up,
	.ready = ready,
	.pass = pass,
	.reads = reads,
	.complete = complete,
};
