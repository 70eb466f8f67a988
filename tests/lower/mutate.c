#include "lower/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "lower/brute.h"
#include "lower/check.h"
#include "ir/text.h"
#include "ir/unroll.h"

#define TRIES 3 /* interleavings of a plan that is too large for all */

static const char *const names[N_MUTATIONS] = {
	[MUTATE_SWAP_NEXT] = "swapped with the next", [MUTATE_SWAP] = "swapped", [MUTATE_MOVE] = "moved",
	[MUTATE_DROP] = "dropped", [MUTATE_DUPLICATE] = "duplicated", [MUTATE_OTHER_WORKER] = "on another worker",
	[MUTATE_OP] = "op", [MUTATE_MICRO] = "micro-batch", [MUTATE_STAGE] = "stage", [MUTATE_PIPE] = "pipe",
	[MUTATE_SLOT] = "slot", [MUTATE_IN] = "buffer read", [MUTATE_OUT] = "buffer written",
	[MUTATE_READ] = "version read", [MUTATE_TARGET] = "version committed", [MUTATE_FLAGS] = "flags",
	[MUTATE_FEWER_SLOTS] = "fewer slots", [MUTATE_FEWER_FWD] = "fewer forward buffers",
	[MUTATE_FEWER_BWD] = "fewer gradient buffers", [MUTATE_FEWER_VERSIONS] = "fewer versions",
	[MUTATE_PLACE] = "placement",
};

typedef struct mutator {
	mr_plan *p;
	uint32_t seed;
} mutator;

static uint32_t draw(mutator *m, uint32_t below)
{
	m->seed = m->seed * 1664525u + 1013904223u;
	return below ? (uint32_t)((uint64_t)(m->seed >> 4) * below >> 28) : 0;
}

mr_plan *plan_copy(const mr_plan *from)
{
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create_like(from, true, &p));
	for (uint32_t i = 0; i < from->n_workers * (uint32_t)MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < from->lists[i].n; k++)
			MR_CHECK_OK(mr_plan_append(p, (uint16_t)(i / MR_N_SECTIONS), (mr_section)(i % MR_N_SECTIONS),
						   from->lists[i].at[k]));
	return p;
}

/* --- brute force --- */

static bool is_drained(const mr_plan *plan)
{
	for (uint16_t w = 0; w < plan->n_workers; w++)
		if (mr_plan_list(plan, w, MR_EPILOGUE)->n)
			return true;
	return false;
}

/* Iterations after which nothing new happens. */
static uint32_t iterations(const mr_plan *plan)
{
	uint32_t n = mr_plan_steady(plan) + (mr_plan_steady(plan) ? 2 : 0);

	return n > 40 ? 40 : n;
}

bool brute_all(const mr_plan *plan, char why[80])
{
	bool drained = is_drained(plan), ok = true;

	for (uint32_t t = 0; ok && t < TRIES; t++)
		ok = brute_run(plan, iterations(plan), 17 * t + 1, why) && (!drained || brute_run(plan, t, t, why));
	return ok;
}

/* --- one change --- */

static mr_list *some_list(mutator *m)
{
	mr_list *l;

	do
		l = &m->p->lists[draw(m, m->p->n_workers * (uint32_t)MR_N_SECTIONS)];
	while (!l->n);
	return l;
}

static void swap(mr_list *l, uint32_t i, uint32_t k)
{
	mr_instr t = l->at[i];

	l->at[i] = l->at[k];
	l->at[k] = t;
}

static void drop(mr_list *l, uint32_t i)
{
	memmove(&l->at[i], &l->at[i + 1], (--l->n - i) * sizeof(*l->at));
}

/* Put @in into @l somewhere. */
static void insert(mutator *m, mr_list *l, mr_instr in)
{
	size_t at = (size_t)(l - m->p->lists);
	uint32_t to = draw(m, l->n + 1);

	MR_CHECK_OK(mr_plan_append(m->p, (uint16_t)(at / MR_N_SECTIONS), (mr_section)(at % MR_N_SECTIONS), in));
	for (uint32_t k = l->n - 1; k > to; k--)
		swap(l, k, k - 1);
}

