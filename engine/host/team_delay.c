#include "host/team_delay.h"

#include <stdlib.h>

#include "host/clock.h"

#ifdef MR_OPENMP
#include <omp.h>
#endif

/* The counter of each member, opened by the member itself. */
static void open_members(mr_team_delay *d, uint32_t n_threads)
{
#ifdef MR_OPENMP
	if (n_threads > 1) {
#pragma omp parallel num_threads(n_threads)
		mr_sched_delay_open(&d->of[omp_get_thread_num()], NULL);
		return;
	}
#endif
	(void)n_threads;
	mr_sched_delay_open(&d->of[0], NULL);
}

void mr_team_delay_open(mr_team_delay *d, uint32_t n_threads)
{
	uint32_t n_known = 0;

#ifndef MR_OPENMP
	n_threads = 1;
#endif
	*d = (mr_team_delay){.of = calloc(n_threads, sizeof(*d->of)), .seen_ns = calloc(n_threads, sizeof(*d->seen_ns)),
		.n = n_threads};
	if (d->of && d->seen_ns)
		open_members(d, n_threads);
	for (uint32_t i = 0; d->of && i < n_threads; i++)
		n_known += mr_sched_delay_known(&d->of[i]);
	if (!d->of || !d->seen_ns || n_known < n_threads)
		mr_team_delay_close(d);
	else
		mr_team_delay_look(d, mr_clock_ns());
}

void mr_team_delay_close(mr_team_delay *d)
{
	for (uint32_t i = 0; d->of && i < d->n; i++)
		mr_sched_delay_close(&d->of[i]);
	free(d->of);
	free(d->seen_ns);
	*d = (mr_team_delay){0};
}

mr_team_delayed mr_team_delay_look(mr_team_delay *d, uint64_t now)
{
	mr_team_delayed out = {0};

	for (uint32_t i = 0; i < d->n; i++) {
		uint64_t ns = mr_sched_delay_ns(&d->of[i]), delay = ns > d->seen_ns[i] ? ns - d->seen_ns[i] : 0;

		d->seen_ns[i] = ns;
		out.leader_ns = i == 0 ? delay : out.leader_ns;
		out.most_ns = delay > out.most_ns ? delay : out.most_ns;
	}
	d->due_ns = now + (uint64_t)MR_TEAM_DELAY_EVERY_NS * d->n;
	return out;
}
