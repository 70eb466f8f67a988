/*
 * lower_storage.c - the number of activation slots and boundary buffers, and which instruction uses which.
 *
 * A place that one worker alone takes and gives back (a slot; a buffer between two of its own stages) is used for an
 * interval of its list: the fewest places for such intervals are as many as overlap at once, and giving each interval
 * the lowest free place reaches that. With (micro div pipes) mod n in place of stored numbers, n grows until no two
 * overlapping intervals share a place.
 *
 * A boundary between workers has no such order. Its writer fills buffers in the order of its list, and its reader gives
 * them back in the order of its own; first come, first served gives the k-th content the buffer that came back as the
 * (k-n)-th. Both orders are known, so the buffer is written into the list.
 */
#include "lower/lower_internal.h"

#include <stdlib.h>
#include <string.h>

#include "ir/op.h"
#include "ir/stage_ops.h"

/* A kind of place, which one instruction takes and another gives back. */
typedef enum mr_what { SLOT, FORWARD, GRADIENT } mr_what;

typedef struct mr_span {
	const mr_unroll *g;
	mr_what what;
	uint8_t pipe;
	uint16_t maker, user; /* the stage that takes a place, and the stage whose last use gives it back */
	uint32_t *place;      /* [n_micro] place of each micro-batch's content, while it is held and afterwards */
} mr_span;

/* The instructions of two stages of one worker in the order of its list; of one stage, when both are the same. */
typedef struct mr_pair {
	const uint32_t *a, *a_end, *b, *b_end;
} mr_pair;

static size_t cell(const mr_unroll *g, uint16_t stage, uint64_t micro)
{
	return stage * (size_t)g->n_micro + (size_t)micro;
}

static bool takes(const mr_span *s, uint32_t node)
{
	const mr_instr *in = s->g->at[node].in;

	if (in->pipe != s->pipe || in->stage != s->maker)
		return false;
	if (s->what == GRADIENT)
		return in->op == MR_OP_B || in->op == MR_OP_I;
	return in->op == MR_OP_F || (s->what == SLOT && in->op == MR_OP_R);
}

/* The number of micro-batches, from its own on, whose content @node gives back: all of its span, or none. */
static uint32_t gives_back(const mr_span *s, uint32_t node)
{
	const mr_instr *in = s->g->at[node].in;
	bool drops = s->what == SLOT && in->flags & MR_INSTR_DROP;

	if (in->pipe != s->pipe || in->stage != s->user || !mr_op_is_compute(in->op))
		return 0;
	return drops || s->g->release[cell(s->g, s->user, mr_unroll_micro(s->g, node))] == node ? in->span : 0;
}

/* A recomputed micro-batch has two slots, one after the other: each instruction gets the one of its time. */
static void note_slot(const mr_span *s, uint32_t node)
{
	const mr_instr *in = s->g->at[node].in;

	if (s->what == SLOT && mr_op_is_compute(in->op) && in->stage == s->user && in->pipe == s->pipe)
		mr_lower_instr(s->g, node)->slot = (uint16_t)s->place[mr_unroll_micro(s->g, node)];
}

static mr_pair pair(const mr_unroll *g, uint8_t pipe, uint16_t one, uint16_t other)
{
	size_t a = mr_plan_at(g->plan, pipe, one), b = mr_plan_at(g->plan, pipe, other);
	const uint32_t *n = g->place_node, *first = g->place_first;

	return (mr_pair){n + first[a], n + first[a + 1], n + first[b], n + (a == b ? first[b] : first[b + 1])};
}

/* The next node, MR_NO_NODE behind the last. */
static uint32_t next_of(mr_pair *p)
{
	if (p->a == p->a_end && p->b == p->b_end)
		return MR_NO_NODE;
	if (p->b == p->b_end || (p->a < p->a_end && *p->a < *p->b))
		return *p->a++;
	return *p->b++;
}

/* Free places below @n_used as a heap with the lowest on top; those from @n_used on were never taken. */
typedef struct mr_free {
	uint32_t *heap;
	uint8_t *held;
	uint32_t n_heap, n_used;
} mr_free;

