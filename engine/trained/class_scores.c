#include "trained/class_scores.h"

#include <math.h>
#include <stdlib.h>

#include "report/output.h"
#include "trained/predictions.h"

#define MOST_CLASSES 4096

mr_status mr_class_scores_init(mr_class_scores *s, size_t n)
{
	*s = (mr_class_scores){.n = n};
	if (n > MOST_CLASSES)
		return mr_fail(MR_EUSAGE, "--scores has a table of classes by classes, at most %d of them: there are "
					  "%zu", MOST_CLASSES, n);
	s->samples.classes = n;
	s->count = calloc(n * n, sizeof(*s->count));
	return s->count ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the scores of %zu classes", n);
}

void mr_class_scores_fini(mr_class_scores *s)
{
	free(s->count);
	mr_class_samples_fini(&s->samples);
	*s = (mr_class_scores){0};
}

void mr_class_scores_add(mr_class_scores *s, size_t target, size_t best, const double *p)
{
	int bin = (int)(p[best] * MR_CLASS_SCORES_BINS);

	bin = bin < MR_CLASS_SCORES_BINS ? bin : MR_CLASS_SCORES_BINS - 1;
	s->count[target * s->n + best]++;
	s->loss -= log(fmax(p[target], 1e-300));
	s->bin[bin]++;
	s->right[bin] += target == best;
	s->confidence[bin] += p[best];
	mr_class_samples_add(&s->samples, target, p);
}

size_t mr_class_of(const double *p, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		best = p[i] > p[best] ? i : best;
	return best;
}

double mr_class_scores_calibration(const mr_class_scores *s)
{
	double off = 0, n = 0;

	for (int b = 0; b < MR_CLASS_SCORES_BINS; b++) {
		off += fabs(s->confidence[b] - (double)s->right[b]);
		n += (double)s->bin[b];
	}
	return off / n;
}

static double part(uint64_t a, uint64_t of)
{
	return of ? (double)a / (double)of : (double)NAN;
}

typedef struct counted {
	uint64_t right, targets, predictions;
} counted;

static counted count_class(const mr_class_scores *s, size_t i)
{
	counted c = {.right = s->count[i * s->n + i]};

	for (size_t k = 0; k < s->n; k++) {
		c.targets += s->count[i * s->n + k];
		c.predictions += s->count[k * s->n + i];
	}
	return c;
}

static void put_class(const mr_class_scores *s, size_t i, const char *name, const mr_class_areas *areas,
		      mr_json_writer *w)
{
	counted c = count_class(s, i);

	mr_json_begin_object(w);
	mr_json_field_string(w, "class", name);
	mr_json_field_uint(w, "samples", c.targets);
	mr_json_field_double(w, "precision", part(c.right, c.predictions));
	mr_json_field_double(w, "recall", part(c.right, c.targets));
	mr_json_field_double(w, "f1", part(2 * c.right, c.targets + c.predictions));
	mr_json_field_double(w, "roc_auc", areas->roc_auc);
	mr_json_field_double(w, "average_precision", areas->average_precision);
	mr_json_end_object(w);
}

/* Of all classes together. */
static void put_means(const mr_class_scores *s, mr_json_writer *w)
{
	double precision = 0, recall = 0, f1 = 0, n = (double)s->n, present = 0;

	for (size_t i = 0; i < s->n; i++) {
		counted c = count_class(s, i);

		precision += c.predictions ? part(c.right, c.predictions) : 0;
		recall += c.targets ? part(c.right, c.targets) : 0;
		f1 += c.targets + c.predictions ? part(2 * c.right, c.targets + c.predictions) : 0;
		present += c.targets > 0;
	}
	mr_json_field_double(w, "balanced_accuracy", present > 0 ? recall / present : (double)NAN);
	mr_json_field_double(w, "macro_precision", precision / n);
	mr_json_field_double(w, "macro_recall", recall / n);
	mr_json_field_double(w, "macro_f1", f1 / n);
}

static void put_bins(const mr_class_scores *s, mr_json_writer *w)
{
	mr_json_field_array(w, "calibration");
	for (int b = 0; b < MR_CLASS_SCORES_BINS; b++) {
		mr_json_begin_object(w);
		mr_json_field_uint(w, "samples", s->bin[b]);
		mr_json_field_double(w, "probability", s->bin[b] ? s->confidence[b] / (double)s->bin[b] : (double)NAN);
		mr_json_field_double(w, "right", part(s->right[b], s->bin[b]));
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
}

static void put_all(const mr_class_scores *s, const mr_form *f, const mr_class_areas *areas, mr_json_writer *w)
{
	mr_class_areas all = mr_class_areas_all(areas, s->n);
	uint64_t n = 0, right = 0;
	char room[24];

	for (size_t i = 0; i < s->n * s->n; i++) {
		n += s->count[i];
		right += i / s->n == i % s->n ? s->count[i] : 0;
	}
	mr_json_field_uint(w, "samples", n);
	mr_json_field_double(w, "accuracy", part(right, n));
	put_means(s, w);
	mr_json_field_double(w, "roc_auc", all.roc_auc);
	mr_json_field_double(w, "average_precision", all.average_precision);
	mr_json_field_double(w, "loss", n ? s->loss / (double)n : (double)NAN);
	mr_json_field_double(w, "calibration_error", n ? mr_class_scores_calibration(s) : (double)NAN);
	mr_json_field_array(w, "classes");
	for (size_t i = 0; i < s->n; i++)
		put_class(s, i, mr_predictions_class(f, i, room), &areas[i], w);
	mr_json_end_array(w);
	mr_json_field_array(w, "confusion");
	for (size_t i = 0; i < s->n; i++) {
		mr_json_begin_array(w);
		for (size_t k = 0; k < s->n; k++)
			mr_json_put_uint(w, s->count[i * s->n + k]);
		mr_json_end_array(w);
	}
	mr_json_end_array(w);
	put_bins(s, w);
}

mr_status mr_class_scores_put(const mr_class_scores *s, const mr_form *f, mr_json_writer *w)
{
	mr_class_areas *areas = calloc(s->n + 1, sizeof(*areas));
	mr_status st = areas ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %zu classes", s->n);

	for (size_t i = 0; st == MR_OK && i < s->n; i++)
		st = mr_class_areas_of(&s->samples, i, &areas[i]);
	if (st == MR_OK)
		put_all(s, f, areas, w);
	free(areas);
	return st;
}

mr_status mr_class_scores_write(const mr_class_scores *s, const mr_form *f, const char *path)
{
	mr_output out;
	mr_json_writer w;
	mr_status st;

	if (!path || !*path)
		return MR_OK;
	MR_TRY(mr_output_open(path, &out));
	w = mr_json_begin(out.file, true);
	st = mr_class_scores_put(s, f, &w);
	return mr_output_close(&out, st == MR_OK ? mr_json_finish(&w) : st);
}

mr_status mr_class_curves_write(const mr_class_scores *s, const mr_form *f, const char *path)
{
	mr_output out;

	if (!path || !*path)
		return MR_OK;
	MR_TRY(mr_output_open(path, &out));
	return mr_output_close(&out, mr_class_curves_put(&s->samples, f, out.file));
}
