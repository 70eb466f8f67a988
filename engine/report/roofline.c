#include "report/roofline.h"

#include <math.h>
#include <stdlib.h>

#include "report/chart.h"

enum { N_SERIES = 1 + MR_ROOFLINE_LEVELS + MR_ROOFLINE_POINTS };

typedef struct drawing {
	mr_chart_series series[N_SERIES];
	size_t n;
	double x[MR_ROOFLINE_LEVELS + 1][3], y[MR_ROOFLINE_LEVELS + 1][3]; /* of the lines */
	double at[MR_ROOFLINE_POINTS][2];
	char name[N_SERIES][96];
} drawing;

/* The FLOPs a byte at which a level no longer limits; INFINITY where its rate is unknown. */
static double corner_of(const mr_roofline *r, size_t level)
{
	return r->level[level].rate > 0 ? r->of.peak / r->level[level].rate : INFINITY;
}

/* Up to the peak, then along it; @rate 0: along it alone. */
static void add_line(drawing *d, size_t line, double peak, double rate, double low, double high)
{
	double corner = rate > 0 ? fmin(fmax(peak / rate, low), high) : low;

	for (int k = 0; k < 3; k++) {
		d->x[line][k] = k == 0 ? low : k == 1 ? corner : high;
		d->y[line][k] = (rate > 0 ? fmin(peak, d->x[line][k] * rate) : peak) * 1e-9;
	}
	d->series[d->n] = (mr_chart_series){.name = d->name[d->n], .at = {d->x[line], d->y[line], 3}};
	d->n++;
}

static void add_lines(drawing *d, const mr_roofline *r, double low, double high)
{
	for (size_t i = 0; i < MR_ROOFLINE_LEVELS; i++) {
		if (!(r->level[i].rate > 0))
			continue;
		snprintf(d->name[d->n], sizeof(d->name[0]), "%s, %.0f GB/s", r->level[i].level,
			 r->level[i].rate * 1e-9);
		add_line(d, i, r->of.peak, r->level[i].rate, low, high);
	}
	if (d->n)
		return;
	snprintf(d->name[0], sizeof(d->name[0]), "peak");
	add_line(d, MR_ROOFLINE_LEVELS, r->of.peak, 0, low, high);
}

static void add_points(drawing *d, const mr_roofline *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const mr_roofline_point *p = &r->point[i];
		bool known = isfinite(p->least);

		d->at[i][0] = p->flop / p->bytes;
		d->at[i][1] = p->flop / p->seconds * 1e-9;
		snprintf(d->name[d->n], sizeof(d->name[0]), "%s: %.0f%% of %s", p->name,
			 100 * (known ? p->least : p->flop / r->of.peak) / p->seconds,
			 known ? "its roof" : "the peak");
		d->series[d->n] = (mr_chart_series){
			.name = d->name[d->n], .at = {&d->at[i][0], &d->at[i][1], 1}, .marks = true, .no_line = true};
		d->n++;
	}
}

mr_status mr_roofline_put(const mr_roofline *r, const char *title, const mr_svg *v)
{
	double low = INFINITY, high = 0;
	char below[160];
	drawing *d = calloc(1, sizeof(*d));
	mr_chart chart = {
		.title = title, .subtitle = below, .x_name = "FLOP a byte, at least moved", .y_name = "GFLOP/s",
		.log_x = true, .log_y = true,
	};
	bool lines = false;
	mr_status st;

	if (!d)
		return mr_fail(MR_ERESOURCE, "no memory for a roofline");
	for (size_t i = 0; i < r->n; i++) {
		low = fmin(low, r->point[i].flop / r->point[i].bytes);
		high = fmax(high, r->point[i].flop / r->point[i].bytes);
	}
	low = fmin(isfinite(low) ? low / 4 : 0.1, corner_of(r, 0) / 2);
	high = fmax(4 * high, 100 * low);
	for (size_t i = 0; i < MR_ROOFLINE_LEVELS; i++)
		lines = lines || r->level[i].rate > 0;
	snprintf(below, sizeof(below), "line%s: what %u core%s can at most%s; peak %.0f GFLOP/s", lines ? "s" : "",
		 r->of.cores, r->of.cores == 1 ? "" : "s", lines ? ", with data from each level" : "",
		 r->of.peak * 1e-9);
	add_lines(d, r, low, high);
	add_points(d, r);
	if (!lines) /* the peak alone would be an edge of the picture */
		chart.y_low = r->of.peak * 1e-11;
	chart.series = d->series;
	chart.n = d->n;
	st = mr_chart_put(&chart, v);
	free(d);
	return st;
}

/* --- JSON --- */

void mr_roofline_json(const mr_roofline *r, mr_json_writer *w)
{
	mr_json_begin_object(w);
	mr_record_put(MR_RECORD_ROOFLINE, &r->of, w);
	mr_record_put_all(MR_RECORD_LEVEL, "levels", r->level, MR_ROOFLINE_LEVELS, sizeof(r->level[0]), w);
	mr_record_put_all(MR_RECORD_POINT, "points", r->point, r->n, sizeof(r->point[0]), w);
	mr_json_end_object(w);
}

bool mr_roofline_read(const mr_json *j, mr_roofline *out)
{
	const mr_json *points = mr_json_get(j, "points");

	*out = (mr_roofline){.n = 0};
	mr_record_get(MR_RECORD_ROOFLINE, j, &out->of);
	for (size_t i = 0; i < MR_ROOFLINE_LEVELS; i++)
		mr_record_get(MR_RECORD_LEVEL, mr_json_at(mr_json_get(j, "levels"), i), &out->level[i]);
	for (size_t i = 0; i < mr_json_size(points) && out->n < MR_ROOFLINE_POINTS; i++) {
		mr_roofline_point *p = &out->point[out->n];

		mr_record_get(MR_RECORD_POINT, mr_json_at(points, i), p);
		out->n += p->flop > 0 && p->bytes > 0 && p->seconds > 0;
	}
	return out->of.peak > 0 && out->n;
}
