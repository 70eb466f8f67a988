/*
 * summary.h - one table of all cases, in Markdown, for perf/README.md: a row for each case and placement.
 *
 * Of ours the fastest counts, A or a pipeline, and is named. "As installed" is PyTorch as pip installs it, in the
 * setting that it chose; "best known" the fastest of all peers, which is named, and in bf16 of both precisions: who
 * takes bf16 takes f32 where that is faster. A factor is the other one's time over ours, of medians of the same
 * placement. The limit is the factor of the best known if we computed at the measured peak; what a step has beside
 * multiply-adds keeps everybody below it. A time of bursts that were all disturbed bears a "!".
 */
#ifndef PERF_STEPS_SUMMARY_H
#define PERF_STEPS_SUMMARY_H

#include "perf/steps/results.h"

/* LEAST: a third of a case's bursts makes a row of a placement. */
enum { MR_SUMMARY_ROWS = 64, MR_SUMMARY_LEAST = 3 };

typedef struct mr_summary_time {
	char label[192]; /* a system; a peer with its setting; of PyTorch as installed its setting alone, or "" */
	double ms;      /* NaN: none took part */
	double percent; /* of the peak of its precision; NaN: none */
	size_t bursts;  /* behind ms */
	bool marked;
} mr_summary_time;

typedef struct mr_summary_row {
	const char *name, *place;
	mr_summary_time ours[MR_N_BENCH_PRECISIONS], installed[MR_N_BENCH_PRECISIONS], best[MR_N_BENCH_PRECISIONS];
	double limit[MR_N_BENCH_PRECISIONS]; /* a factor; NaN: no peer or no peak is known */
	size_t bursts, disturbed;
} mr_summary_row;

/* Zero at first. */
typedef struct mr_summary {
	mr_summary_row row[MR_SUMMARY_ROWS];
	size_t n;
	char of[128]; /* the commit and the machine, for each row */
} mr_summary;

/** The rows of a case that is over. */
void mr_summary_add(mr_summary *s, const mr_results *r);

void mr_summary_print(const mr_summary *s, FILE *out);

/** The rows as an array. */
void mr_summary_put(const mr_summary *s, mr_json_writer *json);

#endif
