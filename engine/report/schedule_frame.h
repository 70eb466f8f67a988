/*
 * schedule_frame.h - the extent of a schedule picture, shared by its text and its SVG form. For these two only.
 */
#ifndef MR_REPORT_SCHEDULE_FRAME_H
#define MR_REPORT_SCHEDULE_FRAME_H

#include "report/schedule_picture.h"

typedef struct mr_schedule_frame {
	uint64_t from, to;  /* first begin and last end, in trace time; equal when nothing takes time */
	uint64_t shortest;  /* shortest duration above 0; UINT64_MAX when there is none */
	unsigned digits;    /* of the largest micro-batch number */
} mr_schedule_frame;

/** Measure @p. Errors: MR_EINVAL for a picture or a record that cannot be drawn. */
mr_status mr_schedule_frame_find(const mr_schedule_picture *p, mr_schedule_frame *out) MR_MUST_USE;

#endif
