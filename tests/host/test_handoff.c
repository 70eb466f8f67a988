#include "host/handoff.h"

#include <sched.h>
#include <string.h>

#include "check.h"
#include "host/topo.h"

static void measures(void)
{
	static const size_t sizes[] = {1, 16 << 10, (64 << 10) + 5, 1 << 20};
	cpu_set_t before, after;
	mr_handoff h;
	mr_topo t;

	MR_CHECK_OK(mr_topo_detect(&t));
	MR_CHECK_FAIL(mr_handoff_measure(3, 3, 4096, &h), MR_EINVAL, "CPU 3 twice");
	MR_CHECK_FAIL(mr_handoff_measure(t.core[0].cpu, 1001, 4096, &h), MR_ERESOURCE, "Invalid argument");
	for (size_t i = 0; t.n_usable > 1 && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		sched_getaffinity(0, sizeof(before), &before);
		MR_CHECK_OK(mr_handoff_measure(t.core[0].cpu, t.core[1].cpu, sizes[i], &h));
		sched_getaffinity(0, sizeof(after), &after);
		CU_ASSERT_TRUE(CPU_EQUAL(&before, &after));
		/* A line of 64 bytes takes less than 10 microseconds on any machine; a busy one may see no difference.
		 */
		CU_ASSERT(h.read_s >= 0 && h.read_s < 1e-5 / 64);
		CU_ASSERT(h.write_s >= 0 && h.write_s < 1e-5 / 64);
	}
	mr_topo_fini(&t);
}

void mr_suite_handoff(void); /* the runner declares it too */

void mr_suite_handoff(void)
{
	MR_SUITE("handoff");
	MR_TEST(measures);
}
