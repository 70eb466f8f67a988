/* The search: states, when two of them are the same, and the depth-first walk over them. */
#include "host/explorer_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_DEPTH = 1200 };

typedef struct frame {
	state s;
	uint32_t next_thread, next_choice;
	step step; /* that led here */
} frame;

/* Private memory of thread @id: out of the world into the state, or back. */
static void copy_private(thread *t, uint32_t id, bool into_world)
{
	size_t at = 0;

	for (uint32_t i = 0; i < ex.n_ranges[id]; i++) {
		const range *r = &ex.range[id][i];

		ex_harness(at + r->bytes <= N_PRIVATE, "private memory");
		if (into_world)
			memcpy(r->memory, t->memory + at, r->bytes);
		else
			memcpy(t->memory + at, r->memory, r->bytes);
		at += r->bytes;
	}
}

static bool living(const state *s, uint32_t i)
{
	return i < ex.scenario->n_threads && s->t[i].life != ENDED;
}

/*
 * Blank what a message carries but no living thread could learn from it any more: threads that may still read message
 * @k of location @l know it all already.
 */
static void blank(state *s, uint32_t l, uint32_t k)
{
	message *m = &s->loc[l].m[k];
	uint8_t view[N_LOCS], clock[N_THREADS];

	memset(view, UINT8_MAX, sizeof(view));
	memset(clock, UINT8_MAX, sizeof(clock));
	for (uint32_t i = 0; i < ex.scenario->n_threads; i++) {
		const thread *t = &s->t[i];

		if (!living(s, i) || t->view[l] > k)
			continue;
		for (uint32_t j = 0; j < N_LOCS; j++)
			view[j] = t->view[j] < view[j] ? t->view[j] : view[j];
		for (uint32_t j = 0; j < N_THREADS; j++)
			clock[j] = t->clock[j] < clock[j] ? t->clock[j] : clock[j];
	}
	for (uint32_t j = 0; j < N_LOCS; j++)
		if (j != l && m->view[j] <= view[j])
			m->view[j] = 0;
	for (uint32_t j = 0; j < N_THREADS; j++)
		if (m->clock[j] <= clock[j])
			m->clock[j] = 0;
}

/* Blank the epochs of plain accesses that happened before everything that any living thread will do. */
static void blank_data(state *s)
{
	for (uint32_t i = 0; i < ex.n_data; i++) {
		datum *d = &s->data[i];
		uint8_t low[N_THREADS];

		memset(low, UINT8_MAX, sizeof(low));
		for (uint32_t k = 0; k < N_THREADS; k++)
			for (uint32_t j = 0; j < N_THREADS; j++)
				if (living(s, k) && k != j && s->t[k].clock[j] < low[j])
					low[j] = s->t[k].clock[j];
		if (d->written <= low[d->writer])
			d->writer = d->written = 0;
		for (uint32_t k = 0; k < N_THREADS; k++)
			if (d->read[k] <= low[k])
				d->read[k] = 0;
	}
}

