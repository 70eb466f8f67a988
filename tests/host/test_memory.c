#include "host/memory.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

static void test_round(void)
{
	CU_ASSERT_EQUAL(mr_region_round(1), 4096);
	CU_ASSERT_EQUAL(mr_region_round(4097), 8192);
	CU_ASSERT_EQUAL(mr_region_round((2 << 20) - 1), 2 << 20);
	CU_ASSERT_EQUAL(mr_region_round((2 << 20) + 1), 4 << 20);
	CU_ASSERT_EQUAL(mr_region_round(0), 0);
	CU_ASSERT_EQUAL(mr_region_round(UINT64_MAX), 0);
}

/* Sizes on both sides of a huge page: aligned, zero, writable to the last byte, and the size as announced. */
static void test_map(void)
{
	static const uint64_t sizes[] = {1, 5000, (2 << 20) - 1, 2 << 20, (5 << 20) + 3};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		mr_region r;
		char *p;

		MR_CHECK_OK(mr_region_map(&r, sizes[i], NULL));
		p = r.base;
		CU_ASSERT_EQUAL(r.bytes, mr_region_round(sizes[i]));
		CU_ASSERT_EQUAL(r.asked_bytes, sizes[i]);
		CU_ASSERT_EQUAL((uintptr_t)p % (r.bytes >= 2 << 20 ? 2 << 20 : 4096), 0);
		CU_ASSERT_FALSE(r.bound);
		CU_ASSERT_EQUAL(p[0], 0);
		CU_ASSERT_EQUAL(p[r.bytes - 1], 0);
		memset(p, 1, r.bytes);
		mr_region_unmap(&r);
		CU_ASSERT_PTR_NULL(r.base);
		mr_region_unmap(&r);
	}
}

static void test_refused(void)
{
	mr_region r;

	MR_CHECK_FAIL(mr_region_map(&r, 0, NULL), MR_EINVAL, "0 bytes");
	MR_CHECK_FAIL(mr_region_map(&r, UINT64_MAX - 5, NULL), MR_EINVAL, "cannot be mapped");
	MR_CHECK_FAIL(mr_region_map(&r, (uint64_t)1 << 60, NULL), MR_ERESOURCE, "cannot map");
	CU_ASSERT_PTR_NULL(r.base);
}

/* Node 0 exists everywhere; where the kernel does not let us bind, the note says so. Node 1000 never binds. */
static void test_bind(void)
{
	const mr_node_list first = mr_node_list_of(0), none = mr_node_list_of(1000), beyond = mr_node_list_of(5000);
	mr_region r;

	MR_CHECK_OK(mr_region_map(&r, 1 << 16, &first));
	CU_ASSERT_EQUAL(r.bound, r.note[0] == '\0');
	CU_ASSERT_EQUAL(r.nodes.n, 1);
	memset(r.base, 1, r.bytes);
	mr_region_unmap(&r);
	MR_CHECK_OK(mr_region_map(&r, 1 << 16, &none));
	CU_ASSERT_FALSE(r.bound);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.note, "binding"));
	mr_region_unmap(&r);
	MR_CHECK_OK(mr_region_map(&r, 1 << 16, &beyond));
	CU_ASSERT_FALSE(r.bound);
	mr_region_unmap(&r);
}

/* The policy of the page at @p: 0 the default, 2 bound; -1: the kernel does not say. */
static int policy_at(const void *p)
{
	enum { MPOL_F_ADDR_ = 2 };
	int policy = -1;

	return syscall(SYS_get_mempolicy, &policy, NULL, 0ul, p, (unsigned long)MPOL_F_ADDR_) ? -1 : policy;
}

/* Whole pages inside the part are bound, and nothing else. */
static void test_bind_part(void)
{
	const char *p;
	mr_region r;

	MR_CHECK_OK(mr_region_map(&r, 1 << 16, NULL));
	p = r.base;
	if (mr_region_bind_part(&r, 4096 + 1, 3 * 4096, 0)) {
		CU_ASSERT_EQUAL(r.note[0], '\0');
		for (int page = 0; page < 16 && policy_at(p) >= 0; page++)
			CU_ASSERT_EQUAL(policy_at(p + 4096 * page), page == 2 || page == 3 ? 1 : 0);
		CU_ASSERT_EQUAL(mr_region_bind_part(&r, 8192, 4096, 0), 4096);
	} else {
		CU_ASSERT_PTR_NOT_NULL(strstr(r.note, "binding"));
	}
	CU_ASSERT_FALSE(r.bound);
	CU_ASSERT_EQUAL(mr_region_bind_part(&r, 100, 4096, 0), 0); /* no whole page */
	CU_ASSERT_EQUAL(mr_region_bind_part(&r, (1 << 16) - 4096, 1 << 20, 1000), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.note, "binding"));
	mr_region_unmap(&r);
}

static uint64_t n_resident(const mr_region *r)
{
	static unsigned char in[1 << 14];
	uint64_t n = 0;

	if (mincore(r->base, r->bytes, in))
		return 0;
	for (uint64_t i = 0; i < r->bytes / 4096; i++)
		n += in[i] & 1;
	return n;
}

/* Page faults of this process that read nothing from the disk. */
static uint64_t minor_faults(void)
{
	struct rusage u = {0};

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_minflt;
}

static void test_prefault(void)
{
	enum { BYTES = 1 << 20 };
	uint64_t before;
	mr_region r;

	MR_CHECK_OK(mr_region_map(&r, BYTES, NULL));
	before = minor_faults();
	mr_region_prefault(&r, BYTES / 2, BYTES / 4);
	CU_ASSERT_EQUAL(n_resident(&r), BYTES / 4 / 4096);
	((char *)r.base)[7] = 42;
	mr_region_prefault(&r, 0, UINT64_MAX);
	CU_ASSERT_EQUAL(n_resident(&r), BYTES / 4096);
	CU_ASSERT_EQUAL(((char *)r.base)[7], 42);
	CU_ASSERT(minor_faults() - before >= BYTES / 4096); /* a region below 2 MiB has small pages, one fault each */
	mr_region_prefault(&r, BYTES + 5, 1);
	mr_region_unmap(&r);
}

static void test_peak(void)
{
	uint64_t before = mr_memory_peak_bytes(), now = mr_memory_resident_bytes();
	mr_region r;

	CU_ASSERT(before >= now && now > 0);
	MR_CHECK_OK(mr_region_map(&r, (uint64_t)64 << 20, NULL));
	mr_region_prefault(&r, 0, r.bytes);
	CU_ASSERT(mr_memory_resident_bytes() > now + (60u << 20));
	mr_region_unmap(&r);
	CU_ASSERT(mr_memory_peak_bytes() > now + (60u << 20));
	CU_ASSERT(mr_memory_resident_bytes() < now + (30u << 20));
}

void mr_suite_memory(void); /* the runner declares it too */

void mr_suite_memory(void)
{
	MR_SUITE("memory");
	MR_TEST(test_round);
	MR_TEST(test_map);
	MR_TEST(test_refused);
	MR_TEST(test_bind);
	MR_TEST(test_bind_part);
	MR_TEST(test_prefault);
	MR_TEST(test_peak);
}
