#include "logbook/step_window.h"

#include <math.h>

#define SHORTEST_NS 200000000u

void mr_step_window_begin(mr_step_window *w, const mr_executor *x, uint64_t now_ns)
{
	w->begin_ns = now_ns;
	w->busy_ns = mr_executor_busy_ns(x);
	mr_executor_waited_ns(x, w->waited_ns);
}

/* The counters are read now, and steps are reported a little later than they end: parts stay within 0 and 1. */
static double part(uint64_t before, uint64_t after, double all)
{
	return round(1e4 * fmin(1, (double)(after - before) / all)) / 1e4;
}

void mr_step_window_take(mr_step_window *w, const mr_session *s, uint64_t now_ns, mr_metrics_row *row)
{
	mr_step_window last = *w;
	double all;

	if (now_ns < last.begin_ns + SHORTEST_NS)
		return;
	mr_step_window_begin(w, &s->executor, now_ns);
	all = (double)(now_ns - last.begin_ns) * s->place.n_workers;
	row->bubble = round(1e4 * (1 - part(last.busy_ns, w->busy_ns, all))) / 1e4;
	for (int c = MR_WAIT_NONE + 1; c < MR_N_WAITS; c++)
		row->waits[c] = part(last.waited_ns[c], w->waited_ns[c], all);
}
