#include "timing/stream.h"

#include <stdlib.h>
#include <string.h>

#include "ir/pause.h"
#include "timing/bend.h"

#define WINDOW (1u << 16) /* instructions */

/* Memory of a simulation: of each instruction of its window, with its edges, joins and places in tables (measured: 60
 * to 85, with sharing up to 40 more), and of all else. */
#define INSTRUCTION_BYTES 128u
#define FEW_BYTES ((uint64_t)64 << 10)

/* The position of a worker. */
typedef struct mr_lane_at {
	uint32_t node, end; /* its next instruction in the window, and the first one after its bodies */
	uint32_t *pause;    /* [n_pauses] places in its prologue after which a pause point lies (ir/pause.h) */
	uint32_t n_pauses;
	uint32_t begun, ended; /* with sharing: the first node that has not begun, or not ended; else all have */
} mr_lane_at;

struct mr_walk_stream {
	const mr_plan *plan;
	const mr_cost *cost;
	mr_bend bend;         /* bend.first: the first iteration of the window */
	mr_unroll *g;
	uint32_t reach;       /* iterations that edges reach back, and after which all are alike */
	uint32_t *order, *binding, *rank, *known;
	double *begin, *end;
	uint8_t *cause;
	mr_shared_times *shared; /* NULL: each worker has all to itself */
	mr_lane_at *at;       /* [n_workers] */
	uint16_t *heap;       /* workers that may go on, the one with the earliest instruction on top */
	uint32_t n_heap;
	uint64_t until;       /* the pause point for which the heap was made */
	bool spent;           /* a worker has reached the end of the window, or of the times that are known */
};

/* --- the heap --- */

static bool before(const mr_walk_stream *s, uint16_t a, uint16_t b)
{
	uint32_t x = s->at[a].node, y = s->at[b].node;

	return s->begin[x] < s->begin[y] || (s->begin[x] == s->begin[y] && s->rank[x] < s->rank[y]);
}

static void sift_down(mr_walk_stream *s, uint32_t i)
{
	for (uint32_t child; (child = 2 * i + 1) < s->n_heap; i = child) {
		uint16_t w = s->heap[i];

		if (child + 1 < s->n_heap && before(s, s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s, s->heap[child], w))
			return;
		s->heap[i] = s->heap[child];
		s->heap[child] = w;
	}
}

static uint32_t prologue_of(const mr_walk_stream *s, uint16_t w)
{
	return mr_plan_list(s->plan, w, MR_PROLOGUE)->n;
}

static uint32_t body_of(const mr_walk_stream *s, uint16_t w)
{
	return mr_plan_list(s->plan, w, MR_BODY)->n;
}

/* The iteration of the window in which worker @w is; its prologue counts as the first. */
static uint32_t iteration_of(const mr_walk_stream *s, uint16_t w)
{
	uint32_t done = s->at[w].node - s->g->first[w], prologue = prologue_of(s, w), body = body_of(s, w);

	return done < prologue || !body ? 0 : (done - prologue) / body;
}

/* Number of pause points before the next instruction of worker @w. */
static uint64_t step_of(const mr_walk_stream *s, uint16_t w)
{
	const mr_lane_at *a = &s->at[w];
	uint32_t done = a->node - s->g->first[w], n = 0;

	if (done >= prologue_of(s, w))
		return a->n_pauses + s->bend.first + iteration_of(s, w);
	while (n < a->n_pauses && a->pause[n] <= done)
		n++;
	return n;
}

/* May worker @w go on before s->until? */
static bool may_go(const mr_walk_stream *s, uint16_t w)
{
	return s->at[w].node < s->at[w].end && s->at[w].node < s->at[w].begun && step_of(s, w) < s->until;
}

static void make_heap(mr_walk_stream *s)
{
	s->n_heap = 0;
	for (uint16_t w = 0; w < s->plan->n_workers; w++)
		if (may_go(s, w))
			s->heap[s->n_heap++] = w;
	for (uint32_t i = s->n_heap / 2; i-- > 0;)
		sift_down(s, i);
}

/* --- the window --- */

/* Times of all instructions that end before any of the last iterations: what waits for them is in the window. */
static mr_status play(mr_walk_stream *s)
{
	MR_TRY(mr_shared_times_play(s->shared, s->reach ? s->g->n_bodies - s->reach : UINT32_MAX));
	for (uint16_t w = 0; w < s->plan->n_workers; w++) {
		uint32_t known = s->at[w].begun;

		s->at[w].begun = mr_shared_times_begun(s->shared, w);
		s->at[w].ended = mr_shared_times_ended(s->shared, w);
		for (uint32_t i = known; i < s->at[w].begun; i++)
			s->cause[i] = mr_unroll_cause(s->g, i, s->binding[i]);
	}
	return MR_OK;
}

