/* numa_fake.h - fake nodes (numa.h), for numa.c alone. In builds without fault points there are none. */
#ifndef MR_HOST_NUMA_FAKE_H
#define MR_HOST_NUMA_FAKE_H

#include "host/numa.h"

#ifdef MR_FAULTS

/** mr_numa_bind, its result in *@error; false: there are no fake nodes. */
bool mr_numa_fake_bind(const void *base, uint64_t bytes, const mr_node_list *l, int *error);

/** Are there fake nodes? */
bool mr_numa_fakes_there(void);

/** Put the fake nodes of those pages into @node that are there, if there are fake nodes. */
void mr_numa_fake_where(void *const *page, uint64_t n, int *node);

#else

static inline bool mr_numa_fake_bind(const void *base, uint64_t bytes, const mr_node_list *l, int *error)
{
	(void)base, (void)bytes, (void)l, (void)error;
	return false;
}

static inline bool mr_numa_fakes_there(void)
{
	return false;
}

static inline void mr_numa_fake_where(void *const *page, uint64_t n, int *node)
{
	(void)page, (void)n, (void)node;
}

#endif
#endif
