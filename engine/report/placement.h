/*
 * placement.h - the machine with the pipeline on it, as SVG: nodes hold the cores that share a last-level cache, and a
 * core has the colour and the name of its worker.
 */
#ifndef MR_REPORT_PLACEMENT_H
#define MR_REPORT_PLACEMENT_H

#include <stdint.h>

#include "report/svg.h"

#define MR_PLACEMENT_IDLE UINT32_MAX

typedef struct mr_placement_core {
	uint32_t cpu;    /* Linux CPU number */
	uint32_t worker; /* MR_PLACEMENT_IDLE: none */
} mr_placement_core;

typedef struct mr_placement_cache {
	uint64_t bytes;  /* 0: unknown */
	uint32_t node;   /* index */
	const mr_placement_core *core; /* [n_cores] */
	uint32_t n_cores;
} mr_placement_cache;

typedef struct mr_placement_node {
	uint32_t number; /* of Linux */
	uint64_t bytes;  /* of memory */
} mr_placement_node;

typedef struct mr_placement {
	const char *title;               /* NULL: none */
	const mr_placement_node *node;   /* [n_nodes] */
	uint32_t n_nodes;
	const mr_placement_cache *cache; /* [n_caches] in the order of their nodes */
	uint32_t n_caches;
	const char *const *worker;       /* [n_workers] "w0: stage 0, embed .. h.1, CPU 0-3"; its cores have
	                                    what is before ":" */
	uint32_t n_workers;
} mr_placement;

/** Draw @p. Errors: MR_EIO. */
mr_status mr_placement_put(const mr_placement *p, const mr_svg *v) MR_MUST_USE;

#endif
