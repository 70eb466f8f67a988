#include "host/memory.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "host/numa_fake.h"

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
static bool bind_to(mr_region *r, uint64_t offset, uint64_t bytes, const mr_node_list *nodes)
{
	int error = mr_numa_bind((char *)r->base + offset, bytes, nodes);

	if (error)
		note(r, nodes->n > 1 ? "spreading over nodes" : "binding to a node", error);
	return !error;
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

/* Is it worth to touch the rest of two huge pages for the sake of @bytes? */
static bool fills_huge_pages(uint64_t bytes)
{
	return bytes >= 32 * (uint64_t)HUGE_PAGE;
}

uint64_t mr_region_round_stretch(uint64_t bytes)
{
	return bytes ? bytes + (fills_huge_pages(bytes) ? HUGE_PAGE : page_bytes()) : 0;
}

mr_status mr_region_map_sparse(mr_region *r, uint64_t bytes, uint64_t stretch)
{
	MR_TRY(mr_region_map(r, bytes, NULL));
	if (!r->huge || fills_huge_pages(stretch))
		return MR_OK;
	r->huge = false;
	if (madvise(r->base, r->bytes, MADV_NOHUGEPAGE))
		note(r, "small pages", errno);
	return MR_OK;
}

mr_status mr_region_map(mr_region *r, uint64_t bytes, const mr_node_list *nodes)
{
	uint64_t rounded = mr_region_round(bytes);
	char text[16];

	*r = (mr_region){.asked_bytes = bytes};
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
	if (nodes && nodes->n) {
		r->nodes = *nodes;
		r->bound = bind_to(r, 0, r->bytes, nodes);
	}
	return MR_OK;
}

uint64_t mr_region_bind_part(mr_region *r, uint64_t offset, uint64_t bytes, uint32_t node_os)
{
	uint64_t page = r->huge ? HUGE_PAGE : page_bytes(), begin = (offset + page - 1) / page * page;
	uint64_t end = (offset + bytes < r->bytes ? offset + bytes : r->bytes) / page * page;
	mr_node_list nodes = mr_node_list_of(node_os);
	mr_region_part *more;

	if (begin >= end || !bind_to(r, begin, end - begin, &nodes))
		return 0;
	more = realloc(r->part, (r->n_parts + 1) * sizeof(*more));
	if (more) {
		r->part = more;
		r->part[r->n_parts++] = (mr_region_part){begin, end - begin, node_os};
	}
	return end - begin;
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
	mr_numa_touched((char *)r->base + offset / page * page, end - offset / page * page);
}

enum { MOST_LOOKS = 2048 };

/* Index in r->nodes of the node where the page at @offset is to lie, if it is planned to lie on @node; else -1. */
static int32_t planned(const mr_region *r, uint64_t offset, uint32_t node, bool *is_part)
{
	*is_part = false;
	for (uint32_t i = r->n_parts; i-- > 0;)
		if (offset >= r->part[i].offset && offset - r->part[i].offset < r->part[i].bytes) {
			*is_part = true;
			return r->part[i].node_os == node ? 0 : -1;
		}
	for (uint32_t i = 0; i < r->nodes.n; i++)
		if (r->nodes.os[i] == node)
			return (int32_t)i;
	return r->nodes.n ? -1 : 0;
}

/* The node that is most often among the @n at @node, of which those below 0 do not count. */
static uint32_t most_common(const int *node, uint64_t n)
{
	uint64_t most = 0;
	uint32_t which = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t same = 0;

		for (uint64_t j = i; node[i] >= 0 && j < n; j++)
			same += node[j] == node[i];
		if (same > most) {
			most = same;
			which = (uint32_t)node[i];
		}
	}
	return which;
}

/* @turns[i] pages lie on r->nodes.os[i]: those beyond an equal share, by one huge page at most, are elsewhere. */
static void judge_turns(const mr_region *r, const uint64_t *turns, mr_region_look *out)
{
	uint64_t all = 0, units = r->bytes / (r->huge ? HUGE_PAGE : page_bytes()), fair, most = 0;

	if (r->nodes.n < 2)
		return;
	for (uint32_t i = 0; i < r->nodes.n; i++)
		all += turns[i];
	/* what whole pages in turns give a node at most, and one more for the pages that were not looked up */
	fair = all * ((units + r->nodes.n - 1) / r->nodes.n) / units + all / 16 + 1;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		if (turns[i] <= fair)
			continue;
		out->n_elsewhere += turns[i] - fair;
		if (turns[i] > most) {
			most = turns[i];
			out->node_os = r->nodes.os[i];
		}
	}
}

