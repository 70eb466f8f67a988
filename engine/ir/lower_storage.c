/*
 * lower_storage.c - activation slots and boundary buffers: how many, and which instruction uses which.
 *
 * What one worker alone takes and gives back (slots; boundaries between two of its own stages) is an interval in its
 * list: the fewest places for such intervals are as many as overlap at once, and giving each interval the lowest free
 * place reaches that. With (micro div pipes) mod n in place of stored numbers, n grows until no two overlapping intervals meet.
 *
 * A boundary between workers has no such order. Its writer fills buffers in the order of its list, its reader gives
 * them back in the order of its own; on first come, first served the k-th content gets the buffer that came back as the
 * (k-n)-th. Both orders are known, so that is written down.
 */
#include "ir/lower_parts.h"

#include <stdlib.h>
#include <string.h>

#include "ir/op.h"

/* What is taken by one instruction and given back by another. */
typedef enum mr_what { SLOT, FORWARD, GRADIENT } mr_what;

typedef struct mr_span {
	const mr_unroll *g;
	mr_what what;
	uint8_t pipe;
	uint16_t maker, user; /* stages: who takes it, whose last use gives it back */
	uint32_t *place;      /* [n_micro] of the content of each micro-batch, while it is held and after */
} mr_span;

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

/* Of how many micro-batches, from its own on, @node gives back the content: of all its span, or of none. */
static uint32_t gives_back(const mr_span *s, uint32_t node)
{
	const mr_instr *in = s->g->at[node].in;
	bool drops = s->what == SLOT && in->flags & MR_INSTR_DROP;

	if (in->pipe != s->pipe || in->stage != s->user || !mr_op_is_compute(in->op))
		return 0;
	return drops || s->g->release[cell(s->g, s->user, mr_unroll_micro(s->g, node))] == node ? in->span : 0;
}

/* A micro-batch that is recomputed has two slots, one after the other: each instruction gets that of its time. */
static void note_slot(const mr_span *s, uint32_t node)
{
	const mr_instr *in = s->g->at[node].in;

	if (s->what == SLOT && mr_op_is_compute(in->op) && in->stage == s->user && in->pipe == s->pipe)
		mr_lower_instr(s->g, node)->slot = (uint16_t)s->place[mr_unroll_micro(s->g, node)];
}

/* Lowest free place to each content in list order; returns how many were needed, 0 without memory. */
static uint32_t colour(const mr_span *s, uint16_t w)
{
	const mr_unroll *g = s->g;
	uint8_t *held = calloc((size_t)g->n_micro + 1, 1);
	uint32_t n = 0;

	for (uint32_t i = g->first[w]; held && i < g->first[w + 1]; i++) {
		if (takes(s, i)) {
			uint32_t k = 0;

			while (held[k])
				k++;
			held[k] = 1;
			s->place[mr_unroll_micro(g, i)] = k;
			n = k + 1 > n ? k + 1 : n;
		}
		note_slot(s, i);
		for (uint32_t k = gives_back(s, i); k > 0; k--)
			held[s->place[mr_unroll_micro(g, i) + k - 1]] = 0;
	}
	free(held);
	return n;
}

/* Most contents held at once by the list of @w. */
static uint32_t peak(const mr_span *s, uint16_t w)
{
	uint32_t n = 0, most = 0, back;

	for (uint32_t i = s->g->first[w]; i < s->g->first[w + 1]; i++) {
		n += takes(s, i);
		most = n > most ? n : most;
		back = gives_back(s, i);
		n -= back < n ? back : n;
	}
	return most;
}

/* Whether numbers from the micro-batch, modulo @n, never meet a content that is still held. @held: [n]. */
static bool fits_modulo(const mr_span *s, uint16_t w, uint32_t n, uint8_t *held)
{
	const mr_unroll *g = s->g;

	memset(held, 0, n);
	for (uint32_t i = g->first[w]; i < g->first[w + 1]; i++) {
		if (takes(s, i) && held[mr_unroll_micro(g, i) / g->plan->n_pipes % n]++)
			return false;
		for (uint32_t k = gives_back(s, i); k > 0; k--)
			held[(mr_unroll_micro(g, i) + k - 1) / g->plan->n_pipes % n] = 0;
	}
	return true;
}

