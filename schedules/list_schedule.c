#include "schedules/list_schedule.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "ir/sched.h"

/* Times this close (relative to the sum of all costs of a micro-batch) are equal: sums of doubles in another order. */
#define SAME 1e-9

enum kind { FORWARD, BACKWARD, WEIGHTS, N_KINDS };

/* One stage of one pipe. */
typedef struct place {
	uint16_t stage, worker;
	uint8_t pipe;
	uint32_t reserve;       /* activations of later stages that an F must leave room for */
	uint32_t done[N_KINDS]; /* how many of the pipe's micro-batches */
} place;

/* What a worker could do next. */
typedef struct choice {
	uint32_t place;
	enum kind kind;
	uint32_t micro;
	double ready;
} choice;

typedef struct state {
	const mr_list_job *job;
	double same;
	place *places;         /* [P][S] */
	uint32_t n_places;
	uint32_t *hosted;      /* places worker after worker, ... */
	uint32_t *first_place; /* [D + 1] ... from here */
	uint32_t *micros;      /* micro-batches pipe after pipe, ... */
	uint32_t *first_micro; /* [P + 1] ... from here */
	double *end[2];        /* [S][T] of F, and of B or I */
	double *free_at;       /* [D] */
	double *next;          /* [D] when the worker's next instruction can begin as far as is known; INFINITY: none is */
	uint32_t *kept;        /* [D] activations */
	mr_list_order *order;
	size_t *n_steps;       /* [D] */
} state;

/* --- what can begin when --- */

static double *end_of(const state *s, enum kind kind, uint16_t stage, uint32_t micro)
{
	return &s->end[kind][(size_t)stage * s->job->n_micro + micro];
}

/* When what @from made for @micro has arrived at @to, which may be the same worker. */
static double arrival(const state *s, enum kind kind, const place *from, const place *to, uint32_t micro)
{
	return *end_of(s, kind, from->stage, micro) + (from->worker != to->worker ? s->job->cost[from->stage].c : 0);
}

static bool has_room(const state *s, const place *p)
{
	return !s->job->cap || (uint64_t)s->kept[p->worker] + 1 + p->reserve <= s->job->cap[p->worker];
}

/* Whether the next instruction of @kind at place @at has all its inputs made; then *@out says which and when they arrive. */
static bool next_of(const state *s, uint32_t at, enum kind kind, choice *out)
{
	const place *p = &s->places[at];
	uint32_t k = p->done[kind], n = s->first_micro[p->pipe + 1u] - s->first_micro[p->pipe], m;
	double ready = 0;

	if (k >= n)
		return false;
	m = s->micros[s->first_micro[p->pipe] + k];
	if (kind == FORWARD && p->stage > 0) {
		if (p[-1].done[FORWARD] <= k)
			return false;
		ready = arrival(s, FORWARD, p - 1, p, m);
	} else if (kind == BACKWARD) {
		if (p->done[FORWARD] <= k)
			return false;
		ready = *end_of(s, FORWARD, p->stage, m);
		if (p->stage + 1u < s->job->n_stages) {
			if (p[1].done[BACKWARD] <= k)
				return false;
			ready = fmax(ready, arrival(s, BACKWARD, p + 1, p, m));
		}
	} else if (kind == WEIGHTS) {
		if (!s->job->split || p->done[BACKWARD] <= k)
			return false;
		ready = *end_of(s, BACKWARD, p->stage, m);
	}
	*out = (choice){at, kind, m, ready};
	return kind != FORWARD || has_room(s, p);
}

static mr_op op_of(const state *s, enum kind kind)
{
	return kind == FORWARD ? MR_OP_F : kind == WEIGHTS ? MR_OP_W : s->job->split ? MR_OP_I : MR_OP_B;
}

static double cost_of(const state *s, const choice *c)
{
	const mr_stage_cost *cost = &s->job->cost[s->places[c->place].stage];

	return c->kind == FORWARD ? cost->f : c->kind == WEIGHTS ? cost->w : cost->i + (s->job->split ? 0 : cost->w);
}

