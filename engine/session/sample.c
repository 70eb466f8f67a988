#include "session/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "host/signals.h"
#include "nn/element.h"
#include "session/logits.h"

typedef struct writer {
	const mr_session *s;
	mr_logits *model;
	int32_t *tokens;     /* all so far */
	int64_t n, room;     /* room: of the prompt */
	int32_t *window;     /* [context] */
	const void *logits;  /* of the whole window */
	double *p;           /* [vocabulary] */
	int32_t *order;      /* [vocabulary] for top_k */
	int64_t context, vocab;
	bool live;           /* the text goes to a terminal */
} writer;

static double logit(const writer *w, int64_t row, int64_t i)
{
	return mr_element(w->s->kernels->types.activations, w->logits, row * w->vocab + i);
}

static int by_probability(const void *a, const void *b, void *key)
{
	const double *p = key;
	int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
	double x = p[i], y = p[j];

	return x > y ? -1 : x < y ? 1 : (i > j) - (i < j);
}

/* Of the first *@n tokens in order, the fewest whose weights are at least @enough: their number and sum. */
static double keep_likely(const writer *w, double enough, int64_t *n)
{
	double sum = 0;
	int64_t i = 0;

	do
		sum += w->p[w->order[i++]];
	while (i < *n && sum < enough);
	*n = i;
	return sum;
}

/* Draw a token from row @row of the logits. */
static int32_t draw(writer *w, int64_t row)
{
	const mr_job_sample *v = &w->s->job->sample;
	double temperature = v->temperature, max = -INFINITY, sum = 0, u;
	int64_t top_k = v->top_k, n;
	uint64_t seed = (uint64_t)w->s->job->train.seed;

	for (int64_t i = 0; i < w->vocab; i++) {
		w->p[i] = logit(w, row, i);
		w->order[i] = (int32_t)i;
		max = w->p[i] > max ? w->p[i] : max;
	}
	qsort_r(w->order, (size_t)w->vocab, sizeof(*w->order), by_probability, w->p);
	if (temperature == 0)
		return w->order[0];
	n = top_k > 0 && top_k < w->vocab ? top_k : w->vocab;
	for (int64_t i = 0; i < n; i++)
		sum += w->p[w->order[i]] = exp((w->p[w->order[i]] - max) / temperature);
	if (v->top_p < 1)
		sum = keep_likely(w, v->top_p * sum, &n);
	u = mr_rng_uniform(seed, MR_RNG_SAMPLE, (uint64_t)w->n, 0, 0) * sum;
	for (int64_t i = 0; i < n; i++) {
		u -= w->p[w->order[i]];
		if (u < 0)
			return w->order[i];
	}
	return w->order[n - 1];
}

/* On a terminal what the model wrote does nothing but show. */
static void put_text(const writer *w, const char *text, size_t len, FILE *out)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		putc(w->live && ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) ? '?' : c, out);
	}
}

static mr_status next(writer *w, FILE *out)
{
	int64_t shown = w->n < w->context ? w->n : w->context;
	const mr_dataset *d = w->s->data;
	const char *text;
	size_t len;

	memset(w->window, 0, (size_t)w->context * sizeof(*w->window));
	memcpy(w->window, w->tokens + (w->n - shown), (size_t)shown * sizeof(*w->tokens));
	MR_TRY(mr_logits_of(w->model, w->window, &w->logits));
	w->tokens[w->n] = draw(w, shown - 1);
	if (d->tokenizer) {
		text = mr_tokenizer_bytes(d->tokenizer, w->tokens[w->n], &len);
		put_text(w, text, len, out);
	} else {
		text = d->token_text(d, w->tokens[w->n]);
		put_text(w, text ? text : "?", text ? strlen(text) : 1, out);
	}
	w->n++;
	return MR_OK;
}

/* The prompt as tokens of the tokenizer, and room for @want more behind it: an empty one begins with a line's end, or
 * with token 0 where the tokenizer leaves that out as well. There may be more of them than bytes, in a normal form. */
