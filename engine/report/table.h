/*
 * table.h - tables of text: a general one, and the tables at the start and the end of a run.
 *
 *	stage  worker  layers               parameters  weights  stashes  ...  cores  node
 *	    0  w0      embed .. h.1.mlp         412 k  1.6 MiB  1.6 MiB  ...  0      0
 *
 * Columns are as wide as their widest cell, separated by two blanks; no line ends in blanks. On a terminal that is
 * narrower than the table, the columns that do not fit follow below, again after the first one; in a pipe or a file
 * lines are whole. The renderers do not depend on the engine: the caller fills plain rows. Widths count bytes, so cells
 * are ASCII.
 */
#ifndef MR_REPORT_TABLE_H
#define MR_REPORT_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "ir/trace.h"

typedef enum mr_table_side {
	MR_TABLE_LEFT,         /* words; columns may be given as false */
	MR_TABLE_RIGHT,        /* numbers; as true */
	MR_TABLE_RIGHT_BESIDE, /* numbers that belong to the column before, and stay beside it when a table is cut */
} mr_table_side;

typedef struct mr_table_column {
	const char *head; /* borrowed */
	mr_table_side side;
} mr_table_column;

typedef struct mr_table mr_table;

/** An empty table of @n columns; @columns is copied. The caller destroys *@out. Errors: MR_EINVAL no column,
 * MR_ERESOURCE. */
mr_status mr_table_create(const mr_table_column *columns, uint32_t n, mr_table **out) MR_MUST_USE;
void mr_table_destroy(mr_table *t);

/** Append the next cell, row by row from left to right. Failure is sticky and shows in mr_table_print. */
void mr_table_put(mr_table *t, const char *fmt, ...) MR_PRINTF(2, 3);

/** Append further cells, which tabs in @fmt separate: for what has no tab of its own. */
void mr_table_cells(mr_table *t, const char *fmt, ...) MR_PRINTF(2, 3);

/**
 * Print heads and rows, each line after @indent. An incomplete last row is printed as far as it goes.
 * Errors: MR_ERESOURCE an append had no memory; MR_EIO @out refuses.
 */
mr_status mr_table_print(const mr_table *t, const char *indent, FILE *out) MR_MUST_USE;

/** Print without an indent and destroy. Errors: as above. */
mr_status mr_table_finish(mr_table *t, FILE *out) MR_MUST_USE;

/* --- the tables of a run --- */

typedef struct mr_report_stage_row {
	uint16_t stage, worker;
	uint8_t pipe, n_pipes;       /* a row for each pipe's part of the stage; layers and parameters are summed in
	                                pipe 0 */
	const char *layers;          /* "embed .. h.1.mlp"; NULL: none */
	uint32_t n_layers;
	uint64_t n_params;           /* elements */
	uint64_t weight_bytes;       /* latest version */
	uint64_t stash_bytes;        /* further versions */
	uint64_t gradient_bytes;
	uint64_t optimizer_bytes;
	uint64_t activation_bytes;   /* slots */
	uint64_t boundary_bytes;
	uint64_t scratch_bytes;
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
	const char *stages;          /* "0" or "0, 3"; NULL: none */
	uint64_t elapsed_ns;         /* of the steps that the other figures cover; 0: nothing was measured */
	uint64_t busy_ns;
	uint64_t wait_ns[MR_N_WAITS];
	bool lost_known;             /* there is a figure for the column "descheduled" */
} mr_report_worker_row;

/**
 * The table at the end: busy time and waiting by cause, in percent of the training time (without evaluations and
 * checkpoints); the rest of it is the column "engine". The column "descheduled" is printed if it is known for all rows.
 * Errors: MR_EIO, MR_ERESOURCE.
 */
mr_status mr_report_workers(const mr_report_worker_row *rows, uint32_t n, FILE *out) MR_MUST_USE;

typedef struct mr_report_staleness_row {
	uint16_t stage;
	const uint64_t *count;       /* [n] gradients that were applied k commits after the version from which they were
	                                computed */
	uint32_t n;
} mr_report_staleness_row;

/** Staleness of the reads: a row for each stage, a column for each staleness that occurred. Errors: MR_EIO,
 * MR_ERESOURCE. */
mr_status mr_report_staleness(const mr_report_staleness_row *rows, uint32_t n, FILE *out) MR_MUST_USE;

typedef struct mr_report_usage_row {
	uint16_t stage;
	uint8_t pipe, n_pipes;
	uint32_t versions[2];        /* of weights live at once: measured, predicted; likewise in the following */
	uint64_t weight_bytes[2];    /* of all their buffers */
	uint64_t activation_bytes[2];
	uint64_t boundary_bytes[2];
} mr_report_usage_row;

/** Versions and bytes in use at once: a row for each stage and pipe, measured beside predicted. Errors: MR_EIO,
 * MR_ERESOURCE. */
mr_status mr_report_usage(const mr_report_usage_row *rows, uint32_t n, FILE *out) MR_MUST_USE;

/** The same as a file: one object with an array of stages, for other programs. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_report_usage_json(uint64_t step, const mr_report_usage_row *rows, uint32_t n, FILE *out) MR_MUST_USE;

/** One line: peak memory predicted and measured, and the difference in percent of the prediction. Errors: MR_EIO. */
mr_status mr_report_memory(uint64_t predicted_bytes, uint64_t measured_bytes, FILE *out) MR_MUST_USE;

#endif