/* Is @a more urgent than @b? */
static bool before(const state *s, const choice *a, const choice *b)
{
	static const uint8_t turn[N_KINDS] = {[BACKWARD] = 0, [FORWARD] = 1, [WEIGHTS] = 2};
	uint16_t x = s->places[a->place].stage, y = s->places[b->place].stage;

	if (s->job->rank) {
		uint32_t p = s->job->rank[mr_list_rank_at(s->job, op_of(s, a->kind), x, a->micro)];
		uint32_t q = s->job->rank[mr_list_rank_at(s->job, op_of(s, b->kind), y, b->micro)];

		if (p != q)
			return p < q;
	}
	if (a->kind != b->kind)
		return turn[a->kind] < turn[b->kind];
	return a->micro != b->micro ? a->micro < b->micro : x > y;
}

static void look(state *s, uint16_t worker)
{
	double soonest = INFINITY;
	choice c;

	for (uint32_t i = s->first_place[worker]; i < s->first_place[worker + 1u]; i++)
		for (int kind = 0; kind < N_KINDS; kind++)
			if (next_of(s, s->hosted[i], (enum kind)kind, &c))
				soonest = fmin(soonest, c.ready);
	s->next[worker] = fmax(soonest, s->free_at[worker]);
}

/*
 * The most urgent of what @worker can begin at its time. False: it is patient, and *@out is what it waits for.
 */
static bool choose(const state *s, uint16_t worker, choice *out)
{
	double now = s->next[worker] + s->same;
	choice c, coming = {.ready = INFINITY};
	bool any = false;

	for (uint32_t i = s->first_place[worker]; i < s->first_place[worker + 1u]; i++)
		for (int kind = 0; kind < N_KINDS; kind++) {
			if (!next_of(s, s->hosted[i], (enum kind)kind, &c))
				continue;
			if (c.ready > now && c.kind != WEIGHTS && c.ready < coming.ready)
				coming = c;
			if (c.ready > now || (any && !before(s, &c, out)))
				continue;
			*out = c;
			any = true;
		}
	if (!s->job->patient || out->kind != WEIGHTS || coming.ready >= s->next[worker] + cost_of(s, out) - s->same)
		return true;
	*out = coming;
	return false;
}

static void take(state *s, uint16_t worker, const choice *c)
{
	place *p = &s->places[c->place];
	double begin = s->next[worker], end = begin + cost_of(s, c);

	s->order->at[s->order->first[worker] + s->n_steps[worker]++] =
		(mr_list_step){begin, end, c->micro, p->stage, (uint8_t)op_of(s, c->kind), p->pipe};
	p->done[c->kind]++;
	s->free_at[worker] = end;
	if (c->kind != WEIGHTS)
		*end_of(s, c->kind, p->stage, c->micro) = end;
	s->kept[worker] += c->kind == FORWARD;
	s->kept[worker] -= c->kind == (s->job->split ? WEIGHTS : BACKWARD);
	look(s, worker);
	if (c->kind == FORWARD && p->stage + 1u < s->job->n_stages && p[1].worker != worker)
		look(s, p[1].worker);
	if (c->kind == BACKWARD && p->stage > 0 && p[-1].worker != worker)
		look(s, p[-1].worker);
}

/*
 * The worker that can begin soonest goes first: nothing that is begun later can bring anybody an input before that. So each
 * decision sees all that is ready at its time.
 */
static void run(state *s)
{
	for (uint16_t w = 0; w < s->job->n_workers; w++)
		look(s, w);
	for (;;) {
		uint16_t soonest = 0;
		choice c = {0};

		for (uint16_t w = 1; w < s->job->n_workers; w++)
			if (s->next[w] < s->next[soonest])
				soonest = w;
		if (s->next[soonest] == INFINITY)
			break;
		if (choose(s, soonest, &c))
			take(s, soonest, &c);
		else
			s->next[soonest] = c.ready;
	}
	for (uint16_t w = 0; w < s->job->n_workers; w++) /* or somebody was locked up: see the header */
		assert(s->n_steps[w] == s->order->first[w + 1u] - s->order->first[w]);
}

