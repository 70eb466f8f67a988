#include "starter/survey.h"

#include <math.h>
#include <stdlib.h>

#include "data/part.h"
#include "nn/element.h"

#define SHOWN_CLASSES 20

static void add(mr_survey_values *v, double x, bool odd)
{
	v->n++;
	if (odd) {
		v->n_odd++;
		return;
	}
	v->least = v->n == v->n_odd + 1 || x < v->least ? x : v->least;
	v->most = v->n == v->n_odd + 1 || x > v->most ? x : v->most;
	v->sum += x;
}

static void add_number(mr_survey_values *v, double x)
{
	add(v, x, !isfinite(x));
}

static void add_tokens(mr_survey_values *v, const int32_t *token, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		add(v, token[i], token[i] < 0);
}

static void add_columns(mr_survey *s, int64_t i, double x)
{
	int64_t j = i % s->columns;

	s->low[j] = fmin(s->low[j], x);
	s->high[j] = fmax(s->high[j], x);
}

/* How many of an input's tokens are the bits of f32 numbers: the first ones. */
static int64_t bits_in(const mr_dataset *d)
{
	int64_t all = d->input.rows * d->input.cols;

	return d->frames ? all - d->target.rows : d->numbers > 0 ? d->numbers : 0;
}

static void add_input(mr_survey *s, const void *input)
{
	const mr_dataset *d = s->data;
	int64_t n = d->input.rows * d->input.cols, bits = bits_in(d);

	if (!d->input.tokens) {
		for (int64_t i = 0; i < n; i++) {
			double x = mr_element(s->inputs, input, i);

			add_number(&s->number, x);
			if (s->columns)
				add_columns(s, i, x);
		}
		return;
	}
	for (int64_t i = 0; i < bits; i++)
		add_number(&s->number, mr_element(MR_F32, input, i));
	add_tokens(&s->token, (const int32_t *)input + bits, n - bits);
}

static void add_target(mr_survey *s, const void *target, bool train)
{
	const mr_dataset *d = s->data;
	int64_t n = d->target.rows * d->target.cols;

	if (!d->target.tokens) {
		for (int64_t i = 0; i < n; i++)
			add_number(&s->target, mr_element(s->compute, target, i));
		return;
	}
	add_tokens(&s->target, target, n);
	if (s->of_class && train && *(const int32_t *)target >= 0 && *(const int32_t *)target < d->classes)
		s->of_class[*(const int32_t *)target]++;
}

static mr_status read_part(mr_survey *s, bool train, uint64_t n, void *input, void *target)
{
	const mr_dataset *d = s->data;

	for (uint64_t i = 0; i < n; i++) {
		if (train)
			d->ops->train(d, i, input, target);
		else
			d->ops->valid(d, i, input, target);
		MR_TRY(mr_dataset_check(d));
		add_input(s, input);
		add_target(s, target, train);
		s->read[!train]++;
		if (s->number.n_odd || (!d->target.tokens && s->target.n_odd)) /* the source should have said where */
			return mr_fail(MR_EDATA, "%s: %s sample %llu has a %s that is not finite", d->describe,
				       train ? "training" : "validation", (unsigned long long)i,
				       s->number.n_odd ? "number" : "target");
	}
	return MR_OK;
}

static bool take_tables(mr_survey *s)
{
	const mr_dataset *d = s->data;

	if (d->target.tokens && d->target.rows * d->target.cols == 1 && d->classes > 0) {
		s->of_class = calloc((size_t)d->classes, sizeof(*s->of_class));
		if (!s->of_class)
			return false;
	}
	if (d->input.tokens || d->image.n_dims || d->input.n_dims > 2 || d->input.rows > 1)
		return true;
	s->columns = d->input.cols;
	s->low = malloc((size_t)s->columns * sizeof(*s->low));
	s->high = malloc((size_t)s->columns * sizeof(*s->high));
	for (int64_t j = 0; s->low && s->high && j < s->columns; j++) {
		s->low[j] = INFINITY;
		s->high[j] = -INFINITY;
	}
	return s->low && s->high;
}

