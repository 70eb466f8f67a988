/*
 * memory_plan.h - the memory of the whole process, before any of it is taken.
 *
 * One sum for everything: what the process has already, the plan, the data, what the workers will map, threads,
 * checkpoints. It is compared with machine.memory_limit, with what cgroups, RLIMIT_AS or the machine allow, and what is
 * still to come with what is free now. Files that are read as samples are asked for count only as page cache, which the
 * system takes back when it needs to.
 */
#ifndef MR_SESSION_MEMORY_PLAN_H
#define MR_SESSION_MEMORY_PLAN_H

#include "base/str.h"
#include "session/session.h"

typedef enum mr_memory_use {
	MR_MEMORY_PROGRAM,     /* resident before the data are loaded, the plan apart: code, libraries, tables */
	MR_MEMORY_PLAN,        /* instruction lists */
	MR_MEMORY_DATA,        /* samples in memory */
	MR_MEMORY_LOADING,     /* more, while they are made; gone before the workers take theirs */
	MR_MEMORY_WORKERS,     /* weights, versions, gradients, optimizer state, activations, buffers, scratch */
	MR_MEMORY_READING,     /* what decodes samples */
	MR_MEMORY_THREADS,     /* stacks, waits and the heap that a run needs beside */
	MR_MEMORY_EVALUATION,  /* a result for each micro-batch of an evaluation */
	MR_MEMORY_TRACE,
	MR_MEMORY_CHECKPOINT,  /* what is being written or read */
	MR_N_MEMORY_USES
} mr_memory_use;

typedef struct mr_memory_plan {
	uint64_t bytes[MR_N_MEMORY_USES];
	uint64_t total;          /* the most at once */
	uint64_t on_disk;        /* of the data, read as samples are asked for */
	uint64_t resident;       /* of the total, taken already */
} mr_memory_plan;

/** Of an open session whose data are not loaded yet; @workers: the bytes that its workers will map, 0: to be found out.
 * Errors: MR_ERESOURCE, MR_ECONFIG of a run that cannot be laid out. */
mr_status mr_memory_plan_of(const mr_session *s, uint64_t workers, mr_memory_plan *out) MR_MUST_USE;

/** Does it fit into the limits of @s? MR_ERESOURCE with the limit and all figures, a line each. */
mr_status mr_memory_plan_fits(const mr_memory_plan *m, const mr_session *s) MR_MUST_USE;

/** The same of a started session, whose kernels have allocated what they need: before the first step. */
mr_status mr_memory_started_fits(const mr_session *s) MR_MUST_USE;

/** "  data  320 MiB\n": a line for each use that there is, and the total. */
void mr_memory_plan_print(const mr_memory_plan *m, mr_strbuf *out);

/** Bytes of the program, libraries and tables, the plan apart: s->program_bytes, or what is resident now in whole MiB.
 */
uint64_t mr_memory_of_program(const mr_session *s);

/** What a thread needs beside the workers' memory, and the process as a whole. */
uint64_t mr_memory_of_threads(const mr_session *s);

#endif
