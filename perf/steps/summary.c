#include "perf/steps/summary.h"

#include <math.h>
#include <string.h>

#define EACH_PRECISION(k) for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)

static mr_summary_time time_of(const mr_results *r, const mr_contender *x, int place)
{
	mr_summary_time t = {.ms = x ? mr_results_ms(x, place) : (double)NAN, .percent = (double)NAN};

	if (!x || t.ms != t.ms)
		return t;
	snprintf(t.label, sizeof(t.label), "%s", x->label);
	t.percent = mr_results_percent(r, t.ms, x->precision);
	t.bursts = mr_contender_samples(x, place)->n;
	t.marked = mr_contender_marked(x, place);
	return t;
}

/* The fastest of ours. Who times another one's session once more shows its noise. */
static const mr_contender *best(const mr_results *r, int place, mr_bench_precision precision)
{
	const mr_contender *found = NULL;

	for (int i = 0; i < MR_N_SYSTEMS; i++) {
		const mr_contender *x = i == MR_A_AGAIN ? NULL : mr_results_ours(r, i, precision);

		if (x && !x->same && mr_contender_samples(x, place)->n &&
		    (!found || mr_results_ms(x, place) < mr_results_ms(found, place)))
			found = x;
	}
	return found;
}

/* Of "PyTorch 2.15.0, compiled" the setting; the column says that it is PyTorch. */
static mr_summary_time installed(const mr_results *r, mr_bench_precision precision, int place)
{
	mr_summary_time t = time_of(r, mr_results_peer(r, MR_TORCH, precision), place);
	const char *setting = strstr(t.label, ", ");

	memmove(t.label, setting ? setting + 2 : "", strlen(setting ? setting + 2 : "") + 1);
	return t;
}

/* The fastest peer of those that may stand in for @precision. */
static mr_summary_time best_known(const mr_results *r, mr_bench_precision precision, int place)
{
	mr_summary_time found = {.ms = (double)NAN, .percent = (double)NAN};

	if (!(r->precisions & 1u << precision))
		return found;
	for (int peer = 0; peer < MR_N_PEERS; peer++)
		for (int k = 0; k <= (int)precision; k++) {
			const mr_contender *x = mr_results_peer(r, peer, (mr_bench_precision)k);
			mr_summary_time t = time_of(r, x, place);

			if (t.ms != t.ms || found.ms <= t.ms)
				continue;
			found = t;
			snprintf(found.label, sizeof(found.label), "%s%s%s", x->label,
				 peer == MR_TORCH_AMD ? ", MKL for AMD" : "", k < (int)precision ? ", f32" : "");
		}
	return found;
}

static mr_summary_row row_of(const mr_results *r, int place)
{
	mr_summary_row row = {.name = r->c->name, .place = place ? "FAR" : "NEAR"};

	for (size_t i = 0; i < r->n; i++) {
		row.disturbed += r->all[i].disturbed[place].n;
		row.bursts += r->all[i].quiet[place].n + r->all[i].disturbed[place].n;
	}
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++) {
		mr_bench_precision p = (mr_bench_precision)k;

		row.ours[k] = time_of(r, best(r, place, p), place);
		row.installed[k] = installed(r, p, place);
		row.best[k] = best_known(r, p, place);
		row.limit[k] = 100 / mr_results_percent(r, row.best[k].ms, p);
	}
	return row;
}

void mr_summary_add(mr_summary *s, const mr_results *r)
{
	size_t all = 0;

	for (size_t i = 0; i < r->n; i++)
		for (int place = 0; place < 2; place++)
			all += r->all[i].quiet[place].n + r->all[i].disturbed[place].n;
	for (int place = 0; place < 2 && all && s->n < MR_SUMMARY_ROWS; place++) {
		mr_summary_row row = row_of(r, place);

		if (row.bursts * MR_SUMMARY_LEAST >= all)
			s->row[s->n++] = row;
	}
}

/* --- Markdown ----------------------------------------------------------------------------------------------------- */

/* Behind the point, so that there are three or more in all. */
static int digits(double ms)
{
	return ms < 1 ? 3 : ms < 10 ? 2 : ms < 100 ? 1 : 0;
}

