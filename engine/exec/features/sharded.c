/*
 * sharded.c - weights that are fetched into rooms (ir/plan.h, "Sharded weights"; ir/fetches.h), between shards that
 * share no memory.
 *
 * A reader arms the channels of a fetch when its room is free, and raises `asked`; each owner posts its range when it
 * sees that and has made the version: whenever it looks for its next instruction, or waits for it. An owner also tells
 * how many steps it has made (`stepped`): behind that its sums are free (released.c), and where it shares memory with a
 * reader, that one copies the range.
 *
 * In groups a reader asks the owners of its own group, who have what they keep of others' steps by messages of
 * ranges.c: they tell (`kept`) those who share memory with them how many steps' ranges they have in whole.
 *
 * All that an iteration asks for it reads, and with the end of an iteration all owners have posted it: a sum that a U
 * needs comes behind the passes of its sender. An evaluation has no U, so its end waits (`leave`).
 */
#include "base/zeroed.h"
#include "exec/exec_internal.h"
#include "ir/fetches.h"
#include "ir/stage_ops.h"
#include "weights/ranges.h"

#include <stdlib.h>

enum { TRAIN, EVAL, N_MODES };

/* A pipe, whose worker has all its stages: as a reader and as an owner. */
typedef struct party {
	mr_fetches list[N_MODES];
	mr_counter asked[N_MODES], stepped, kept;
	uint32_t *order;    /* [stages] places of the stages' steps in an iteration */
	uint16_t *stage_at; /* [steps] the stages in that order */
	/* What follows its worker alone uses. */
	_Alignas(MR_CACHE_LINE) uint64_t n_asked[N_MODES];
	uint64_t n_stepped, n_kept;
	uint64_t *n_served; /* [modes][parties] by reader */
	uint64_t *n_of;     /* [stages] fetches so far */
	uint64_t *made;     /* [stages] the version of its own range */
	bool *taken;        /* [stages][parties] copied from an owner since the last fetch */
} party;

struct mr_sharding {
	party *at;         /* [n] */
	uint32_t n;
	uint64_t n_evals;  /* that have begun */
	bool active;       /* some share no memory */
};

static int mode_of(const mr_links *l)
{
	return l->train ? TRAIN : EVAL;
}

/* Iterations of an evaluation in which pipe @p has a micro-batch. */
static uint64_t passes_of(const mr_run *run, uint32_t p)
{
	uint32_t n = run->eval_plan->n_pipes;

	return p < n && run->n_eval > p ? (run->n_eval - p + n - 1) / n : 0;
}

/* --- owners --- */

/* The count of @p's steps behind which it has made version @v of stage @s. */
static uint64_t steps_to(const mr_run *run, const party *p, uint16_t s, uint64_t v)
{
	return v ? (v - 1) * run->n_trained + p->order[s] + 1 : 0;
}

static bool has_stepped(mr_run *run, uint16_t worker, uint32_t q, uint16_t s, uint64_t v)
{
	party *p = &run->sharding->at[q];

	return mr_counter_reached(&p->stepped, worker, (uint32_t)steps_to(run, p, s, v));
}

/* Has @self, on @worker, all that it keeps of version @v of stage @s? */
static bool keeps(mr_run *run, uint16_t worker, uint32_t self, uint16_t s, uint64_t v)
{
	mr_stage_weights *b = &run->weights[s];

	if (run->sharding->at[self].made[s] < v || !mr_ranges_kept(b, self, v))
		return false;
	for (uint32_t q = 0; q < b->n_shards; q++)
		if (q != self && mr_weights_peers(b, q, self) && !has_stepped(run, worker, q, s, v))
			return false;
	return true;
}

/* Count the steps whose ranges @self has. */
static void note_kept(mr_run *run, uint16_t self)
{
	uint16_t w = mr_plan_worker(run->c.plan, (uint8_t)self, 0);
	party *p = &run->sharding->at[self];
	uint64_t before = p->n_kept;

	while (p->n_kept < p->n_stepped &&
	       keeps(run, w, self, p->stage_at[p->n_kept % run->n_trained], p->n_kept / run->n_trained + 1))
		p->n_kept++;
	if (p->n_kept != before)
		mr_counter_raise(&p->kept, w, (uint32_t)p->n_kept);
}

