/* curves_csv.c - the figures of runs as comma-separated values. */
#include <math.h>

#include "base/str.h"
#include "report/curves.h"

/* Quoted where a comma, a quote or a line break would end the cell. */
static void put_name(const char *s, FILE *out)
{
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', out);
		fputc(*s, out);
	}
	fputc('"', out);
}

static void put_row(const char *name, const mr_metrics_row *row, FILE *out)
{
	const mr_metrics_figure *f;
	char text[32];

	put_name(name, out);
	fprintf(out, ",%llu", (unsigned long long)row->step);
	for (size_t i = 0; (f = mr_metrics_figure_at(i)); i++)
		for (int other = 0; other < (f->other ? 2 : 1); other++) {
			double x = mr_metrics_value(row, f);

			fputc(',', out);
			if (isnan(x) || (f->other && row->trains_only != (other == 1)))
				continue;
			if (f->count)
				fprintf(out, "%.0f", x);
			else
				fputs(mr_double_text(x, text), out);
		}
	fputc('\n', out);
}

mr_status mr_curves_csv(const mr_curve *curves, size_t n, FILE *out)
{
	const mr_metrics_figure *f;

	fputs("run,step", out);
	for (size_t i = 0; (f = mr_metrics_figure_at(i)); i++)
		fprintf(out, f->other ? ",%s,%s" : ",%s", f->key, f->other);
	fputc('\n', out);
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < curves[r].n_rows; i++)
			put_row(curves[r].name, &curves[r].rows[i], out);
	return ferror(out) ? mr_fail(MR_EIO, "the table could not be written") : MR_OK;
}