static uint32_t take_lowest(mr_free *f)
{
	uint32_t k = f->n_heap ? f->heap[0] : f->n_used++, last, at = 0;

	f->held[k] = 1;
	if (k + 1 == f->n_used && !f->n_heap)
		return k;
	last = f->heap[--f->n_heap];
	for (uint32_t child; (child = 2 * at + 1) < f->n_heap; at = child) {
		child += child + 1 < f->n_heap && f->heap[child + 1] < f->heap[child];
		if (last <= f->heap[child])
			break;
		f->heap[at] = f->heap[child];
	}
	f->heap[at] = last;
	return k;
}

static void set_free(mr_free *f, uint32_t k)
{
	uint32_t at = f->n_heap;

	if (k >= f->n_used || !f->held[k]) /* the checker refuses such an order */
		return;
	f->held[k] = 0;
	f->n_heap++;
	for (; at && f->heap[(at - 1) / 2] > k; at = (at - 1) / 2)
		f->heap[at] = f->heap[(at - 1) / 2];
	f->heap[at] = k;
}

/* Give each content the lowest free place, in list order; *@n gets the number of places needed. */
static mr_status colour(const mr_span *s, uint32_t *n)
{
	const mr_unroll *g = s->g;
	mr_pair p = pair(g, s->pipe, s->maker, s->user);
	size_t room = (size_t)(p.a_end - p.a) + (size_t)(p.b_end - p.b) + 1;
	mr_free f = {.heap = malloc(room * sizeof(*f.heap)), .held = calloc(room, 1)};
	bool ok = f.heap && f.held;

	for (uint32_t i; ok && (i = next_of(&p)) != MR_NO_NODE;) {
		if (takes(s, i))
			s->place[mr_unroll_micro(g, i)] = take_lowest(&f);
		note_slot(s, i);
		for (uint32_t k = gives_back(s, i); k > 0; k--)
			set_free(&f, s->place[mr_unroll_micro(g, i) + k - 1]);
	}
	free(f.heap);
	free(f.held);
	*n = f.n_used;
	return ok ? MR_OK : mr_fail(MR_ERESOURCE, "no memory to place %zu instructions", room);
}

/* Most contents held at once by one list. */
static uint32_t peak(const mr_span *s)
{
	mr_pair p = pair(s->g, s->pipe, s->maker, s->user);
	uint32_t n = 0, most = 0, back;

	for (uint32_t i; (i = next_of(&p)) != MR_NO_NODE;) {
		n += takes(s, i);
		most = n > most ? n : most;
		back = gives_back(s, i);
		n -= back < n ? back : n;
	}
	return most;
}

/* Whether a number from the micro-batch modulo @n never names the place of a content that is still held. @held: [n]. */
static bool fits_modulo(const mr_span *s, uint32_t n, uint8_t *held)
{
	const mr_unroll *g = s->g;
	mr_pair p = pair(g, s->pipe, s->maker, s->user);

	memset(held, 0, n);
	for (uint32_t i; (i = next_of(&p)) != MR_NO_NODE;) {
		if (takes(s, i) && held[mr_unroll_micro(g, i) / g->plan->n_pipes % n]++)
			return false;
		for (uint32_t k = gives_back(s, i); k > 0; k--)
			held[(mr_unroll_micro(g, i) + k - 1) / g->plan->n_pipes % n] = 0;
	}
	return true;
}

static mr_status smallest_modulo(const mr_span *s, uint32_t *n)
{
	uint8_t *held = calloc((size_t)s->g->n_micro + 1, 1);

	*n = peak(s);
	while (held && *n && *n < s->g->n_micro && !fits_modulo(s, *n, held))
		++*n;
	free(held);
	return held ? MR_OK : mr_fail(MR_ERESOURCE, "no memory to place %u instructions", s->g->n_nodes);
}

/* Find the places of @s, both of whose stages are on one worker; for MR_STORED they go into s->place. */
static mr_status find_places(const mr_plan *plan, const mr_span *s, uint16_t *n_out)
{
	uint32_t n;

	MR_TRY(plan->storage == MR_STORED ? colour(s, &n) : smallest_modulo(s, &n));
	if (n > UINT16_MAX)
		return mr_fail(MR_ECONFIG, "stage %u would hold %u micro-batches at once; at most %u can be numbered",
			       s->user, n, UINT16_MAX);
	*n_out = (uint16_t)n;
	return MR_OK;
}

static mr_status place_slots(mr_plan *plan, const mr_unroll *g, uint8_t pipe, uint16_t stage, uint32_t *place)
{
	mr_span s = {g, SLOT, pipe, stage, stage, place};

	return find_places(plan, &s, &plan->n_slots[mr_plan_at(plan, pipe, stage)]);
}

