#include <math.h>

#include "base/str.h"
#include "choose/auto.h"
#include "report/table.h"

static mr_status print_rows(const mr_auto *a, FILE *out)
{
	static const mr_table_column columns[] = {
		{"", false},      {"system", false},  {"workers", true}, {"threads", true}, {"micro-batches", true},
		{"step ms", true}, {"gap", true},     {"measured", true}, {"memory", true}, {"stale", true},
	};
	char bytes[16];
	mr_table *t;
	mr_status st;

	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (uint32_t i = 0; i < a->n; i++) {
		const mr_auto_row *r = &a->row[i];

		if (i && !r->best_of && !(r->measured_s > 0))
			continue;
		mr_table_put(t, "%s", i ? "" : "best");
		mr_table_put(t, "%s", r->label);
		mr_table_put(t, "%u", r->workers);
		mr_table_put(t, "%u", r->threads);
		mr_table_put(t, "%u", r->n_micro);
		mr_table_put(t, "%.4g", 1e3 * r->step_s);
		mr_table_put(t, "%.1f%%", 100 * fmax(0, r->step_s / r->bound_s - 1));
		if (r->measured_s > 0)
			mr_table_put(t, "%.4g", 1e3 * r->measured_s);
		else
			mr_table_put(t, "-");
		mr_table_put(t, "%s", mr_bytes_text(r->bytes, bytes));
		mr_table_put(t, "%u", r->staleness);
	}
	st = mr_table_print(t, "", out);
	mr_table_destroy(t);
	return st;
}

/* Sequential training, where it is not the best. */
static void print_sequential(const mr_auto *a, FILE *out)
{
	const mr_auto_row *best = &a->row[0];

	for (uint32_t i = 1; best->workers > 1 && i < a->n; i++)
		if (a->row[i].fits && a->row[i].workers == 1) {
			fprintf(out, "without a pipeline  %u threads, step %.4g ms: %.2f times as long\n",
				a->row[i].threads, 1e3 * a->row[i].step_s, a->row[i].step_s / best->step_s);
			return;
		}
}

mr_status mr_auto_print(const mr_auto *a, FILE *out)
{
	const mr_auto_row *best = &a->row[0];
	double gap = best->step_s / a->bound_s - 1;

	fprintf(out, "machine  %s\ncosts    %s\n\n", a->machine, a->source);
	MR_TRY(print_rows(a, out));
	fprintf(out, "\n%u of %u candidates tried; ", a->n_tried, a->n);
	fprintf(out, "bound %.4g ms: %s%.1f %%%s\n", 1e3 * a->bound_s, "no choice is faster by more than ",
		100 * (1 - 1 / (1 + fmax(0, gap))), a->complete ? ", and no other candidate is faster" : "");
	print_sequential(a, out);
	if (a->half < a->n && 2 / a->row[a->half].step_s > 1 / best->step_s) {
		const mr_auto_row *h = &a->row[a->half];

		fprintf(out,
			"two runs at once  each on half of the cores with %s, %u x %u threads, %u micro-batches: "
			"%.1f %% more samples a second together, if neither disturbs the other\n",
			h->label, h->workers, h->threads, h->n_micro, 100 * (2 * best->step_s / h->step_s - 1));
	}
	return ferror(out) ? mr_fail(MR_EIO, "cannot write the choice") : MR_OK;
}
