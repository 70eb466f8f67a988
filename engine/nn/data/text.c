/*
 * text.c - a text file as a sequence of bytes.
 *
 * The "char" vocabulary numbers the distinct bytes of the whole file (training and validation part) in ascending order.
 * For ASCII these are its characters; a character that UTF-8 writes in several bytes becomes several tokens.
 */
#include "nn/data/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/str.h"
#include "nn/data/part.h"
#include "nn/data/windows.h"

typedef struct text {
	mr_windows w;
	uint8_t *bytes;     /* as token numbers */
	char spell[256][2]; /* token to text */
	int16_t token[256]; /* byte to token; -1: does not occur */
} text;

static const char *token_text(const mr_dataset *d, int32_t token)
{
	const text *t = (const text *)d;

	return token >= 0 && token < d->classes ? t->spell[token] : "";
}

static int32_t token_of(const mr_dataset *d, const char *s, size_t *used)
{
	const text *t = (const text *)d;

	*used = *s ? 1 : 0;
	return *s ? t->token[(uint8_t)*s] : -1;
}

/* Number the vocabulary and rewrite the bytes as tokens. */
static void number(text *t, size_t n, bool all)
{
	bool seen[256] = {false};

	for (size_t i = 0; i < n; i++)
		seen[t->bytes[i]] = true;
	for (int b = 0; b < 256; b++) {
		t->token[b] = -1;
		if (seen[b] || all) {
			t->spell[t->w.base.classes][0] = (char)b;
			t->token[b] = (int16_t)t->w.base.classes++;
		}
	}
	if (!all)
		for (size_t i = 0; i < n; i++)
			t->bytes[i] = (uint8_t)t->token[t->bytes[i]];
}

static mr_status describe(text *t, const char *name, size_t n, bool all)
{
	const mr_dataset *d = &t->w.base;
	mr_strbuf b;

	mr_strbuf_init(&b);
	mr_strbuf_printf(&b, "%s: %zu bytes, %lld %s, %llu training and %llu validation windows of %lld", name, n,
			 (long long)d->classes, all ? "byte values" : "distinct characters",
			 (unsigned long long)d->n_train, (unsigned long long)d->n_valid, (long long)d->input.rows);
	t->w.base.describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(n);
}

mr_status mr_text_create(const char *name, char *bytes, size_t n, const mr_values *values, const mr_data_want *want,
			 mr_dataset **out)
{
	bool all = !strcmp(mr_values_string(values, "vocab"), "byte");
	double fraction = mr_values_float(values, "validation");
	uint64_t n_train = mr_data_train_part(n, fraction);
	text *t = calloc(1, sizeof(*t));
	mr_status st;

	if (!t) {
		free(bytes);
		return mr_data_no_memory(sizeof(*t));
	}
	t->bytes = (uint8_t *)bytes;
	t->w.base.fingerprint = mr_data_fold(mr_data_fold(mr_hash64(0, bytes, n), n_train), all);
	t->w.base.token_text = token_text;
	t->w.base.token_of = token_of;
	number(t, n, all);
	t->w.train = (mr_span){t->bytes, n_train, false};
	t->w.valid = (mr_span){t->bytes + n_train, n - n_train, false};
	st = mr_windows_init(&t->w, name, fraction > 0 && mr_values_is_set(values, "validation") ? name : NULL, want);
	if (st == MR_OK)
		st = describe(t, name, n, all);
	if (st != MR_OK) {
		mr_text_close(&t->w.base);
		return st;
	}
	*out = &t->w.base;
	return MR_OK;
}

void mr_text_close(mr_dataset *d)
{
	text *t = (text *)d;

	free(t->w.base.describe);
	free(t->bytes);
	free(t);
}

static mr_status open_text(const mr_values *values, const mr_data_want *want, mr_dataset **out)
{
	char *path, *bytes = NULL;
	size_t n = 0;
	mr_status st;

	MR_TRY(mr_windows_check_context("text", want));
	path = mr_data_path(want, mr_values_string(values, "path"));
	if (!path)
		return mr_data_no_memory(0);
	st = mr_data_read(path, &bytes, &n);
	if (st == MR_OK)
		st = mr_text_create(path, bytes, n, values, want, out);
	free(path);
	return st;
}

static const mr_option options[] = {
	{"path", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "the file"},
	MR_TEXT_VOCAB,
	MR_DATA_VALIDATION,
	{NULL},
};

extern const mr_dataset_ops mr_data_text;
const mr_dataset_ops mr_data_text = {
	.name = "text",
	.summary = "a text file, byte by byte",
	.options = options,
	.open = open_text,
	.close = mr_text_close,
	.train = mr_windows_train,
	.valid = mr_windows_valid,
};
