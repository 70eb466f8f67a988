/* A thousand million messages. Minutes; run with ctest -L long. MR_LONG_ITEMS changes the number. */
#include <string.h>

#include "check.h"
#include "host/pause.h"
#include "host/ring_torture.h"

static void test_thousand_million(void)
{
	static const uint32_t capacity[] = {64, 5, 2, 1024};
	uint32_t spin = mr_pause_spins(MR_PAUSE_OWN_NS);
	const char *items = getenv("MR_LONG_ITEMS");
	uint64_t n = items ? strtoull(items, NULL, 10) : 1000000000u;

	for (size_t i = 0; i < sizeof(capacity) / sizeof(capacity[0]); i++) {
		mr_torture_result result;

		MR_CHECK_OK(mr_torture_ring(capacity[i], spin, n / 4, i, true, &result));
		CU_ASSERT_EQUAL(result.n_bad, 0);
		CU_ASSERT_EQUAL(result.sent_hash, result.received_hash);
		CU_ASSERT_EQUAL(result.n_received, n / 4);
	}
}

void mr_suite_ring_long(void); /* the runner declares it too */

void mr_suite_ring_long(void)
{
	MR_SUITE("ring_long");
	MR_TEST(test_thousand_million);
}
