/* numa_fake.h - fake nodes (numa.h), for this folder and for tests. In builds without fault points there are none. */
#ifndef MR_HOST_NUMA_FAKE_H
#define MR_HOST_NUMA_FAKE_H

#include "host/numa.h"

#ifdef MR_FAULTS

/** Fake nodes, and bytes of each (0: an equal part); 0: there are none. */
uint32_t mr_numa_fakes(uint64_t *bytes);

/** Set them in place of the environment; forgets all records. While no other thread is in here. */
void mr_numa_set_fakes(uint32_t n, uint64_t bytes);

/** @cpu is on fake node @node. Before threads start. */
void mr_numa_fake_cpu(uint32_t cpu, uint32_t node);

/** The calling thread touches the pages of a range, or all of them are unmapped. */
void mr_numa_touched(const void *base, uint64_t bytes);
void mr_numa_unmapped(const void *base, uint64_t bytes);

/** mr_numa_bind, its result in *@error; false: there are no fake nodes. */
bool mr_numa_fake_bind(const void *base, uint64_t bytes, const mr_node_list *l, int *error);

/** Are there fake nodes? */
bool mr_numa_fakes_there(void);

/** Put the fake nodes of those pages into @node that are there, if there are fake nodes. */
void mr_numa_fake_where(void *const *page, uint64_t n, int *node);

#else

static inline void mr_numa_touched(const void *base, uint64_t bytes)
{
	(void)base, (void)bytes;
}

static inline void mr_numa_unmapped(const void *base, uint64_t bytes)
{
	(void)base, (void)bytes;
}

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
