#include "nn/scores.h"

#include <math.h>
#include <stdlib.h>

#define FIVE 5

mr_status mr_judging_init(mr_judging *j, int64_t classes, uint64_t n_micros, uint64_t rows, uint64_t n_rows)
{
	*j = (mr_judging){.n_micros = n_micros, .n_rows = n_rows, .classes = classes};
	if (!classes)
		return MR_OK;
	j->of = calloc(n_micros + 1, sizeof(*j->of));
	if (classes == 2)
		j->two = calloc(n_rows + 1, sizeof(*j->two));
	if (!j->of || (classes == 2 && !j->two))
		return mr_fail(MR_ERESOURCE, "no memory for the scores of %llu targets", (unsigned long long)n_rows);
	for (uint64_t m = 0; j->two && m < n_micros; m++)
		j->of[m].two = j->two + m * rows;
	return MR_OK;
}

void mr_judging_fini(mr_judging *j)
{
	free(j->of);
	free(j->two);
	*j = (mr_judging){0};
}

mr_judged *mr_judging_begin(mr_judging *j, uint64_t micro)
{
	if (!j->of)
		return NULL;
	j->of[micro] = (mr_judged){.two = j->of[micro].two};
	return &j->of[micro];
}

/* NaN scores sort last, so that the order is total. */
static int compare(const void *a, const void *b)
{
	float x = ((const mr_two_score *)a)->above, y = ((const mr_two_score *)b)->above;

	if (isnan(x) || isnan(y))
		return (int)isnan(x) - (int)isnan(y);
	return x < y ? -1 : x > y;
}

/* The area under the ROC curve, from the rank sum of class 1, where equal scores have their mean rank. NAN: one of the
 * classes is missing. */
static double area(mr_two_score *s, uint64_t n)
{
	double ranks = 0, ones = 0;

	qsort(s, n, sizeof(*s), compare);
	for (uint64_t i = 0, end; i < n; i = end) {
		double here = 0;

		for (end = i; end < n && compare(&s[end], &s[i]) == 0; end++)
			here += s[end].one;
		ranks += here * ((double)(i + 1) + (double)end) / 2;
		ones += here;
	}
	if (ones == 0 || ones == (double)n)
		return NAN;
	return (ranks - ones * (ones + 1) / 2) / (ones * ((double)n - ones));
}

void mr_judged_number(mr_judged *j, double value, double target)
{
	double off = value - target, by = target - j->mean;

	j->n_numbers++;
	j->squares += off * off;
	j->distances += fabs(off);
	j->mean += by / (double)j->n_numbers;
	j->spread += by * (target - j->mean);
}

/* Sums of the micro-batches in their order; means and spreads as Chan, Golub and LeVeque combine them. */
static mr_scores errors(const mr_judging *j)
{
	mr_scores s = {NAN, NAN, NAN, NAN, NAN, NAN};
	mr_judged all = {0};
	double n;

	for (uint64_t m = 0; m < j->n_micros; m++) {
		const mr_judged *one = &j->of[m];
		double by = one->mean - all.mean, a = (double)all.n_numbers, b = (double)one->n_numbers;

		if (!one->n_numbers)
			continue;
		all.squares += one->squares;
		all.distances += one->distances;
		all.spread += one->spread + by * by * a * b / (a + b);
		all.mean += by * b / (a + b);
		all.n_numbers += one->n_numbers;
	}
	n = (double)all.n_numbers;
	s.rmse = sqrt(all.squares / n);
	s.mae = all.distances / n;
	if (all.spread > 0)
		s.r2 = 1 - all.squares / all.spread;
	return s;
}

mr_scores mr_judging_end(mr_judging *j)
{
	mr_scores s = {NAN, NAN, NAN, NAN, NAN, NAN};
	uint64_t right = 0, in_five = 0, n = j->n_rows;

	if (!j->of)
		return s;
	if (j->classes == MR_JUDGE_NUMBERS)
		return errors(j);
	for (uint64_t m = 0; m < j->n_micros; m++) {
		right += j->of[m].right;
		in_five += j->of[m].in_five;
		n -= j->of[m].left_out;
	}
	s.accuracy = (double)right / (double)n;
	if (j->classes > FIVE)
		s.top5 = (double)in_five / (double)n;
	if (j->two)
		s.auc = area(j->two, j->n_rows);
	return s;
}