static uint32_t smallest_modulo(const mr_span *s, uint16_t w)
{
	uint8_t *held = calloc((size_t)s->g->n_micro + 1, 1);
	uint32_t n = peak(s, w);

	while (held && n && n < s->g->n_micro && !fits_modulo(s, w, n, held))
		n++;
	free(held);
	return held ? n : 0;
}

/* Find the places of @s on worker @w; for MR_STORED s->place says which. */
static mr_status find_places(const mr_plan *plan, const mr_span *s, uint16_t w, uint16_t *n_out)
{
	uint32_t n;

	if (plan->storage == MR_STORED)
		n = colour(s, w);
	else
		n = smallest_modulo(s, w);
	if (n > UINT16_MAX)
		return mr_fail(MR_ECONFIG, "stage %u would hold %u micro-batches at once; at most %u can be numbered",
			       s->user, n, UINT16_MAX);
	*n_out = (uint16_t)n;
	return MR_OK;
}

static mr_status place_slots(mr_plan *plan, const mr_unroll *g, uint8_t pipe, uint16_t stage, uint32_t *place)
{
	mr_span s = {g, SLOT, pipe, stage, stage, place};

	return find_places(plan, &s, mr_plan_worker(plan, pipe, stage), &plan->n_slots[mr_plan_at(plan, pipe, stage)]);
}

/* Write the places of the contents of one boundary into the instructions that write and read them. */
static void number_both_ends(const mr_unroll *g, const mr_span *s)
{
	uint16_t maker = mr_plan_worker(g->plan, s->pipe, s->maker), user = mr_plan_worker(g->plan, s->pipe, s->user);

	for (uint32_t i = g->first[maker]; i < g->first[maker + 1]; i++)
		if (takes(s, i))
			mr_lower_instr(g, i)->out = (uint16_t)s->place[mr_unroll_micro(g, i)];
	for (uint32_t i = g->first[user]; i < g->first[user + 1]; i++) {
		const mr_instr *in = g->at[i].in;
		bool reads = s->what == FORWARD ? in->op == MR_OP_F || in->op == MR_OP_R
						: in->op == MR_OP_B || in->op == MR_OP_I || in->op == MR_OP_W;

		if (reads && in->stage == s->user && in->pipe == s->pipe)
			mr_lower_instr(g, i)->in = (uint16_t)s->place[mr_unroll_micro(g, i)];
	}
}

static mr_span boundary(const mr_unroll *g, uint8_t pipe, uint16_t stage, bool forward, uint32_t *place)
{
	uint16_t before = (uint16_t)(stage - 1);

	return forward ? (mr_span){g, FORWARD, pipe, before, stage, place}
		       : (mr_span){g, GRADIENT, pipe, stage, before, place};
}

static mr_status place_boundary(mr_plan *plan, const mr_unroll *g, uint8_t pipe, uint16_t stage, bool forward,
				uint32_t *place)
{
	mr_span s = boundary(g, pipe, stage, forward, place), flight = s;
	uint16_t w = mr_plan_worker(plan, pipe, s.user), *n = forward ? plan->n_fwd : plan->n_bwd;
	size_t at = mr_plan_at(plan, pipe, stage);
	uint32_t contents = 0, start;

	if (mr_plan_worker(plan, pipe, s.maker) == w) {
		MR_TRY(find_places(plan, &s, w, &n[at]));
		if (plan->storage == MR_STORED)
			number_both_ends(g, &s);
		return MR_OK;
	}
	flight.maker = s.user; /* in flight at the reader: from its own F, or B or I */
	start = peak(&flight, w) + 1;
	for (uint32_t i = g->first[w]; i < g->first[w + 1]; i++)
		contents += takes(&flight, i);
	start = start > contents ? contents : start; /* none where the pipe has no micro-batch */
	if (start > UINT16_MAX)
		return mr_fail(MR_ECONFIG, "boundary %u would need %u buffers; at most %u can be numbered", stage,
			       start, UINT16_MAX);
	n[at] = (uint16_t)start;
	return MR_OK;
}

/*
 * The place that the reader gives back next, MR_NO_NODE when there is no more. @back, @part: the node to look at, and how many
 * of its span have been returned.
 */
