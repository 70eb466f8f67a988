#include "report/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "report/table.h"

const mr_figure_info mr_figure_table[MR_N_FIGURES] = {
#define FIGURE(id, ...) [MR_FIGURE_##id] = {.name = #id, __VA_ARGS__},
#include "report/figures.def"
};

_Static_assert(sizeof(((mr_figures *)0)->at) == sizeof(mr_figures) - offsetof(mr_figures, at), "a member a figure");
_Static_assert(MR_FIGURE_wait_descheduled - MR_FIGURE_wait_upstream == MR_WAIT_DESCHEDULED - MR_WAIT_UPSTREAM &&
	       MR_N_WAITS == MR_WAIT_DESCHEDULED + 1, "a figure a cause, in the order of the causes");

#define VALIDATION "val_"
#define WAIT "wait_"

mr_figures mr_figures_at(uint64_t step)
{
	mr_figures r = {.step = step};

	for (int f = 0; f < MR_N_FIGURES; f++)
		r.at[f] = NAN;
	return r;
}

void mr_figures_take(mr_figures *to, const mr_figures *from, mr_figure_kind kind)
{
	for (int f = 0; f < MR_N_FIGURES; f++)
		if (mr_figure_table[f].kind == kind)
			to->at[f] = from->at[f];
	if (kind == MR_FIGURE_EVALUATION)
		to->trains_only = from->trains_only;
}

mr_figure mr_figure_of_wait(mr_wait_cause cause)
{
	return cause == MR_WAIT_NONE ? MR_FIGURE_busy : (mr_figure)(MR_FIGURE_wait_upstream + cause - MR_WAIT_UPSTREAM);
}

const char *mr_report_wait_name(mr_wait_cause cause)
{
	if (cause == MR_WAIT_NONE || cause >= MR_N_WAITS)
		return "none";
	return mr_figure_table[mr_figure_of_wait(cause)].name + strlen(WAIT);
}

/* --- several records --- */

/* To four digits, as the workers have them. */
static double rounded(double part)
{
	return round(1e4 * part) / 1e4;
}

/* As mr_figure_of_wait, back. */
static mr_wait_cause cause_of(int f)
{
	return f == MR_FIGURE_busy ? MR_WAIT_NONE : (mr_wait_cause)(MR_WAIT_UPSTREAM + f - MR_FIGURE_wait_upstream);
}

void mr_figures_of_workers(const mr_times *workers, size_t n, mr_figures *to)
{
	for (int f = 0; f < MR_N_FIGURES; f++) {
		double sum = 0;

		if (mr_figure_table[f].workers != MR_FOLD_MEAN)
			continue;
		for (size_t w = 0; w < n; w++)
			sum += workers[w].at[cause_of(f)];
		to->at[f] = n ? rounded(sum / (double)n) : (double)NAN;
	}
	to->bubble = rounded(1 - to->busy);
}

void mr_figures_add(mr_figures_sum *s, const mr_figures *row)
{
	bool evaluation = !isnan(row->val_loss);

	if (!s->n_rows++)
		s->last = mr_figures_at(0);
	s->last.step = row->step;
	s->last.trains_only = evaluation ? row->trains_only : s->last.trains_only;
	for (int f = 0; f < MR_N_FIGURES; f++) {
		const mr_figure_info *info = &mr_figure_table[f];
		double x = row->at[f];

		if (!isnan(x) || (info->kind == MR_FIGURE_EVALUATION) == evaluation)
			s->last.at[f] = x;
		if (isnan(x) || (info->steps == MR_FOLD_HARMONIC && !(x > 0)))
			continue;
		s->sum[f] += info->steps == MR_FOLD_HARMONIC ? 1 / x : x;
		s->n[f]++;
	}
}

mr_figures mr_figures_folded(const mr_figures_sum *s)
{
	mr_figures r = s->n_rows ? s->last : mr_figures_at(0);

	for (int f = 0; f < MR_N_FIGURES; f++)
		if (mr_figure_table[f].steps == MR_FOLD_MEAN)
			r.at[f] = s->sum[f] / (double)s->n[f];
		else if (mr_figure_table[f].steps == MR_FOLD_HARMONIC)
			r.at[f] = (double)s->n[f] / s->sum[f];
	return r;
}

