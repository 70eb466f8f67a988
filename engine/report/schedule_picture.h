/*
 * schedule_picture.h - the instructions of all workers over time, as a picture: one row a worker, or a share of one;
 * time to the right.
 *
 * Both forms draw trace records, so they show a walk and a run alike. Boxes are instructions and carry the number of
 * their micro-batch; empty places are idle time.
 *
 *	w0 F0F1F2F3......B0--F4..B1--F5..B2--F6        (text; "." is idle, "-" goes on with the instruction before it)
 *	w1 ..F0F1F2....B0--F3..B1--F4..B2--F5
 *	   0         5         10        15
 *
 * A worker that hosts two stages (chunks, or one of each of two pipes) has those of the second in small letters, or
 * paler; a worker that hosts more has a letter after each number, a, b, c ..., pipe by pipe and by stage, and different
 * shades.
 *
 * Text: a column stands for the same time everywhere. If possible a column is an exact fraction of all durations
 * and every box has room for its number; a time too long for one line is folded into up to six bands, each with its
 * axis. If that does not suffice (many instructions, measured times) there is one band, and each column shows the
 * instruction with the largest part of it. SVG: a picture as in svg.h, at most about 2400 pixels wide; a number that
 * does not fit into its box is left out. Instructions that take no time are left out, too, except optimizer steps: a
 * small triangle shows when a version appears.
 */
#ifndef MR_REPORT_SCHEDULE_PICTURE_H
#define MR_REPORT_SCHEDULE_PICTURE_H

#include <stdio.h>

#include "ir/trace.h"
#include "report/svg.h"

typedef struct mr_schedule_picture {
	const mr_trace_rec *rec; /* [n_rec], borrowed, in any order */
	size_t n_rec;
	uint16_t n_workers;      /* rows; records of other workers break the contract */
	uint32_t n_shares;       /* above 1: row i is share i % n_shares of worker i / n_shares, and is called so */
	double unit;             /* trace time that the axis counts as 1, > 0 */
	const char *unit_name;   /* of the axis, such as "ms"; NULL: none */
	const char *title;       /* NULL: none */
	const char *subtitle;    /* second line of the SVG; NULL: none */
	bool versions;           /* SVG: write the weight version read under the micro-batch */
} mr_schedule_picture;

/** Draw @p as text, no line longer than @columns (at least 20). Errors: MR_EINVAL for a bad argument, MR_EIO,
 * MR_ERESOURCE. */
mr_status mr_schedule_picture_text(const mr_schedule_picture *p, unsigned columns, FILE *out) MR_MUST_USE;

/** Write @p as an SVG file. Errors: MR_EINVAL for a bad argument, MR_ERESOURCE, MR_EIO when @out refuses. */
mr_status mr_schedule_picture_svg(const mr_schedule_picture *p, FILE *out) MR_MUST_USE;

/**
 * Write the @n > 0 pictures @p under each other on one time axis, each below its title, as an SVG file with @title and
 * @subtitle (may be NULL). Their units must be one. Errors: as above.
 */
mr_status mr_schedule_picture_stack(const mr_schedule_picture *p, size_t n, const char *title, const char *subtitle,
				    FILE *out) MR_MUST_USE;

/** The same into @svg, which may be inside a page. */
mr_status mr_schedule_picture_put(const mr_schedule_picture *p, size_t n, const char *title, const char *subtitle,
				  const mr_svg *svg) MR_MUST_USE;

#endif