static mr_status compute(mr_walk_stream *s)
{
	const mr_unroll *g = s->g;

	if (s->shared)
		return play(s);
	mr_unroll_times(g, s->cost, &s->bend.hooks, s->order, s->begin, s->end, s->binding);
	for (uint16_t w = 0; w < s->plan->n_workers; w++)
		for (uint32_t i = s->bend.hooks.known ? s->known[w] : g->first[w]; i < g->first[w + 1]; i++)
			s->cause[i] = mr_unroll_cause(g, i, s->binding[i]);
	return MR_OK;
}

/* Move the window forward by @by iterations. Instructions that stay in it keep their times; the prologue is long past.
 */
static mr_status move(mr_walk_stream *s, uint32_t by)
{
	for (uint16_t w = 0; w < s->plan->n_workers; w++) {
		uint32_t body = body_of(s, w), from = s->g->first[w] + prologue_of(s, w), shift = by * body;
		uint32_t kept = (s->g->n_bodies - by) * body;

		memmove(s->begin + from, s->begin + from + shift, kept * sizeof(*s->begin));
		memmove(s->end + from, s->end + from + shift, kept * sizeof(*s->end));
		memmove(s->cause + from, s->cause + from + shift, kept * sizeof(*s->cause));
		s->known[w] = from + kept;
		s->at[w].node -= shift;
		s->at[w].begun -= s->shared ? shift : 0;
	}
	if (s->shared)
		mr_shared_times_move(s->shared, by);
	s->bend.first += by;
	s->bend.hooks.known = s->known;
	return compute(s);
}

/* Move as far as the slowest worker allows, so that the iterations to which edges reach back stay, and iterations that
 * are alike are left; with sharing its own iteration is then one of those that are alike. */
static mr_status move_on(mr_walk_stream *s)
{
	uint32_t by = s->g->n_bodies - 2 * s->reach, spare = s->shared ? s->reach : 0;

	for (uint16_t w = 0; w < s->plan->n_workers; w++) {
		uint32_t at = iteration_of(s, w);

		if (body_of(s, w) && at < by + spare)
			by = at > spare ? at - spare : 0;
	}
	if (!by)
		return mr_fail(MR_EINVAL, "a worker is %u iterations ahead of another", s->g->n_bodies);
	MR_TRY(move(s, by));
	make_heap(s);
	s->spent = false;
	return MR_OK;
}

/* With sharing: has the next instruction before s->until no times yet? */
static bool is_unknown(const mr_walk_stream *s)
{
	if (s->n_heap)
		return s->at[s->heap[0]].node >= s->at[s->heap[0]].ended;
	for (uint16_t w = 0; w < s->plan->n_workers; w++)
		if (s->at[w].node < s->at[w].end && step_of(s, w) < s->until)
			return true;
	return false;
}

/* Is a worker at the window's end, and not at the end of the plan? */
static bool is_spent(const mr_walk_stream *s)
{
	if (s->shared)
		return is_unknown(s);
	for (uint16_t w = 0; w < s->plan->n_workers; w++)
		if (body_of(s, w) && s->at[w].node >= s->at[w].end &&
		    s->at[w].n_pauses + s->bend.first + s->g->n_bodies < s->until)
			return true;
	return false;
}

/* --- building --- */

/* How many iterations back the sources of a body's instructions lie at most: by micro-batch, buffer and version. */
static uint32_t reach_of(const mr_plan *p)
{
	uint64_t room = 0, oldest = 0;

	for (size_t i = 0; i < (size_t)p->n_pipes * p->n_stages; i++) {
		room = p->n_fwd[i] > room ? p->n_fwd[i] : room;
		room = p->n_bwd[i] > room ? p->n_bwd[i] : room;
	}
	for (uint16_t w = 0; w < p->n_workers; w++) {
		const mr_list *l = mr_plan_list(p, w, MR_BODY);

		for (uint32_t i = 0; i < l->n; i++)
			if (l->at[i].read < 0 && (uint64_t)-(int64_t)l->at[i].read > oldest)
				oldest = (uint64_t)-(int64_t)l->at[i].read;
	}
	return (uint32_t)(mr_plan_steady(p) + room / p->n_micro + oldest / (p->commits ? p->commits : 1) + 2);
}

static mr_status find_pauses(mr_walk_stream *s)
{
	for (uint16_t w = 0; w < s->plan->n_workers; w++) {
		mr_lane_at *a = &s->at[w];

		a->n_pauses = mr_pauses_of(s->plan, w, NULL, 0);
		a->pause = malloc((a->n_pauses + 1u) * sizeof(*a->pause));
		if (!a->pause)
			return mr_fail(MR_ERESOURCE, "no memory for %u pause points", a->n_pauses);
		mr_pauses_of(s->plan, w, a->pause, a->n_pauses);
	}
	return MR_OK;
}

/* Iterations of a window of @window instructions or more, 0: of the usual number; a finite plan is one window of
 * none. */
static uint32_t window_of(const mr_plan *p, uint32_t window, uint32_t reach)
{
	uint64_t body = mr_plan_length(p, MR_BODY), n = body ? (window ? window : WINDOW) / body : 0;

	return !body ? 0 : n > 6 * reach ? (uint32_t)n : 6 * reach;
}

