#include "threads/watchdog.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "host/backtrace.h"

void mr_watchdog_init(mr_watchdog *d, double seconds)
{
	*d = (mr_watchdog){0};
	mr_stall_init(&d->stall, seconds);
}

static const char *const cause_text[MR_N_WAITS] = {
	[MR_WAIT_NONE] = "computes",
	[MR_WAIT_UPSTREAM] = "waits for its input",
	[MR_WAIT_DOWNSTREAM] = "waits for a free boundary buffer",
	[MR_WAIT_WEIGHTS] = "waits for weights of another stage",
	[MR_WAIT_OPTIMIZER] = "waits for the gradient norm",
	[MR_WAIT_DATA] = "waits for the loader",
	[MR_WAIT_DESCHEDULED] = "waits for its core",
};

/* The state in which a worker was seen. */
typedef struct seen {
	bool idle;          /* it has done its part */
	uint8_t op, pipe;
	uint16_t stage;
	uint32_t micro, why;
} seen;

static seen look_at(const mr_worker *wk)
{
	uint64_t doing = atomic_load_explicit(&wk->doing, memory_order_relaxed);
	uint32_t why = atomic_load_explicit(&wk->waiter.why, memory_order_relaxed);

	return (seen){
		.idle = doing == MR_DOING_NOTHING,
		.op = (uint8_t)(doing >> 56),
		.pipe = (uint8_t)(doing >> 32),
		.stage = (uint16_t)(doing >> 40),
		.micro = (uint32_t)doing,
		.why = why < MR_N_WAITS ? why : 0,
	};
}

enum { NOBODY = -1, LOADER = -2 };

/* Any other worker that computes, or NOBODY. */
static int one_that_computes(const mr_run *run)
{
	for (uint16_t w = 0; w < run->n_workers; w++) {
		seen x = look_at(&run->worker[w]);

		if (!x.idle && x.why == MR_WAIT_NONE)
			return w;
	}
	return NOBODY;
}

/* What the worker seen as @x waits for: the worker of a neighbour stage, the loader, or one of several workers. */
static int waits_for(const mr_run *run, const seen *x)
{
	bool forward = x->op == MR_OP_F || x->op == MR_OP_R, up = x->why == MR_WAIT_UPSTREAM;
	int to = (int)x->stage + (forward == up ? -1 : 1);

	if (x->why == MR_WAIT_DATA || (up && forward && x->stage == 0))
		return LOADER;
	if (!up && x->why != MR_WAIT_DOWNSTREAM)
		return one_that_computes(run); /* several workers make weights and norms */
	return to < 0 || to >= run->n_stages ? NOBODY : mr_plan_worker(run->c.plan, x->pipe, (uint16_t)to);
}

/* Follow the waits from worker @w to the thread that does not wait. */
static int follow(const mr_run *run, int w)
{
	for (unsigned hops = 0; hops <= run->n_workers && w >= 0; hops++) {
		seen x = look_at(&run->worker[w]);

		if (x.idle)
			return NOBODY;
		if (x.why == MR_WAIT_NONE)
			return w;
		w = waits_for(run, &x);
	}
	return w == LOADER ? LOADER : NOBODY;
}

/* The end of the chain of waits from the first worker that waits; other ends carry no information. */
static int who_stands(const mr_run *run)
{
	for (uint16_t w = 0; w < run->n_workers; w++) {
		seen x = look_at(&run->worker[w]);
		int end = x.idle || x.why == MR_WAIT_NONE ? NOBODY : follow(run, w);

		if (end != NOBODY)
			return end;
	}
	return one_that_computes(run);
}

static void name_the_one(mr_watchdog *d, const mr_run *run, char *text, size_t size)
{
	int who = who_stands(run);

	if (who == NOBODY) {
		snprintf(text, size, "; they wait for each other");
	} else if (who == LOADER) {
		snprintf(text, size, "; the loader stands");
		snprintf(d->stands, sizeof(d->stands), "mr-loader");
	} else {
		snprintf(text, size, "; w%d stands", who);
		snprintf(d->stands, sizeof(d->stands), "mr-w%d", who);
	}
}

/* Behind @lead: what worker @w does, and on which rank it is, if there are several. The length of it all. */
static int describe(const mr_run *run, uint16_t w, const char *lead, char *text, size_t size)
{
	const mr_ranks *r = run->c.ranks;
	seen x = look_at(&run->worker[w]);
	char rank[96] = "";

	if (r)
		mr_ranks_name(r, mr_run_rank(&run->c, w), rank, sizeof(rank));
	if (x.idle)
		return snprintf(text, size, "%s w%u%s%s has done its part", lead, w, r ? " of " : "", rank);
	return snprintf(text, size, "%s w%u%s%s %s m%u s%u %s", lead, w, r ? " of " : "", rank,
			mr_op_name((mr_op)x.op), x.micro, x.stage, cause_text[x.why]);
}

mr_status mr_watchdog_stalled(mr_watchdog *d, const mr_run *run)
{
	char text[840], end[40];
	int n = snprintf(text, sizeof(text), "no worker has finished an instruction for %.1f seconds:",
			 (double)d->stall.idle_ns / 1e9);

	for (uint16_t w = 0; w < run->n_workers && n < (int)sizeof(text); w++)
		n += describe(run, w, w ? ";" : "", text + n, sizeof(text) - (size_t)n);
	name_the_one(d, run, end, sizeof(end));
	return mr_fail(MR_ESTALLED, "%s%s", text, end);
}

mr_status mr_watchdog_lost(const mr_run *run)
{
	char text[840];
	int n = snprintf(text, sizeof(text), "%s", mr_error_text());

	for (uint16_t w = 0; w < run->n_workers && n < (int)sizeof(text); w++)
		if (!look_at(&run->worker[w]).idle && (mr_run_is_here(&run->c, w) || !run->c.ranks->self))
			n += describe(run, w, ";", text + n, sizeof(text) - (size_t)n);
	return mr_fail(MR_ESTALLED, "%s", text);
}

mr_status mr_watchdog_look(mr_watchdog *d, mr_run *run)
{
	uint64_t beats = 0, longest = 0;

	for (uint16_t w = 0; w < run->n_workers; w++) {
		uint64_t ns = atomic_load_explicit(&run->worker[w].longest_ns, memory_order_relaxed);

		beats += atomic_load_explicit(&run->worker[w].beat, memory_order_relaxed);
		longest = ns > longest ? ns : longest;
	}
	return mr_stall_look(&d->stall, beats, longest) ? mr_watchdog_stalled(d, run) : MR_OK;
}

static void warn(void *arg, const char *text)
{
	(void)arg;
	mr_log(MR_LOG_WARN, "watchdog", "%s", text);
}

void mr_watchdog_show(const char *name)
{
	if (*name)
		mr_backtrace_threads(name, warn, NULL);
}