/* One or two up, or one down where that is possible. */
static uint32_t nudge(mutator *m, uint32_t x)
{
	return draw(m, 2) || !x ? x + 1 + draw(m, 2) : x - 1;
}

static void change_order(mutator *m, mutation kind)
{
	mr_list *l = some_list(m);
	uint32_t i = draw(m, l->n), section = (uint32_t)((l - m->p->lists) % MR_N_SECTIONS);
	mr_instr in = l->at[i];

	switch (kind) {
	case MUTATE_SWAP_NEXT:
		swap(l, i, i + 1 < l->n ? i + 1 : i);
		break;
	case MUTATE_SWAP:
		swap(l, i, draw(m, l->n));
		break;
	case MUTATE_MOVE:
		drop(l, i);
		insert(m, l, in);
		break;
	case MUTATE_DROP:
		drop(l, i);
		break;
	case MUTATE_DUPLICATE:
		insert(m, l, in);
		break;
	default:
		drop(l, i);
		insert(m, mr_plan_list(m->p, (uint16_t)draw(m, m->p->n_workers), (mr_section)section), in);
	}
}

static void change_field(mutator *m, mutation kind)
{
	mr_list *l = some_list(m);
	mr_instr *in = &l->at[draw(m, l->n)];

	switch (kind) {
	case MUTATE_OP:
		in->op = (uint8_t)draw(m, MR_N_OPS);
		break;
	case MUTATE_MICRO:
		in->micro = nudge(m, in->micro);
		break;
	case MUTATE_STAGE:
		in->stage = (uint16_t)draw(m, m->p->n_stages + 1u);
		break;
	case MUTATE_PIPE:
		in->pipe = (uint8_t)draw(m, m->p->n_pipes + 1u);
		break;
	case MUTATE_SLOT:
		in->slot = (uint16_t)nudge(m, in->slot);
		break;
	case MUTATE_IN:
		in->in = (uint16_t)nudge(m, in->in);
		break;
	case MUTATE_OUT:
		in->out = (uint16_t)nudge(m, in->out);
		break;
	case MUTATE_READ:
		in->read += draw(m, 2) ? 1 : -1;
		break;
	case MUTATE_TARGET:
		in->target += draw(m, 2) ? 1 : -1;
		break;
	default:
		in->flags ^= (uint8_t)(1u << draw(m, 6));
	}
}

static void change_tables(mutator *m, mutation kind)
{
	mr_plan *p = m->p;
	uint32_t places = (uint32_t)p->n_pipes * p->n_stages, at = draw(m, places);
	uint16_t *x = kind == MUTATE_FEWER_SLOTS      ? &p->n_slots[at]
		      : kind == MUTATE_FEWER_FWD      ? &p->n_fwd[at]
		      : kind == MUTATE_FEWER_BWD      ? &p->n_bwd[at]
		      : kind == MUTATE_FEWER_VERSIONS ? &p->n_versions[at % p->n_stages]
						      : &p->worker_of[at];

	if (kind == MUTATE_PLACE)
		*x = (uint16_t)draw(m, p->n_workers + 1u);
	else if (*x)
		*x = (uint16_t)(*x - 1 - draw(m, *x));
}

static void mutate(mutator *m, mutation kind)
{
	if (kind < MUTATE_OP)
		change_order(m, kind);
	else if (kind < MUTATE_FEWER_SLOTS)
		change_field(m, kind);
	else
		change_tables(m, kind);
}

/* --- judging --- */

static void print_mutant(const char *name, mutation kind, uint32_t seed, const mr_plan *p, const char *what)
{
	fprintf(stderr, "\n%s, %s, seed %u: %s\n", name, names[kind], seed, what);
	if (mr_text_write(p, stderr) != MR_OK)
		fprintf(stderr, "(no text: %s)\n", mr_error_text());
}

