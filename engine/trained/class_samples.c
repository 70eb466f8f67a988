#include "trained/class_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grown.h"
#include "trained/predictions.h"

void mr_class_samples_add(mr_class_samples *s, size_t target, const double *p)
{
	double *q = mr_grown(s->p, s->n, s->classes * sizeof(*q));
	int32_t *t = mr_grown(s->target, s->n, sizeof(*t));

	s->p = q ? q : s->p;
	s->target = t ? t : s->target;
	s->failed |= !q || !t;
	if (s->failed)
		return;
	memcpy(s->p + s->n * s->classes, p, s->classes * sizeof(*p));
	s->target[s->n++] = (int32_t)target;
}

mr_status mr_class_samples_check(const mr_class_samples *s)
{
	return s->failed ? mr_fail(MR_ERESOURCE, "no memory for the probabilities of %zu samples", s->n + 1) : MR_OK;
}

void mr_class_samples_fini(mr_class_samples *s)
{
	free(s->p);
	free(s->target);
	*s = (mr_class_samples){0};
}

/* --- in the order of one class's probability --- */

typedef struct scored {
	double p;
	bool own; /* of the class */
} scored;

/* The highest first; what is no number last. */
static int before(const void *a, const void *b)
{
	double x = ((const scored *)a)->p, y = ((const scored *)b)->p;

	if (isnan(x) || isnan(y))
		return (int)isnan(x) - (int)isnan(y);
	return x > y ? -1 : x < y;
}

static mr_status sorted(const mr_class_samples *s, size_t class, scored **out, size_t *n_own)
{
	scored *list = malloc((s->n + 1) * sizeof(*list));

	if (!list)
		return mr_fail(MR_ERESOURCE, "no memory to sort %zu samples", s->n);
	*n_own = 0;
	for (size_t i = 0; i < s->n; i++) {
		list[i] = (scored){s->p[i * s->classes + class], (size_t)s->target[i] == class};
		*n_own += list[i].own;
	}
	qsort(list, s->n, sizeof(*list), before);
	*out = list;
	return MR_OK;
}

/* Where the samples with the probability of @list[i] end; adds those of the class to *@own. */
static size_t level(const scored *list, size_t i, size_t n, double *own)
{
	size_t end = i;

	for (; end < n && before(&list[end], &list[i]) == 0; end++)
		*own += list[end].own;
	return end;
}

mr_status mr_class_areas_of(const mr_class_samples *s, size_t class, mr_class_areas *out)
{
	scored *list;
	size_t n_own;
	double own = 0, other = 0, pairs = 0, steps = 0;

	*out = (mr_class_areas){NAN, NAN};
	MR_TRY(mr_class_samples_check(s));
	MR_TRY(sorted(s, class, &list, &n_own));
	for (size_t i = 0; i < s->n;) {
		double own_before = own, other_before = other;

		i = level(list, i, s->n, &own);
		other = (double)i - own;
		pairs += (other - other_before) * (own + own_before) / 2;
		steps += (own - own_before) * own / (double)i;
	}
	free(list);
	if (n_own && n_own < s->n)
		*out = (mr_class_areas){pairs / (own * other), steps / own};
	return MR_OK;
}

mr_class_areas mr_class_areas_all(const mr_class_areas *of, size_t n)
{
	mr_class_areas sum = {0, 0};
	size_t known = 0;

	if (n == 2)
		return of[1];
	for (size_t i = 0; i < n; i++) {
		if (isnan(of[i].roc_auc))
			continue;
		sum.roc_auc += of[i].roc_auc;
		sum.average_precision += of[i].average_precision;
		known++;
	}
	return known ? (mr_class_areas){sum.roc_auc / (double)known, sum.average_precision / (double)known}
		     : (mr_class_areas){NAN, NAN};
}

static mr_status put_curve(const mr_class_samples *s, size_t class, const char *name, FILE *file)
{
	scored *list;
	size_t n_own;
	double own = 0;

	MR_TRY(sorted(s, class, &list, &n_own));
	if (n_own && n_own < s->n) {
		mr_predictions_field(file, name);
		fputs(",inf,0,0,1\n", file);
	}
	for (size_t i = 0, end; n_own && n_own < s->n && i < s->n; i = end) {
		end = level(list, i, s->n, &own);
		mr_predictions_field(file, name);
		fprintf(file, ",%.17g,%.9g,%.9g,%.9g\n", list[i].p, own / (double)n_own,
			((double)end - own) / (double)(s->n - n_own), own / (double)end);
	}
	free(list);
	return MR_OK;
}

mr_status mr_class_curves_put(const mr_class_samples *s, const mr_form *f, FILE *file)
{
	char room[24];

	MR_TRY(mr_class_samples_check(s));
	fputs("class,threshold,true_positive_rate,false_positive_rate,precision\n", file);
	for (size_t i = 0; i < s->classes; i++)
		MR_TRY(put_curve(s, i, mr_predictions_class(f, i, room), file));
	return MR_OK;
}