/* Post to @reader what it has asked for, as far as it is there. */
static void serve(mr_run *run, uint16_t self, uint32_t reader, int mode)
{
	mr_sharding *x = run->sharding;
	party *own = &x->at[self], *p = &x->at[reader];
	uint64_t *n = &own->n_served[(uint32_t)mode * x->n + reader];
	uint16_t w = mr_plan_worker(run->c.plan, (uint8_t)self, 0);

	if (!p->list[mode].n || !mr_ranges_fetched(&run->weights[0], self, reader))
		return;
	while (mr_counter_reached(&p->asked[mode], w, (uint32_t)*n + 1)) {
		uint16_t s = p->list[mode].fetch[*n % p->list[mode].n].stage;
		mr_range *range = mr_ranges_fetched(&run->weights[s], self, reader);

		if (own->n_kept < steps_to(run, own, s, mode == TRAIN ? *n / p->list[mode].n : own->made[s]))
			return;
		mr_channel_post(&range->channel, range->channel.n_posted + 1);
		++*n;
	}
}

static void serve_all(mr_run *run, uint16_t self, int mode)
{
	note_kept(run, self);
	for (uint32_t j = 0; j < run->sharding->n; j++)
		if (j != self)
			serve(run, self, j, mode);
}

/* --- readers --- */

static void arm(mr_run *run, uint16_t self, uint16_t s)
{
	mr_sharding *x = run->sharding;

	x->at[self].n_of[s]++;
	for (uint32_t q = 0; q < x->n; q++) {
		mr_range *range = mr_ranges_fetched(&run->weights[s], q, self);

		if (range)
			mr_channel_arm(&range->channel);
		x->at[self].taken[s * x->n + q] = false;
	}
}

/* Ask for what the run @r of iteration @n may have rooms for. */
static void ask(mr_worker *w, uint16_t self, int mode, uint64_t n, uint32_t r)
{
	party *p = &w->run->sharding->at[self];
	const mr_fetches *f = &p->list[mode];
	uint64_t before = p->n_asked[mode], base = n * f->n;

	for (uint64_t i = before - base; i < f->n && f->fetch[i].at <= r; i++) {
		arm(w->run, self, f->fetch[i].stage);
		p->n_asked[mode]++;
	}
	if (p->n_asked[mode] != before)
		mr_counter_raise(&p->asked[mode], w->id, (uint32_t)p->n_asked[mode]);
}

/* Does @q, which shares memory with @w, whose pipe @self is, keep its part of version @v of stage @s? */
static bool has_kept(mr_worker *w, uint16_t self, uint32_t q, uint16_t s, uint64_t v)
{
	party *p = &w->run->sharding->at[q];
	uint64_t n = steps_to(w->run, p, s, v);

	return q == self ? p->n_kept >= n : mr_counter_reached(&p->kept, w->id, (uint32_t)n);
}

/* Is what @q keeps of version @v of stage @s in the room of @self? */
static bool is_there(mr_worker *w, uint16_t self, uint32_t q, uint16_t s, uint64_t v)
{
	mr_sharding *x = w->run->sharding;
	mr_stage_weights *b = &w->run->weights[s];
	mr_range *range = mr_ranges_fetched(b, q, self);
	bool *taken = &x->at[self].taken[s * x->n + q];

	if (range)
		return mr_range_has(range, x->at[self].n_of[s]);
	if (!*taken && has_kept(w, self, q, s, v)) {
		mr_ranges_take(b, q, self);
		*taken = true;
	}
	return *taken;
}

/* Has the stage that had @t's buffer of sums before stepped everywhere (released.c)? */
static bool sums_are_free(mr_worker *w, const mr_task *t)
{
	const mr_plan *p = w->run->c.plan;
	uint16_t before = t->in->op == MR_OP_B ? mr_trained_beside(p, t->in->stage, 2) : p->n_stages;

	for (uint32_t q = 0; before < p->n_stages && q < w->run->sharding->n; q++)
		if (!has_stepped(w->run, w->id, q, before, t->version + 1))
			return false;
	return true;
}

static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	mr_sharding *x = w->run->sharding;
	uint16_t self = t->in->pipe;
	int mode = mode_of(t->links);
	const mr_list *l = mr_plan_list(t->links->plan, w->id, MR_BODY);
	uint32_t r;

	if (!x->active)
		return MR_WAIT_NONE;
	serve_all(w->run, self, mode);
	r = x->at[self].list[mode].run_of[t->in - l->at];
	if (r == MR_NO_RUN)
		return MR_WAIT_NONE;
	ask(w, self, mode, mode == TRAIN ? t->n : (x->n_evals - 1) * passes_of(w->run, self) + t->n, r);
	for (uint32_t q = 0; q < x->n; q++)
		if (mr_weights_group(&w->run->weights[0], q, self) &&
		    !is_there(w, self, q, t->in->stage, t->version))
			return MR_WAIT_WEIGHTS;
	return mode == EVAL || sums_are_free(w, t) ? MR_WAIT_NONE : MR_WAIT_WEIGHTS;
}

