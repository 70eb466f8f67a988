#include "schedules/common/list_schedule.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "ir/sched.h"

/* Times this close (relative to the sum of all costs of a micro-batch) are equal: sums of doubles in another order. */
#define SAME 1e-9

enum kind { FORWARD, BACKWARD, WEIGHTS, N_KINDS };

/* The next instruction of one kind at one place. */
typedef struct choice {
	double ready;  /* when its inputs have arrived; INFINITY: one is not made yet, or nothing is left to do */
	uint64_t turn; /* the default order: the lowest goes first ... */
	uint32_t rank; /* ... unless ranks differ */
	uint32_t micro;
} choice;

/* One stage of one pipe; a worker's places lie together, by stage. */
typedef struct place {
	uint16_t stage, worker;
	uint8_t pipe;
	uint32_t reserve;         /* activations of later stages that an F must leave room for */
	uint32_t before, after;   /* places of the neighbouring stages of the pipe; NOWHERE at its ends */
	uint32_t done[N_KINDS];   /* how many of the pipe's micro-batches */
	choice next[N_KINDS];
} place;

#define NOWHERE UINT32_MAX

typedef struct state {
	const mr_list_job *job;
	double same;
	place *places;         /* [P * S] */
	uint32_t n_places;
	uint32_t *first_place; /* [D + 1] where a worker's places begin */
	uint32_t *micros;      /* micro-batches pipe after pipe, ... */
	uint32_t *first_micro; /* [P + 1] ... from here */
	double *end[2];        /* [S][T] of F, and of B or I */
	double *free_at;       /* [D] */
	double *next;          /* [n_leaves] when the worker's next instruction can begin as far as is known; INFINITY:
	                          none is */
	uint16_t *soonest;     /* [2 n_leaves] a tournament: node i has the better of 2i and 2i + 1, worker w is leaf
	                          n_leaves + w */
	uint32_t n_leaves;     /* a power of two, at least D */
	uint32_t *kept;        /* [D] activations */
	mr_list_order *order;
	size_t *n_steps;       /* [D] */
} state;

/* --- begin times --- */

static double *end_of(const state *s, enum kind kind, uint16_t stage, uint32_t micro)
{
	return &s->end[kind][(size_t)stage * s->job->n_micro + micro];
}

/* Arrival at @to of the output of @kind of place @from for the @k-th micro-batch @m; INFINITY while it is not made. */
static double arrival(const state *s, enum kind kind, uint32_t from, const place *to, uint32_t k, uint32_t m)
{
	const place *p = &s->places[from];

	if (p->done[kind] <= k)
		return INFINITY;
	return *end_of(s, kind, p->stage, m) +
	       (p->worker != to->worker ? mr_cost_handover(&s->job->cost[p->stage], kind != FORWARD) : 0);
}

static mr_op op_of(const state *s, enum kind kind)
{
	return kind == FORWARD ? MR_OP_F : kind == WEIGHTS ? MR_OP_W : s->job->split ? MR_OP_I : MR_OP_B;
}

static double cost_of(const state *s, uint16_t stage, enum kind kind)
{
	const mr_stage_cost *cost = &s->job->cost[stage];

	return kind == FORWARD ? cost->f : kind == WEIGHTS ? cost->w : cost->i + (s->job->split ? 0 : cost->w);
}

/* Update the next instruction of @kind at place @at, and the time at which it can begin. */
static void refresh(state *s, uint32_t at, enum kind kind)
{
	static const uint64_t turn[N_KINDS] = {[BACKWARD] = 0, [FORWARD] = 1, [WEIGHTS] = 2};
	place *p = &s->places[at];
	uint32_t k = p->done[kind], n = s->first_micro[p->pipe + 1u] - s->first_micro[p->pipe], m;
	double ready = 0;

	p->next[kind].ready = INFINITY;
	if (k >= n || (kind == WEIGHTS && !s->job->split))
		return;
	m = s->micros[s->first_micro[p->pipe] + k];
	if (kind == FORWARD && p->before != NOWHERE)
		ready = arrival(s, FORWARD, p->before, p, k, m);
	else if (kind == BACKWARD)
		ready = fmax(arrival(s, FORWARD, at, p, k, m),
			     p->after != NOWHERE ? arrival(s, BACKWARD, p->after, p, k, m) : 0);
	else if (kind == WEIGHTS)
		ready = arrival(s, BACKWARD, at, p, k, m);
	p->next[kind] = (choice){
		.ready = ready,
		.turn = turn[kind] << 48 | (uint64_t)m << 16 | (uint64_t)(s->job->n_stages - 1u - p->stage),
		.rank = s->job->rank ? s->job->rank[mr_list_rank_at(s->job, op_of(s, kind), p->stage, m)] : 0,
		.micro = m,
	};
}

/* Whether a worker that keeps @kept of at most @cap activations may begin @kind at @p. */
static bool has_room(const place *p, enum kind kind, uint64_t kept, uint64_t cap)
{
	return kind != FORWARD || kept + 1 + p->reserve <= cap;
}

static uint64_t cap_of(const state *s, uint16_t worker)
{
	return s->job->cap ? s->job->cap[worker] : UINT64_MAX;
}