/* "w1 F m3 s1 p0", "F m3 s1", "stage 3" or "boundary 2": one of these must stand in every refusal. */
static bool names_a_place(const char *text)
{
	unsigned a, b, c;

	for (const char *at = text; *at; at++) {
		char op[4];

		if (sscanf(at, "w%u %3[A-Z?] m%u", &a, op, &b) == 3 || sscanf(at, "m%u s%u", &a, &b) == 2 ||
		    sscanf(at, "stage %u", &c) == 1 || sscanf(at, "boundary %u", &c) == 1 ||
		    sscanf(at, "worker %u", &c) == 1)
			return true;
	}
	return false;
}

/* "deadlock, ...: A -> B -> A": it closes, or says how many are left out. */
static bool closes(const char *text)
{
	const char *first = strstr(text, ": "), *arrow = first ? strstr(first, " -> ") : NULL, *last = NULL;
	size_t len;

	if (!arrow)
		return false;
	first += 2;
	len = (size_t)(arrow - first);
	for (const char *at = arrow; at; at = strstr(at + 4, " -> "))
		last = at + 4;
	return last[0] == '(' || (!strncmp(first, last, len) && last[len] == 0);
}

static void judge(const char *name, const mr_plan *p, mutation kind, uint32_t seed, mutation_tally *t)
{
	char why[80], text[1024] = "";
	bool refused = mr_plan_check(p) != MR_OK, right;
	brute_verdict all;

	if (refused)
		snprintf(text, sizeof(text), "%s", mr_error_text());
	right = brute_all(p, why);
	all = right ? brute_explore(p, iterations(p), why) : BRUTE_WRONG;
	right = right && all != BRUTE_WRONG;
	t->detected += refused && !right;
	t->strict += refused && right;
	t->harmless += !refused && right;
	t->explored += !refused && right && all == BRUTE_RIGHT;
	if (!refused && !right) {
		print_mutant(name, kind, seed, p, why);
		CU_FAIL_FATAL("the checker accepts a plan that goes wrong");
	}
	if (refused && !names_a_place(text)) {
		print_mutant(name, kind, seed, p, text);
		CU_FAIL_FATAL("a refusal names no culprit");
	}
	if (strncmp(text, "deadlock", 8))
		return;
	t->deadlocks++;
	if (!closes(text)) {
		print_mutant(name, kind, seed, p, text);
		CU_FAIL_FATAL("a deadlock is not printed as a cycle");
	}
}

void mutate_plan(const char *name, const mr_plan *good, uint32_t per_kind, uint32_t seed, mutation_tally *tally)
{
	uint64_t hash = mr_plan_hash(good);

	for (int kind = 0; kind < N_MUTATIONS; kind++)
		for (uint32_t k = 0; k < per_kind; k++) {
			mutator m = {plan_copy(good), seed * 7919u + (uint32_t)kind * 104729u + k};
			uint32_t drawn = m.seed;

			draw(&m, 2);
			mutate(&m, (mutation)kind);
			if (mr_plan_hash(m.p) != hash) {
				tally[kind].made++;
				judge(name, m.p, (mutation)kind, drawn, &tally[kind]);
			}
			mr_plan_destroy(m.p);
		}
}

void mutation_print(const mutation_tally *tally)
{
	if (!getenv("MR_VERBOSE"))
		return;
	fprintf(stderr, "%-24s %7s %8s %7s %8s %8s %9s\n", "mutation", "mutants", "detected", "strict", "harmless",
		"explored", "deadlocks");
	for (int k = 0; k < N_MUTATIONS; k++)
		fprintf(stderr, "%-24s %7u %8u %7u %8u %8u %9u\n", names[k], tally[k].made, tally[k].detected,
			tally[k].strict, tally[k].harmless, tally[k].explored, tally[k].deadlocks);
}
