/*
 * metrics_log.h - metrics.jsonl: the measurements of a run, one JSON object a line.
 *
 *	{"step":120,"loss":2.3412,"lr":0.0003,"samples":1920,"tokens":245760,"seconds":20.1,"gflops":51.2}
 *	{"step":120,"seconds":20.6,"val_loss":2.41,"val_accuracy":0.31}
 *
 * Lines stand in the order of the steps, an evaluation's after its step's. Figures (figures.def) that are unknown are
 * left out; an infinite one is null, since JSON has no word. Lines are written to the file at least once a second, so
 * that others can follow; a crash may tear the last one, which the readers here skip.
 *
 * On resume the file is cut back to the checkpoint's step: later steps of the killed run are computed again, and
 * the file then reads like that of a run that was never interrupted (except for the seconds).
 */
#ifndef MR_REPORT_METRICS_LOG_H
#define MR_REPORT_METRICS_LOG_H

#include "report/figures.h"

typedef struct mr_metrics_log mr_metrics_log;

/** Open @path to append. The caller closes *@out. Errors: MR_EIO with path and reason; MR_ERESOURCE. */
mr_status mr_metrics_log_open(const char *path, mr_metrics_log **out) MR_MUST_USE;

/* Writing fails with path and reason: MR_ERESOURCE when there is no room (disk, quota, file size), else MR_EIO. */

/** Append a line. Errors: those of writing. */
mr_status mr_metrics_log_put(mr_metrics_log *log, const mr_figures *row) MR_MUST_USE;

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
mr_status mr_metrics_read(const char *path, mr_figures **rows, size_t *n) MR_MUST_USE;

#endif