/* --- tables --- */

uint32_t mr_list_job_floor(const mr_list_job *job, uint16_t worker)
{
	uint32_t floor = 0;

	for (uint16_t s = 0; s < job->n_stages; s++) {
		bool hosts = false;

		for (unsigned p = 0; p < job->n_pipes; p++)
			hosts |= job->worker_of[(size_t)p * job->n_stages + s] == worker;
		floor += hosts;
	}
	return floor;
}

static mr_status check(const mr_list_job *job)
{
	if (!job->n_workers || !job->n_stages || !job->n_pipes || !job->n_micro)
		return mr_fail(MR_EINVAL, "a schedule of %u workers, %u stages, %u pipes and %u micro-batches", job->n_workers,
			       job->n_stages, job->n_pipes, job->n_micro);
	for (size_t i = 0; i < (size_t)job->n_pipes * job->n_stages; i++)
		if (job->worker_of[i] >= job->n_workers)
			return mr_fail(MR_EINVAL, "stage %zu of pipe %zu lies on worker %u of %u", i % job->n_stages,
				       i / job->n_stages, job->worker_of[i], job->n_workers);
	for (uint32_t m = 0; job->pipe_of && m < job->n_micro; m++)
		if (job->pipe_of[m] >= job->n_pipes)
			return mr_fail(MR_EINVAL, "micro-batch %u goes through pipe %u of %u", m, job->pipe_of[m], job->n_pipes);
	for (uint16_t s = 0; s < job->n_stages; s++) {
		const mr_stage_cost *c = &job->cost[s];

		if (!(c->f >= 0 && c->i >= 0 && c->w >= 0 && c->c >= 0 && isfinite(c->f + c->i + c->w + c->c)))
			return mr_fail(MR_EINVAL, "costs of stage %u must be finite and not negative", s);
	}
	for (uint16_t w = 0; job->cap && w < job->n_workers; w++)
		if (job->cap[w] < mr_list_job_floor(job, w))
			return mr_fail(MR_ECONFIG, "worker %u needs room for at least %u activations, one of each of its stages, and may keep %u",
				       w, mr_list_job_floor(job, w), job->cap[w]);
	return MR_OK;
}

/* Places by worker, micro-batches by pipe. Tables are zeroed. */
static void fill_tables(state *s)
{
	const mr_list_job *j = s->job;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_places; i++) {
		s->places[i] = (place){.stage = (uint16_t)(i % j->n_stages), .worker = j->worker_of[i],
				       .pipe = (uint8_t)(i / j->n_stages)};
		s->same += i < j->n_stages ? (j->cost[i].f + j->cost[i].i + j->cost[i].w + j->cost[i].c) * SAME : 0;
	}
	for (uint16_t w = 0; w < j->n_workers; w++, s->first_place[w] = n)
		for (uint32_t i = 0; i < s->n_places; i++) /* by stage, so that the reserve counts down */
			if (s->places[i % j->n_pipes * j->n_stages + i / j->n_pipes].worker == w)
				s->hosted[n++] = i % j->n_pipes * j->n_stages + i / j->n_pipes;
	for (uint16_t w = 0; w < j->n_workers; w++)
		for (uint32_t i = s->first_place[w + 1u], later = 0, equal = 0; i > s->first_place[w]; i--) {
			place *p = &s->places[s->hosted[i - 1]];

			if (i < s->first_place[w + 1u] && s->places[s->hosted[i]].stage > p->stage) {
				later += equal > 0;
				equal = 0;
			}
			equal++;
			p->reserve = later;
		}
	n = 0;
	for (uint8_t p = 0; p < j->n_pipes; p++, s->first_micro[p] = n)
		for (uint32_t m = 0; m < j->n_micro; m++)
			if ((j->pipe_of ? j->pipe_of[m] : 0) == p)
				s->micros[n++] = m;
}