static void passed(mr_worker *w, const mr_task *t)
{
	party *p = &w->run->sharding->at[t->in->pipe];

	if (t->in->op != MR_OP_U)
		return;
	p->made[t->in->stage] = t->version;
	mr_counter_raise(&p->stepped, w->id, (uint32_t)++p->n_stepped);
	if (w->run->sharding->active)
		note_kept(w->run, t->in->pipe);
}

static bool all_served(const mr_run *run, uint16_t self)
{
	const mr_sharding *x = run->sharding;

	if (x->at[self].n_kept < x->at[self].n_stepped) /* those who share memory read it, too */
		return false;
	for (uint32_t j = 0; j < x->n; j++)
		if (j != self && mr_ranges_fetched(&run->weights[0], self, j) &&
		    x->at[self].n_served[EVAL * x->n + j] < x->n_evals * passes_of(run, j) * x->at[j].list[EVAL].n)
			return false;
	return true;
}

/* The end of an evaluation: others may still read. */
static mr_status leave(mr_worker *w, const mr_links *l)
{
	mr_sharding *x = w->run->sharding;
	uint16_t self = 0;

	while (self < x->n && mr_plan_worker(w->run->c.plan, (uint8_t)self, 0) != w->id)
		self++;
	if (!x->active || l->train || self == x->n)
		return MR_OK;
	for (serve_all(w->run, self, EVAL); !all_served(w->run, self); serve_all(w->run, self, EVAL))
		MR_TRY(mr_waiter_step(&w->waiter));
	mr_waiter_done(&w->waiter);
	return MR_OK;
}

uint32_t mr_exec_fetches(const mr_run *run, uint8_t pipe, uint16_t stage)
{
	return mr_fetches_of_stage(&run->sharding->at[pipe].list[TRAIN], stage);
}

/* --- the feature --- */

static mr_status refuse(const mr_run_config *c)
{
	const mr_plan *p = c->plan;

	for (unsigned i = 0; i < p->n_pipes; i++)
		for (unsigned j = 0; j < i; j++)
			if (mr_plan_worker(p, (uint8_t)i, 0) == mr_plan_worker(p, (uint8_t)j, 0))
				return mr_fail(MR_ECONFIG,
					       "pipes %u and %u are on worker %u: where weights are sharded, each pipe "
					       "has a worker of its own",
					       j, i, mr_plan_worker(p, (uint8_t)i, 0));
	for (uint16_t s = 0; s < p->n_stages; s++)
		if (p->n_versions[s] != 1)
			return mr_fail(MR_ECONFIG, "stage %u keeps %u versions: of sharded weights there is one", s,
				       p->n_versions[s]);
	return MR_OK;
}

static mr_status list_party(mr_run *run, uint8_t pipe, party *out)
{
	const mr_plan *plan[N_MODES] = {run->c.plan, run->eval_plan};
	uint16_t stages = run->c.plan->n_stages, w = mr_plan_worker(run->c.plan, pipe, 0);
	uint32_t n = run->sharding->n, n_steps = 0;
	const mr_list *l = mr_plan_list(run->c.plan, w, MR_BODY);

	for (int m = 0; m < N_MODES; m++) {
		if (mr_plan_list(plan[m], w, MR_PROLOGUE)->n)
			return mr_fail(MR_ECONFIG, "worker %u has a prologue: sharded weights need a list that repeats",
				       w);
		MR_TRY(mr_fetches_of(mr_plan_list(plan[m], w, MR_BODY), pipe, run->c.plan->contract.weight_rooms,
				     &out->list[m]));
	}
	out->order = calloc(stages, sizeof(*out->order));
	out->stage_at = calloc(stages, sizeof(*out->stage_at));
	out->n_served = calloc((size_t)N_MODES * n, sizeof(*out->n_served));
	out->n_of = calloc(stages, sizeof(*out->n_of));
	out->made = calloc(stages, sizeof(*out->made));
	out->taken = calloc((size_t)stages * n, sizeof(*out->taken));
	if (!out->order || !out->stage_at || !out->n_served || !out->n_of || !out->made || !out->taken)
		return mr_fail(MR_ERESOURCE, "no memory for the fetches of %u stages", stages);
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].op == MR_OP_U) {
			out->stage_at[n_steps] = l->at[i].stage;
			out->order[l->at[i].stage] = n_steps++;
		}
	return MR_OK;
}