/* Of equals the lower worker wins. */
static void set_next(state *s, uint16_t worker, double next)
{
	s->next[worker] = next;
	for (uint32_t i = (s->n_leaves + worker) / 2; i > 0; i /= 2) {
		uint16_t a = s->soonest[2 * i], b = s->soonest[2 * i + 1];

		s->soonest[i] = s->next[b] < s->next[a] ? b : a;
	}
}

/* Update the time at which @worker can begin its next instruction. */
static void look(state *s, uint16_t worker)
{
	uint64_t cap = cap_of(s, worker), kept = s->kept[worker];
	double soonest = INFINITY;

	for (uint32_t i = s->first_place[worker]; i < s->first_place[worker + 1u]; i++)
		for (int kind = 0; kind < N_KINDS; kind++) {
			const place *p = &s->places[i];

			if (p->next[kind].ready < soonest && has_room(p, (enum kind)kind, kept, cap))
				soonest = p->next[kind].ready;
		}
	set_next(s, worker, soonest > s->free_at[worker] ? soonest : s->free_at[worker]);
}

/* The most urgent instruction that @worker can begin at its time; false if it is patient and waits for another one. */
static bool choose(const state *s, uint16_t worker, uint32_t *place_at, enum kind *chosen, double *wait)
{
	uint64_t cap = cap_of(s, worker), kept = s->kept[worker];
	double now = s->next[worker] + s->same, coming = INFINITY;
	const choice *best = NULL;

	for (uint32_t i = s->first_place[worker]; i < s->first_place[worker + 1u]; i++)
		for (int kind = 0; kind < N_KINDS; kind++) {
			const place *p = &s->places[i];
			const choice *c = &p->next[kind];

			if (c->ready == INFINITY || !has_room(p, (enum kind)kind, kept, cap))
				continue;
			if (c->ready > now) {
				coming = kind != WEIGHTS && c->ready < coming ? c->ready : coming;
				continue;
			}
			if (best && (c->rank != best->rank ? c->rank > best->rank : c->turn > best->turn))
				continue;
			best = c;
			*place_at = i;
			*chosen = (enum kind)kind;
		}
	*wait = coming;
	return !s->job->patient || *chosen != WEIGHTS ||
	       coming >= s->next[worker] + cost_of(s, s->places[*place_at].stage, WEIGHTS) - s->same;
}

static void take(state *s, uint16_t worker, uint32_t at, enum kind kind)
{
	place *p = &s->places[at];
	uint32_t micro = p->next[kind].micro, other = kind == FORWARD    ? p->after
						      : kind == BACKWARD ? p->before
									 : NOWHERE;
	double begin = s->next[worker], end = begin + cost_of(s, p->stage, kind);

	s->order->at[s->order->first[worker] + s->n_steps[worker]++] =
		(mr_list_step){begin, end, micro, p->stage, (uint8_t)op_of(s, kind), p->pipe};
	p->done[kind]++;
	s->free_at[worker] = end;
	if (kind != WEIGHTS)
		*end_of(s, kind, p->stage, micro) = end;
	s->kept[worker] += kind == FORWARD;
	s->kept[worker] -= kind == (s->job->split ? WEIGHTS : BACKWARD);
	refresh(s, at, kind);
	if (kind != WEIGHTS) /* B waits for F, and W for I, of its own place */
		refresh(s, at, kind == FORWARD ? BACKWARD : WEIGHTS);
	if (other != NOWHERE) {
		refresh(s, other, kind);
		if (s->places[other].worker != worker)
			look(s, s->places[other].worker);
	}
	look(s, worker);
}

/*
 * The worker that can begin soonest goes first: nothing that is begun later can bring a worker an input before that. So
 * each decision sees all that is ready at its time.
 */
static void run(state *s)
{
	for (uint32_t i = 0; i < s->n_places; i++)
		for (int kind = 0; kind < N_KINDS; kind++)
			refresh(s, i, (enum kind)kind);
	for (uint16_t w = 0; w < s->job->n_workers; w++)
		look(s, w);
	for (;;) {
		enum kind kind = FORWARD;
		uint16_t soonest = s->soonest[1];
		uint32_t at = 0;
		double wait;

		if (s->next[soonest] == INFINITY)
			break;
		if (choose(s, soonest, &at, &kind, &wait))
			take(s, soonest, at, kind);
		else
			set_next(s, soonest, wait);
	}
	for (uint16_t w = 0; w < s->job->n_workers; w++) /* or a worker is blocked for good: see the header */
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
		return mr_fail(MR_EINVAL, "a schedule of %u workers, %u stages, %u pipes and %u micro-batches",
			       job->n_workers, job->n_stages, job->n_pipes, job->n_micro);
	for (size_t i = 0; i < (size_t)job->n_pipes * job->n_stages; i++)
		if (job->worker_of[i] >= job->n_workers)
			return mr_fail(MR_EINVAL, "stage %zu of pipe %zu lies on worker %u of %u", i % job->n_stages,
				       i / job->n_stages, job->worker_of[i], job->n_workers);
	for (uint32_t m = 0; job->pipe_of && m < job->n_micro; m++)
		if (job->pipe_of[m] >= job->n_pipes)
			return mr_fail(MR_EINVAL, "micro-batch %u goes through pipe %u of %u", m, job->pipe_of[m],
				       job->n_pipes);
	for (uint16_t s = 0; s < job->n_stages; s++) {
		const mr_stage_cost *c = &job->cost[s];

		if (!(c->f >= 0 && c->i >= 0 && c->w >= 0 && c->c >= 0 && c->o >= 0 && c->b >= 0 &&
		      isfinite(c->f + c->i + c->w + c->c + c->o + c->b)))
			return mr_fail(MR_EINVAL, "costs of stage %u must be finite and not negative", s);
	}
	for (uint16_t w = 0; job->cap && w < job->n_workers; w++)
		if (job->cap[w] < mr_list_job_floor(job, w))
			return mr_fail(MR_ECONFIG,
				       "worker %u needs room for at least %u activations, one of each of its stages, "
				       "and may keep %u",
				       w, mr_list_job_floor(job, w), job->cap[w]);
	return MR_OK;
}

