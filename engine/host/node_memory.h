/*
 * node_memory.h - how much memory of a NUMA node is free now.
 *
 * /proc/meminfo has MemAvailable for the whole machine alone. The same estimate is made here of one node: its free
 * pages, and half of the files in memory that are unchanged and of the kernel's caches that can be dropped. Half,
 * because some of it is in use and comes back; pages of shared memory (tmpfs) and changed files are not counted. What
 * the kernel keeps free for itself (the high marks of /proc/zoneinfo) is taken off.
 */
#ifndef MR_HOST_NODE_MEMORY_H
#define MR_HOST_NODE_MEMORY_H

#include <stdint.h>

#define MR_NODE_MEMORY_UNKNOWN UINT64_MAX

/** Bytes of node @os that the kernel can give now, or MR_NODE_MEMORY_UNKNOWN. @root is in front of the path ("" for
 * this machine). Of fake nodes (numa.h) nothing is known. */
uint64_t mr_node_memory_free(const char *root, uint32_t os);

#endif
