/*
 * roofline.h - pieces of work as points, FLOPs for each byte that they move at least and GFLOP/s, below the lines of
 * what cores can: a picture, and a part of run.json (figures.def: ROOFLINE, LEVEL, POINT).
 */
#ifndef MR_REPORT_ROOFLINE_H
#define MR_REPORT_ROOFLINE_H

#include "base/json.h"
#include "report/records.h"
#include "report/svg.h"

enum { MR_ROOFLINE_LEVELS = 3, MR_ROOFLINE_POINTS = 12 };

typedef struct mr_roofline {
	mr_roofline_row of;
	mr_roofline_level level[MR_ROOFLINE_LEVELS]; /* nearest first */
	mr_roofline_point point[MR_ROOFLINE_POINTS];
	size_t n;
} mr_roofline;

/** Draw @r. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_roofline_put(const mr_roofline *r, const char *title, const mr_svg *v) MR_MUST_USE;

void mr_roofline_json(const mr_roofline *r, mr_json_writer *w);
/** Read it again; false: @j is none, or has no point. */
bool mr_roofline_read(const mr_json *j, mr_roofline *out);

#endif
