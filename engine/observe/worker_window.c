#include "observe/worker_window.h"

#include <math.h>
#include <stdlib.h>

#define SHORTEST_NS 200000000u

mr_times mr_times_unknown(void)
{
	mr_times t = {.elapsed = NAN};

	for (int c = 0; c < MR_N_WAITS; c++)
		t.at[c] = NAN;
	return t;
}

static void make(mr_worker_window *w, const mr_executor *x)
{
	uint32_t n = mr_executor_rows(x);

	w->spent = calloc((size_t)n * MR_N_WAITS, sizeof(*w->spent));
	w->row = calloc(n, sizeof(*w->row));
	w->n_rows = w->spent && w->row ? n : 0;
	for (uint32_t i = 0; i < w->n_rows; i++)
		w->row[i] = mr_times_unknown();
}

/* What row @id has spent so far. */
static void read(const mr_executor *x, uint32_t id, bool whole, uint64_t spent[MR_N_WAITS])
{
	uint64_t busy;

	if (whole)
		mr_executor_trained(x, id, &busy, spent);
	else
		mr_executor_spent(x, id, &busy, spent);
	spent[MR_WAIT_NONE] = busy;
}

/* The messages between all ranks. */
static mr_message_sum between(const mr_executor *x)
{
	const mr_run *run = mr_executor_run_of(x);
	mr_message_sum sum = {0};

	for (uint32_t i = 0; run->between && i < run->c.ranks->n * run->c.ranks->n; i++) {
		sum.send_ns += run->between[i].send_ns;
		sum.wire_ns += run->between[i].wire_ns;
		sum.wait_ns += run->between[i].wait_ns;
	}
	return sum;
}

void mr_worker_window_begin(mr_worker_window *w, const mr_executor *x, uint64_t now_ns)
{
	if (!w->row)
		make(w, x);
	w->begin_ns = now_ns;
	w->between = between(x);
	for (uint32_t i = 0; i < w->n_rows; i++)
		read(x, i, false, w->spent + (size_t)i * MR_N_WAITS);
}

/* The counters are read now, and steps are reported a little later than they end: parts stay within 0 and 1. Four
 * digits are what a fraction of a second tells. */
static double part(uint64_t before, uint64_t after, uint64_t ns)
{
	return ns ? round(1e4 * fmin(1, (double)(after - before) / (double)ns)) / 1e4 : (double)NAN;
}

/* Parts of time have no length. */
static void fill(mr_times *to, const uint64_t *before, const uint64_t *after, uint64_t ns)
{
	to->elapsed = NAN;
	for (int c = 0; c < MR_N_WAITS; c++)
		to->at[c] = part(before[c], after[c], ns);
}

/* The sums come about ten times a second, and what came with one is of the time since the one before. */
static void fill_between(const mr_worker_window *w, const mr_executor *x, uint64_t ns, mr_figures *all)
{
	mr_message_sum now = between(x);

	if (!mr_executor_run_of(x)->between)
		return;
	all->link_send = part(w->between.send_ns, now.send_ns, ns * w->n_rows);
	all->link_wait = part(w->between.wait_ns, now.wait_ns, ns * w->n_rows);
	all->link_wire = round(1e4 * (double)(now.wire_ns - w->between.wire_ns) / (double)ns) / 1e4;
}

void mr_worker_window_take(mr_worker_window *w, const mr_executor *x, uint64_t now_ns, bool any, mr_figures *all)
{
	uint64_t ns = now_ns - w->begin_ns, after[MR_N_WAITS];

	if (!w->n_rows || now_ns <= w->begin_ns || (!any && ns < SHORTEST_NS))
		return;
	for (uint32_t i = 0; i < w->n_rows; i++) {
		read(x, i, false, after);
		fill(&w->row[i], w->spent + (size_t)i * MR_N_WAITS, after, ns);
	}
	mr_figures_of_workers(w->row, w->n_rows, all);
	fill_between(w, x, ns, all);
	mr_worker_window_begin(w, x, now_ns);
}

void mr_worker_window_whole(mr_worker_window *w, const mr_executor *x, uint64_t train_ns, mr_figures *all)
{
	const uint64_t none[MR_N_WAITS] = {0};
	uint64_t after[MR_N_WAITS];

	if (!w->row)
		make(w, x);
	for (uint32_t i = 0; i < w->n_rows; i++) {
		read(x, i, true, after);
		fill(&w->row[i], none, after, train_ns);
	}
	mr_figures_of_workers(w->row, w->n_rows, all);
	w->between = (mr_message_sum){0};
	fill_between(w, x, train_ns, all);
}

void mr_worker_window_fini(mr_worker_window *w)
{
	free(w->spent);
	free(w->row);
	*w = (mr_worker_window){0};
}

mr_times mr_worker_times(const mr_executor *x, uint32_t id, uint64_t train_ns)
{
	uint64_t spent[MR_N_WAITS] = {0};
	mr_times t = {.elapsed = (double)train_ns / 1e9};

	read(x, id, true, spent);
	for (int c = 0; c < MR_N_WAITS; c++)
		t.at[c] = (double)spent[c] / 1e9;
	return t;
}
