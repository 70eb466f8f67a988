/*
 * memory_plan.h - the memory of the whole process, before any of it is taken.
 *
 * One sum for everything: the memory that the process has already, the plan, the data, the memory that workers will
 * map, threads, checkpoints. It is compared with machine.memory_limit and with the limits of cgroups, RLIMIT_AS or the
 * machine; the part still to come is compared with the memory that is free now. Files that are read sample by sample
 * count only as page cache, which the system takes back when it needs to.
 */
#ifndef MR_SESSION_MEMORY_PLAN_H
#define MR_SESSION_MEMORY_PLAN_H

#include "base/str.h"
#include "session/session.h"

typedef enum mr_memory_use {
	MR_MEMORY_PROGRAM,     /* resident before the data are loaded, without the plan: code, libraries, tables */
	MR_MEMORY_PLAN,        /* instruction lists */
	MR_MEMORY_DATA,        /* samples in memory */
	MR_MEMORY_LOADING,     /* additional while they are made; freed before the workers take theirs */
	MR_MEMORY_WORKERS,     /* weights, versions, gradients, optimizer state, activations, buffers, scratch */
	MR_MEMORY_KERNELS,     /* primitives, packed operands: an estimate from above (kernel_memory.h) */
	MR_MEMORY_MESSAGES,    /* copies that the library makes of messages between hosts (mr_rank_copies) */
	MR_MEMORY_READING,     /* what decodes samples */
	MR_MEMORY_THREADS,     /* stacks, waits, and the heap and the code that a run needs beside */
	MR_MEMORY_EVALUATION,  /* a result for each micro-batch of an evaluation */
	MR_MEMORY_TRACE,
	MR_MEMORY_CHECKPOINT,  /* buffers of a checkpoint that is written or read */
	MR_N_MEMORY_USES
} mr_memory_use;

typedef struct mr_memory_plan {
	mr_flops_by flops;       /* by what executes them: known from the same look at the kernels */
	uint64_t bytes[MR_N_MEMORY_USES];
	uint64_t total;          /* the most at once */
	uint64_t copy;           /* of the checkpoint buffers: a copy of the state, from which checkpoints are written
	                            while the training goes on. 0: none is due before the end, or there is no room */
	uint64_t on_disk;        /* part of the data that is read sample by sample */
	uint64_t resident;       /* part of the total that is already taken */
} mr_memory_plan;

/** Plan the memory of an open session whose data are not loaded yet, with a copy of the state where one is of use and
 * fits. @run: what its plan lays out; NULL: lay it out here, if there is a plan. Errors: MR_ERESOURCE, MR_ECONFIG of a
 * run that cannot be laid out. */
mr_status mr_memory_plan_of(const mr_session *s, const mr_run *run, mr_memory_plan *out) MR_MUST_USE;

/** Check that it fits into the limits of @s. Errors: MR_ERESOURCE with the limit and all figures, a line each. */
mr_status mr_memory_plan_fits(const mr_memory_plan *m, const mr_session *s) MR_MUST_USE;

/** The same for a started session, whose kernels have allocated their memory: before the first step. */
mr_status mr_memory_started_fits(const mr_session *s) MR_MUST_USE;

/** "  data  320 MiB\n": a line for each use that is not 0, and the total. */
void mr_memory_plan_print(const mr_memory_plan *m, mr_strbuf *out);

/** Bytes of the program, libraries and tables, without the plan and without data: s->program_bytes, or the resident
 * memory in whole MiB, without what was freed. */
uint64_t mr_memory_of_program(const mr_session *s);

/** Add @bytes for @what to the plan of an open session, before they are taken. Errors: MR_ERESOURCE with the limit and
 * the figures. */
mr_status mr_memory_more_fits(mr_session *s, uint64_t bytes, const char *what) MR_MUST_USE;

/** What a started session will take beside all that it has mapped and that is there: code, the heap, threads' stacks.
 */
uint64_t mr_memory_late_bytes(const mr_session *s);

#endif