/* The node on which the page at @offset alone is to lie; -1: any, or one of several in turns. */
static int home_of(const mr_region *r, uint64_t offset)
{
	for (uint32_t i = r->n_parts; i-- > 0;)
		if (offset >= r->part[i].offset && offset - r->part[i].offset < r->part[i].bytes)
			return (int)r->part[i].node_os;
	return r->nodes.n == 1 && r->bound ? (int)r->nodes.os[0] : -1;
}

/* Move those of the pages [@first, @first + @n) that are not at home, with room for @n at @page, @node and @to. Returns
 * 0 or an errno. */
static int settle_pages(const mr_region *r, uint64_t first, uint64_t n, void **page, int *node, int *to)
{
	uint64_t n_moves = 0;
	int error;

	for (uint64_t i = 0; i < n; i++)
		page[i] = (char *)r->base + (first + i) * page_bytes();
	error = mr_numa_where(page, n, node);
	for (uint64_t i = 0; !error && i < n; i++) {
		int home = home_of(r, (first + i) * page_bytes());

		if (node[i] < 0 || home < 0 || node[i] == home)
			continue;
		page[n_moves] = page[i];
		to[n_moves++] = home;
	}
	return error || !n_moves ? error : mr_numa_move(page, n_moves, to, node);
}

void mr_region_settle(const mr_region *r)
{
	enum { AT_ONCE = 4096 };
	uint64_t pages = r->bytes / page_bytes();
	mr_region_look l = (r->bound || r->n_parts) ? mr_region_look_up(r) : (mr_region_look){0};
	void **page = l.n_elsewhere ? calloc(AT_ONCE, sizeof(*page)) : NULL;
	int *node = page ? calloc((size_t)2 * AT_ONCE, sizeof(*node)) : NULL;

	for (uint64_t i = 0; node && i < pages; i += AT_ONCE)
		if (settle_pages(r, i, pages - i < AT_ONCE ? pages - i : AT_ONCE, page, node, node + AT_ONCE))
			break;
	free(page);
	free(node);
}

static void look_at(const mr_region *r, void **page, int *node, uint64_t n, mr_region_look *out)
{
	uint64_t turns[MR_MOST_NODES] = {0};

	out->error = mr_numa_where(page, n, node);
	for (uint64_t i = 0; !out->error && i < n; i++) {
		bool is_part;
		int32_t at;

		if (node[i] < 0)
			continue;
		out->n_pages++;
		at = planned(r, (uint64_t)((char *)page[i] - (char *)r->base), (uint32_t)node[i], &is_part);
		if (at >= 0 && !is_part)
			turns[at]++;
		if (at >= 0)
			node[i] = -1;
		else
			out->n_elsewhere++;
	}
	out->node_os = most_common(node, out->error ? 0 : n);
	if (!out->error && out->n_pages)
		judge_turns(r, turns, out);
}

mr_region_look mr_region_look_up(const mr_region *r)
{
	uint64_t pages = r->bytes / page_bytes(), n = pages < MOST_LOOKS ? pages : MOST_LOOKS;
	void **page = calloc(n + 1, sizeof(*page));
	int *node = calloc(n + 1, sizeof(*node));
	mr_region_look out = {0};

	/* Not every second one: pages in turns would show one node. */
	for (uint64_t i = 0; page && i < n; i++)
		page[i] = (char *)r->base + (pages * i / n + i * 7919 % (pages / n)) * page_bytes();
	if (!page || !node)
		out.error = ENOMEM;
	else if (n)
		look_at(r, page, node, n, &out);
	free(page);
	free(node);
	return out;
}

const char *mr_region_look_text(const mr_region *r, const mr_region_look *l, const char *whose, char *text, size_t size)
{
	char nodes[64];

	text[0] = '\0';
	mr_node_list_text(&r->nodes, nodes, sizeof(nodes));
	if (l->error)
		snprintf(text, size, "where the pages of %s lie is not known, since move_pages fails: %s", whose,
			 strerror(l->error));
	else if (l->n_elsewhere * 100 > l->n_pages)
		snprintf(text, size,
			 "of the pages of %s, planned for node %s, %.0f%% lie elsewhere, most of them on node %u: "
			 "steps will be slower",
			 whose, nodes, 100 * (double)l->n_elsewhere / (double)l->n_pages, l->node_os);
	return text;
}

void mr_region_unmap(mr_region *r)
{
	if (r->base) {
		munmap(r->base, r->bytes);
		mr_numa_unmapped(r->base, r->bytes);
	}
	free(r->part);
	*r = (mr_region){0};
}

void mr_memory_release(const void *data, uint64_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)data, end = begin + bytes;

	begin = (begin + page - 1) / page * page;
	end = end / page * page;
	if (begin < end)
		(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
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
