#include "host/background.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE 15
#define SLICE_NS 100000 /* the shortest that there is */

void mr_background(void)
{
	struct { /* sched_setattr(2), which the C library may lack */
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} a = {.size = sizeof(a), .nice = NICE, .runtime = SLICE_NS};

	if (syscall(SYS_sched_setattr, 0, &a, 0))
		(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE); /* on Linux of this thread alone */
}
