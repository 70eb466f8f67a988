#include "host/memory.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

enum { HUGE_PAGE = 2 << 20 };

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t mr_region_round(uint64_t bytes)
{
	uint64_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : page_bytes();

	/* Half the address space is far more than any machine has, and leaves room for the alignment below. */
	return bytes > UINT64_MAX / 2 ? 0 : (bytes + unit - 1) / unit * unit;
}

static void note(mr_region *r, const char *what, int error)
{
	size_t used = strlen(r->note);

	snprintf(r->note + used, sizeof(r->note) - used, "%s%s: %s", used ? "; " : "", what, strerror(error));
}

/* The policy counts for pages that are touched later, by whatever thread. */
static bool bind_to_node(mr_region *r, uint64_t offset, uint64_t bytes, uint32_t node_os)
{
	enum { MPOL_BIND_ = 2, MAX_NODES = 1024, BITS = 8 * sizeof(unsigned long) };
	unsigned long mask[MAX_NODES / BITS] = {0};

	if (node_os >= MAX_NODES) {
		note(r, "binding to a node", EINVAL);
		return false;
	}
	mask[node_os / BITS] |= 1ul << (node_os % BITS);
	/* The system call rather than libnuma: one call is no dependency. maxnode counts one bit more than used. */
	if (!syscall(SYS_mbind, (char *)r->base + offset, (unsigned long)bytes, MPOL_BIND_, mask,
		     (unsigned long)MAX_NODES + 1, 0u))
		return true;
	note(r, "binding to a node", errno);
	return false;
}

/* Map @bytes on a boundary of @align by mapping more and giving the ends back. MAP_FAILED with errno on failure. */
static void *map_aligned(uint64_t bytes, uint64_t align)
{
	uint64_t extra = align > page_bytes() ? align : 0, cut;
	char *p = mmap(NULL, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED || !extra)
		return p;
	cut = (align - (uintptr_t)p % align) % align;
	if (cut)
		munmap(p, cut);
	if (extra - cut)
		munmap(p + cut + bytes, extra - cut);
	return p + cut;
}

mr_status mr_region_map(mr_region *r, uint64_t bytes, uint32_t node_os)
{
	uint64_t rounded = mr_region_round(bytes);
	char text[16];

	*r = (mr_region){.asked_bytes = bytes, .node_os = MR_REGION_ANY_NODE};
	if (!rounded)
		return mr_fail(MR_EINVAL, "a region of %llu bytes cannot be mapped", (unsigned long long)bytes);
	r->base = map_aligned(rounded, rounded >= HUGE_PAGE ? HUGE_PAGE : page_bytes());
	if (r->base == MAP_FAILED) {
		*r = (mr_region){0};
		return mr_fail(MR_ERESOURCE, "cannot map %s: %s", mr_bytes_text(rounded, text), strerror(errno));
	}
	r->bytes = rounded;
	if (rounded >= HUGE_PAGE) {
		if (madvise(r->base, rounded, MADV_HUGEPAGE))
			note(r, "huge pages", errno);
		else
			r->huge = true;
	}
	if (node_os != MR_REGION_ANY_NODE) {
		r->node_os = node_os;
		r->bound = bind_to_node(r, 0, r->bytes, node_os);
	}
	return MR_OK;
}

uint64_t mr_region_bind_part(mr_region *r, uint64_t offset, uint64_t bytes, uint32_t node_os)
{
	uint64_t page = r->huge ? HUGE_PAGE : page_bytes(), begin = (offset + page - 1) / page * page;
	uint64_t end = (offset + bytes < r->bytes ? offset + bytes : r->bytes) / page * page;

	return begin < end && bind_to_node(r, begin, end - begin, node_os) ? end - begin : 0;
}

void mr_region_prefault(const mr_region *r, uint64_t offset, uint64_t bytes)
{
	uint64_t page = page_bytes(), end = offset + bytes;

	if (offset >= r->bytes || bytes == 0)
		return;
	if (end > r->bytes || end < offset)
		end = r->bytes;
	for (uint64_t at = offset / page * page; at < end; at += page) {
		volatile char *p = (char *)r->base + at;

		*p = *p;
	}
}

void mr_region_unmap(mr_region *r)
{
	if (r->base)
		munmap(r->base, r->bytes);
	*r = (mr_region){0};
}

/* A "Name:  123 kB" line of /proc/self/status, in bytes. */
static uint64_t status_bytes(const char *name)
{
	FILE *f = fopen("/proc/self/status", "re");
	size_t length = strlen(name);
	unsigned long long kib = 0;
	char line[256];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, length) && line[length] == ':' && sscanf(line + length + 1, "%llu", &kib) == 1)
			break;
	fclose(f);
	return (uint64_t)kib << 10;
}

uint64_t mr_memory_peak_bytes(void)
{
	return status_bytes("VmHWM");
}

uint64_t mr_memory_resident_bytes(void)
{
	return status_bytes("VmRSS");
}

void mr_memory_keep_freed(void)
{
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	mallopt(M_TOP_PAD, 64 << 20);
}

void mr_memory_give_back(void)
{
	malloc_trim(0);
}
