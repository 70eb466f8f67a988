#include "host/pin.h"

#include <errno.h>
#include <sched.h>

/* glibc's cpu_set_t ends at 1024 CPUs, so it is sized here. */
int mr_pin(const uint32_t *cpu, uint32_t n)
{
	uint32_t last = 0;
	cpu_set_t *set;
	size_t size;
	int error;

	for (uint32_t i = 0; i < n; i++)
		last = cpu[i] > last ? cpu[i] : last;
	set = CPU_ALLOC(last + 1);
	if (!set)
		return ENOMEM;
	size = CPU_ALLOC_SIZE(last + 1);
	CPU_ZERO_S(size, set);
	for (uint32_t i = 0; i < n; i++)
		CPU_SET_S(cpu[i], size, set);
	error = sched_setaffinity(0, size, set) ? errno : 0;
	CPU_FREE(set);
	return error;
}
