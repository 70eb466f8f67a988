/*
 * sequential_loader.h - samples that have to be decoded or read from files, made on threads beside the one that trains,
 * some micro-batches ahead of it.
 *
 * Which sample is where follows from the micro-batch's number, so the bits are those of samples made by the team.
 * Whatever is not ready when it is needed, the training thread helps to make; that time is counted as waiting for data.
 *
 * Thread: begin and end on the caller's thread, while the training thread does not run; next on the training thread.
 */
#ifndef MR_SEQUENTIAL_SEQUENTIAL_LOADER_H
#define MR_SEQUENTIAL_SEQUENTIAL_LOADER_H

#include "base/arena.h"
#include "exec/loader_crew.h"
#include "sequential/sequential.h"

typedef struct mr_sequential_loader {
	const mr_sequential_config *c;
	mr_crew *crew;           /* NULL: the team makes the samples */
	uint32_t *cpu;           /* of cores that the team does not use, for the threads; NULL: any */
	uint32_t n;              /* buffers */
	void **input, **target;  /* [n] each for a micro-batch */
	bool train;              /* else evaluates */
	uint64_t place, end;     /* in the order of the micro-batches: the next to be posted, and behind the last */
	uint64_t taken;          /* the next to be taken */
} mr_sequential_loader;

/** Threads that make samples beside the training thread; 0: the team makes them. */
uint32_t mr_sequential_loaders(const mr_sequential_config *c);

/** Buffers of inputs and targets: 1 without loaders. */
uint32_t mr_sequential_buffers(const mr_sequential_config *c);
/** Bytes of one input and of one target. */
size_t mr_sequential_input_bytes(const mr_sequential_config *c);
size_t mr_sequential_target_bytes(const mr_sequential_config *c);

/** Tables and threads' bookkeeping; mr_sequential_loader_layout takes the buffers from @a, which may only count.
 * Errors: MR_ERESOURCE; then fini all the same. */
mr_status mr_sequential_loader_init(mr_sequential_loader *l, const mr_sequential_config *c) MR_MUST_USE;
void mr_sequential_loader_layout(mr_sequential_loader *l, mr_arena *a);
void mr_sequential_loader_fini(mr_sequential_loader *l);

/** Start the threads for the training micro-batches, or those of an evaluation, with the numbers @first to @end - 1.
 * Does nothing without loaders. Errors: MR_ERESOURCE. */
mr_status mr_sequential_loader_begin(mr_sequential_loader *l, bool train, uint64_t first, uint64_t end) MR_MUST_USE;
void mr_sequential_loader_end(mr_sequential_loader *l);

/** The next micro-batch's @input and @target, valid until the next call. Only with loaders. */
void mr_sequential_loader_next(mr_sequential_loader *l, void **input, void **target);

#endif