uint64_t mr_walk_stream_bytes(const mr_plan *p)
{
	uint64_t n = mr_plan_length(p, MR_PROLOGUE) + mr_plan_length(p, MR_EPILOGUE);

	if (p->n_micro)
		n += window_of(p, 0, reach_of(p)) * mr_plan_length(p, MR_BODY);
	return n * INSTRUCTION_BYTES + FEW_BYTES;
}

static mr_status build(mr_walk_stream *s, uint32_t window)
{
	uint32_t n;

	if (!s->plan->lowered || !s->plan->n_micro)
		return mr_fail(MR_EINVAL, "only a lowered plan can be simulated event by event");
	s->reach = mr_plan_length(s->plan, MR_BODY) ? reach_of(s->plan) : 0;
	n = window_of(s->plan, window, s->reach);
	MR_TRY(mr_unroll_create(s->plan, n, &(mr_unroll_opts){.no_storage = s->bend.p->unlimited}, &s->g));
	s->order = malloc(3 * (size_t)s->g->n_all * sizeof(*s->order));
	s->begin = malloc(2 * (size_t)s->g->n_all * sizeof(*s->begin));
	s->cause = malloc(s->g->n_all);
	s->known = calloc(s->plan->n_workers, sizeof(*s->known));
	s->at = calloc(s->plan->n_workers, sizeof(*s->at));
	s->heap = calloc(s->plan->n_workers, sizeof(*s->heap));
	if (!s->order || !s->begin || !s->cause || !s->known || !s->at || !s->heap)
		return mr_fail(MR_ERESOURCE, "no memory to simulate %u instructions", s->g->n_all);
	MR_TRY(find_pauses(s));
	s->binding = s->order + s->g->n_all;
	s->rank = s->binding + s->g->n_all;
	s->end = s->begin + s->g->n_all;
	if (s->bend.p->sharing && (s->bend.p->sharing->hosts || mr_sharing_has_bytes(s->bend.p->sharing)))
		MR_TRY(mr_shared_times_create(
			&(mr_shared_times_of){s->g, s->cost, &s->bend.hooks, s->bend.p->sharing}, s->begin, s->end,
			s->binding, &s->shared));
	return mr_unroll_order(s->g, s->order);
}

mr_status mr_walk_stream_create(const mr_plan *plan, const mr_cost *cost, const mr_walk_opts *params,
			       mr_walk_stream **out)
{
	mr_walk_stream *s = calloc(1, sizeof(*s));
	mr_status st;

	*out = NULL;
	if (!s)
		return mr_fail(MR_ERESOURCE, "no memory to simulate");
	s->plan = plan;
	s->cost = cost;
	st = mr_bend_init(&s->bend, plan, cost, params);
	if (st == MR_OK)
		st = build(s, params->window);
	if (st != MR_OK) {
		mr_walk_stream_destroy(s);
		return st;
	}
	for (uint32_t i = 0; i < s->g->n_all; i++)
		s->rank[s->order[i]] = i;
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		s->at[w].node = s->g->first[w];
		s->at[w].end = s->g->first[w + 1] - mr_plan_list(plan, w, MR_EPILOGUE)->n;
		s->at[w].begun = s->at[w].ended = s->shared ? s->at[w].node : s->at[w].end;
	}
	st = compute(s);
	if (st != MR_OK) {
		mr_walk_stream_destroy(s);
		return st;
	}
	*out = s;
	return MR_OK;
}

void mr_walk_stream_destroy(mr_walk_stream *s)
{
	if (!s)
		return;
	for (uint16_t w = 0; s->at && w < s->plan->n_workers; w++)
		free(s->at[w].pause);
	mr_shared_times_destroy(s->shared);
	mr_bend_fini(&s->bend);
	mr_unroll_destroy(s->g);
	free(s->order);
	free(s->begin);
	free(s->cause);
	free(s->known);
	free(s->at);
	free(s->heap);
	free(s);
}

mr_status mr_walk_stream_next(mr_walk_stream *s, uint64_t until, mr_walk_event *out, bool *more)
{
	const mr_unroll_node *node;
	uint16_t w;

	if (until != s->until) {
		s->until = until;
		make_heap(s);
	}
	while ((s->spent || s->shared) && is_spent(s))
		MR_TRY(move_on(s));
	*more = s->n_heap > 0;
	if (!*more)
		return MR_OK;
	w = s->heap[0];
	node = &s->g->at[s->at[w].node];
	*out = (mr_walk_event){
		.in = node->in,
		.n = node->n + (s->at[w].node - s->g->first[w] < prologue_of(s, w) ? 0 : s->bend.first),
		.worker = w,
		.cause = s->cause[s->at[w].node],
		.begin = s->begin[s->at[w].node],
		.end = s->end[s->at[w].node],
	};
	s->spent |= ++s->at[w].node == s->at[w].end;
	if (!may_go(s, w))
		s->heap[0] = s->heap[--s->n_heap];
	sift_down(s, 0);
	return MR_OK;
}