static mr_status create(mr_run *run)
{
	mr_sharding *x = run->sharding = calloc(1, sizeof(*x));

	if (!x || !(x->at = mr_zeroed(run->n_pipes * sizeof(*x->at))))
		return mr_fail(MR_ERESOURCE, "no memory for the fetches of %u pipes", run->n_pipes);
	x->n = run->n_pipes;
	for (unsigned p = 0; p < run->n_pipes; p++)
		MR_TRY(list_party(run, (uint8_t)p, &x->at[p]));
	return MR_OK;
}

/* The counters of @p. */
enum { N_COUNTERS = N_MODES + 2 };

static mr_counter *counter_of(party *p, int i)
{
	return i < N_MODES ? &p->asked[i] : i == N_MODES ? &p->stepped : &p->kept;
}

static mr_status choose(mr_run *run)
{
	mr_sharding *x = run->sharding;
	uint32_t rooms = run->c.plan->contract.weight_rooms;

	for (uint16_t s = 0; s < run->n_stages; s++)
		mr_weights_lend_room(&run->weights[s % rooms], &run->weights[s]);
	for (uint32_t p = 0; p < x->n; p++)
		for (int i = 0; i <= N_MODES; i++) /* `kept` is for those who share memory */
			for (unsigned to = 0; to < x->n; to++)
				MR_TRY(mr_counter_choose_edge(counter_of(&x->at[p], i), 0,
							      mr_plan_worker(run->c.plan, (uint8_t)p, 0),
							      mr_plan_worker(run->c.plan, (uint8_t)to, 0),
							      run->n_workers, run->c.links));
	return MR_OK;
}

static mr_status open_links(mr_run *run)
{
	mr_sharding *x = run->sharding;

	x->active = run->weights[0].sharded;
	for (uint32_t p = 0; p < x->n; p++)
		for (int i = 0; i <= N_MODES; i++)
			MR_TRY(mr_counter_open(counter_of(&x->at[p], i)));
	return MR_OK;
}

static void destroy(mr_run *run)
{
	mr_sharding *x = run->sharding;

	for (uint32_t p = 0; x && x->at && p < x->n; p++) {
		party *y = &x->at[p];

		for (int i = 0; i < N_COUNTERS; i++)
			mr_counter_close(counter_of(y, i));
		for (int m = 0; m < N_MODES; m++)
			mr_fetches_fini(&y->list[m]);
		free(y->order);
		free(y->stage_at);
		free(y->n_served);
		free(y->n_of);
		free(y->made);
		free(y->taken);
	}
	if (x)
		free(x->at);
	free(x);
}

static void stand_party(mr_run *run, party *p, uint64_t step)
{
	mr_sharding *x = run->sharding;
	uint64_t stepped = step * run->n_trained;

	p->n_asked[TRAIN] = step * p->list[TRAIN].n;
	p->n_asked[EVAL] = 0;
	p->n_stepped = p->n_kept = stepped;
	for (uint32_t j = 0; j < x->n; j++) {
		p->n_served[TRAIN * x->n + j] = step * x->at[j].list[TRAIN].n;
		p->n_served[EVAL * x->n + j] = 0;
	}
	for (uint16_t s = 0; s < run->n_stages; s++) {
		p->n_of[s] = 0;
		p->made[s] = step;
	}
	for (int i = 0; i < N_COUNTERS; i++)
		mr_counter_reset(counter_of(p, i), (uint32_t)(i < N_MODES ? p->n_asked[i] : stepped), run->parkers,
				 run->n_workers, run->parkers);
}

static void stand(mr_run *run, uint64_t step)
{
	mr_sharding *x = run->sharding;

	x->n_evals = 0;
	for (uint32_t p = 0; p < x->n; p++)
		stand_party(run, &x->at[p], step);
}

static void begin_eval(mr_run *run)
{
	run->sharding->n_evals++;
}

const mr_feature mr_feature_sharded = {
	.refuse = refuse,
	.create = create,
	.choose = choose,
	.open_links = open_links,
	.destroy = destroy,
	.stand = stand,
	.begin_eval = begin_eval,
	.ready = ready,
	.passed = passed,
	.leave = leave,
};
