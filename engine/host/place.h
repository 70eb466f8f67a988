/*
 * place.h - which worker runs on which cores.
 *
 * D workers over the usable cores of a topology:
 *
 *   - every worker gets the same number of cores k, the largest for which D groups of k fit into the nodes without any
 *     of them straddling two. Equal sizes, because kernels are chosen by thread count (and so bits and speed of a layer
 *     do not depend on its worker). Cores left over stay idle and are reported; loaders run there.
 *   - with `uneven`, the workers of a node share all its cores: each node gets a worker, each further worker goes where
 *     most cores a worker are, and so within a node with its L3 domains; what does not divide goes to the first ones.
 *   - cores of a worker are neighbours; groups do not straddle an L3 domain either when that costs no core.
 *   - workers are dealt to nodes in order, so that neighbouring stages are near each other.
 *   - fewer workers than nodes: equal shares of all cores, in their order, so that the threads of a team that share an
 *     L3 domain or a node have neighbouring numbers and parts of the work; the team's memory is spread over its nodes.
 *   - more workers than cores: one thread each, core (w mod cores), and `shared` is set: spins must be short then.
 *
 * Explicit settings win: `n_threads` per worker (neighbouring cores in order; a group straddles, or shares cores, only
 * when it has to) or `cpus`, a text with one CPU list a worker, such as "0-3 4-7" (a CPU in two lists is shared).
 */
#ifndef MR_HOST_PLACE_H
#define MR_HOST_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "host/numa.h"
#include "host/topo.h"

typedef struct mr_place_params {
	uint32_t n_workers;
	uint32_t max_threads;      /* upper bound for k; 0 = none */
	bool uneven;               /* workers may have different numbers of threads, so that no core is left over */
	const uint32_t *n_threads; /* [n_workers] threads of each worker, or NULL */
	const char *cpus;          /* CPU lists separated by blanks or ';', one a worker, or NULL; wins */
} mr_place_params;

typedef struct mr_place_worker {
	uint32_t n_threads;
	const uint32_t *cpu; /* [n_threads] Linux CPU numbers; cpu[0] is the leader's */
	uint32_t node;       /* index into mr_topo.node, of cpu[0] */
	uint32_t node_os;    /* its Linux number */
	mr_node_list memory; /* nodes whose memory its cores use: those that it has cores of, as far as they have any */
	bool straddles;      /* has cores of another node too */
	bool bindable;       /* false: a synthetic machine, do not pin, do not bind memory */
	bool shared;         /* at least one of its CPUs also serves another worker */
} mr_place_worker;

typedef struct mr_place {
	mr_place_worker *worker; /* [n_workers] */
	mr_topo_memory *memory;  /* [n_memories] of the topology */
	uint32_t n_memories;
	uint32_t *cpu;           /* all workers' CPUs, one after the other */
	uint32_t n_workers;
	uint32_t n_cores_used;   /* distinct CPUs */
	uint32_t n_cores_idle;   /* usable cores that no worker has */
	uint32_t *idle;          /* [n_cores_idle] their CPUs */
	uint32_t *idle_memory;   /* [n_cores_idle] the node whose memory each uses */
	bool shared;             /* some CPU serves several workers */
	bool bindable;
} mr_place;

/** One thread a core, equal groups. */
void mr_place_defaults(mr_place_params *p, uint32_t n_workers);

/**
 * Place the workers. Copies what it needs; @t need not outlive *@place. Free with fini.
 * Errors: MR_EINVAL no workers; MR_ERESOURCE one worker asks for more threads than there are usable cores; MR_ECONFIG
 * a CPU list that cannot be read, has another number of workers, or names a CPU that this process may not use (the
 * message names it).
 */
mr_status mr_place_init(mr_place *place, const mr_topo *t, const mr_place_params *p) MR_MUST_USE;

void mr_place_fini(mr_place *place);

/** Threads of @w on cores of node @node of its topology @t. */
uint32_t mr_place_threads_on(const mr_place_worker *w, const mr_topo *t, uint32_t node);

/** Put the CPUs of idle cores that use memory of @nodes into @cpu [place->n_cores_idle], those of all idle cores if
 * there are none; returns their number. */
uint32_t mr_place_idle(const mr_place *place, const mr_node_list *nodes, uint32_t *cpu);

/** Ask the kernel again how much of each node is free; a synthetic machine stays as it is. */
void mr_place_count_free(mr_place *place);

/**
 * The nodes for a region of @bytes of @w, where regions of @claimed [place->n_memories] bytes have been planned before,
 * which grows by it: those of w->memory if they have the room, else all nodes with cores that have it, in equal parts,
 * else spare memory, too. Room is what is free (place->memory), and never all of a node. Empty, for the kernel to
 * decide, if all of them together have too little. *@elsewhere: it is not w->memory.
 */
mr_node_list mr_place_claim(const mr_place *place, const mr_place_worker *w, uint64_t bytes, uint64_t *claimed,
			    bool *elsewhere);

/** Nodes of spare memory that have room for an equal part of @bytes, for what is read rarely; empty: none has. */
mr_node_list mr_place_spare(const mr_place *place, uint64_t bytes);

/** Write a line of notes (uneven teams, shared cores, idle cores, straddling, not bound) into @text; "" without any.
 * Returns @text. */
const char *mr_place_print_notes(const mr_place *place, char *text, size_t size);

#endif
