#include "perf/steps/load.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "host/clock.h"

/* The line of all CPUs: user nice system idle iowait irq softirq steal, in ticks; guests are in user and nice. */
static bool read_busy(double *seconds)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long long user, nice, sys, idle, iowait, irq, softirq, steal;
	bool ok;

	if (!f)
		return false;
	ok = fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys, &idle, &iowait, &irq,
		    &softirq, &steal) == 8;
	fclose(f);
	if (ok)
		*seconds = (double)(user + nice + sys + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK);
	return ok;
}

void mr_load_read(const mr_peer peers[MR_N_PEERS], mr_load *now)
{
	struct timespec own = {0};

	*now = (mr_load){.wall_s = (double)mr_clock_ns() / 1e9};
	now->known = read_busy(&now->busy_s);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	now->own_s = (double)own.tv_sec + (double)own.tv_nsec / 1e9;
	for (int i = 0; i < MR_N_PEERS; i++)
		now->own_s += (double)mr_process_cpu_ns(&peers[i].process) / 1e9;
}

mr_use mr_load_since(const mr_peer peers[MR_N_PEERS], const mr_load *then)
{
	mr_load now;
	mr_use u;

	mr_load_read(peers, &now);
	u = (mr_use){.wall_s = now.wall_s - then->wall_s, .own_s = now.own_s - then->own_s};
	if (u.own_s < 0) /* a peer is gone */
		u.own_s = 0;
	if (then->known && now.known)
		u.others_s = now.busy_s - then->busy_s - u.own_s;
	if (u.others_s < 0) /* ticks are coarser than clocks */
		u.others_s = 0;
	return u;
}

bool mr_use_disturbed(const mr_use *u)
{
	return u->others_s > MR_LOAD_SLACK_S + MR_LOAD_SHARE * u->wall_s;
}