mr_status mr_survey_make(const mr_dataset *d, mr_dtype inputs, mr_dtype compute, mr_survey *out)
{
	void *input = malloc(mr_shape_bytes(d->input, inputs)), *target = malloc(mr_shape_bytes(d->target, compute));
	mr_status st = MR_OK;

	*out = (mr_survey){.data = d, .inputs = inputs, .compute = compute};
	if (!input || !target || !take_tables(out))
		st = mr_data_no_memory(0);
	if (st == MR_OK)
		st = read_part(out, true, d->n_train, input, target);
	if (st == MR_OK && !d->trains_only)
		st = read_part(out, false, d->n_valid, input, target);
	free(input);
	free(target);
	return st;
}

void mr_survey_fini(mr_survey *s)
{
	free(s->of_class);
	free(s->low);
	free(s->high);
	*s = (mr_survey){0};
}

/* --- as text --- */

static void print_numbers(const char *what, const mr_survey_values *v, mr_strbuf *out)
{
	if (!v->n)
		return;
	mr_strbuf_printf(out, "%s  %llu", what, (unsigned long long)v->n);
	if (v->n > v->n_odd)
		mr_strbuf_printf(out, " from %.6g to %.6g, mean %.6g", v->least, v->most,
				 v->sum / (double)(v->n - v->n_odd));
	mr_strbuf_append(out, "\n");
}

static void print_tokens(const char *what, const mr_survey_values *v, mr_strbuf *out)
{
	if (!v->n)
		return;
	mr_strbuf_printf(out, "%s  %llu", what, (unsigned long long)v->n);
	if (v->n > v->n_odd)
		mr_strbuf_printf(out, " from %.0f to %.0f", v->least, v->most);
	if (v->n_odd)
		mr_strbuf_printf(out, "; %llu empty places", (unsigned long long)v->n_odd);
	mr_strbuf_append(out, "\n");
}

static void print_classes(const mr_survey *s, mr_strbuf *out)
{
	uint64_t least = UINT64_MAX, most = 0, none = 0;
	int64_t n = s->data->classes;

	for (int64_t i = 0; i < n; i++) {
		least = s->of_class[i] < least ? s->of_class[i] : least;
		most = s->of_class[i] > most ? s->of_class[i] : most;
		none += s->of_class[i] == 0;
	}
	mr_strbuf_printf(out, "classes  %lld, with %llu", (long long)n, (unsigned long long)least);
	if (most > least)
		mr_strbuf_printf(out, " to %llu", (unsigned long long)most);
	mr_strbuf_append(out, most > least ? " training samples" : " training samples each");
	if (none)
		mr_strbuf_printf(out, "; %llu without any", (unsigned long long)none);
	for (int64_t i = 0; i < n && i < SHOWN_CLASSES; i++)
		mr_strbuf_printf(out, "%s%llu", i ? " " : ": ", (unsigned long long)s->of_class[i]);
	mr_strbuf_append(out, n > SHOWN_CLASSES ? " ...\n" : "\n");
}

static void print_columns(const mr_survey *s, mr_strbuf *out)
{
	int64_t still = 0, first = 0;

	for (int64_t j = s->columns; j-- > 0;)
		if (s->low[j] == s->high[j]) {
			still++;
			first = j + 1;
		}
	mr_strbuf_printf(out, "columns  %lld", (long long)s->columns);
	if (still)
		mr_strbuf_printf(out, "; %lld of them never vary, the first is input %lld", (long long)still,
				 (long long)first);
	mr_strbuf_append(out, "\n");
}

void mr_survey_print(const mr_survey *s, mr_strbuf *out)
{
	const mr_dataset *d = s->data;

	mr_strbuf_printf(out, "samples  %llu for training, %llu for validation%s, all read\n",
			 (unsigned long long)s->read[0], (unsigned long long)s->read[1],
			 d->trains_only ? " (an evaluation is of the training samples)" : "");
	print_numbers("numbers", &s->number, out);
	if (s->columns)
		print_columns(s, out);
	print_tokens("tokens ", &s->token, out);
	if (s->of_class)
		print_classes(s, out);
	else if (d->target.tokens)
		print_tokens("targets", &s->target, out);
	else
		print_numbers("targets", &s->target, out);
}
