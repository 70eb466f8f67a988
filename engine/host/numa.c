#include "host/numa.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fault.h"
#include "host/numa_fake.h"

void mr_node_list_add(mr_node_list *l, uint32_t os)
{
	if (!mr_node_list_has(l, os) && l->n < MR_MOST_NODES)
		l->os[l->n++] = os;
}

bool mr_node_list_has(const mr_node_list *l, uint32_t os)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->os[i] == os)
			return true;
	return false;
}

const char *mr_node_list_text(const mr_node_list *l, char *text, unsigned size)
{
	unsigned used = 0;

	snprintf(text, size, "any");
	for (uint32_t i = 0, end; i < l->n && used < size; i = end) {
		for (end = i + 1; end < l->n && l->os[end] == l->os[end - 1] + 1; end++)
			;
		used += (unsigned)snprintf(text + used, size - used, end > i + 1 ? "%s%u-%u" : "%s%u", i ? "," : "",
					   l->os[i], l->os[end - 1]);
	}
	return text;
}

static int bind_really(void *base, uint64_t bytes, const mr_node_list *l)
{
	enum { MPOL_BIND_ = 2, MPOL_INTERLEAVE_ = 3, MAX_NODES = 1024, BITS = 8 * sizeof(unsigned long) };
	unsigned long mask[MAX_NODES / BITS] = {0};

	for (uint32_t i = 0; i < l->n; i++) {
		if (l->os[i] >= MAX_NODES)
			return EINVAL;
		mask[l->os[i] / BITS] |= 1ul << (l->os[i] % BITS);
	}
	/* maxnode counts one bit more than used. */
	return syscall(SYS_mbind, base, (unsigned long)bytes, l->n > 1 ? MPOL_INTERLEAVE_ : MPOL_BIND_, mask,
		       (unsigned long)MAX_NODES + 1, 0u)
		       ? errno
		       : 0;
}

int mr_numa_bind(void *base, uint64_t bytes, const mr_node_list *l)
{
	int error;

	if (mr_fault_io("numa.bind", &error))
		return error;
	return mr_numa_fake_bind(base, bytes, l, &error) ? error : bind_really(base, bytes, l);
}

int mr_numa_where(void **page, uint64_t n, int *node)
{
	int error;

	if (mr_fault_io("numa.where", &error))
		return error;
	/* Without a list of nodes it is a query. */
	if (syscall(SYS_move_pages, 0, (unsigned long)n, page, NULL, node, 0))
		return errno;
	mr_numa_fake_where(page, n, node);
	return 0;
}
