/*
 * limits.h - the CPU time and the memory that cgroups and rlimits allow this process.
 *
 * Both cgroup versions, also mixed: /proc/self/cgroup names the groups, /proc/self/mountinfo says where they are
 * mounted, and the smallest limit on the way from the group up to the mount counts (a parent's limit binds its
 * children). Inside a container the named group may not exist below the mount; then the mount itself is the group.
 */
#ifndef MR_HOST_LIMITS_H
#define MR_HOST_LIMITS_H

#include <stdint.h>

typedef struct mr_limits {
	double cpus;              /* CPU quota in CPUs, such as 2.5; 0 = none */
	uint64_t memory_bytes;    /* smallest memory limit; UINT64_MAX = none */
	const char *memory_from;  /* "cgroup memory.max", "cgroup memory.limit_in_bytes", "RLIMIT_AS"; NULL = none */
	uint64_t total_bytes;     /* MemTotal; 0 = unknown */
	uint64_t available_bytes; /* MemAvailable now, or what a cgroup's limit leaves now if that is less;
	                             UINT64_MAX = unknown */
} mr_limits;

/**
 * Read the limits, with @root in front of every path ("" for this machine; tests have trees of their own). Never
 * fails.
 */
void mr_limits_read(const char *root, mr_limits *limits);

#endif
