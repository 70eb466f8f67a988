#include "host/clock.h"

#include <errno.h>
#include <time.h>

uint64_t mr_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double mr_clock_s(void)
{
	return (double)mr_clock_ns() * 1e-9;
}

void mr_clock_sleep(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		continue;
}
