/*
 * chrome.h - a trace in the form that chrome://tracing and ui.perfetto.dev open (Trace Event Format, JSON object form).
 *
 * One process, one track a worker, or a share of one. On a track: each instruction as a complete event "F m3" with its
 * stage, version, pipe and waits as arguments; before it, its worker's waits, one event a cause ("wait upstream").
 * Arrows lead a micro-batch from F at stage s to F at stage s + 1, and its gradient from B (or I) at stage s + 1 to B
 * (or I) at stage s.
 *
 * A message between workers that share no memory is an asynchronous event from sending to arrival, with its bytes, and
 * the part of that time in which its receiver waited for it.
 *
 * Times are microseconds with three decimals, which is nanoseconds exactly, from the trace's own zero. An arrow begins
 * in the last nanosecond of its producer and ends at the begin of its consumer, so that viewers find the slices it
 * belongs to.
 */
#ifndef MR_REPORT_CHROME_H
#define MR_REPORT_CHROME_H

#include <stdio.h>

#include "base/message_time.h"
#include "base/status.h"
#include "ir/trace.h"

typedef struct mr_chrome {
	const mr_trace_rec *rec;   /* [n_rec], borrowed, in any order */
	size_t n_rec;
	uint16_t n_workers;        /* tracks; records of other workers break the contract */
	uint32_t n_shares;         /* above 1: track i is share i % n_shares of worker i / n_shares, and `worker` of a
	                              record is its track */
	const char *const *tracks; /* [n_workers] names such as "w0 stage 0 cpus 0-3"; NULL: "w0", ... */
	const char *title;         /* of the process; NULL: "millrace" */
	const mr_message_time *const *messages; /* [n_messages] borrowed, in any order; from and to
	                                           count the workers of the first share, then those of the next */
	size_t n_messages;
} mr_chrome;

/** Write the trace. Errors: MR_EINVAL a record that ends before it begins, or of a worker beyond @n_workers;
 * MR_ERESOURCE; MR_EIO. */
mr_status mr_chrome_write(const mr_chrome *c, FILE *out) MR_MUST_USE;

#endif
