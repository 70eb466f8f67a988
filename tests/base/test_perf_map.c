/* Stubs with names: what they call, with which arguments, and the lines for perf. */
#include "base/perf_map.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static mr_status add_up(const void *a, const void *b, uint32_t n)
{
	return (mr_status)(*(const int *)a + *(const int *)b + (int)n);
}

/* Is @a the stub by way of which this is called? */
static mr_status is_current(const void *a, const void *b, uint32_t n)
{
	mr_perf_stub *want;

	(void)b, (void)n;
	memcpy(&want, &a, sizeof(want));
	return mr_perf_map_current() == want ? MR_OK : MR_ECONFIG;
}

static void off(void)
{
	int a = 1, b = 2;

	unsetenv("MR_PERF_MAP");
	CU_ASSERT_PTR_NULL((void *)(uintptr_t)mr_perf_map_stub("linear:x_W:1x2x3"));
	CU_ASSERT_EQUAL(mr_perf_map_call(NULL, add_up, &a, &b, 3), 6);
}

static void named(void)
{
	char folder[] = "/tmp/mr-perf-map-XXXXXX", path[64], line[2][128], want[128];
	mr_perf_stub *one, *two;
	int a = 1, b = 2;
	void *at;
	FILE *map;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	setenv("MR_PERF_MAP", folder, 1);
	one = mr_perf_map_stub("linear:x_W:1x2x3");
	two = mr_perf_map_stub("linear:dW:1x2x3");
	CU_ASSERT(mr_perf_map_stub("linear:x_W:1x2x3") == one);
	unsetenv("MR_PERF_MAP");
	snprintf(path, sizeof(path), "%s/perf-%d.map", folder, (int)getpid());
#if defined(__x86_64__) || defined(__aarch64__)
	CU_ASSERT_FATAL(one && two && one != two);
	CU_ASSERT_EQUAL(mr_perf_map_call(one, add_up, &a, &b, 3), 6);
	a = 10;
	CU_ASSERT_EQUAL(mr_perf_map_call(two, add_up, &a, &b, 4), 16);
	memcpy(&at, &two, sizeof(at));
	CU_ASSERT_EQUAL(mr_perf_map_call(two, is_current, at, NULL, 0), MR_OK);
	CU_ASSERT_EQUAL(mr_perf_map_call(one, is_current, at, NULL, 0), MR_ECONFIG);
	CU_ASSERT_PTR_NULL((void *)(uintptr_t)mr_perf_map_current());
	map = fopen(path, "re");
	CU_ASSERT_PTR_NOT_NULL_FATAL(map);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line[i], sizeof(line[i]), map));
	CU_ASSERT_PTR_NULL(fgets(want, sizeof(want), map));
	fclose(map);
	snprintf(want, sizeof(want), "%llx ", (unsigned long long)(uintptr_t)one);
	CU_ASSERT_PTR_EQUAL(strstr(line[0], want), line[0]);
	CU_ASSERT_PTR_NOT_NULL(strstr(line[0], " linear:x_W:1x2x3\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(line[1], " linear:dW:1x2x3\n"));
#else
	CU_ASSERT_FATAL(!one && !two);
	(void)a, (void)b, (void)at, (void)is_current, (void)line, (void)want, (void)map;
#endif
	unlink(path);
	rmdir(folder);
}

void mr_suite_perf_map(void);
void mr_suite_perf_map(void)
{
	MR_SUITE("perf_map");
	MR_TEST(off);
	MR_TEST(named);
}