/* Places by worker and stage, micro-batches by pipe. Tables are zeroed; @at: [P][S], for where places have gone. */
static void fill_tables(state *s, uint32_t *at)
{
	const mr_list_job *j = s->job;
	uint32_t n = 0;

	for (uint16_t w = 0; w < j->n_workers; w++, s->first_place[w] = n)
		for (uint16_t stage = 0; stage < j->n_stages; stage++)
			for (unsigned p = 0; p < j->n_pipes; p++)
				if (j->worker_of[(size_t)p * j->n_stages + stage] == w) {
					at[(size_t)p * j->n_stages + stage] = n;
					s->places[n++] = (place){.stage = stage, .worker = w, .pipe = (uint8_t)p};
				}
	for (uint32_t i = 0; i < s->n_places; i++) {
		place *p = &s->places[i];
		size_t own = (size_t)p->pipe * j->n_stages + p->stage;

		p->before = p->stage > 0 ? at[own - 1] : NOWHERE;
		p->after = p->stage + 1u < j->n_stages ? at[own + 1] : NOWHERE;
	}
	for (uint16_t w = 0; w < j->n_workers; w++)
		for (uint32_t i = s->first_place[w + 1u]; i-- > s->first_place[w];) {
			place *p = &s->places[i];

			if (i + 1 < s->first_place[w + 1u])
				p->reserve = p[1].reserve + (p[1].stage > p->stage);
		}
	for (uint16_t stage = 0; stage < j->n_stages; stage++)
		s->same += (j->cost[stage].f + j->cost[stage].i + j->cost[stage].w + j->cost[stage].c) * SAME;
	n = 0;
	for (uint8_t p = 0; p < j->n_pipes; p++, s->first_micro[p] = n)
		for (uint32_t m = 0; m < j->n_micro; m++)
			if ((j->pipe_of ? j->pipe_of[m] : 0) == p)
				s->micros[n++] = m;
}

static void fini(state *s)
{
	free(s->places);
	free(s->first_place);
	free(s->micros);
	free(s->end[FORWARD]);
	free(s->free_at);
	free(s->soonest);
	free(s->n_steps);
}

static mr_status init(state *s)
{
	const mr_list_job *j = s->job;
	size_t d = j->n_workers, cells = (size_t)j->n_stages * j->n_micro;
	uint32_t *at;

	for (s->n_leaves = 1; s->n_leaves < d;)
		s->n_leaves *= 2;
	s->n_places = (uint32_t)j->n_pipes * j->n_stages;
	s->places = calloc(s->n_places, sizeof(*s->places));
	s->first_place = calloc(2 * d + 1, sizeof(*s->first_place));
	s->micros = calloc((size_t)j->n_micro + j->n_pipes + 1, sizeof(*s->micros));
	s->end[FORWARD] = malloc(2 * cells * sizeof(*s->end[0]));
	s->free_at = calloc(d + s->n_leaves, sizeof(*s->free_at));
	s->soonest = calloc(2 * (size_t)s->n_leaves, sizeof(*s->soonest));
	s->n_steps = calloc(d, sizeof(*s->n_steps));
	at = malloc(s->n_places * sizeof(*at));
	if (!s->places || !s->first_place || !s->micros || !s->end[FORWARD] || !s->free_at || !s->soonest ||
	    !s->n_steps || !at) {
		free(at);
		return mr_fail(MR_ERESOURCE, "no memory to schedule %zu instructions", 3 * cells);
	}
	s->kept = s->first_place + d + 1;
	s->first_micro = s->micros + j->n_micro;
	s->end[BACKWARD] = s->end[FORWARD] + cells;
	s->next = s->free_at + d;
	for (uint32_t i = 0; i < s->n_leaves; i++) {
		s->next[i] = INFINITY;
		s->soonest[s->n_leaves + i] = (uint16_t)i;
	}
	for (uint32_t i = s->n_leaves - 1; i > 0; i--)
		s->soonest[i] = s->soonest[2 * i];
	fill_tables(s, at);
	free(at);
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
			unsigned p = s->places[i].pipe;

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
