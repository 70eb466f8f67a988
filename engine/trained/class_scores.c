#include "trained/class_scores.h"

#include <math.h>
#include <stdlib.h>

#define MOST_CLASSES 4096

mr_status mr_class_scores_init(mr_class_scores *s, size_t n)
{
	*s = (mr_class_scores){.n = n};
	if (n > MOST_CLASSES)
		return mr_fail(MR_EUSAGE, "--scores has a table of classes by classes, at most %d of them: there are "
					  "%zu", MOST_CLASSES, n);
	s->count = calloc(n * n, sizeof(*s->count));
	return s->count ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the scores of %zu classes", n);
}

void mr_class_scores_fini(mr_class_scores *s)
{
	free(s->count);
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

static void put_class(const mr_class_scores *s, size_t i, const char *name, mr_json_writer *w)
{
	uint64_t right = s->count[i * s->n + i], targets = 0, predictions = 0;

	for (size_t k = 0; k < s->n; k++) {
		targets += s->count[i * s->n + k];
		predictions += s->count[k * s->n + i];
	}
	mr_json_begin_object(w);
	mr_json_field_string(w, "class", name);
	mr_json_field_uint(w, "samples", targets);
	mr_json_field_double(w, "precision", part(right, predictions));
	mr_json_field_double(w, "recall", part(right, targets));
	mr_json_field_double(w, "f1", part(2 * right, targets + predictions));
	mr_json_end_object(w);
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

void mr_class_scores_put(const mr_class_scores *s, const char *(*name)(const void *arg, size_t i, char room[24]),
			 const void *arg, mr_json_writer *w)
{
	uint64_t n = 0, right = 0;
	char room[24];

	for (size_t i = 0; i < s->n * s->n; i++) {
		n += s->count[i];
		right += i / s->n == i % s->n ? s->count[i] : 0;
	}
	mr_json_field_uint(w, "samples", n);
	mr_json_field_double(w, "accuracy", part(right, n));
	mr_json_field_double(w, "loss", n ? s->loss / (double)n : (double)NAN);
	mr_json_field_double(w, "calibration_error", n ? mr_class_scores_calibration(s) : (double)NAN);
	mr_json_field_array(w, "classes");
	for (size_t i = 0; i < s->n; i++)
		put_class(s, i, name(arg, i, room), w);
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
