#include "training/repeats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/result.h"
#include "base/str.h"
#include "checkpoint/rundir.h"
#include "job/job.h"
#include "report/run_folder.h"
#include "report/table.h"

#define MOST_BYTES (1 << 20) /* of the file of results */

typedef struct repeats {
	bool folds;      /* else seeds */
	uint32_t n;
	int64_t first;   /* of seeds: the first one */
	char *dir;       /* that holds the folders */
	mr_figures *at;  /* [n] what came out; step 0: not trained yet */
} repeats;

static const char *kind(const repeats *r)
{
	return r->folds ? "fold" : "seed";
}

static void name_of(const repeats *r, uint32_t i, char room[40])
{
	snprintf(room, 40, "%s-%lld", kind(r), (long long)(r->folds ? i : r->first + i));
}

static const char *file_name(const repeats *r)
{
	return r->folds ? "folds.json" : "seeds.json";
}

/* --- results --- */

/* Is @f one of the figures that are compared? */
static bool counts(int f)
{
	return f == MR_FIGURE_loss || mr_figure_table[f].kind == MR_FIGURE_EVALUATION;
}

/* Mean and deviation of figure @f over the trainings that are over: the root of the mean squared distance from the
 * mean, which divides by their number. False: one of them does not have it. */
static bool mean_of(const repeats *r, int f, double *mean, double *deviation)
{
	double sum = 0, squares = 0, n = 0;

	for (uint32_t i = 0; i < r->n; i++)
		if (r->at[i].step) {
			sum += r->at[i].at[f];
			n++;
		}
	*mean = sum / n;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->at[i].step)
			squares += (r->at[i].at[f] - *mean) * (r->at[i].at[f] - *mean);
	*deviation = sqrt(squares / n);
	return isfinite(*mean) && isfinite(*deviation);
}

static mr_figures folded(const repeats *r, bool deviation)
{
	mr_figures out = mr_figures_at(0);

	for (uint32_t i = 0; i < r->n; i++)
		out.trains_only |= r->at[i].trains_only;
	for (int f = 0; f < MR_N_FIGURES; f++) {
		double mean, off;

		if (counts(f) && mean_of(r, f, &mean, &off))
			out.at[f] = deviation ? off : mean;
	}
	return out;
}

/* --- the file --- */

static void put_figures(const mr_figures *f, mr_json_writer *w)
{
	mr_json_begin_object(w);
	mr_figures_put(f, false, w);
	mr_json_end_object(w);
}

static mr_status put_all(const void *arg, FILE *file)
{
	const repeats *r = arg;
	mr_figures mean = folded(r, false), deviation = folded(r, true);
	mr_json_writer w = mr_json_begin(file, true);

	mr_json_field_uint(&w, r->folds ? "folds" : "seeds", r->n);
	if (!r->folds)
		mr_json_field_int(&w, "first", r->first);
	mr_json_field_array(&w, "runs");
	for (uint32_t i = 0; i < r->n; i++)
		put_figures(&r->at[i], &w);
	mr_json_end_array(&w);
	mr_json_key(&w, "mean");
	put_figures(&mean, &w);
	mr_json_key(&w, "deviation");
	put_figures(&deviation, &w);
	return mr_json_finish(&w);
}

static mr_status take_file(repeats *r, const char *path, const mr_json *j)
{
	const mr_json *runs = mr_json_get(j, "runs");

	if (mr_json_int(mr_json_get(j, r->folds ? "folds" : "seeds")) != (int64_t)r->n ||
	    mr_json_size(runs) != r->n || (!r->folds && mr_json_int(mr_json_get(j, "first")) != r->first))
		return mr_fail(MR_EDATA, "%s: is of other trainings: another number of %ss, or another train.seed",
			       path, kind(r));
	for (uint32_t i = 0; i < r->n; i++)
		if (mr_json_int(mr_json_get(mr_json_at(runs, i), "step")) > 0 &&
		    !mr_figures_get(mr_json_at(runs, i), INFINITY, &r->at[i]))
			return mr_fail(MR_EDATA, "%s: is damaged", path);
	return MR_OK;
}

static mr_status read_file(repeats *r, const char *path, bool go_on)
{
	mr_json *j;
	mr_status st;

	if (access(path, F_OK))
		return MR_OK; /* nothing is there yet */
	if (!go_on)
		return mr_fail(MR_EUSAGE, "%s has %ss of an earlier training: --continue goes on with them, or choose "
					  "another run.dir", r->dir, kind(r));
	MR_TRY(mr_json_read_file(path, MOST_BYTES, &j));
	st = take_file(r, path, j);
	mr_json_destroy(j);
	return st;
}

/* --- beginning --- */

static mr_status check_data(const mr_job *job)
{
	const mr_values *v = job->data.values;
	mr_strbuf b = {0};
	mr_status st;

	if (mr_option_find(mr_values_table(v), "folds"))
		return !mr_values_is_set(v, "folds") && !mr_values_is_set(v, "fold")
			       ? MR_OK
			       : mr_fail(MR_EUSAGE, "--folds sets data.folds and data.fold, which are set already");
	for (uint32_t i = 0; mr_dataset_at(i); i++)
		if (mr_option_find(mr_dataset_at(i)->options, "folds"))
			mr_strbuf_printf(&b, "%s%s", b.len ? ", " : "", mr_dataset_at(i)->name);
	st = mr_fail(MR_EUSAGE, "--folds: data \"%s\" cannot be dealt out to folds: %s can", job->data.name,
		     mr_strbuf_text(&b));
	mr_strbuf_fini(&b);
	return st;
}

