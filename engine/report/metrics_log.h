/*
 * metrics_log.h - metrics.jsonl: the measurements of a run, one JSON object a line.
 *
 *	{"step":120,"loss":2.3412,"lr":0.0003,"samples":1920,"tokens":245760,"seconds":20.1,"gflops":51.2}
 *	{"step":120,"val_loss":2.41,"val_accuracy":0.31,"seconds":20.6}
 *
 * Lines stand in the order of the steps. Unknown figures are left out. Lines are written to the file at
 * least once a second, so that others can follow; a crash may tear the last one, which the readers here skip.
 *
 * On resume the file is cut back to the checkpoint's step: later steps of the killed run are computed again, and
 * the file then reads like that of a run that was never interrupted (except for the seconds).
 */
#ifndef MR_REPORT_METRICS_LOG_H
#define MR_REPORT_METRICS_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "ir/trace.h"

/* Doubles that are NAN and counts that are 0 are left out; an infinite loss is written as null, since JSON has no word.
 */
typedef struct mr_metrics_row {
	uint64_t step;      /* commits so far, from 1; 0 stands before the first step and is written */
	double loss, lr;
	uint64_t samples;   /* seen so far */
	uint64_t tokens;    /* seen so far */
	double seconds;     /* of training so far */
	double grad_norm;   /* of all gradients together, before clipping */
	double stage_grad_norm; /* of those of the last stage, if there is no global norm */
	double rate;        /* samples or tokens a second since the line before */
	double gflops;      /* model GFLOP a second, likewise */
	double bubble;      /* idle part of all workers' time since the last line that has it; the next likewise */
	double waits[MR_N_WAITS]; /* part of that time in which workers waited, by cause; its sum may be below bubble */
	double val_loss;    /* of an evaluation; the next four as in nn/scores.h, perplexity for tokens */
	double perplexity, accuracy, top5, auc;
	bool trains_only;   /* the evaluation was of the training samples: keys begin with train_, not val_ */
} mr_metrics_row;

/** A row of @step without figures. */
mr_metrics_row mr_metrics_row_at(uint64_t step);

/* A figure of a row: its key in metrics.jsonl, and where it is. */
typedef struct mr_metrics_figure {
	const char *key;   /* of evaluations: that of validation samples */
	const char *other; /* of evaluations: the key if they were of the training samples; else NULL */
	size_t offset;
	bool count;        /* uint64_t, else double */
} mr_metrics_figure;

/** Figure number @i in the order of the file, after the step; NULL beyond the last. */
const mr_metrics_figure *mr_metrics_figure_at(size_t i);
/** Its value in @row; NAN: unknown. */
double mr_metrics_value(const mr_metrics_row *row, const mr_metrics_figure *f);

typedef struct mr_metrics_log mr_metrics_log;

/** Open @path to append. The caller closes *@out. Errors: MR_EIO with path and reason; MR_ERESOURCE. */
mr_status mr_metrics_log_open(const char *path, mr_metrics_log **out) MR_MUST_USE;

/* Writing fails with path and reason: MR_ERESOURCE when there is no room (disk, quota, file size), else MR_EIO. */

/** Append a line. Errors: those of writing. */
mr_status mr_metrics_log_put(mr_metrics_log *log, const mr_metrics_row *row) MR_MUST_USE;

/** Write every line to the file. Errors: those of writing. */
mr_status mr_metrics_log_flush(mr_metrics_log *log) MR_MUST_USE;

/** Wait until the disk has the lines that were flushed: before a checkpoint of their steps is announced. Thread: any.
 * Errors: those of writing. */
mr_status mr_metrics_log_sync(const mr_metrics_log *log) MR_MUST_USE;

/** Flush and close, also after an error; @log may be NULL. Errors: those of writing. */
mr_status mr_metrics_log_close(mr_metrics_log *log) MR_MUST_USE;

/**
 * Cut @path after its last line of a step up to @step, and remove a torn rest. A file that does not exist is
 * no error.
 * Errors: MR_EIO the system refuses, or a line that is no metrics line stands between lines that are.
 */
mr_status mr_metrics_truncate(const char *path, uint64_t step) MR_MUST_USE;

/** Read all rows of @path; a torn last line is skipped. The caller frees *@rows. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_metrics_read(const char *path, mr_metrics_row **rows, size_t *n) MR_MUST_USE;

#endif