static uint32_t next_released(const mr_span *s, uint16_t user, uint32_t *back, uint32_t *part)
{
	const mr_unroll *g = s->g;
	uint32_t place;

	while (*back < g->first[user + 1] && *part >= gives_back(s, *back)) {
		++*back;
		*part = 0;
	}
	if (*back == g->first[user + 1])
		return MR_NO_NODE;
	place = s->place[mr_unroll_micro(g, *back) + *part];
	++*part;
	return place;
}

mr_status mr_lower_number(mr_plan *plan, const mr_unroll *g, uint8_t pipe, uint16_t stage, bool forward)
{
	mr_span s = boundary(g, pipe, stage, forward, NULL);
	uint16_t maker = mr_plan_worker(plan, pipe, s.maker), user = mr_plan_worker(plan, pipe, s.user);
	uint32_t n = (forward ? plan->n_fwd : plan->n_bwd)[mr_plan_at(plan, pipe, stage)], k = 0, back = g->first[user], part = 0;
	mr_status st = MR_OK;

	s.place = malloc((size_t)g->n_micro * sizeof(*s.place) + 1);
	if (!s.place)
		return mr_fail(MR_ERESOURCE, "no memory to number the buffers of boundary %u", stage);
	memset(s.place, 0xff, (size_t)g->n_micro * sizeof(*s.place));
	for (uint32_t i = g->first[maker]; st == MR_OK && i < g->first[maker + 1]; i++) {
		uint32_t place = k;

		if (!takes(&s, i))
			continue;
		if (k >= n) {
			place = next_released(&s, user, &back, &part);
		}
		if (place == MR_NO_NODE) /* the buffer that comes back next holds a content that is yet to be made */
			st = mr_fail(MR_ECONFIG, "boundary %u of pipe %u cannot work with %u buffers", stage, pipe, n);
		s.place[mr_unroll_micro(g, i)] = place;
		k++;
	}
	if (st == MR_OK)
		number_both_ends(g, &s);
	free(s.place);
	return st;
}

/* Without a flush iterations overlap, so numbers stored in the body would make each wait for the one before. */
static bool overlaps(const mr_plan *plan)
{
	return plan->contract.flush == MR_FLUSH_NONE && mr_plan_steady(plan) > 0;
}

/* In a repeating plan the R of the last micro-batches lies behind what is unrolled: an F has one when any instance has. */
static void mark_drops(const mr_unroll *g)
{
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (g->at[i].in->op == MR_OP_F && g->recompute[cell(g, g->at[i].in->stage, mr_unroll_micro(g, i))] != MR_NO_NODE)
			mr_lower_instr(g, i)->flags |= MR_INSTR_DROP;
}

static mr_status place_all(mr_plan *plan, const mr_unroll *g, uint32_t *place)
{
	bool train = plan->contract.coverage != MR_COVER_FORWARD;

	for (unsigned p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 0; s < plan->n_stages; s++) {
			MR_TRY(place_slots(plan, g, (uint8_t)p, s, place));
			if (s > 0)
				MR_TRY(place_boundary(plan, g, (uint8_t)p, s, true, place));
			if (s > 0 && train)
				MR_TRY(place_boundary(plan, g, (uint8_t)p, s, false, place));
		}
	return MR_OK;
}

/*
 * Racing: whatever is under way may gather before any one stage, and nothing may make it wait there. The last stage, where B is
 * ready as soon as its F is done, is left alone.
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

mr_status mr_lower_storage(mr_plan *plan)
{
	uint32_t steady = mr_plan_steady(plan), *place;
	mr_unroll *g;
	mr_status st;

	/* A run of steps of one stage each may stop and go on anywhere in its finite list: numbers must follow from numbers. */
	plan->storage = overlaps(plan) || plan->contract.coverage == MR_COVER_BLOCK ? MR_MODULO : MR_STORED;
	MR_TRY(mr_unroll_create(plan, plan->storage == MR_STORED && steady ? 1 : steady, NULL, &g));
	mark_drops(g);
	place = calloc((size_t)g->n_micro + 1, sizeof(*place));
	st = place ? place_all(plan, g, place)
		   : mr_fail(MR_ERESOURCE, "no memory to place %u instructions", g->n_nodes);
	free(place);
	mr_unroll_destroy(g);
	if (st == MR_OK && plan->contract.racing)
		make_room(plan);
	plan->lowered = st == MR_OK;
	return st;
}
