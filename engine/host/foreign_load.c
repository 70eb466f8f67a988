#include "host/foreign_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "host/clock.h"

#define MAX_BYTES ((size_t)16 << 20)

/* The line of all CPUs: user nice system idle iowait irq softirq steal, in ticks; guests are in user and nice. */
mr_foreign_load mr_foreign_load_of(const char *text, double tick_s)
{
	unsigned long long user, nice, sys, idle, iowait, irq, softirq, steal;
	mr_foreign_load l = {.known = false};

	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys, &idle, &iowait, &irq,
		   &softirq, &steal) != 8)
		return l;
	l.known = true;
	l.busy_s = (double)(user + nice + sys + irq + softirq + steal) * tick_s;
	l.idle_s = (double)(idle + iowait) * tick_s;
	return l;
}

mr_foreign_load mr_foreign_load_now(void)
{
	mr_foreign_load l = {.known = false};
	struct timespec own = {0};
	size_t len;
	char *text;

	if (mr_file_read("/proc/stat", MAX_BYTES, &text, &len) == MR_OK) {
		l = mr_foreign_load_of(text, 1 / (double)sysconf(_SC_CLK_TCK));
		free(text);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	l.own_s = (double)own.tv_sec + (double)own.tv_nsec / 1e9;
	l.wall_s = (double)mr_clock_ns() / 1e9;
	return l;
}

double mr_foreign_load_between(const mr_foreign_load *then, const mr_foreign_load *now)
{
	double busy = now->busy_s - then->busy_s, idle = now->idle_s - then->idle_s;
	double others = busy - (now->own_s - then->own_s);

	if (!then->known || !now->known || !(busy + idle > 0) || !(others > 0)) /* ticks are coarser than clocks */
		return 0;
	return others < busy + idle ? others / (busy + idle) : 1;
}
