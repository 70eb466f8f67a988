/*
 * events.h - the event files that TensorBoard reads: scalars, texts and pictures by step.
 *
 * A file is a sequence of records: length, its masked CRC32C, a protobuf message `Event`, its masked CRC32C. Each is
 * appended by one write, so a file that was cut off by a crash is whole up to its last record. A run that is resumed
 * gets a further file, which begins with the message by which TensorBoard forgets later steps of the files before.
 */
#ifndef MR_REPORT_EVENTS_H
#define MR_REPORT_EVENTS_H

#include "report/figures.h"

typedef struct mr_events mr_events;

/**
 * Begin a file in @folder, which is made if necessary. @step: the training goes on after this step; 0: from the start.
 * Errors: MR_EIO with the path; MR_ERESOURCE.
 */
mr_status mr_events_open(const char *folder, uint64_t step, mr_events **out) MR_MUST_USE;
/** @e may be NULL. Errors: MR_EIO. */
mr_status mr_events_close(mr_events *e) MR_MUST_USE;

/* These do nothing if @e is NULL. Errors: MR_ERESOURCE no room on the disk, or no memory; else MR_EIO. */

/**
 * All figures of @row: train/loss, validation/loss, wait/upstream ... After 1,000 rows of a session only one in a
 * tenth of a second is kept, of those that are no evaluations.
 */
mr_status mr_events_row(mr_events *e, const mr_figures *row) MR_MUST_USE;
/** A text in Markdown. */
mr_status mr_events_text(mr_events *e, uint64_t step, const char *tag, const char *text) MR_MUST_USE;
/** A picture in PNG of @len bytes. */
mr_status mr_events_picture(mr_events *e, uint64_t step, const char *tag, uint32_t width, uint32_t height,
			    const char *png, size_t len) MR_MUST_USE;

#endif