static mr_status init(repeats *r, const mr_job *job, bool folds, uint32_t n, bool go_on)
{
	char *path;
	mr_status st;

	*r = (repeats){.folds = folds, .n = n, .first = job->train.seed};
	if (folds)
		MR_TRY(check_data(job));
	r->dir = strdup(job->run_dir);
	r->at = calloc(n, sizeof(*r->at));
	path = r->dir && r->at ? mr_path_join(r->dir, file_name(r)) : NULL;
	if (!path)
		return mr_fail(MR_ERESOURCE, "no memory for %u trainings", n);
	st = mr_rundir_has_checkpoint(r->dir)
		     ? mr_fail(MR_EUSAGE, "%s is the folder of a run by itself: choose another run.dir", r->dir)
		     : read_file(r, path, go_on);
	free(path);
	for (uint32_t i = 0; i < n; i++)
		if (!r->at[i].step)
			r->at[i] = mr_figures_at(0);
	return st;
}

static void fini(repeats *r)
{
	free(r->dir);
	free(r->at);
	*r = (repeats){0};
}

static void keys_of(const repeats *r, uint32_t i, mr_repeat *out)
{
	char name[40];

	name_of(r, i, name);
	out->n = 0;
	snprintf(out->dir, sizeof(out->dir), "%s/%s", r->dir, name);
	snprintf(out->text[out->n++], sizeof(*out->text), "run.dir=%s/%s", r->dir, name);
	if (!r->folds) {
		snprintf(out->text[out->n++], sizeof(*out->text), "train.seed=%lld", (long long)(r->first + i));
		return;
	}
	snprintf(out->text[out->n++], sizeof(*out->text), "data.folds=%u", r->n);
	snprintf(out->text[out->n++], sizeof(*out->text), "data.fold=%u", i);
}

/* --- ending --- */

static mr_status note(repeats *r, uint32_t i)
{
	mr_figures *best = &r->at[i];
	mr_run_folder run;
	mr_repeat keys;
	double loss = NAN;
	mr_status st;

	keys_of(r, i, &keys);
	st = mr_run_folder_read(keys.dir, &run);
	if (st == MR_OK) {
		*best = mr_figures_at(run.rows[run.n_rows - 1].step);
		for (size_t k = 0; k < run.n_rows; k++) {
			const mr_figures *row = &run.rows[k];

			loss = isnan(row->loss) ? loss : row->loss;
			if (!isnan(row->val_loss) && !(best->val_loss <= row->val_loss))
				*best = *row;
		}
		best->loss = loss;
		for (int f = 0; f < MR_N_FIGURES; f++)
			best->at[f] = counts(f) ? best->at[f] : (double)NAN;
		st = mr_result_make(r->dir, file_name(r), MR_RESULT_OWN, put_all, r);
	}
	mr_run_folder_fini(&run);
	return st;
}

static void put_row(mr_table *t, const mr_figures *f, const bool *shown)
{
	char text[32];

	for (int k = 0; k < MR_N_FIGURES; k++)
		if (shown[k])
			mr_table_put(t, "%s", isnan(f->at[k]) ? "-" : mr_figure_text((mr_figure)k, f->at[k],
										    MR_DIGITS_RESULT, text));
}

static mr_status print(const repeats *r)
{
	mr_table_column column[MR_N_FIGURES + 2] = {{kind(r), MR_TABLE_LEFT}, {"step", MR_TABLE_RIGHT}};
	mr_figures mean = folded(r, false), deviation = folded(r, true);
	bool shown[MR_N_FIGURES] = {false};
	uint32_t n = 2;
	mr_table *t;

	for (int f = 0; f < MR_N_FIGURES; f++)
		if (counts(f) && !isnan(mean.at[f])) {
			shown[f] = true;
			column[n++] = (mr_table_column){mr_figure_table[f].title, MR_TABLE_RIGHT};
		}
	MR_TRY(mr_table_create(column, n, &t));
	for (uint32_t i = 0; i < r->n; i++)
		if (r->at[i].step) {
			mr_table_put(t, "%lld", (long long)(r->folds ? i : r->first + i));
			mr_table_put(t, "%llu", (unsigned long long)r->at[i].step);
			put_row(t, &r->at[i], shown);
		}
	mr_table_put(t, "mean");
	mr_table_put(t, "%s", "");
	put_row(t, &mean, shown);
	mr_table_put(t, "deviation");
	mr_table_put(t, "%s", "");
	put_row(t, &deviation, shown);
	return mr_table_finish(t, stdout);
}

mr_status mr_repeats_run(const mr_job *job, bool folds, uint32_t n, bool go_on, mr_repeat_fn *train, void *arg)
{
	repeats r;
	mr_status st = init(&r, job, folds, n, go_on);

	for (uint32_t i = 0; st == MR_OK && i < n; i++) {
		mr_repeat keys;

		if (r.at[i].step)
			continue;
		keys_of(&r, i, &keys);
		printf("--- %s: %u of %u ---\n", keys.dir, i + 1, n);
		st = train(arg, &keys, go_on && mr_rundir_has_checkpoint(keys.dir));
		if (st == MR_OK)
			st = note(&r, i);
	}
	if (st == MR_OK)
		st = print(&r);
	fini(&r);
	return st == MR_ESTOPPED ? MR_OK : st;
}