/* --- files --- */

char *mr_figure_key(mr_figure f, bool trains_only, char buf[32])
{
	const mr_figure_info *info = &mr_figure_table[f];
	bool train = info->kind == MR_FIGURE_EVALUATION && trains_only;

	snprintf(buf, 32, "%s%s", train ? "train_" : "", info->name + (train ? strlen(VALIDATION) : 0));
	return buf;
}

void mr_figures_put(const mr_figures *r, bool all, mr_json_writer *w)
{
	char key[32];

	mr_json_field_uint(w, "step", r->step);
	for (int f = 0; f < MR_N_FIGURES; f++) {
		mr_figure_form form = mr_figure_table[f].form;
		double x = r->at[f];

		if (isnan(x) && !all)
			continue;
		mr_figure_key((mr_figure)f, r->trains_only, key);
		if ((form == MR_FORM_COUNT || form == MR_FORM_BYTES) && x >= 0)
			mr_json_field_uint(w, key, (uint64_t)x);
		else
			mr_json_field_double(w, key, x);
	}
}

bool mr_figures_get(const mr_json *j, double null, mr_figures *out)
{
	const mr_json *step = mr_json_get(j, "step");
	char key[32];

	*out = mr_figures_at(0);
	if (!mr_json_is_int(step) || mr_json_int(step) < 0)
		return false;
	out->step = (uint64_t)mr_json_int(step);
	out->trains_only = mr_json_get(j, mr_figure_key(MR_FIGURE_val_loss, true, key)) != NULL;
	for (int f = 0; f < MR_N_FIGURES; f++) {
		const mr_json *x = mr_json_get(j, mr_figure_key((mr_figure)f, out->trains_only, key));

		if (x && mr_json_is_null(x))
			out->at[f] = null;
		else if (mr_json_is_number(x))
			out->at[f] = mr_json_double(x);
	}
	return true;
}

/* --- words --- */

/* "950", "12.3k", "1.23M": @digits digits, without a blank, so that a pair stays two words. */
static void rate_text(double x, int digits, char text[32])
{
	static const char units[] = {0, 'k', 'M', 'G', 'T'};
	char unit[2] = "";
	double most = 1000 - 0.5 * pow(10, 3 - digits);
	size_t u = 0;
	int before;

	while (x >= most && u + 1 < sizeof(units)) {
		x /= 1000;
		u++;
	}
	unit[0] = units[u];
	before = x < 10 - 5 * pow(10, -digits) ? 1 : x < 100 - 50 * pow(10, -digits) ? 2 : 3;
	snprintf(text, 32, "%.*f%s", digits > before ? digits - before : 0, x, unit);
}

/* "3.00e-04", in brief "3e-4". */
static void lr_text(double x, bool is_brief, char text[32])
{
	char *e;

	snprintf(text, 32, is_brief ? "%.1e" : "%.2e", x);
	e = strchr(text, 'e');
	if (!is_brief || !isfinite(x) || !e)
		return;
	if (x == 0) {
		snprintf(text, 32, "0");
	} else {
		int power = atoi(e + 1);
		bool whole = e[-1] == '0';

		snprintf(text + (whole ? 1 : 3), 29, "e%d", power);
	}
}

char *mr_loss_text(double x, char buf[32])
{
	snprintf(buf, 32, x == 0 || !isfinite(x) || (fabs(x) >= 1e-3 && fabs(x) < 1e6) ? "%.4f" : "%.4e", x);
	return buf;
}

static void loss_text(double x, mr_figure_digits digits, char text[32])
{
	if (digits == MR_DIGITS_EXACT)
		mr_double_text(x, text);
	else if (digits == MR_DIGITS_BRIEF && fabs(x) >= 0.1)
		snprintf(text, 32, isfinite(x) && fabs(x) >= 1e6 ? "%.2e" : "%.3f", x);
	else
		mr_loss_text(x, text);
}

