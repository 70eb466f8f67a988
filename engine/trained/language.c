#include "trained/language.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/element.h"
#include "trained/log_sum.h"

#define MOST_LIKELY 16

/* Tokens [start, start + n) of a text; the places behind the tokens from `from` on are its own. */
typedef struct window {
	mr_language_text *text;
	size_t start, n, from;
	bool last; /* of its text, which ends with it */
} window;

struct mr_language {
	mr_trained *t;
	mr_language_hooks hooks;
	size_t context, vocabulary;
	window *wait;   /* [batch] */
	size_t n;
	int32_t *input; /* [batch][context] */
	float *value;   /* [vocabulary] */
	uint64_t number;
	mr_language_text *half; /* whose windows do not all wait yet; NULL: there is none */
};

mr_status mr_language_create(mr_trained *t, mr_language_hooks hooks, mr_language **out)
{
	mr_language *l = calloc(1, sizeof(*l));

	if (!l)
		return mr_fail(MR_ERESOURCE, "no memory for texts");
	l->t = t;
	l->hooks = hooks;
	l->context = (size_t)t->form.shapes.input.rows;
	l->vocabulary = (size_t)t->form.shapes.classes;
	l->wait = calloc((size_t)t->batch, sizeof(*l->wait));
	l->input = calloc((size_t)t->batch * l->context, sizeof(*l->input));
	l->value = calloc(l->vocabulary, sizeof(*l->value));
	if (!l->wait || !l->input || !l->value) {
		mr_language_destroy(l);
		return mr_fail(MR_ERESOURCE, "no memory for windows of texts");
	}
	*out = l;
	return MR_OK;
}

static void drop(mr_language_text *t)
{
	free(t->bytes);
	free(t->token);
	free(t);
}

void mr_language_destroy(mr_language *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		if (l->wait[i].last)
			drop(l->wait[i].text);
	if (l->half)
		drop(l->half);
	free(l->wait);
	free(l->input);
	free(l->value);
	free(l);
}

/* --- the queue --- */

/* The logits of row @row of what the model has made. */
static const float *values_of(mr_language *l, const void *out, size_t row)
{
	mr_dtype type = l->t->s.kernels->types.activations;

	if (type == MR_F32)
		return (const float *)out + row * l->vocabulary;
	for (size_t i = 0; i < l->vocabulary; i++)
		l->value[i] = (float)mr_element(type, out, (int64_t)(row * l->vocabulary + i));
	return l->value;
}

static void take_place(mr_language *l, mr_language_text *t, size_t at, const float *value)
{
	mr_language_place p = {.at = at, .value = value, .log_probability = (double)NAN};

	p.log_sum = mr_log_sum(value, l->vocabulary, &p.best);
	p.best_probability = mr_language_probability(&p, p.best);
	if (at < t->n) {
		p.log_probability = (double)value[t->token[at]] - p.log_sum;
		t->log_probability += p.log_probability;
		t->n_scored++;
		t->n_right += p.best == t->token[at];
	}
	l->hooks.place(l->hooks.arg, t, &p);
}

mr_status mr_language_flush(mr_language *l)
{
	size_t n = l->n;
	const void *out;

	if (!n)
		return MR_OK;
	memset(l->input, 0, n * l->context * sizeof(*l->input));
	for (size_t i = 0; i < n; i++)
		memcpy(l->input + i * l->context, l->wait[i].text->token + l->wait[i].start,
		       l->wait[i].n * sizeof(*l->input));
	MR_TRY(mr_logits_of(l->t->model, l->input, (int64_t)n, &out));
	for (size_t i = 0; i < n; i++) {
		const window *w = &l->wait[i];

		for (size_t r = w->from - w->start; r < w->n; r++)
			take_place(l, w->text, w->start + r + 1, values_of(l, out, i * l->context + r));
		if (w->last) {
			l->hooks.end(l->hooks.arg, w->text);
			drop(w->text);
		}
	}
	l->n = 0;
	return MR_OK;
}

/* A window waits; where no more fit, all go through the model. */
static mr_status put(mr_language *l, window w)
{
	l->wait[l->n++] = w;
	return l->n < (size_t)l->t->batch ? MR_OK : mr_language_flush(l);
}

/* The windows of @t, whose last one owns it. */
static mr_status cut(mr_language *l, mr_language_text *t)
{
	size_t at = 0, start = t->n > l->context ? t->n - l->context : 0;

	l->half = t;
	for (; at + l->context < t->n; at += l->context)
		MR_TRY(put(l, (window){t, at, l->context, at, false}));
	l->half = NULL;
	return put(l, (window){t, start, t->n - start, at, true});
}

static mr_language_text *copy(const char *bytes, size_t len, const int32_t *token, size_t n)
{
	mr_language_text *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->n = n;
	t->len = len;
	t->bytes = bytes ? malloc(len + 1) : NULL;
	t->token = malloc((n + 1) * sizeof(*t->token));
	if ((bytes && !t->bytes) || !t->token) {
		drop(t);
		return NULL;
	}
	if (bytes) {
		memcpy(t->bytes, bytes, len);
		t->bytes[len] = 0;
	}
	if (n)
		memcpy(t->token, token, n * sizeof(*token));
	return t;
}

mr_status mr_language_add(mr_language *l, const char *bytes, size_t len, const int32_t *token, size_t n)
{
	mr_language_text *t = copy(bytes, len, token, n);
	mr_status st;

	if (!t)
		return mr_fail(MR_ERESOURCE, "no memory for a text of %zu tokens", n);
	t->number = ++l->number;
	if (n)
		return cut(l, t);
	st = mr_language_flush(l); /* texts end in their order */
	if (st == MR_OK)
		l->hooks.end(l->hooks.arg, t);
	drop(t);
	return st;
}

/* --- a place --- */

double mr_language_probability(const mr_language_place *p, int32_t token)
{
	return exp((double)p->value[token] - p->log_sum);
}

size_t mr_language_likely(const mr_language_place *p, size_t n, size_t k, int32_t *token)
{
	size_t have = 0;

	k = k < MOST_LIKELY ? k : MOST_LIKELY;
	for (size_t i = 0; i < n; i++) {
		size_t at = have;

		while (at && p->value[i] > p->value[token[at - 1]])
			at--;
		if (at == k)
			continue;
		have += have < k;
		memmove(token + at + 1, token + at, (have - at - 1) * sizeof(*token));
		token[at] = (int32_t)i;
	}
	return have;
}
