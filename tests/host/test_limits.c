/* Fake /proc and /sys trees: both cgroup versions, nested limits, a container's view. */
#include "host/limits.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "host/node_memory.h"

static char root[256];

static void make_root(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(root, sizeof(root), "%s/mr-limits-XXXXXX", tmp ? tmp : "/tmp");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
}

/* Write @text to @path below the root, with its folders. */
static void put(const char *path, const char *text)
{
	char full[1024];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		mkdir(full, 0700);
		*p = '/';
	}
	f = fopen(full, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static void remove_root(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	CU_ASSERT_EQUAL(system(command), 0);
}

static const char mount_v2[] = "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
			       "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

static void test_v2_nested(void)
{
	mr_limits l;

	make_root();
	put("/proc/self/cgroup", "0::/user/job/step\n");
	put("/proc/self/mountinfo", mount_v2);
	put("/proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    2048 kB\n");
	put("/sys/fs/cgroup/user/job/step/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/user/job/cpu.max", "250000 100000\n");
	put("/sys/fs/cgroup/user/cpu.max", "800000 100000\n");
	put("/sys/fs/cgroup/user/job/step/memory.max", "5000000\n");
	put("/sys/fs/cgroup/user/job/memory.max", "max\n");
	put("/sys/fs/cgroup/user/memory.max", "4000000\n");
	mr_limits_read(root, &l);
	CU_ASSERT_DOUBLE_EQUAL(l.cpus, 2.5, 1e-9);
	CU_ASSERT_EQUAL(l.memory_bytes, 4000000);
	CU_ASSERT_STRING_EQUAL(l.memory_from, "cgroup memory.max");
	CU_ASSERT_EQUAL(l.available_bytes, 2048 << 10);
	CU_ASSERT_EQUAL(l.total_bytes, 9 << 10);
	remove_root();
}

static void test_v1(void)
{
	mr_limits l;

	make_root();
	put("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/jobs/a\n3:cpuset:/\n1:cpu,cpuacct:/jobs/a\n0::/\n");
	put("/proc/self/mountinfo", "31 1 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
				    "32 1 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
	put("/sys/fs/cgroup/cpu,cpuacct/jobs/a/cpu.cfs_quota_us", "150000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/jobs/a/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/memory/jobs/a/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "123456789\n");
	mr_limits_read(root, &l);
	CU_ASSERT_DOUBLE_EQUAL(l.cpus, 1.5, 1e-9);
	CU_ASSERT_EQUAL(l.memory_bytes, 123456789);
	CU_ASSERT_STRING_EQUAL(l.memory_from, "cgroup memory.limit_in_bytes");
	remove_root();
}

/* In a container the host's path does not exist; the mount shows the group itself. */
static void test_container(void)
{
	mr_limits l;

	make_root();
	put("/proc/self/cgroup", "0::/docker/abc\n");
	put("/proc/self/mountinfo", "30 1 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
	put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
	put("/sys/fs/cgroup/memory.max", "777777\n");
	mr_limits_read(root, &l);
	CU_ASSERT_DOUBLE_EQUAL(l.cpus, 0.5, 1e-9);
	CU_ASSERT_EQUAL(l.memory_bytes, 777777);
	put("/proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
	mr_limits_read(root, &l);
	CU_ASSERT_DOUBLE_EQUAL(l.cpus, 0.5, 1e-9);
	remove_root();
}

static void test_nothing_there(void)
{
	mr_limits l;

	mr_limits_read("/nonexistent", &l);
	CU_ASSERT_EQUAL(l.cpus, 0);
	CU_ASSERT_EQUAL(l.available_bytes, UINT64_MAX);
	make_root();
	put("/proc/self/cgroup", "\n:::\n0:\ngarbage");
	put("/proc/self/mountinfo", "\n - \n30 1 0:26 / /x ro - cgroup2\nx - cgroup cgroup rw,cpu\n");
	mr_limits_read(root, &l);
	CU_ASSERT_EQUAL(l.cpus, 0);
	remove_root();
}

/* What the processes of a group have counts against its limit, cached files do not. */
static void test_memory_in_use(void)
{
	mr_limits l;

	make_root();
	put("/proc/self/cgroup", "0::/job\n");
	put("/proc/self/mountinfo", mount_v2);
	put("/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n");
	put("/sys/fs/cgroup/job/memory.max", "4000000\n");
	put("/sys/fs/cgroup/job/memory.current", "3900000\n");
	put("/sys/fs/cgroup/job/memory.stat", "anon 2000000\ninactive_file 700000\nactive_file 200000\n");
	mr_limits_read(root, &l);
	CU_ASSERT_EQUAL(l.memory_bytes, 4000000);
	CU_ASSERT_EQUAL(l.available_bytes, 1000000);
	put("/sys/fs/cgroup/job/memory.current", "5000000\n");
	mr_limits_read(root, &l);
	CU_ASSERT_EQUAL(l.available_bytes, 0);
	put("/proc/meminfo", "MemAvailable:    80 kB\n");
	put("/sys/fs/cgroup/job/memory.current", "0\n");
	mr_limits_read(root, &l);
	CU_ASSERT_EQUAL(l.available_bytes, 80 << 10);
	remove_root();
}

static void test_node_memory(void)
{
	make_root();
	CU_ASSERT_EQUAL(mr_node_memory_free(root, 1), MR_NODE_MEMORY_UNKNOWN);
	put("/sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:  9000 kB\nNode 1 MemFree:  1000 kB\n"
						      "Node 1 Active(file):  300 kB\nNode 1 Inactive(file):  500 kB\n"
						      "Node 1 Dirty:  150 kB\nNode 1 Writeback:  50 kB\n"
						      "Node 1 Shmem:  7000 kB\nNode 1 SReclaimable:  200 kB\n");
	CU_ASSERT_EQUAL(mr_node_memory_free(root, 1), 1400 << 10);
	put("/proc/zoneinfo", "Node 0, zone   Normal\n  pages free 5\n        high     900\n"
			      "Node 1, zone      DMA\n        low      7\n        high     10\n              high:  9\n"
			      "Node 1, zone   Normal\n        high     20\n");
	CU_ASSERT_EQUAL(mr_node_memory_free(root, 1), (1400 << 10) - 30 * (uint64_t)sysconf(_SC_PAGESIZE));
	put("/sys/devices/system/node/node1/meminfo", "Node 1 MemFree:  8 kB\n");
	CU_ASSERT_EQUAL(mr_node_memory_free(root, 1), 0);
	put("/sys/devices/system/node/node1/meminfo", "garbage\n");
	CU_ASSERT_EQUAL(mr_node_memory_free(root, 1), MR_NODE_MEMORY_UNKNOWN);
	remove_root();
}

static void test_rlimit(void)
{
	struct rlimit before, low;
	mr_limits l;

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_AS, &before), 0);
	low = before;
	low.rlim_cur = (rlim_t)1 << 46; /* far above what sanitizers map, far below "unlimited" */
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_AS, &low), 0);
	mr_limits_read("/nonexistent", &l);
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_AS, &before), 0);
	CU_ASSERT_EQUAL(l.memory_bytes, (uint64_t)1 << 46);
	CU_ASSERT_STRING_EQUAL(l.memory_from, "RLIMIT_AS");
}

void mr_suite_limits(void); /* the runner declares it too */

void mr_suite_limits(void)
{
	MR_SUITE("limits");
	MR_TEST(test_v2_nested);
	MR_TEST(test_v1);
	MR_TEST(test_container);
	MR_TEST(test_nothing_there);
	MR_TEST(test_memory_in_use);
	MR_TEST(test_node_memory);
	MR_TEST(test_rlimit);
}