static void number_text(double x, mr_figure_form form, mr_figure_digits digits, char text[32])
{
	static const char *const formats[][4] = {
		[MR_FORM_COUNT] = {"%.0f", "%.0f", "%.0f", "%.0f"},
		[MR_FORM_NORM] = {"%.2g", "%.3g", "%.4g", "%.17g"},
		[MR_FORM_PERPLEXITY] = {"%.4g", "%.4g", "%.4g", "%.4f"},
		[MR_FORM_GFLOPS] = {"%.1f", "%.1f", "%.1f", "%.3f"},
		[MR_FORM_PART] = {"%.0f%%", "%.1f%%", "%.1f%%", "%.4f%%"},
		[MR_FORM_WHOLE_PERCENT] = {"%.0f%%", "%.0f%%", "%.0f%%", "%.4f%%"},
		[MR_FORM_PERCENT] = {"%.1f%%", "%.1f%%", "%.2f%%", "%.4f%%"},
		[MR_FORM_AREA] = {"%.3f", "%.4f", "%.4f", "%.6f"},
	};
	const char *format = formats[form][digits];

	snprintf(text, 32, format, strstr(format, "%%") ? 100 * x : x);
}

char *mr_figure_text(mr_figure f, double x, mr_figure_digits digits, char buf[32])
{
	mr_figure_form form = mr_figure_table[f].form;

	switch (form) {
	case MR_FORM_LOSS: loss_text(x, digits, buf); break;
	case MR_FORM_RATE_OF_LEARNING: lr_text(x, digits == MR_DIGITS_BRIEF, buf); break;
	case MR_FORM_RATE: rate_text(x, digits == MR_DIGITS_BRIEF ? 2 : 3, buf); break;
	case MR_FORM_DURATION: mr_duration_text(x, buf); break;
	case MR_FORM_BYTES: mr_bytes_text(x > 0 ? (uint64_t)x : 0, buf); break;
	case MR_FORM_COUNT:
	case MR_FORM_NORM:
	case MR_FORM_PERPLEXITY:
	case MR_FORM_GFLOPS:
	case MR_FORM_PART:
	case MR_FORM_WHOLE_PERCENT:
	case MR_FORM_PERCENT:
	case MR_FORM_AREA: number_text(x, form, digits, buf); break;
	}
	return buf;
}

void mr_figures_say_evaluation(const mr_figures *r, mr_figure_digits digits, FILE *out)
{
	const char *between = "";
	char text[32];

	for (int f = 0; f < MR_N_FIGURES && isfinite(r->val_loss); f++) {
		const mr_figure_info *info = &mr_figure_table[f];

		if (info->kind != MR_FIGURE_EVALUATION || isnan(r->at[f]))
			continue;
		fprintf(out, "%s%s %s", between,
			f == MR_FIGURE_val_loss && r->trains_only ? "loss on all training samples" : info->title,
			mr_figure_text((mr_figure)f, r->at[f], digits, text));
		between = ", ";
	}
}

/* A row a member of the records, which are of one thing each: nothing is folded over workers. */
static void list_record(mr_record r, mr_table *t)
{
	for (const mr_member *m = mr_record_members(r); m->of == r; m++)
		mr_table_cells(t, "%s\t%s\t%s\t-\t%s\t%s", mr_member_key(m), m->unit ? m->unit : "-",
			       mr_record_in(r), m->sums ? "sum" : "last", m->meaning);
}

mr_status mr_figures_list(FILE *out)
{
	static const mr_table_column columns[] = {{"figure", false}, {"unit", false}, {"in", false},
						  {"workers", false}, {"steps", false}, {"meaning", false}};
	static const char *const kinds[] = {"steps", "evaluations", "present state"};
	static const char *const folds[] = {"last", "mean", "harmonic mean"};
	mr_table *t;

	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (int f = 0; f < MR_N_FIGURES; f++) {
		const mr_figure_info *info = &mr_figure_table[f];

		mr_table_cells(t, "%s\t%s\t%s\t%s\t%s\t%s", info->name, info->unit ? info->unit : "-",
			       kinds[info->kind], info->workers == MR_FOLD_MEAN ? "mean" : "-", folds[info->steps],
			       info->meaning);
	}
	for (int r = 0; r < MR_N_RECORDS; r++)
		list_record((mr_record)r, t);
	return mr_table_finish(t, out);
}