static void fini(state *s)
{
	free(s->places);
	free(s->hosted);
	free(s->micros);
	free(s->end[FORWARD]);
	free(s->free_at);
	free(s->n_steps);
}

static mr_status init(state *s)
{
	const mr_list_job *j = s->job;
	size_t d = j->n_workers, cells = (size_t)j->n_stages * j->n_micro;

	s->n_places = (uint32_t)j->n_pipes * j->n_stages;
	s->places = calloc(s->n_places, sizeof(*s->places));
	s->hosted = calloc(s->n_places + 2 * d + 1, sizeof(*s->hosted));
	s->micros = calloc((size_t)j->n_micro + j->n_pipes + 1, sizeof(*s->micros));
	s->end[FORWARD] = malloc(2 * cells * sizeof(*s->end[0]));
	s->free_at = calloc(2 * d, sizeof(*s->free_at));
	s->n_steps = calloc(d, sizeof(*s->n_steps));
	if (!s->places || !s->hosted || !s->micros || !s->end[FORWARD] || !s->free_at || !s->n_steps)
		return mr_fail(MR_ERESOURCE, "no memory to schedule %zu instructions", 3 * cells);
	s->first_place = s->hosted + s->n_places;
	s->kept = s->first_place + d + 1;
	s->first_micro = s->micros + j->n_micro;
	s->end[BACKWARD] = s->end[FORWARD] + cells;
	s->next = s->free_at + d;
	fill_tables(s);
	return MR_OK;
}

/* An empty order with room for all steps of @s. */
static mr_status make_room(state *s)
{
	mr_list_order *o = calloc(1, sizeof(*o));
	size_t n = 0;

	if (!o)
		return mr_fail(MR_ERESOURCE, "no memory for a schedule");
	s->order = o;
	o->n_workers = s->job->n_workers;
	o->first = calloc(o->n_workers + 1u, sizeof(*o->first));
	if (!o->first)
		return mr_fail(MR_ERESOURCE, "no memory for a schedule of %u workers", o->n_workers);
	for (uint16_t w = 0; w < o->n_workers; w++, o->first[w] = n)
		for (uint32_t i = s->first_place[w]; i < s->first_place[w + 1u]; i++) {
			unsigned p = s->places[s->hosted[i]].pipe;

			n += (size_t)(s->first_micro[p + 1] - s->first_micro[p]) * (s->job->split ? 3 : 2);
		}
	o->at = malloc(n * sizeof(*o->at));
	return o->at ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a schedule of %zu instructions", n);
}

static void measure(mr_list_order *o)
{
	double from = INFINITY, to = 0;

	for (uint16_t w = 0; w < o->n_workers; w++) {
		if (o->first[w] == o->first[w + 1u])
			continue;
		from = fmin(from, o->at[o->first[w]].begin);
		to = fmax(to, o->at[o->first[w + 1u] - 1].end);
		o->span = fmax(o->span, o->at[o->first[w + 1u] - 1].end - o->at[o->first[w]].begin);
	}
	o->makespan = to - from;
}

mr_status mr_list_order_create(const mr_list_job *job, mr_list_order **out)
{
	state s = {.job = job};
	mr_status st;

	MR_TRY(check(job));
	st = init(&s);
	if (st == MR_OK)
		st = make_room(&s);
	if (st == MR_OK) {
		run(&s);
		measure(s.order);
		*out = s.order;
	} else {
		mr_list_order_destroy(s.order);
	}
	fini(&s);
	return st;
}

void mr_list_order_destroy(mr_list_order *order)
{
	if (!order)
		return;
	free(order->at);
	free(order->first);
	free(order);
}

mr_status mr_list_order_emit(const mr_list_order *order, mr_plan *plan)
{
	for (uint16_t w = 0; w < order->n_workers; w++)
		for (size_t i = order->first[w]; i < order->first[w + 1u]; i++) {
			const mr_list_step *x = &order->at[i];

			MR_TRY(mr_sched_emit(plan, w, MR_BODY, (mr_op)x->op, x->micro, x->stage, x->pipe));
		}
	return MR_OK;
}
