#include "data/tokenized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/stats.h"
#include "base/str.h"
#include "data/part.h"
#include "data/excerpts.h"

/* Memory of a tokenizer while it is read, in multiples of its file (measured: 7 with merges as texts, 11 with merges as
 * pairs). */
#define TREE_FACTOR 16u

typedef struct tokenized {
	mr_excerpts w;
	mr_contents *tokens; /* in memory */
	char *alphabet;
} tokenized;

static void close_tokenized(mr_dataset *d)
{
	tokenized *t = (tokenized *)d;

	mr_tokenizer_close(d->tokenizer);
	mr_contents_close(t->tokens);
	free(t->alphabet);
}

static void form(const mr_dataset *d, mr_json_writer *w)
{
	mr_json_field_string(w, "tokenizer", mr_tokenizer_json(d->tokenizer));
}

/* In place of the source's own: nothing is left to be loaded or checked. */
static const mr_dataset_ops tokenized_text = {
	.name = "text",
	.summary = "text by a tokenizer",
	.close = close_tokenized,
	.train = mr_excerpts_train,
	.sample = mr_excerpts_sample,
	.valid = mr_excerpts_valid,
	.files = "language",
	.form = form,
};

static mr_status check_mark(const mr_data_want *want, const char *path, const char *mark)
{
	if (!want->alphabet || !strcmp(want->alphabet, mark))
		return MR_OK;
	if (strncmp(want->alphabet, MR_TOKENIZER_MARK, strlen(MR_TOKENIZER_MARK)) != 0)
		return mr_fail(MR_EDATA, "%s: the model was trained on the characters of a text, without a tokenizer",
			       path);
	return mr_fail(MR_EDATA, "%s: %s is not the one that the model was trained with, %s", path, mark,
		       want->alphabet);
}

/* A tokenizer is read as a tree of JSON, then put into tables. */
static mr_status check_room(const char *path)
{
	char have[16], what[48];
	uint64_t bytes;

	MR_TRY(mr_contents_stat(path, &bytes));
	snprintf(what, sizeof(what), "a tokenizer of %s", mr_bytes_text(bytes, have));
	return mr_room_check(path, what, bytes * TREE_FACTOR);
}

mr_status mr_tokenized_open(const mr_values *values, const mr_data_want *want, mr_tokenizer **out, char **alphabet)
{
	char *path = mr_data_path(want, mr_values_string(values, "tokenizer"));
	mr_strbuf b = {0};
	mr_status st;

	*alphabet = NULL;
	if (!path)
		return mr_data_no_memory(0);
	st = check_room(path);
	if (st == MR_OK)
		st = mr_tokenizer_open(path, out);
	if (st == MR_OK) {
		mr_strbuf_printf(&b, MR_TOKENIZER_MARK "%016llx", (unsigned long long)mr_tokenizer_hash(*out));
		*alphabet = mr_strbuf_take(&b);
		st = *alphabet ? check_mark(want, path, *alphabet) : mr_data_no_memory(0);
		if (st != MR_OK)
			mr_tokenizer_close(*out);
	}
	free(path);
	if (st != MR_OK) {
		free(*alphabet);
		*alphabet = NULL;
	}
	return st;
}

static tokenized *create(void)
{
	tokenized *t = calloc(1, sizeof(*t));

	if (t)
		t->w.base.ops = &tokenized_text;
	return t;
}

static mr_status open_tokenizer(tokenized *t, const mr_values *values, const mr_data_want *want)
{
	mr_dataset *d = &t->w.base;
	mr_tokenizer *opened;

	MR_TRY(mr_tokenized_open(values, want, &opened, &t->alphabet));
	d->tokenizer = opened;
	d->alphabet = t->alphabet;
	d->classes = mr_tokenizer_size(opened);
	return MR_OK;
}

/* The tokens of the whole text, as @t->tokens. */
static mr_status encode(tokenized *t, const char *path, const char *text, uint64_t n)
{
	mr_dataset *d = &t->w.base;
	bool wide = mr_tokenizer_size(d->tokenizer) > 65536;
	mr_tokens all = {0};
	uint16_t *narrow;
	mr_status st = mr_tokenizer_encode(d->tokenizer, text, n, &all);

	if (st != MR_OK) {
		free(all.at);
		return mr_fail_in(st, "%s", path);
	}
	narrow = (uint16_t *)all.at; /* each is written behind what was read */
	for (size_t i = 0; i < all.n && !wide; i++) {
		uint16_t token = (uint16_t)all.at[i];

		memcpy(narrow + i, &token, sizeof(token));
	}
	t->w.train = (mr_token_range){.n = all.n, .wide = wide};
	d->bytes.kept = d->bytes.opened = all.n * (wide ? 4 : 2);
	if (d->bytes.kept) {
		void *less = realloc(all.at, d->bytes.kept);

		all.at = less ? less : all.at;
	}
	t->tokens = mr_contents_of(path, all.at, d->bytes.kept);
	return t->tokens ? MR_OK : mr_data_no_memory(d->bytes.kept);
}

