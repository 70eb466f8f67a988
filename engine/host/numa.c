#include "host/numa.h"

#include <errno.h>
#include <stdio.h>
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

enum { MAX_NODES = 1024, BITS = 8 * sizeof(unsigned long) };

/* Neither policy is strict: a page that its node has no room for comes from another one. Under MPOL_BIND the kernel
 * would kill a process instead. */
static int bind_really(void *base, uint64_t bytes, const mr_node_list *l)
{
	enum { MPOL_PREFERRED_ = 1, MPOL_INTERLEAVE_ = 3 };
	unsigned long mask[MAX_NODES / BITS] = {0};

	for (uint32_t i = 0; i < l->n; i++) {
		if (l->os[i] >= MAX_NODES)
			return EINVAL;
		mask[l->os[i] / BITS] |= 1ul << (l->os[i] % BITS);
	}
	/* maxnode counts one bit more than used. */
	return syscall(SYS_mbind, base, (unsigned long)bytes, l->n > 1 ? MPOL_INTERLEAVE_ : MPOL_PREFERRED_, mask,
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

int mr_numa_move(void **page, uint64_t n, const int *to, int *node)
{
	int error;

	if (mr_fault_io("numa.move", &error))
		return error;
	if (mr_numa_fakes_there())
		return ENOSYS;
	return syscall(SYS_move_pages, 0, (unsigned long)n, page, to, node, 2 /* MPOL_MF_MOVE */) < 0 ? errno : 0;
}

mr_numa_policy mr_numa_policy_of_process(mr_node_list *nodes)
{
	enum { MPOL_BIND_ = 2, MPOL_LOCAL_ = 4, FLAGS = 7 << 13 };
	unsigned long mask[MAX_NODES / BITS] = {0};
	int mode = 0;

	*nodes = (mr_node_list){0};
	if (syscall(SYS_get_mempolicy, &mode, mask, (unsigned long)MAX_NODES + 1, NULL, 0ul))
		return MR_NUMA_DEFAULT;
	mode &= ~FLAGS;
	for (uint32_t i = 0; i < MAX_NODES; i++)
		if (mask[i / BITS] >> (i % BITS) & 1)
			mr_node_list_add(nodes, i);
	if (!mode || mode == MPOL_LOCAL_ || !nodes->n)
		return MR_NUMA_DEFAULT;
	return mode == MPOL_BIND_ ? MR_NUMA_STRICT : MR_NUMA_SOFT;
}
