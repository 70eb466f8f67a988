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

/* The keys of metrics.jsonl, those of evaluations of validation and of training samples; or what @row has of each. */
static void put_cells(const mr_figures *row, FILE *out)
{
	char text[32];

	for (int f = 0; f < MR_N_FIGURES; f++) {
		bool evaluates = mr_figure_table[f].kind == MR_FIGURE_EVALUATION;

		for (int trains = 0; mr_figure_table[f].kind != MR_FIGURE_PRESENT && trains <= evaluates; trains++) {
			fputc(',', out);
			if (!row)
				fputs(mr_figure_key((mr_figure)f, trains, text), out);
			else if (isnan(row->at[f]) || (evaluates && row->trains_only != (trains == 1)))
				continue;
			else if (mr_figure_table[f].form == MR_FORM_COUNT)
				fprintf(out, "%.0f", row->at[f]);
			else
				fputs(mr_double_text(row->at[f], text), out);
		}
	}
	fputc('\n', out);
}

mr_status mr_curves_csv(const mr_curve *curves, size_t n, FILE *out)
{
	fputs("run,step", out);
	put_cells(NULL, out);
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < curves[r].n_rows; i++) {
			put_name(curves[r].name, out);
			fprintf(out, ",%llu", (unsigned long long)curves[r].rows[i].step);
			put_cells(&curves[r].rows[i], out);
		}
	return ferror(out) ? mr_fail(MR_EIO, "the table could not be written") : MR_OK;
}
