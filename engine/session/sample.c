#include "session/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "host/signals.h"
#include "nn/element.h"
#include "session/decoder.h"

typedef struct writer {
	const mr_session *s;
	mr_decoder *model;
	int32_t *tokens;     /* all so far */
	int64_t n, room;     /* room: of the prompt */
	const void *logits;  /* behind the last one */
	double *p, *weight;  /* [vocabulary] logits, and what their probabilities are in proportion to */
	int32_t *order;      /* [vocabulary] a heap of the first `heap` ones; behind it, from the end on, the tokens
	                        taken off */
	int64_t heap, vocab;
	bool live;           /* the text goes to a terminal */
} writer;

/* Is token @i more probable than @j? Of equal ones the first. */
static bool before(const writer *w, int32_t i, int32_t j)
{
	return w->p[i] > w->p[j] || (w->p[i] == w->p[j] && i < j);
}

static void sift(writer *w, int64_t at)
{
	int32_t token = w->order[at];

	for (int64_t child; (child = 2 * at + 1) < w->heap; at = child) {
		if (child + 1 < w->heap && before(w, w->order[child + 1], w->order[child]))
			child++;
		if (!before(w, w->order[child], token))
			break;
		w->order[at] = w->order[child];
	}
	w->order[at] = token;
}

static void make_heap(writer *w)
{
	w->heap = w->vocab;
	for (int64_t i = 0; i < w->vocab; i++)
		w->order[i] = (int32_t)i;
	for (int64_t i = w->vocab / 2; i-- > 0;)
		sift(w, i);
}

/* The @rank-th most probable token, from 0 on. */
static int32_t ranked(writer *w, int64_t rank)
{
	while (w->vocab - w->heap <= rank) {
		int32_t top = w->order[0];

		w->order[0] = w->order[--w->heap];
		w->order[w->heap] = top;
		if (w->heap)
			sift(w, 0);
	}
	return w->order[w->vocab - 1 - rank];
}

/* Of the first *@n tokens in order, the fewest whose weights are at least @enough: their number and sum. */
static double keep_likely(writer *w, double enough, int64_t *n)
{
	double sum = 0;
	int64_t i = 0;

	do
		sum += w->weight[ranked(w, i++)];
	while (i < *n && sum < enough);
	*n = i;
	return sum;
}

static int32_t most_probable(const writer *w)
{
	int32_t best = 0;

	for (int32_t i = 1; i < w->vocab; i++)
		if (before(w, i, best))
			best = i;
	return best;
}

/* Weights of the first @n tokens in order, or of all in theirs, and their sum. */
static double weigh(writer *w, int64_t n, double temperature)
{
	double max = w->p[ranked(w, 0)], sum = 0;

	for (int64_t i = 0; i < n; i++) {
		int32_t token = n < w->vocab ? ranked(w, i) : (int32_t)i;

		sum += w->weight[token] = exp((w->p[token] - max) / temperature);
	}
	return sum;
}

/* Draw a token. Only as many as are needed come in order. */
static int32_t draw(writer *w)
{
	const mr_job_sample *v = &w->s->job->sample;
	uint64_t seed = (uint64_t)w->s->job->train.seed;
	int64_t n = v->top_k > 0 && v->top_k < w->vocab ? v->top_k : w->vocab;
	double sum, u;

	for (int64_t i = 0; i < w->vocab; i++)
		w->p[i] = mr_element(w->s->kernels->types.activations, w->logits, i);
	if (v->temperature == 0)
		return most_probable(w);
	make_heap(w);
	sum = weigh(w, n, v->temperature);
	if (v->top_p < 1)
		sum = keep_likely(w, v->top_p * sum, &n);
	u = mr_rng_uniform(seed, MR_RNG_SAMPLE, (uint64_t)w->n, 0, 0) * sum;
	for (int64_t i = 0; i < n; i++) {
		u -= w->weight[ranked(w, i)];
		if (u < 0)
			return ranked(w, i);
	}
	return ranked(w, n - 1);
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
	const mr_dataset *d = w->s->data;
	const char *text;
	size_t len;

	MR_TRY(mr_decoder_next(w->model, w->tokens, w->n, &w->logits));
	w->tokens[w->n] = draw(w);
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

	w->vocab = w->s->data->classes;
	w->room = (int64_t)strlen(prompt) + 1;
	w->tokens = calloc((size_t)(w->room + want), sizeof(*w->tokens));
	w->p = calloc(2 * (size_t)w->vocab, sizeof(*w->p));
	w->order = calloc((size_t)w->vocab, sizeof(*w->order));
	if (!w->tokens || !w->p || !w->order)
		return mr_fail(MR_ERESOURCE, "no memory for a sample");
	w->weight = w->p + w->vocab;
	MR_TRY(mr_decoder_create(w->s, model, false, &w->model));
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
	return (s->data->tokenizer || (s->data->token_text && s->data->token_of)) && mr_session_model(s)->input.tokens;
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
	mr_decoder_destroy(w.model);
	free(w.tokens);
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
