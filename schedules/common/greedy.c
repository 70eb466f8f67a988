#include "schedules/common/greedy.h"

#include <math.h>
#include <stdlib.h>

/* One stage on the clock. */
typedef struct mr_greedy_stage {
	double free;            /* end of its worker's present instruction */
	double *f_there;        /* [n_micro] arrival of the output of the F before this stage's; INFINITY: not yet */
	double *b_there;        /* [n_micro] the same for B; at the last stage: the end of its own F */
	uint32_t n_f, n_b;      /* begun so far */
	uint8_t last;
} mr_greedy_stage;

typedef struct mr_clock {
	const mr_stage_cost *cost;
	mr_greedy_stage *stage;
	mr_greedy *g;
	uint32_t in_flight;
	double now;
} mr_clock;

static bool ready(const mr_clock *c, uint16_t s, bool forward)
{
	const mr_greedy_stage *st = &c->stage[s];
	uint32_t m = forward ? st->n_f : st->n_b;

	if (m == c->g->n_micro)
		return false;
	if (forward && s == 0)
		return st->n_f - st->n_b < c->in_flight;
	return (forward ? st->f_there : st->b_there)[m] <= c->now;
}

static void begin(mr_clock *c, uint16_t s, uint8_t op)
{
	mr_greedy_stage *st = &c->stage[s];
	const mr_stage_cost *k = &c->cost[s];
	bool forward = op == MR_OP_F, last = s + 1u == c->g->n_stages;
	uint32_t m = forward ? st->n_f : st->n_b;

	c->g->op[2 * (size_t)c->g->n_micro * s + st->n_f + st->n_b] = op;
	st->free = c->now + (forward ? k->f : k->i + k->w);
	st->last = op;
	if (forward && last)
		st->b_there[m] = st->free;
	else if (forward)
		c->stage[s + 1].f_there[m] = st->free + mr_cost_handover(k, false);
	else if (s > 0)
		c->stage[s - 1].b_there[m] = st->free + mr_cost_handover(k, true);
	*(forward ? &st->n_f : &st->n_b) += 1;
}

/* Let stage @s begin its next instruction, if it can; returns whether it did. */
static bool take_turn(mr_clock *c, uint16_t s)
{
	mr_greedy_stage *st = &c->stage[s];
	bool f, b;

	if (st->free > c->now)
		return false;
	f = ready(c, s, true);
	b = ready(c, s, false);
	if (b && (!f || st->n_b == 0 || st->last == MR_OP_F))
		begin(c, s, MR_OP_B);
	else if (f)
		begin(c, s, MR_OP_F);
	return f || b;
}

/* Begin all instructions that can begin now; instructions without duration need more than one round. */
static void take_turns(mr_clock *c)
{
	bool some = true;

	while (some) {
		some = false;
		for (uint16_t s = 0; s < c->g->n_stages; s++)
			some |= take_turn(c, s);
	}
}

static double sooner(double a, double b, double now)
{
	return b > now && b < a ? b : a;
}

/* The next moment at which a stage may be able to begin an instruction. */
static double next_moment(const mr_clock *c)
{
	double t = INFINITY;

	for (uint16_t s = 0; s < c->g->n_stages; s++) {
		const mr_greedy_stage *st = &c->stage[s];

		t = sooner(t, st->free, c->now);
		if (s > 0 && st->n_f < c->g->n_micro)
			t = sooner(t, st->f_there[st->n_f], c->now);
		if (st->n_b < c->g->n_micro)
			t = sooner(t, st->b_there[st->n_b], c->now);
	}
	return t;
}

mr_status mr_greedy_run(const mr_stage_cost *cost, uint16_t n_stages, uint32_t in_flight, uint32_t n_micro,
			mr_greedy *out)
{
	mr_greedy_stage *stage = calloc(n_stages, sizeof(*stage));
	double *there = malloc(2 * (size_t)n_stages * n_micro * sizeof(*there));
	mr_clock c = {cost, stage, out, in_flight, 0};

	*out = (mr_greedy){n_stages, n_micro, malloc(2 * (size_t)n_stages * n_micro)};
	if (!stage || !there || !out->op) {
		free(stage);
		free(there);
		mr_greedy_fini(out);
		return mr_fail(MR_ERESOURCE, "no memory to order %u micro-batches at %u stages", n_micro, n_stages);
	}
	for (size_t i = 0; i < 2 * (size_t)n_stages * n_micro; i++)
		there[i] = INFINITY;
	for (uint16_t s = 0; s < n_stages; s++) {
		stage[s].f_there = there + 2 * (size_t)s * n_micro;
		stage[s].b_there = stage[s].f_there + n_micro;
	}
	for (; c.now < INFINITY; c.now = next_moment(&c))
		take_turns(&c);
	free(stage);
	free(there);
	return MR_OK;
}

void mr_greedy_fini(mr_greedy *g)
{
	free(g->op);
	*g = (mr_greedy){0};
}

/* How far stage @s runs ahead where it is regular: F of B(@at)'s turn is this many micro-batches further. */
static uint32_t run_ahead(const mr_greedy *g, uint16_t s, uint32_t at)
{
	const uint8_t *op = g->op + 2 * (size_t)g->n_micro * s;
	uint32_t n[MR_N_OPS] = {0};

	for (uint32_t i = 0; n[MR_OP_B] <= at; i++)
		n[op[i]]++;
	return n[MR_OP_F] - n[MR_OP_B];
}

/* The first version of stage @s from which on each has its F right before its B, and that F's own B reads what it would
 * read had the stage been regular from the start. Looks at B(0) .. B(@end - 1). */
static uint32_t steady_at(const mr_greedy *g, uint16_t s, uint32_t end)
{
	const uint8_t *op = g->op + 2 * (size_t)g->n_micro * s;
	uint32_t n_f = 0, n_b = 0, between = 0, first = 0, ahead = run_ahead(g, s, end - 1);

	for (uint32_t i = 0; n_b < end; i++) {
		if (op[i] == MR_OP_F) {
			if (n_b != (n_f > ahead ? n_f - ahead : 0) && n_f + 1 > first)
				first = n_f + 1;
			n_f++;
			between++;
			continue;
		}
		if (n_b > 0 && between != 1 && n_b + 1 > first)
			first = n_b + 1;
		n_b++;
		between = 0;
	}
	return first;
}

uint32_t mr_greedy_steady(const mr_greedy *g, uint32_t in_flight)
{
	uint32_t end = g->n_micro > in_flight + g->n_stages ? g->n_micro - in_flight - g->n_stages : 0, first = 0;

	for (uint16_t s = 0; s < g->n_stages && end; s++) {
		uint32_t n = steady_at(g, s, end);

		first = n > first ? n : first;
	}
	return first + 2 * g->n_stages < end ? first : UINT32_MAX; /* regular for long enough */
}