static mr_status encode_prompt(writer *w, const char *prompt, int64_t want)
{
	mr_tokens all = {0};
	mr_status st = mr_tokenizer_encode(w->s->data->tokenizer, prompt, strlen(prompt), &all);

	if (st == MR_OK && !all.n)
		st = mr_tokenizer_encode(w->s->data->tokenizer, "\n", 1, &all);
	for (size_t i = 0; st == MR_OK && i < all.n; i++)
		if (all.at[i] >= w->vocab)
			st = mr_fail(MR_ECONFIG,
				     "sample.prompt: token %d of the tokenizer is not below the model's vocabulary of "
				     "%lld",
				     all.at[i], (long long)w->vocab);
	if (st == MR_OK)
		st = mr_tokens_reserve(&all, (size_t)want + 1);
	if (st != MR_OK) {
		free(all.at);
		return st == MR_ECONFIG ? st : mr_fail_in(st, "sample.prompt");
	}
	if (!all.n)
		all.at[all.n++] = 0;
	free(w->tokens);
	w->tokens = all.at;
	w->n = (int64_t)all.n;
	return MR_OK;
}

static mr_status read_prompt(writer *w, const char *prompt, int64_t want)
{
	if (w->s->data->tokenizer)
		return encode_prompt(w, prompt, want);
	while (*prompt && w->n < w->room) {
		size_t used = 1;
		int32_t t = w->s->data->token_of(w->s->data, prompt, &used);

		if (t < 0 && used == 1 && (*prompt < ' ' || *prompt > '~'))
			return mr_fail(MR_ECONFIG, "sample.prompt: the vocabulary has no byte 0x%02x",
				       (unsigned)(unsigned char)*prompt);
		if (t < 0)
			return mr_fail(MR_ECONFIG, "sample.prompt: the vocabulary has no \"%.*s\"", (int)used, prompt);
		w->tokens[w->n++] = t;
		prompt += used;
	}
	if (w->n == 0) {
		int32_t t = w->s->data->token_of(w->s->data, "\n", &(size_t){0});

		w->tokens[w->n++] = t < 0 ? 0 : t;
	}
	return MR_OK;
}

static mr_status write_all(writer *w, const mr_state_list *model, FILE *out)
{
	const mr_job_sample *v = &w->s->job->sample;
	const char *prompt = v->prompt;
	int64_t want = v->tokens;

	w->context = w->s->graph->input.rows;
	w->vocab = w->s->data->classes;
	w->room = (int64_t)strlen(prompt) + 1;
	w->tokens = calloc((size_t)(w->room + want), sizeof(*w->tokens));
	w->window = calloc((size_t)w->context, sizeof(*w->window));
	w->p = calloc((size_t)w->vocab, sizeof(*w->p));
	w->order = calloc((size_t)w->vocab, sizeof(*w->order));
	if (!w->tokens || !w->window || !w->p || !w->order)
		return mr_fail(MR_ERESOURCE, "no memory for a sample");
	MR_TRY(mr_logits_create(w->s, model, &w->model));
	MR_TRY(read_prompt(w, prompt, want));
	w->live = isatty(fileno(out));
	put_text(w, prompt, strlen(prompt), out);
	/* after a training Ctrl-C ends the text */
	for (int64_t i = 0; i < want && !mr_signals_end() && !ferror(out); i++) {
		MR_TRY(next(w, out));
		if (w->live)
			fflush(out);
	}
	fputc('\n', out);
	fflush(out);
	return MR_OK;
}

static bool can_write(const mr_session *s)
{
	return (s->data->tokenizer || (s->data->token_text && s->data->token_of)) && s->graph->input.tokens;
}

mr_status mr_sample_check(const mr_session *s)
{
	return can_write(s) ? MR_OK
			    : mr_fail(MR_ECONFIG, "only a model of text can write a sample: the data are %s%s",
				      s->data->ops->name,
				      strcmp(s->data->ops->name, "tokens") ? "" : ", which need a tokenizer for that");
}

mr_status mr_sample_write(const mr_session *s, const mr_state_list *model, FILE *out)
{
	writer w = {.s = s};
	mr_status st;

	MR_TRY(mr_sample_check(s));
	st = write_all(&w, model, out);
	mr_logits_destroy(w.model);
	free(w.tokens);
	free(w.window);
	free(w.p);
	free(w.order);
	return st;
}

static bool asked_for(const mr_session *s)
{
	return mr_job_differs(s->job, MR_JOB_SAMPLE);
}

mr_status mr_sample_at_end(mr_session *s)
{
	mr_state st;
	mr_status err;

	if (!asked_for(s) || !can_write(s))
		return MR_OK;
	MR_TRY(mr_executor_state(&s->executor, &st));
	printf("\nsample:\n");
	fflush(stdout);
	err = mr_sample_write(s, &st.model, stdout);
	mr_state_fini(&st);
	return err;
}
