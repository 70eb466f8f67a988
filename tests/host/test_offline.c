/* Lists of CPUs that are offline, as the kernel writes them. */
#include "host/offline.h"

#include <string.h>

#include "check.h"

static void test_lists(void)
{
	CU_ASSERT_FALSE(mr_offline_has("", 0));
	CU_ASSERT_TRUE(mr_offline_has("3", 3));
	CU_ASSERT_FALSE(mr_offline_has("3", 2));
	CU_ASSERT_TRUE(mr_offline_has("1,4-7,12", 1));
	CU_ASSERT_TRUE(mr_offline_has("1,4-7,12", 4));
	CU_ASSERT_TRUE(mr_offline_has("1,4-7,12", 7));
	CU_ASSERT_TRUE(mr_offline_has("1,4-7,12", 12));
	CU_ASSERT_FALSE(mr_offline_has("1,4-7,12", 8));
	CU_ASSERT_FALSE(mr_offline_has("1,4-7,12", 120));
	CU_ASSERT_FALSE(mr_offline_has("nonsense", 0));
}

/* The CPU that runs this is online. */
static void test_this_machine(void)
{
	char text[4096], few[2];

	CU_ASSERT_PTR_EQUAL(mr_offline_cpus(text, sizeof(text)), text);
	CU_ASSERT_PTR_NULL(strchr(text, '\n'));
	CU_ASSERT_TRUE(strlen(mr_offline_cpus(few, sizeof(few))) <= 1);
}

void mr_suite_offline(void); /* the runner declares it too */

void mr_suite_offline(void)
{
	MR_SUITE("offline");
	MR_TEST(test_lists);
	MR_TEST(test_this_machine);
}