/* Write the places of the contents of one boundary into the instructions that write and read them. */
static void number_both_ends(const mr_unroll *g, const mr_span *s)
{
	mr_pair makers = pair(g, s->pipe, s->maker, s->maker), users = pair(g, s->pipe, s->user, s->user);

	for (uint32_t i; (i = next_of(&makers)) != MR_NO_NODE;)
		if (takes(s, i))
			mr_lower_instr(g, i)->out = (uint16_t)s->place[mr_unroll_micro(g, i)];
	for (uint32_t i; (i = next_of(&users)) != MR_NO_NODE;) {
		uint8_t op = g->at[i].in->op;
		bool reads = s->what == FORWARD ? op == MR_OP_F || op == MR_OP_R
						: op == MR_OP_B || op == MR_OP_I || op == MR_OP_W;

		if (reads)
			mr_lower_instr(g, i)->in = (uint16_t)s->place[mr_unroll_micro(g, i)];
	}
}

static mr_span boundary(const mr_unroll *g, uint8_t pipe, uint16_t stage, bool forward, uint32_t *place)
{
	uint16_t before = (uint16_t)(stage - 1);

	return forward ? (mr_span){g, FORWARD, pipe, before, stage, place}
		       : (mr_span){g, GRADIENT, pipe, stage, before, place};
}

/* The number of buffers that a boundary between workers, @s, begins with: at the reader those in flight, from its own
 * F, or B or I, and one more. Between hosts all that are in flight at the stage before, since a buffer is away for two
 * latencies beyond the time in which it is read. */
static uint32_t start_of(const mr_span *s, uint16_t stage, const uint16_t *host)
{
	mr_span flight = *s, before = {s->g, FORWARD, s->pipe, (uint16_t)(stage - 1), (uint16_t)(stage - 1), NULL};
	const mr_plan *plan = s->g->plan;
	uint32_t n, all;

	flight.maker = s->user;
	n = peak(&flight) + 1;
	if (!host || host[mr_plan_worker(plan, s->pipe, s->maker)] == host[mr_plan_worker(plan, s->pipe, s->user)])
		return n;
	all = peak(&before);
	return n > all ? n : all;
}

static mr_status place_boundary(mr_plan *plan, const mr_unroll *g, uint8_t pipe, uint16_t stage, bool forward,
				const uint16_t *host, uint32_t *place)
{
	mr_span s = boundary(g, pipe, stage, forward, place), flight = s;
	uint16_t *n = forward ? plan->n_fwd : plan->n_bwd;
	size_t at = mr_plan_at(plan, pipe, stage);
	mr_pair users = pair(g, pipe, s.user, s.user);
	uint32_t contents = 0, start;

	if (mr_plan_worker(plan, pipe, s.maker) == mr_plan_worker(plan, pipe, s.user)) {
		MR_TRY(find_places(plan, &s, &n[at]));
		if (plan->storage == MR_STORED)
			number_both_ends(g, &s);
		return MR_OK;
	}
	start = start_of(&s, stage, host);
	flight.maker = s.user;
	for (uint32_t i; (i = next_of(&users)) != MR_NO_NODE;)
		contents += takes(&flight, i);
	start = start > contents ? contents : start; /* none where the pipe has no micro-batch */
	if (start > UINT16_MAX)
		return mr_fail(MR_ECONFIG, "boundary %u would need %u buffers; at most %u can be numbered", stage,
			       start, UINT16_MAX);
	n[at] = (uint16_t)start;
	return MR_OK;
}

/* The buffers that the reader gives back, in its order: @part of the @n micro-batches of the last node are returned. */
typedef struct mr_back {
	mr_pair users;
	uint32_t node, n, part;
} mr_back;

/* The place that the reader gives back next, MR_NO_NODE when there is no more. */
static uint32_t next_released(const mr_span *s, mr_back *b)
{
	while (b->part == b->n) {
		b->node = next_of(&b->users);
		if (b->node == MR_NO_NODE)
			return MR_NO_NODE;
		b->n = gives_back(s, b->node);
		b->part = 0;
	}
	return s->place[mr_unroll_micro(s->g, b->node) + b->part++];
}

