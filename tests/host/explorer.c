/* The accesses: what one step of one thread may do under the memory model. */
#include "host/explorer_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

exploration ex;

static struct {
	bool seen;
	ex_kind kind;
	memory_order written;
	int mutant; /* order in force, or -1 */
} sites[EX_MAX_SITES];

static _Noreturn void suspend(void)
{
	longjmp(ex.out, 1);
}

void ex_fail(const char *what)
{
	if (!ex.error)
		ex.error = what;
	suspend();
}

void ex_harness(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "explorer: %s: the tables are too small: %s\n", ex.scenario->name, what);
		abort();
	}
}

static uint32_t find_loc(const volatile void *atomic)
{
	uint32_t i = 0;

	while (i < ex.n_locs && ex.loc[i] != atomic)
		i++;
	ex_harness(i < ex.n_locs, "an atomic without ex_init");
	return i;
}

static uint32_t find_data(const void *data)
{
	uint32_t i = 0;

	while (i < ex.n_data && ex.data[i] != data)
		i++;
	ex_harness(i < ex.n_data, "a plain word without ex_plain");
	return i;
}

void ex_init(volatile void *atomic, uint32_t value)
{
	uint32_t i = 0;

	while (i < ex.n_locs && ex.loc[i] != atomic)
		i++;
	if (i == ex.n_locs) {
		ex_harness(i < N_LOCS, "locations");
		ex.n_locs++;
	}
	ex.loc[i] = atomic;
	ex.owner[i] = UINT8_MAX;
	ex.start.loc[i] = (location){.n = 1, .m = {{.value = value}}};
}

void ex_owner(const volatile void *atomic, uint32_t id)
{
	ex.owner[find_loc(atomic)] = (uint8_t)id;
}

void ex_plain(const void *data)
{
	ex_harness(ex.n_data < N_DATA, "plain words");
	ex.data[ex.n_data++] = data;
}

void ex_private(uint32_t id, void *memory, size_t bytes)
{
	ex_harness(ex.n_ranges[id] < N_RANGES, "private ranges");
	ex.range[id][ex.n_ranges[id]++] = (range){memory, bytes};
}

static bool replayed(uint32_t *value)
{
	if (ex.cursor >= ex.t->n_log)
		return false;
	*value = ex.t->log[ex.cursor++];
	return true;
}

/* A visible access: the thread stops before it unless this step was given to it. */
static void take_turn(void)
{
	if (!ex.granted)
		suspend();
	ex.granted = false;
}

static uint32_t logged(uint32_t value)
{
	ex_harness(ex.t->n_log < N_LOG, "log");
	ex.t->log[ex.t->n_log++] = value;
	ex.cursor++;
	return value;
}

void ex_explain(const char *verb, int where, uint32_t value, uint32_t site)
{
	ex.step = (step){.thread = ex.id, .site = site, .value = value, .verb = verb, .where = where};
}

static memory_order order_at(uint32_t site, ex_kind kind, memory_order written)
{
	if (site == 0)
		return written;
	ex_harness(site < EX_MAX_SITES, "sites");
	if (!sites[site].seen) {
		sites[site].seen = true;
		sites[site].kind = kind;
		sites[site].written = written;
		sites[site].mutant = -1;
	}
	return sites[site].mutant < 0 ? written : (memory_order)sites[site].mutant;
}

static bool acquires(memory_order o)
{
	return o == memory_order_acquire || o == memory_order_acq_rel || o == memory_order_seq_cst;
}

static bool releases(memory_order o)
{
	return o == memory_order_release || o == memory_order_acq_rel || o == memory_order_seq_cst;
}

static void join(uint8_t *into, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		into[i] = into[i] > from[i] ? into[i] : from[i];
}

/* Read message @at: the thread may not go back behind it, and takes over its view if it acquires. */
static uint32_t read_message(uint32_t l, uint32_t at, memory_order o)
{
	location *loc = &ex.s->loc[l];
	const message *m = &loc->m[at];

	ex.t->view[l] = (uint8_t)at;
	if (acquires(o)) {
		join(ex.t->view, m->view, N_LOCS);
		join(ex.t->clock, m->clock, N_THREADS);
	}
	if (o == memory_order_seq_cst && at > loc->floor)
		loc->floor = (uint8_t)at;
	return m->value;
}

static void shift_view(uint8_t *view, uint32_t l, uint32_t at)
{
	if (view[l] >= at)
		view[l]++;
}

/* Insert a message at position @at; all positions from there on move up, in every view. */
static void insert_message(uint32_t l, uint32_t at, uint32_t value, memory_order o, const message *read)
{
	location *loc = &ex.s->loc[l];
	message m = {.value = value, .rmw = read != NULL};

	if (read) { /* a read-modify-write continues the release sequence of what it read */
		memcpy(m.view, read->view, sizeof(m.view));
		memcpy(m.clock, read->clock, sizeof(m.clock));
	}
	ex_harness(loc->n < N_MSGS, "messages");
	memmove(&loc->m[at + 1], &loc->m[at], (loc->n - at) * sizeof(message));
	loc->n++;
	for (uint32_t i = 0; i < N_THREADS; i++)
		shift_view(ex.s->t[i].view, l, at);
	for (uint32_t i = 0; i < ex.n_locs; i++)
		for (uint32_t k = 0; k < ex.s->loc[i].n; k++)
			if (i != l || k != at)
				shift_view(ex.s->loc[i].m[k].view, l, at);
	shift_view(m.view, l, at);
	if (loc->floor >= at)
		loc->floor++;
	if (o == memory_order_seq_cst && at > loc->floor)
		loc->floor = (uint8_t)at;
	ex.t->view[l] = (uint8_t)at;
	if (releases(o)) {
		join(m.view, ex.t->view, N_LOCS);
		join(m.clock, ex.t->clock, N_THREADS);
	}
	m.view[l] = (uint8_t)at;
	loc->m[at] = m;
}