static void put_time(const mr_summary_time *t, FILE *out)
{
	if (t->ms != t->ms)
		fputs(" - |", out);
	else
		fprintf(out, " %s%s%.*f%s |", t->label, *t->label ? " " : "", digits(t->ms), t->ms,
			t->marked ? "!" : "");
}

static void put_factor(double x, FILE *out)
{
	if (x == x)
		fprintf(out, " x%.2f |", x);
	else
		fputs(" - |", out);
}

static void put_percent(const mr_summary_time *t, FILE *out)
{
	if (t->percent == t->percent)
		fprintf(out, " %.0f %% |", t->percent);
	else
		fputs(" - |", out);
}

/* The smallest number of bursts behind a figure of the row. */
static size_t fewest(const mr_summary_row *r)
{
	const mr_summary_time *of[] = {r->ours, r->installed, r->best};
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		EACH_PRECISION(k)
			if (of[i][k].ms == of[i][k].ms && of[i][k].bursts < least)
				least = of[i][k].bursts;
	return least;
}

void mr_summary_print(const mr_summary *s, FILE *out)
{
	fputs("\n| case | cores | ours f32, ms | ours bf16, ms | as installed f32, ms | as installed bf16, ms "
	      "| best known f32, ms | best known bf16, ms | installed / ours f32 | installed / ours bf16 "
	      "| best / ours f32 | best / ours bf16 | limit f32 | limit bf16 | of peak f32 | of peak bf16 "
	      "| bursts | disturbed | commit, machine |\n"
	      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
	      out);
	for (size_t i = 0; i < s->n; i++) {
		const mr_summary_row *r = &s->row[i];

		fprintf(out, "| %s | %s |", r->name, r->place);
		EACH_PRECISION(k)
			put_time(&r->ours[k], out);
		EACH_PRECISION(k)
			put_time(&r->installed[k], out);
		EACH_PRECISION(k)
			put_time(&r->best[k], out);
		EACH_PRECISION(k)
			put_factor(r->installed[k].ms / r->ours[k].ms, out);
		EACH_PRECISION(k)
			put_factor(r->best[k].ms / r->ours[k].ms, out);
		EACH_PRECISION(k)
			put_factor(r->limit[k], out);
		EACH_PRECISION(k)
			put_percent(&r->ours[k], out);
		fprintf(out, " %zu | %zu of %zu | %s |\n", fewest(r), r->disturbed, r->bursts, s->of);
	}
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void put_time_json(mr_json_writer *json, const char *program, int precision, const mr_summary_time *t)
{
	if (t->ms != t->ms)
		return;
	mr_json_begin_object(json);
	mr_json_key(json, "program");
	mr_json_put_string(json, program);
	mr_json_key(json, "precision");
	mr_json_put_string(json, mr_bench_precision_name((mr_bench_precision)precision));
	mr_json_key(json, "label");
	mr_json_put_string(json, t->label);
	mr_json_key(json, "ms");
	mr_json_put_double(json, t->ms);
	mr_json_key(json, "bursts");
	mr_json_put_uint(json, t->bursts);
	mr_json_key(json, "all_disturbed");
	mr_json_put_bool(json, t->marked);
	mr_json_end_object(json);
}

void mr_summary_put(const mr_summary *s, mr_json_writer *json)
{
	mr_json_begin_array(json);
	for (size_t i = 0; i < s->n; i++) {
		const mr_summary_row *r = &s->row[i];

		mr_json_begin_object(json);
		mr_json_key(json, "case");
		mr_json_put_string(json, r->name);
		mr_json_key(json, "placement");
		mr_json_put_string(json, r->place);
		mr_json_key(json, "best");
		mr_json_begin_array(json);
		EACH_PRECISION(k) {
			put_time_json(json, "ours", k, &r->ours[k]);
			put_time_json(json, "PyTorch as installed", k, &r->installed[k]);
			put_time_json(json, "best known", k, &r->best[k]);
		}
		mr_json_end_array(json);
		mr_json_end_object(json);
	}
	mr_json_end_array(json);
}
