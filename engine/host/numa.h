/*
 * numa.h - the kernel's calls about memory on NUMA nodes: which nodes a range may use, and where its pages are.
 *
 * System calls rather than libnuma: two calls are no dependency. Both fail in many containers, so all callers treat a
 * refusal as a reason for a sentence, not for an end.
 *
 * Fake nodes. In builds with fault points (base/fault.h) the variable MR_FAKE_NODES=n or n:MEBIBYTES divides this
 * machine's cores between n nodes of so much memory each (topo.c), if it has one node. The kernel is then not asked:
 * the requests are recorded, and a query answers from them what a kernel would that always obeys: the nodes of the
 * range, in turns of one page, or without a request the node of the thread that touched the page first. So what a
 * machine of several nodes does can be tested on a machine with one. MR_FAIL_AT refuses the calls "numa.bind" and
 * "numa.where" (EPERM is 1).
 */
#ifndef MR_HOST_NUMA_H
#define MR_HOST_NUMA_H

#include <stdbool.h>
#include <stdint.h>

#define MR_MOST_NODES 64 /* that one range may use */

/* Linux numbers of NUMA nodes. 0: any node. */
typedef struct mr_node_list {
	uint32_t n;
	uint32_t os[MR_MOST_NODES];
} mr_node_list;

/** The list of one node. */
static inline mr_node_list mr_node_list_of(uint32_t os)
{
	return (mr_node_list){.n = 1, .os = {os}};
}

/** Add @os unless it is there or the list is full. */
void mr_node_list_add(mr_node_list *l, uint32_t os);

bool mr_node_list_has(const mr_node_list *l, uint32_t os);

/** "0", "0-3,6", or "any" as text, ended within @size bytes; returns @text. */
const char *mr_node_list_text(const mr_node_list *l, char *text, unsigned size);

/**
 * Let the pages of [@base, @base + @bytes), whole pages that nobody has touched, lie on the nodes of @l: in turns where
 * they are several. A page that its node has no room for comes from another node: a strict policy would make the
 * kernel kill this process, or another one, when the node is full. Returns 0 or an errno.
 */
int mr_numa_bind(void *base, uint64_t bytes, const mr_node_list *l);

/** Put the node of each of the @n pages at @page into @node (below 0: a negative errno, -ENOENT for a page that is not
 * there). Returns 0 or an errno. */
int mr_numa_where(void **page, uint64_t n, int *node);

/** Move each of the @n pages at @page to the node @to; where they then are is in @node, as mr_numa_where has it. The
 * kernel drops cached files of a full node to make room, and leaves a page where it is if that does not suffice: it
 * kills nobody. Returns 0 or an errno. */
int mr_numa_move(void **page, uint64_t n, const int *to, int *node);

/* The memory policy that this process was started with, for instance by numactl. */
typedef enum mr_numa_policy {
	MR_NUMA_DEFAULT,
	MR_NUMA_STRICT, /* memory of no other nodes (--membind) */
	MR_NUMA_SOFT    /* nodes that are preferred, or taken in turns */
} mr_numa_policy;

/** That policy, with its nodes; the default where the kernel does not tell. */
mr_numa_policy mr_numa_policy_of_process(mr_node_list *nodes);

#endif