uint32_t ex_load(const volatile void *atomic, memory_order written, uint32_t site)
{
	memory_order o = order_at(site, EX_LOAD, written);
	uint32_t value, l = find_loc(atomic), lowest, at;
	location *loc;

	if (replayed(&value))
		return value;
	/* What only this thread writes holds what it wrote, whatever the others do: no turn needed. */
	if (o != memory_order_relaxed || ex.owner[l] != ex.id)
		take_turn();
	else
		return logged(read_message(l, ex.s->loc[l].n - 1u, o));
	loc = &ex.s->loc[l];
	lowest = ex.t->view[l];
	if (o == memory_order_seq_cst && loc->floor > lowest)
		lowest = loc->floor;
	ex.n_choices = loc->n - lowest;
	at = loc->n - 1u - ex.choice;
	value = read_message(l, at, o);
	ex_explain("loads", (int)l, value, site);
	return logged(value);
}

void ex_store(volatile void *atomic, uint32_t value, memory_order written, uint32_t site)
{
	memory_order o = order_at(site, EX_STORE, written);
	uint32_t ignored, l = find_loc(atomic), lowest, skip = ex.choice, at;
	location *loc;

	if (replayed(&ignored))
		return;
	take_turn();
	loc = &ex.s->loc[l];
	lowest = ex.t->view[l];
	if (o == memory_order_seq_cst && loc->floor > lowest)
		lowest = loc->floor;
	/* Choices: behind each message from the end down to `lowest`, except in front of a read-modify-write. */
	ex.n_choices = 0;
	at = UINT32_MAX;
	for (uint32_t i = loc->n; i > lowest; i--)
		if (i == loc->n || !loc->m[i].rmw) {
			if (ex.n_choices++ == skip)
				at = i;
		}
	insert_message(l, at, value, o, NULL);
	ex_explain("stores", (int)l, value, site);
	logged(0);
}

uint32_t ex_exchange(volatile void *atomic, uint32_t value, memory_order written, uint32_t site)
{
	memory_order o = order_at(site, EX_EXCHANGE, written);
	uint32_t l = find_loc(atomic), lowest, old, at;
	location *loc;
	message read;

	if (replayed(&old))
		return old;
	take_turn();
	loc = &ex.s->loc[l];
	lowest = ex.t->view[l];
	if (o == memory_order_seq_cst && loc->floor > lowest)
		lowest = loc->floor;
	ex.n_choices = 0;
	at = UINT32_MAX;
	for (uint32_t i = loc->n; i-- > lowest;)
		if (i + 1u == loc->n || !loc->m[i + 1].rmw) {
			if (ex.n_choices++ == ex.choice)
				at = i;
		}
	read = loc->m[at];
	old = read_message(l, at, o);
	insert_message(l, at + 1, value, o, &read);
	ex_explain("exchanges for", (int)l, old, site);
	return logged(old);
}

/* The epoch of the thread's plain access now being made; each one gets its own. */
static uint8_t new_epoch(void)
{
	ex_harness(ex.t->clock[ex.id] < UINT8_MAX, "epochs");
	return ++ex.t->clock[ex.id];
}

static bool happened_before(uint32_t who, uint8_t epoch)
{
	return who == ex.id || ex.t->clock[who] >= epoch;
}

uint32_t ex_get(const void *data)
{
	uint32_t value, i = find_data(data);
	datum *d = &ex.s->data[i];

	if (replayed(&value))
		return value;
	if (!happened_before(d->writer, d->written))
		ex_fail("race: a plain read while it is being written");
	d->read[ex.id] = new_epoch();
	return logged(d->value);
}

void ex_set(const void *data, uint32_t value)
{
	uint32_t ignored, i = find_data(data);
	datum *d = &ex.s->data[i];

	if (replayed(&ignored))
		return;
	if (!happened_before(d->writer, d->written))
		ex_fail("race: two plain writes");
	for (uint32_t k = 0; k < N_THREADS; k++)
		if (!happened_before(k, d->read[k]))
			ex_fail("race: a plain write while it is being read");
	d->value = value;
	d->writer = (uint8_t)ex.id;
	d->written = new_epoch();
	logged(0);
}

void ex_futex_wait(volatile void *atomic, uint32_t expected)
{
	uint32_t ignored, l = find_loc(atomic);
	location *loc = &ex.s->loc[l];

	if (replayed(&ignored))
		return;
	take_turn();
	logged(0);
	ex_explain("futex waits", (int)l, expected, 0);
	if (loc->m[loc->n - 1].value != expected)
		return;
	ex.n_choices = ex.s->false_alarms > 0 ? 1 : 2;
	if (ex.choice == 1) {
		ex.s->false_alarms++;
		return;
	}
	ex.t->life = SLEEPS;
	ex.t->sleeps_on = (uint8_t)l;
	suspend();
}

void ex_futex_wake(volatile void *atomic)
{
	uint32_t ignored, l = find_loc(atomic);

	if (replayed(&ignored))
		return;
	take_turn();
	for (uint32_t i = 0; i < ex.scenario->n_threads; i++)
		if (ex.s->t[i].life == SLEEPS && ex.s->t[i].sleeps_on == l) {
			ex.s->t[i].life = RUNS;
			break;
		}
	ex_explain("futex wakes", (int)l, 0, 0);
	logged(0);
}

bool ex_site_seen(uint32_t site, ex_kind *kind, memory_order *order)
{
	*kind = sites[site].kind;
	*order = sites[site].written;
	return sites[site].seen;
}

void ex_mutate(uint32_t site, int order)
{
	sites[site].mutant = order;
}