/* Forget messages that no living thread can read any more, so that equal futures have equal states. */
static void forget(state *s)
{
	for (uint32_t l = 0; l < ex.n_locs; l++) {
		location *loc = &s->loc[l];
		uint8_t drop = (uint8_t)(loc->n - 1);

		for (uint32_t i = 0; i < ex.scenario->n_threads; i++)
			if (living(s, i) && s->t[i].view[l] < drop)
				drop = s->t[i].view[l];
		if (!drop)
			continue;
		memmove(&loc->m[0], &loc->m[drop], (size_t)(loc->n - drop) * sizeof(message));
		loc->n = (uint8_t)(loc->n - drop);
		loc->floor = (uint8_t)(loc->floor > drop ? loc->floor - drop : 0);
		for (uint32_t i = 0; i < N_THREADS; i++)
			s->t[i].view[l] = (uint8_t)(s->t[i].view[l] > drop ? s->t[i].view[l] - drop : 0);
		for (uint32_t i = 0; i < ex.n_locs; i++)
			for (uint32_t k = 0; k < s->loc[i].n; k++) {
				uint8_t *v = &s->loc[i].m[k].view[l];

				*v = (uint8_t)(*v > drop ? *v - drop : 0);
			}
	}
	for (uint32_t l = 0; l < ex.n_locs; l++)
		for (uint32_t k = 0; k < s->loc[l].n; k++)
			blank(s, l, k);
	blank_data(s);
}

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	for (; n >= 8; n -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	for (; n > 0; n--, p++)
		h = (h ^ *p) * 0x100000001b3u;
	return (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
}

static uint64_t hash(const state *s)
{
	uint64_t h = 1;

	for (uint32_t i = 0; i < ex.scenario->n_threads; i++) {
		const thread *t = &s->t[i];
		size_t bytes = 0;

		for (uint32_t k = 0; k < ex.n_ranges[i]; k++)
			bytes += ex.range[i][k].bytes;
		h = mix(h, t, offsetof(thread, log) + t->n_log * sizeof(t->log[0]));
		h = mix(h, t->memory, bytes);
	}
	for (uint32_t i = 0; i < ex.n_locs; i++) {
		h = mix(h, &s->loc[i].n, 2);
		for (uint32_t k = 0; k < s->loc[i].n; k++) {
			const message *m = &s->loc[i].m[k];

			h = mix(h, &m->value, sizeof(m->value));
			h = mix(h, m->view, sizeof(m->view));
			h = mix(h, m->clock, sizeof(m->clock)) + m->rmw;
		}
	}
	h = mix(h, &s->false_alarms, sizeof(s->false_alarms));
	return mix(h, s->data, ex.n_data * sizeof(datum)) | 1; /* 0 marks a free entry */
}

/* A set of state hashes: open addressing, doubled when half full. */
typedef struct seen_set {
	uint64_t *entry;
	size_t n, size;
} seen_set;

static bool insert(seen_set *set, uint64_t h)
{
	size_t i;

	if (2 * set->n >= set->size) {
		seen_set bigger = {.size = set->size ? 2 * set->size : 1 << 14};

		bigger.entry = calloc(bigger.size, sizeof(*bigger.entry));
		ex_harness(bigger.entry != NULL, "memory");
		for (i = 0; i < set->size; i++)
			if (set->entry[i])
				insert(&bigger, set->entry[i]);
		free(set->entry);
		*set = bigger;
	}
	for (i = (h >> 16) & (set->size - 1); set->entry[i]; i = (i + 1) & (set->size - 1))
		if (set->entry[i] == h)
			return false;
	set->entry[i] = h;
	set->n++;
	return true;
}

/* Let thread @id make one access in *@s, taking choice @choice of those it has. Returns how many it has. */
static uint32_t make_step(state *s, uint32_t id, uint32_t choice)
{
	ex_result result;

	ex.s = s;
	ex.t = &s->t[id];
	ex.id = id;
	ex.choice = choice;
	ex.n_choices = 1;
	ex.cursor = 0;
	ex.granted = true;
	ex_explain("runs", -1, 0, 0);
	copy_private(ex.t, id, true);
	if (!setjmp(ex.out)) {
		result = ex.scenario->op(id, ex.t->op);
		copy_private(ex.t, id, false);
		ex.t->n_log = 0;
		ex.t->op = (uint8_t)(ex.t->op + (result == EX_NEXT));
		if (result == EX_DONE)
			ex.t->life = ENDED;
	}
	forget(s);
	return ex.n_choices;
}

static void print_trace(const frame *stack, uint32_t depth, ex_report *report)
{
	size_t used = 0;
	uint32_t first = depth > 120 ? depth - 120 : 1;

	for (uint32_t i = first; i <= depth && used < sizeof(report->trace); i++) {
		const step *p = &stack[i].step;
		int n = snprintf(report->trace + used, sizeof(report->trace) - used,
				 "  t%u %s %u at location %d (line %u)\n", p->thread, p->verb, p->value, p->where,
				 p->site % 1000);

		used += n > 0 ? (size_t)n : 0;
	}
}

/* What is wrong with a new state, or NULL. */
static const char *judge(state *s, ex_report *report)
{
	uint32_t n_runs = 0, n_ended = 0;

	if (ex.error)
		return ex.error;
	for (uint32_t i = 0; i < ex.scenario->n_threads; i++) {
		n_runs += s->t[i].life == RUNS;
		n_ended += s->t[i].life == ENDED;
	}
	if (!n_runs && n_ended < ex.scenario->n_threads)
		return "lost wake-up: a thread sleeps and none can move";
	if (n_ended == ex.scenario->n_threads) {
		report->n_ends++;
		if (ex.scenario->end) {
			for (uint32_t i = 0; i < ex.scenario->n_threads; i++)
				copy_private(&s->t[i], i, true);
			if (!setjmp(ex.out))
				ex.scenario->end();
		}
	}
	return ex.error;
}

static void search(frame *stack, seen_set *seen, ex_report *report)
{
	uint32_t depth = 0;
	const char *wrong;

	for (;;) {
		frame *f = &stack[depth];
		uint32_t n;

		if (f->next_thread == ex.scenario->n_threads) {
			if (depth-- == 0)
				return;
			continue;
		}
		if (f->s.t[f->next_thread].life != RUNS) {
			f->next_thread++;
			continue;
		}
		ex_harness(depth + 1 < N_DEPTH, "depth");
		f[1].s = f->s;
		f[1].next_thread = f[1].next_choice = 0;
		n = make_step(&f[1].s, f->next_thread, f->next_choice);
		f[1].step = ex.step;
		report->n_steps++;
		if (++f->next_choice >= n) {
			f->next_choice = 0;
			f->next_thread++;
		}
		if (!ex.error && !insert(seen, hash(&f[1].s)))
			continue;
		report->n_states++;
		wrong = judge(&f[1].s, report);
		if (wrong) {
			report->failed = true;
			snprintf(report->what, sizeof(report->what), "%s", wrong);
			print_trace(stack, depth + 1, report);
			return;
		}
		depth++;
	}
}

void ex_explore(const ex_scenario *scenario, ex_report *report)
{
	frame *stack = calloc(N_DEPTH, sizeof(*stack));
	seen_set seen = {0};

	memset(&ex, 0, sizeof(ex));
	memset(report, 0, sizeof(*report));
	ex.scenario = scenario;
	ex_harness(stack != NULL && scenario->n_threads <= N_THREADS, "threads");
	scenario->init();
	for (uint32_t i = 0; i < scenario->n_threads; i++)
		copy_private(&ex.start.t[i], i, false);
	stack[0].s = ex.start;
	search(stack, &seen, report);
	free(seen.entry);
	free(stack);
}
