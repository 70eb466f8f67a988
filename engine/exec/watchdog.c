#include "exec/watchdog.h"

#include <stdio.h>

#include "host/clock.h"

#define LOOK_NS 1000000000u /* a look that comes later than this, or than a quarter of the limit, was held up itself */

void mr_watchdog_init(mr_watchdog *d, double seconds)
{
	*d = (mr_watchdog){.limit_ns = (uint64_t)(seconds * 1e9), .seen_ns = mr_clock_ns()};
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

static mr_status stalled(const mr_watchdog *d, mr_run *run)
{
	char text[900];
	int n = snprintf(text, sizeof(text), "no worker has finished an instruction for %.1f seconds:",
			 (double)d->idle_ns / 1e9);

	for (uint16_t w = 0; w < run->n_workers && n < (int)sizeof(text); w++) {
		mr_worker *wk = &run->worker[w];
		uint64_t doing = atomic_load_explicit(&wk->doing, memory_order_relaxed);
		uint32_t why = atomic_load_explicit(&wk->waiter.why, memory_order_relaxed);

		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s w%u ", w ? ";" : "", w);
		if (n >= (int)sizeof(text))
			break;
		if (doing == MR_DOING_NOTHING)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "has done its part");
		else
			n += snprintf(text + n, sizeof(text) - (size_t)n, "%s m%llu s%u %s", mr_op_name((mr_op)(doing >> 56)),
				      (unsigned long long)(doing & 0xffffffffffu), (unsigned)(doing >> 40 & 0xffff),
				      cause_text[why < MR_N_WAITS ? why : 0]);
	}
	return mr_fail(MR_ESTALLED, "%s", text);
}

mr_status mr_watchdog_look(mr_watchdog *d, mr_run *run)
{
	uint64_t now = mr_clock_ns(), beats = 0, passed = now - d->seen_ns;
	uint64_t most = d->limit_ns / 4 < LOOK_NS ? d->limit_ns / 4 : LOOK_NS;

	d->seen_ns = now;
	for (uint16_t w = 0; w < run->n_workers; w++)
		beats += atomic_load_explicit(&run->worker[w].beat, memory_order_relaxed);
	if (beats != d->beats) {
		d->beats = beats;
		d->idle_ns = 0;
		return MR_OK;
	}
	d->idle_ns += passed < most ? passed : most;
	if (d->limit_ns == 0 || d->idle_ns < d->limit_ns)
		return MR_OK;
	return stalled(d, run);
}
