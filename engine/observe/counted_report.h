/*
 * counted_report.h - what `train --counters` counted: a table, and counters.json in the run's folder. A row for each
 * stage and operation:
 *
 *	stage  op  times  us each  cores  IPC  GHz  stalled  GFLOP/s  peak  DRAM GB/s  remote  FLOP/byte  roof
 *
 * Columns of which nothing is known are left out of the table, and are null in the file.
 */
#ifndef MR_OBSERVE_COUNTED_REPORT_H
#define MR_OBSERVE_COUNTED_REPORT_H

#include <stdio.h>

#include "observe/speed.h"
#include "session/session.h"

typedef struct mr_counted_row {
	mr_counted_work work;
	mr_perf_counts counts;
	mr_speed speed;
} mr_counted_row;

/** What one worker of @s counted; NULL: nothing was to be counted. */
const mr_counted *mr_counted_any(const mr_session *s);

/** The rows of @s, whose workers are idle, in order of stage and operation; @peak FLOP/s of one core; @b may be NULL.
 * *@n rows; the caller frees *@rows. Errors: MR_ERESOURCE. */
mr_status mr_counted_rows(const mr_session *s, double peak, const mr_bandwidth *b, mr_counted_row **rows,
			  uint32_t *n) MR_MUST_USE;

/** Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_counted_print(const mr_counted_row *rows, uint32_t n, FILE *out) MR_MUST_USE;

/** The same as JSON, with the counts themselves and @missing, the sentence about those that are not known ("": none).
 * Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_counted_json(const mr_counted_row *rows, uint32_t n, const char *missing, FILE *out) MR_MUST_USE;

#endif
