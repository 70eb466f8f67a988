#include "perf/rpd/plot.h"

#include <stdio.h>
#include <stdlib.h>

#include "report/chart.h"

static double *room(size_t n)
{
	double *p = calloc(n ? n : 1, sizeof(*p));

	if (!p) {
		fprintf(stderr, "rpd: no memory for a chart\n");
		exit(6);
	}
	return p;
}

series *plot_add(plot *p, const char *name, size_t n)
{
	series *s = &p->at[p->n++];

	if (p->n > sizeof(p->at) / sizeof(p->at[0])) {
		fprintf(stderr, "rpd: too many lines in \"%s\"\n", p->title);
		exit(1);
	}
	*s = (series){.n = n, .x = room(n), .y = room(n)};
	snprintf(s->name, sizeof(s->name), "%s", name);
	return s;
}

void plot_band(series *s)
{
	s->low = room(s->n);
	s->high = room(s->n);
}

void plot_write(plot *p, const char *path)
{
	mr_chart_series at[sizeof(p->at) / sizeof(p->at[0])];
	mr_chart c = {.title = p->title,
		      .x_name = p->x_label,
		      .y_name = p->y_label,
		      .log_x = p->log_x,
		      .log_y = p->log_y,
		      .doubles_x = true, /* stages */
		      .from_x0 = true,
		      .from_y0 = !p->high_only,
		      .y_floor = p->y_floor,
		      .series = at,
		      .n = p->n};
	FILE *out = fopen(path, "w");
	mr_svg v;

	if (!out) {
		perror(path);
		exit(1);
	}
	for (size_t i = 0; i < p->n; i++) {
		const series *s = &p->at[i];

		at[i] = (mr_chart_series){.name = s->name,
					  .at = {s->x, s->y, s->n},
					  .low = s->low,
					  .high = s->high,
					  .marks = s->marks,
					  .no_line = s->dots,
					  .with_last = s->dots,
					  .dashed = s->dashed};
	}
	v = mr_svg_file(out);
	if (mr_chart_put(&c, &v) != MR_OK || fclose(out)) {
		perror(path);
		exit(1);
	}
	for (size_t i = 0; i < p->n; i++) {
		free(p->at[i].x);
		free(p->at[i].y);
		free(p->at[i].low);
		free(p->at[i].high);
	}
	p->n = 0;
}