static mr_status read_text(tokenized *t, const char *path, const mr_data_want *want, uint64_t *bytes)
{
	char most[16], have[16];
	mr_contents *in;
	mr_status st;

	MR_TRY(mr_contents_open(path, &in));
	*bytes = mr_contents_bytes(in);
	if (*bytes > want->keep_bytes)
		st = mr_fail(MR_EDATA,
			     "%s: %s of text, and at most %s are encoded at a start: write its tokens with `millrace "
			     "tokenize`, and read them with data \"tokens\"",
			     path, mr_bytes_text(*bytes, have), mr_bytes_text(want->keep_bytes, most));
	else
		st = mr_contents_keep(in);
	if (st == MR_OK)
		st = encode(t, path, mr_contents_at(in, 0, *bytes, NULL), *bytes);
	mr_contents_close(in);
	return st;
}

static mr_status cut(tokenized *t, const char *path, const mr_values *values, const mr_data_want *want, uint64_t bytes)
{
	double fraction = mr_values_float(values, "validation");
	int64_t size = mr_values_int(values, "vocab_size");
	uint64_t n = t->w.train.n;
	mr_dataset *d = &t->w.base;
	mr_strbuf b = {0};

	if (size && size < d->classes)
		return mr_fail(MR_ECONFIG, "vocab_size: the tokenizer has tokens up to %lld, so expected at least %lld",
			       (long long)d->classes - 1, (long long)d->classes);
	d->classes = size ? size : d->classes;
	t->w.train.in = t->tokens;
	t->w.train.n = mr_data_train_part(n, fraction);
	t->w.valid = t->w.train;
	t->w.valid.offset = t->w.train.n * (t->w.train.wide ? 4 : 2);
	t->w.valid.n = n - t->w.train.n;
	d->fingerprint = mr_hash64(0, mr_contents_at(t->tokens, 0, d->bytes.kept, NULL), d->bytes.kept);
	d->fingerprint = mr_data_fold(mr_data_fold(d->fingerprint, t->w.train.n), (uint64_t)d->classes);
	MR_TRY(mr_excerpts_init(&t->w, path, fraction > 0 && mr_values_is_set(values, "validation") ? path : NULL,
				values, want));
	mr_strbuf_printf(&b,
			 "%s: %llu bytes are %llu tokens, vocabulary %lld, %llu training and %llu validation windows "
			 "of %lld",
			 path, (unsigned long long)bytes, (unsigned long long)n, (long long)d->classes,
			 (unsigned long long)d->n_train, (unsigned long long)d->n_valid, (long long)d->input.rows);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

mr_status mr_tokenized_create(const mr_values *values, const mr_data_want *want, mr_dataset **out)
{
	char *path = mr_data_path(want, mr_values_string(values, "path"));
	tokenized *t = create();
	uint64_t bytes = 0;
	mr_status st = path && t ? open_tokenizer(t, values, want) : mr_data_no_memory(0);

	if (st == MR_OK)
		st = read_text(t, path, want, &bytes);
	if (st == MR_OK)
		st = cut(t, path, values, want, bytes);
	free(path);
	if (st == MR_OK)
		*out = &t->w.base;
	else if (t)
		mr_dataset_close(&t->w.base);
	return st;
}

mr_status mr_tokenized_without_text(const mr_option *options, const mr_values *values, const mr_data_want *want,
				    mr_dataset **out)
{
	tokenized *t;
	mr_status st;

	if (!mr_option_find(options, "tokenizer") || !*mr_values_string(values, "tokenizer"))
		return mr_fail(MR_ECONFIG,
			       "tokenizer: the model was trained on the tokens of a tokenizer: name its "
			       "tokenizer.json");
	t = create();
	if (!t)
		return mr_data_no_memory(0);
	st = open_tokenizer(t, values, want);
	if (st == MR_OK) {
		int64_t size = mr_option_find(options, "vocab_size") ? mr_values_int(values, "vocab_size") : 0;

		t->w.base.classes = size > t->w.base.classes ? size : t->w.base.classes;
		t->w.base.input = t->w.base.target =
			(mr_shape){.rows = want->context, .cols = 1, .tokens = true};
		*out = &t->w.base;
	} else {
		mr_dataset_close(&t->w.base);
	}
	return st;
}
