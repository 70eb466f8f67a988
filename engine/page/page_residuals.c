/* page_residuals.c - predictions of numbers beside their targets, and how the differences are distributed. */
#include <math.h>
#include <stdlib.h>

#include "page/page_internal.h"
#include "report/chart.h"

static int by_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Predictions over targets; on the line they are right. */
static mr_status put_points(mr_page *p, const mr_json *points)
{
	size_t n = mr_json_size(points), k = 0;
	double(*pair)[2] = malloc((n + 1) * sizeof(*pair)), *x = malloc((2 * n + 1) * sizeof(*x)), *y = x + n;
	double low = INFINITY, high = -INFINITY, ends[2];
	mr_chart_series series[] = {{.name = "right", .dashed = true}, {.name = "samples", .no_line = true}};
	mr_chart c = {.title = "predicted over true", .x_name = "target", .y_name = "prediction", .series = series,
		      .n = 2, .width = 330, .height = 260};
	mr_status st = MR_OK;

	if (!pair || !x) {
		free(pair);
		free(x);
		return mr_fail(MR_ERESOURCE, "no memory for a chart");
	}
	for (size_t i = 0; i < n; i++) {
		const mr_json *at = mr_json_at(points, i);

		pair[k][0] = mr_json_double(mr_json_at(at, 0));
		pair[k][1] = mr_json_double(mr_json_at(at, 1));
		k += mr_json_is_number(mr_json_at(at, 0)) && mr_json_is_number(mr_json_at(at, 1));
	}
	qsort(pair, k, sizeof(*pair), by_first);
	for (size_t i = 0; i < k; i++) {
		x[i] = pair[i][0];
		y[i] = pair[i][1];
		low = fmin(low, x[i]);
		high = fmax(high, x[i]);
	}
	ends[0] = low;
	ends[1] = high;
	series[0].at = (mr_points){ends, ends, 2};
	series[1].at = (mr_points){x, y, k};
	if (k) {
		mr_svg v = mr_page_picture(p, false);

		st = mr_page_end_picture(p, mr_chart_put(&c, &v));
	}
	free(pair);
	free(x);
	return st;
}

/* Columns for the numbers of samples. */
static mr_status draw_columns(const mr_json *samples, double low, double high, const mr_svg *v)
{
	size_t n = mr_json_size(samples);
	mr_panel panel = {.left = 76, .top = 44, .width = 330, .height = 260, .x = mr_axis_empty("prediction - target",
				false), .y = mr_axis_empty("samples", false)};

	mr_axis_see(&panel.x, low);
	mr_axis_see(&panel.x, high);
	mr_axis_see(&panel.y, 0);
	for (size_t i = 0; i < n; i++)
		mr_axis_see(&panel.y, mr_json_double(mr_json_at(samples, i)));
	mr_axis_close(&panel.x);
	mr_axis_close(&panel.y);
	mr_svg_begin(v, panel.left + panel.width + 24, panel.top + panel.height + 50, "residuals");
	mr_svg_text(v, panel.left, 30, "title", "residuals");
	mr_panel_put(&panel, v);
	for (size_t i = 0; i < n; i++) {
		double many = mr_json_double(mr_json_at(samples, i)), y = mr_panel_y(&panel, many);

		if (!(many > 0))
			continue;
		fprintf(v->out, "<rect class=\"%s\" fill=\"currentColor\" fill-opacity=\"0.85\" x=\"%.1f\" y=\"%.1f\" "
				"width=\"%.1f\" height=\"%.1f\"><title>%.0f</title></rect>\n", mr_svg_hue(0),
			panel.left + (double)i * panel.width / (double)n, y, panel.width / (double)n - 1,
			fmax(panel.top + panel.height - y, 0.5), many);
	}
	return mr_svg_end(v);
}

static mr_status put_columns(mr_page *p, const mr_json *residuals)
{
	const mr_json *samples = mr_json_get(residuals, "samples");
	double high = mr_json_double(mr_json_get(residuals, "high"));
	mr_svg v;

	if (!mr_json_size(samples) || !(high > 0))
		return MR_OK;
	v = mr_page_picture(p, false);
	return mr_page_end_picture(p, draw_columns(samples, mr_json_double(mr_json_get(residuals, "low")), high, &v));
}

mr_status mr_page_residuals(mr_page *p, const mr_json *errors)
{
	const mr_json *residuals = mr_json_get(errors, "residuals"), *r2 = mr_json_get(errors, "r2");
	double bias = mr_json_double(mr_json_get(errors, "bias")), rmse = mr_json_double(mr_json_get(errors, "rmse"));
	char a[32], b[32];

	mr_page_say(p, "Predictions are off by %s on the average (MAE); the root of the mean square is %s (RMSE).",
		    mr_page_number(mr_json_double(mr_json_get(errors, "mae")), a), mr_page_number(rmse, b));
	if (mr_json_is_number(r2))
		mr_page_say(p, "They explain %.3g %% of the variance of the target (R2 = %.4f).%s",
			    100 * fmax(0, mr_json_double(r2)), mr_json_double(r2),
			    mr_json_double(r2) <= 0 ? " The mean of the targets would be as good." : "");
	if (fabs(bias) > 0.2 * rmse)
		mr_page_say(p, "They are too %s on the average, by %s.", bias > 0 ? "high" : "low",
			    mr_page_number(fabs(bias), a));
	fputs("<div class=\"charts\">\n", p->out);
	MR_TRY(put_points(p, mr_json_get(errors, "points")));
	MR_TRY(put_columns(p, residuals));
	fputs("</div>\n", p->out);
	if (mr_json_bool(mr_json_get(residuals, "beyond")))
		mr_page_note(p, "The residuals end at four times the RMSE; samples beyond it count in the outermost "
				"columns.");
	return MR_OK;
}
