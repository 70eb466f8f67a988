/*
 * topo.h - one plain description of the machine: nodes, L3 domains, cores, and the part that this process may use.
 *
 *	NUMA node -> L3 domain -> core -> first PU        cores are numbered so that a node and an L3 domain are
 *	   memory       bytes              = Linux CPU    ranges [first_core, first_core + n_cores)
 *
 * The machine is queried once (hwloc, the affinity mask, the cgroup, the rlimits) and the result is passed on as
 * data; a synthetic string gives the same data for a machine that does not exist, so that plans for big hosts can be
 * made and tested on small ones.
 *
 * Only usable parts are listed: a core without an allowed CPU is absent; a core is used through its first allowed PU
 * (one thread a core). A CPU quota below the number of cores (rounded down, at least 1) limits `n_usable`: the first
 * n_usable cores are meant to be used. A node without usable cores is absent too; its memory, if this process may use
 * it, stands behind the others (`spare`), unless it is the nearest to a node that has cores and no memory of its own. A
 * strict memory policy that the process was started with (numactl --membind) limits the nodes like a cpuset.
 */
#ifndef MR_HOST_TOPO_H
#define MR_HOST_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "host/server.h"

typedef struct mr_topo_core {
	uint32_t cpu;   /* Linux CPU number (PU os index) to pin to */
	uint32_t n_pus; /* allowed PUs of this core; the others stay idle */
	uint32_t node;  /* index into mr_topo.node */
	uint32_t l3;    /* index into mr_topo.l3 */
} mr_topo_core;

typedef struct mr_topo_l3 {
	uint64_t bytes; /* 0 = unknown, or no L3: then the node counts as one domain */
	uint32_t node;
	uint32_t first_core, n_cores;
} mr_topo_l3;

typedef struct mr_topo_node {
	uint64_t memory_bytes; /* local memory of the node; 0: none, or unknown */
	uint32_t os_index;     /* Linux node number */
	uint32_t memory;       /* index into mr_topo.memory: its own, or where it has none the nearest */
	uint32_t first_core, n_cores;
	uint32_t first_l3, n_l3s;
} mr_topo_node;

/* Memory of a node. */
typedef struct mr_topo_memory {
	uint64_t bytes;      /* 0: unknown */
	uint64_t free_bytes; /* that the kernel could give when it was asked (node_memory.h), or
	                        MR_NODE_MEMORY_UNKNOWN */
	uint32_t os_index;   /* Linux number of the node that has it */
	bool spare;          /* no usable core has it as its own: an expander (CXL), or the cores are not ours */
} mr_topo_memory;

typedef struct mr_topo {
	mr_topo_node *node;
	mr_topo_memory *memory;
	mr_topo_l3 *l3;
	mr_topo_core *core;
	uint32_t n_nodes, n_memories, n_l3s, n_cores;
	uint32_t n_usable;               /* 1..n_cores, within the CPU quota */
	uint32_t n_machine_cores;        /* cores of the whole machine, allowed or not */
	uint32_t n_machine_pus;
	uint64_t l2_bytes;               /* of the second cache, what one core has of it: the least; 0 = unknown */
	const mr_server *server;         /* published constants of this machine; NULL: none */
	bool synthetic;                  /* made from a string: threads cannot be bound to it */
	uint64_t memory_bytes;           /* smallest of: memory of the nodes, cgroup limit, RLIMIT_AS */
	uint64_t memory_available_bytes; /* the same, at most MemAvailable at that time (synthetic: memory_bytes) */
	char cpu_limit[160];             /* what limited n_usable, "cgroup quota 2.50 CPUs"; "" = nothing */
	char memory_limit[160];          /* what set memory_bytes, "cgroup memory.max"; "" = the nodes */
	char memory_policy[160];         /* a sentence about the policy of numactl that this process was started with;
	                                    "" = none */
} mr_topo;

/**
 * Describe this machine as this process may use it. Errors: MR_ERESOURCE hwloc failed, or no CPU is left. Free with
 * fini.
 */
mr_status mr_topo_detect(mr_topo *t) MR_MUST_USE;

/**
 * Describe the machine of a string such as "numa:4 core:16 pu:2" (counts are per parent: 64 cores, 128 PUs). Words
 * are those of hwloc's synthetic strings (pack, numa or node, l3, core, pu, with attributes in parentheses); without
 * pu at the end a core has one; a text without levels is the name of a machine (server.h; "NAME:16": its first 16
 * cores; "NAME*16": 16 of them, with a CPU a core), or of a file that hwloc's lstopo has written (FILE.xml), with the
 * CPUs and memory that were allowed there.
 * The limits of this process do not apply. Errors: MR_EINVAL a string that hwloc does not take, or without cores, or
 * with more than 1024 of a kind in one parent or 4096 CPUs in all (hwloc takes minutes for more). Free with fini.
 */
mr_status mr_topo_synthetic(const char *text, mr_topo *t) MR_MUST_USE;

/** Free the arrays and zero *@t. A zeroed *@t is fine. */
void mr_topo_fini(mr_topo *t);

/** One or two lines for the start table into @text (cut to @size bytes, always terminated); returns @text. */
const char *mr_topo_print(const mr_topo *t, char *text, size_t size);

#endif
