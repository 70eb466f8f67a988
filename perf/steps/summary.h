/*
 * summary.h - one table of all cases, in Markdown, for perf/README.md: a row for each case and placement.
 *
 * Of ours the fastest counts, A or a pipeline, and is named; of PyTorch the setting that it chose. Ratios are of
 * medians of the same placement; "x1.50" says that the second one takes two thirds of the first one's time. A time of
 * bursts that were all disturbed bears a "!".
 */
#ifndef PERF_STEPS_SUMMARY_H
#define PERF_STEPS_SUMMARY_H

#include "perf/steps/results.h"

enum { MR_SUMMARY_ROWS = 64 };

typedef struct mr_summary_time {
	char label[128]; /* a system; of PyTorch its setting, or "" */
	double ms;      /* NaN: none took part */
	double percent; /* of the peak of its precision; NaN: none */
	bool marked;
} mr_summary_time;

typedef struct mr_summary_row {
	const char *name, *place;
	mr_summary_time ours[MR_N_BENCH_PRECISIONS], torch[MR_N_BENCH_PRECISIONS];
	size_t bursts, disturbed;
} mr_summary_row;

/* Zero at first. */
typedef struct mr_summary {
	mr_summary_row row[MR_SUMMARY_ROWS];
	size_t n;
} mr_summary;

/** The rows of a case that is over. */
void mr_summary_add(mr_summary *s, const mr_results *r);

void mr_summary_print(const mr_summary *s, FILE *out);

/** The rows as an array. */
void mr_summary_put(const mr_summary *s, mr_json_writer *json);

#endif
