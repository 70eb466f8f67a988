/*
 * memory.h - big memory: one mapping per worker, with huge pages if the kernel has them, bound and touched before the
 * first step.
 *
 * A region is reserved by the main thread, bound to a node by policy, or spread over several, page by page in turns,
 * and touched by its owner (mr_region_prefault on the worker's leader), so that pages lie where they are used even
 * where binding is not allowed. A failure to bind or to get huge pages is recorded in `note` and is no error: the run
 * is slower and says so. Where the pages then lie can be looked up (mr_region_look).
 */
#ifndef MR_HOST_MEMORY_H
#define MR_HOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "host/numa.h"

/* A part of a region on another node than the rest. */
typedef struct mr_region_part {
	uint64_t offset, bytes;
	uint32_t node_os;
} mr_region_part;

/* Page-aligned; 2 MiB-aligned from 2 MiB on. Contents begin as zeros. */
typedef struct mr_region {
	void *base;
	uint64_t bytes;        /* bytes mapped: the request rounded up to pages (to 2 MiB from 2 MiB on) */
	uint64_t asked_bytes;
	mr_node_list nodes;    /* where its pages are to lie, in turns if they are several; empty: anywhere */
	mr_region_part *part;  /* [n_parts] bound to other nodes, in the order of the calls */
	uint32_t n_parts;
	bool bound;
	bool huge;             /* the kernel took the advice to use huge pages */
	char note[120];        /* the request that was refused, and why; "" = none */
} mr_region;

/**
 * Map @bytes (> 0), advise huge pages, bind to @nodes (NULL or empty: do not bind). Nothing is touched yet.
 * Errors: MR_ERESOURCE the kernel refuses the mapping; MR_EINVAL 0 bytes or a size that wraps. Free with
 * mr_region_unmap.
 */
mr_status mr_region_map(mr_region *r, uint64_t bytes, const mr_node_list *nodes) MR_MUST_USE;

/** Map @bytes of which this process touches stretches of about @stretch bytes: without huge pages where these are
 * short. Errors: as mr_region_map. */
mr_status mr_region_map_sparse(mr_region *r, uint64_t bytes, uint64_t stretch) MR_MUST_USE;

/** Bytes of the pages that a stretch of @bytes in such a region takes, where it begins and ends anywhere. */
uint64_t mr_region_round_stretch(uint64_t bytes);

/**
 * Bind the whole pages (huge ones where the region has them) of [@offset, @offset + @bytes) to another node than
 * the rest: a part that another node's threads work on. Call it before the pages are touched. Returns the bytes that
 * are bound; a refusal is noted.
 */
uint64_t mr_region_bind_part(mr_region *r, uint64_t offset, uint64_t bytes, uint32_t node_os);

/** Bytes that mr_region_map(bytes) will map; 0 if the size wraps. For the memory plan. */
uint64_t mr_region_round(uint64_t bytes);

/** Write one word to every page of [@offset, @offset + @bytes), from the calling thread. Keeps contents. */
void mr_region_prefault(const mr_region *r, uint64_t offset, uint64_t bytes);

/**
 * Move pages that lie elsewhere to the node that the region, or their part of it, is planned for. The kernel gives a
 * page of another node rather than drop cached files of a full one; moving makes it drop them. Call it after the pages
 * have been touched, while no other thread uses them. Where pages stay, mr_region_look_up finds them.
 */
void mr_region_settle(const mr_region *r);

/* Where the pages of a region lie. */
typedef struct mr_region_look {
	uint64_t n_pages;      /* that were looked up and are there */
	uint64_t n_elsewhere;  /* of these on a node that is not planned, or more than its turn of the planned ones */
	uint32_t node_os;      /* that has most of those elsewhere */
	int error;             /* errno with which the kernel refused to tell; 0: it did not */
} mr_region_look;

/** Look up pages of @r, evenly spread and no more than some thousand, and compare with the nodes that were planned. */
mr_region_look mr_region_look_up(const mr_region *r);

/** A sentence about pages that lie elsewhere, or that the kernel does not tell about, of what @whose has; "" where all
 * is as planned. Returns @text. */
const char *mr_region_look_text(const mr_region *r, const mr_region_look *l, const char *whose, char *text,
				size_t size);

/** Unmap and zero *@r; a zeroed *@r is fine. */
void mr_region_unmap(mr_region *r);

/** Whole pages of the @bytes bytes at @data take no memory any more, and are zeros when they are touched again. */
void mr_memory_release(const void *data, uint64_t bytes);

/** Peak resident bytes of this process (VmHWM); 0 if /proc does not have it. */
uint64_t mr_memory_peak_bytes(void);

/** Resident bytes of this process now (VmRSS); 0 if /proc does not have it. */
uint64_t mr_memory_resident_bytes(void);

/** Return memory that was freed but is still resident to the system. */
void mr_memory_give_back(void);

/** From now on keep memory that the process frees for its next allocations: for a command that makes one large table
 * after the other and ends. Each new page costs a fault. */
void mr_memory_keep_freed(void);

#endif
