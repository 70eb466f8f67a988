/*
 * run_tables.h - the tables at the start and the end of a run. They do not depend on the engine: the caller fills plain
 * rows.
 *
 *	stage  worker  layers               parameters  weights  stashes  ...  cores  node
 *	    0  w0      embed .. h.1.mlp         412 k  1.6 MiB  1.6 MiB  ...  0      0
 */
#ifndef MR_REPORT_RUN_TABLES_H
#define MR_REPORT_RUN_TABLES_H

#include <stdio.h>

#include "report/records.h"

typedef struct mr_report_stage_row {
	mr_stage_row of;             /* a row for each pipe's part of the stage; layers and parameters are summed in
	                                pipe 0 */
	mr_stage_bytes bytes;
	uint8_t n_pipes;
	uint32_t n_layers;
	const char *cores;           /* "0-3"; NULL: not pinned */
	const char *nodes;           /* NUMA nodes of its memory: "0-3"; NULL: any */
	const char *pages;           /* how much of it lies there: "100%"; NULL in all rows: no such column */
	const char *kernels;         /* "fused 12, onednn 3": number of operations that each executes; NULL in all rows:
	                                no such column */
} mr_report_stage_row;

/** The table at the start, with a line of sums below more than one stage. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_report_stages(const mr_report_stage_row *rows, uint32_t n, FILE *out) MR_MUST_USE;

typedef struct mr_report_worker_row {
	uint16_t worker;
	double share;       /* NAN: the worker is whole */
	const char *stages; /* "0" or "0, 3"; NULL: none */
	mr_times times;     /* in seconds; elapsed 0: nothing was measured */
	bool lost_known;    /* there is a figure for the column "descheduled" */
} mr_report_worker_row;

/**
 * The table at the end: busy time and waiting by cause, in percent of the training time (without evaluations and
 * checkpoints); the rest of it is the column "engine". The column "descheduled" is printed if it is known for all rows.
 * Errors: MR_EIO, MR_ERESOURCE.
 */
mr_status mr_report_workers(const mr_report_worker_row *rows, uint32_t n, FILE *out) MR_MUST_USE;

/** Staleness of the reads: a row for each stage, a column for each staleness that occurred. Errors: MR_EIO,
 * MR_ERESOURCE. */
mr_status mr_report_staleness(const mr_staleness_row *rows, uint32_t n, FILE *out) MR_MUST_USE;

/** Versions and bytes in use at once: a row for each stage and pipe, measured beside predicted. Errors: MR_EIO,
 * MR_ERESOURCE. */
mr_status mr_report_usage(const mr_usage_row *rows, uint32_t n, FILE *out) MR_MUST_USE;

/** The same as a file: one object with an array of stages, for other programs. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_report_usage_json(uint64_t step, const mr_usage_row *rows, uint32_t n, FILE *out) MR_MUST_USE;

/** One line: peak memory predicted and measured, and the difference in percent of the prediction. Errors: MR_EIO. */
mr_status mr_report_memory(uint64_t predicted_bytes, uint64_t measured_bytes, FILE *out) MR_MUST_USE;

#endif