mr_status mr_lower_number(mr_plan *plan, const mr_unroll *g, uint8_t pipe, uint16_t stage, bool forward)
{
	mr_span s = boundary(g, pipe, stage, forward, NULL);
	mr_pair makers = pair(g, pipe, s.maker, s.maker);
	mr_back back = {.users = pair(g, pipe, s.user, s.user)};
	uint32_t n = (forward ? plan->n_fwd : plan->n_bwd)[mr_plan_at(plan, pipe, stage)], k = 0;
	mr_status st = MR_OK;

	s.place = malloc((size_t)g->n_micro * sizeof(*s.place) + 1);
	if (!s.place)
		return mr_fail(MR_ERESOURCE, "no memory to number the buffers of boundary %u", stage);
	memset(s.place, 0xff, (size_t)g->n_micro * sizeof(*s.place));
	for (uint32_t i; st == MR_OK && (i = next_of(&makers)) != MR_NO_NODE;) {
		uint32_t place = k;

		if (!takes(&s, i))
			continue;
		if (k >= n)
			place = next_released(&s, &back);
		if (place == MR_NO_NODE) /* the buffer that comes back next holds a content that is not made yet */
			st = mr_fail(MR_ECONFIG, "boundary %u of pipe %u cannot work with %u buffers", stage, pipe, n);
		s.place[mr_unroll_micro(g, i)] = place;
		k++;
	}
	if (st == MR_OK)
		number_both_ends(g, &s);
	free(s.place);
	return st;
}

/* Without a flush iterations overlap, and numbers stored in the body would make each wait for the one before. */
static bool overlaps(const mr_plan *plan)
{
	return plan->contract.flush == MR_FLUSH_NONE && mr_plan_steady(plan) > 0;
}

/* In a repeating plan the R of the last micro-batches lies beyond the unrolled iterations, so an F drops if any of its
 * instances has an R. */
static void mark_drops(const mr_unroll *g)
{
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (g->at[i].in->op == MR_OP_F &&
		    g->recompute[cell(g, g->at[i].in->stage, mr_unroll_micro(g, i))] != MR_NO_NODE)
			mr_lower_instr(g, i)->flags |= MR_INSTR_DROP;
}

static mr_status place_all(mr_plan *plan, const mr_unroll *g, const uint16_t *host, uint32_t *place)
{
	for (unsigned p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 0; s < plan->n_stages; s++) {
			MR_TRY(place_slots(plan, g, (uint8_t)p, s, place));
			if (s > 0)
				MR_TRY(place_boundary(plan, g, (uint8_t)p, s, true, host, place));
			if (mr_stage_hands_back(plan, s))
				MR_TRY(place_boundary(plan, g, (uint8_t)p, s, false, host, place));
		}
	return MR_OK;
}

/*
 * Racing: all micro-batches under way may gather before any one stage, and none may have to wait there. The last stage,
 * where B is ready as soon as its F is done, needs no more.
 */
static void make_room(mr_plan *plan)
{
	uint16_t most = plan->n_slots[0];

	for (uint16_t s = 1; s < plan->n_stages; s++) {
		if (s + 1 < plan->n_stages)
			plan->n_slots[s] = plan->n_slots[s] > most ? plan->n_slots[s] : most;
		plan->n_fwd[s] = plan->n_fwd[s] > most ? plan->n_fwd[s] : most;
	}
}

mr_status mr_lower_storage(mr_plan *plan, const mr_lower_opts *opts)
{
	uint32_t steady = mr_plan_steady(plan), *place;
	mr_unroll *g;
	mr_status st;

	/* A run whose steps update one stage each may stop anywhere in its finite list and resume there: storage
	 * numbers must follow from the micro-batches' numbers. */
	plan->storage = overlaps(plan) || plan->contract.coverage == MR_COVER_BLOCK ? MR_MODULO : MR_STORED;
	MR_TRY(mr_unroll_create(plan, plan->storage == MR_STORED && steady ? 1 : steady, NULL, &g));
	mark_drops(g);
	place = calloc((size_t)g->n_micro + 1, sizeof(*place));
	st = place ? place_all(plan, g, opts->host, place)
		   : mr_fail(MR_ERESOURCE, "no memory to place %u instructions", g->n_nodes);
	free(place);
	mr_unroll_destroy(g);
	if (st == MR_OK && plan->contract.racing)
		make_room(plan);
	plan->lowered = st == MR_OK;
	return st;
}
