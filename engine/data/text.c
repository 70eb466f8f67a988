/*
 * text.c - a text file as a sequence of bytes, or of the tokens of a tokenizer (tokenized.h).
 *
 * The "char" vocabulary numbers the distinct bytes of the whole file (training and validation part) in ascending order.
 * For ASCII these are its characters; a character that UTF-8 writes in several bytes becomes several tokens.
 */
#include "data/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/str.h"
#include "formats/damage.h"
#include "data/part.h"
#include "data/tokenized.h"
#include "data/excerpts.h"

typedef struct text {
	mr_excerpts w;
	mr_contents *in;
	char spell[256][2]; /* token to text */
	int16_t token[256]; /* byte to token; -1: does not occur */
	char alphabet[2 * 256 + 1];
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

static void add_character(text *t, uint8_t byte)
{
	mr_dataset *d = &t->w.base;

	snprintf(t->alphabet + 2 * d->classes, 3, "%02x", byte);
	t->spell[d->classes][0] = (char)byte;
	t->token[byte] = (int16_t)d->classes++;
}

/* The vocabulary that @hex spells. */
static mr_status take_alphabet(text *t, const char *hex)
{
	size_t n = strlen(hex);
	unsigned byte;

	for (size_t i = 0; i < n; i += 2) {
		bool read = strspn(hex + i, "0123456789abcdef") >= 2 && sscanf(hex + i, "%2x", &byte) == 1;

		if (!read || n > 2 * 256 || t->token[byte] >= 0)
			return mr_fail(
				MR_EDATA,
				"\"%.20s%s\" is no vocabulary: expected different bytes of two hexadecimal digits each",
				hex, n > 20 ? "..." : "");
		add_character(t, (uint8_t)byte);
	}
	return n ? MR_OK : mr_fail(MR_EDATA, "the vocabulary is empty");
}

/* Number the vocabulary: @all bytes, or those that occur. */
static void make_alphabet(text *t, const bool seen[256], bool all)
{
	for (int b = 0; b < 256; b++)
		if (seen[b] || all)
			add_character(t, (uint8_t)b);
}

/* Refuse a text with bytes that are no tokens; each value is named where it first occurs. */
static mr_status find_strangers(const text *t)
{
	uint8_t room[MR_CONTENTS_PIECE];
	uint64_t n = mr_contents_bytes(t->in), at = 0;
	bool named[256] = {false};
	mr_damage found = {0};
	mr_status st = MR_OK;

	for (uint64_t len; st == MR_OK && at < n; at += len) {
		const uint8_t *piece;

		len = n - at < sizeof(room) ? n - at : sizeof(room);
		piece = mr_contents_at(t->in, at, len, room);
		for (uint64_t i = 0; st == MR_OK && i < len; i++) {
			if (t->token[piece[i]] >= 0 || named[piece[i]])
				continue;
			named[piece[i]] = true;
			mr_fail(MR_EDATA,
				"%s: byte 0x%02x at offset %llu is not in the vocabulary of the trained model",
				mr_contents_path(t->in), piece[i], (unsigned long long)(at + i));
			st = mr_damage_note(&found, true, true);
		}
	}
	if (st == MR_OK)
		st = mr_damage_refuse(&found, mr_contents_path(t->in));
	mr_damage_reset(&found);
	return st;
}

/* Which bytes occur, and the hash of all. */
static mr_status scan(const text *t, bool seen[256], uint64_t *hash)
{
	uint8_t room[MR_CONTENTS_PIECE];
	uint64_t n = mr_contents_bytes(t->in);
	mr_hasher h;

	mr_hasher_init(&h, 0, n);
	for (uint64_t at = 0, len; at < n; at += len) {
		const uint8_t *piece;

		len = n - at < sizeof(room) ? n - at : sizeof(room);
		piece = mr_contents_at(t->in, at, len, room);
		mr_hasher_add(&h, piece, len);
		for (uint64_t i = 0; i < len; i++)
			seen[piece[i]] = true;
	}
	*hash = mr_hasher_end(&h);
	return mr_contents_check(t->in);
}

static mr_status number(text *t, const char *alphabet, bool all, uint64_t n_train)
{
	bool seen[256] = {false};
	uint64_t hash;

	MR_TRY(scan(t, seen, &hash));
	t->w.base.fingerprint = mr_data_fold(mr_data_fold(hash, n_train), all);
	if (!alphabet) {
		make_alphabet(t, seen, all);
		return MR_OK;
	}
	MR_TRY(take_alphabet(t, alphabet));
	return find_strangers(t);
}

static text *create(void)
{
	text *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	memset(t->token, -1, sizeof(t->token));
	t->w.base.token_text = token_text;
	t->w.base.token_of = token_of;
	t->w.base.alphabet = t->alphabet;
	return t;
}

static const mr_dataset_ops without_text = {.name = "vocabulary", .close = mr_text_close};

static mr_status describe(text *t, const char *name, uint64_t n, bool all)
{
	const mr_dataset *d = &t->w.base;
	mr_strbuf b = {0};

	mr_strbuf_printf(&b, "%s: %llu bytes, %lld %s, %llu training and %llu validation windows of %lld", name,
			 (unsigned long long)n, (long long)d->classes, all ? "byte values" : "distinct characters",
			 (unsigned long long)d->n_train, (unsigned long long)d->n_valid, (long long)d->input.rows);
	t->w.base.describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(n);
}

mr_status mr_text_create(const char *name, mr_contents *in, const mr_values *values, const mr_data_want *want,
			 mr_dataset **out)
{
	bool all = !strcmp(mr_values_string(values, "vocab"), "byte");
	double fraction = mr_values_float(values, "validation");
	uint64_t n = mr_contents_bytes(in), n_train = mr_data_train_part(n, fraction);
	text *t = create();
	mr_status st;

	if (!t) {
		mr_contents_close(in);
		return mr_data_no_memory(sizeof(*t));
	}
	t->in = in;
	st = number(t, want->alphabet, all, n_train);
	t->w.train = (mr_token_range){in, 0, n_train, t->token, false};
	t->w.valid = (mr_token_range){in, n_train, n - n_train, t->token, false};
	if (st == MR_OK)
		st = mr_excerpts_init(&t->w, name,
				      fraction > 0 && mr_values_is_set(values, "validation") ? name : NULL, values,
				      want);
	if (st == MR_OK)
		st = describe(t, name, n, all);
	if (st != MR_OK) {
		t->w.base.ops = &without_text;
		mr_dataset_close(&t->w.base);
		return st;
	}
	mr_data_will_keep(&t->w.base, in, want);
	*out = &t->w.base;
	return MR_OK;
}

mr_status mr_text_load(mr_dataset *d)
{
	return d->bytes.kept ? mr_contents_keep(((text *)d)->in) : MR_OK;
}

void mr_text_form(const mr_dataset *d, mr_json_writer *w)
{
	mr_json_field_string(w, "alphabet", d->alphabet);
}

void mr_text_close(mr_dataset *d)
{
	mr_contents_close(((text *)d)->in);
}

mr_status mr_text_of_alphabet(const mr_data_want *want, mr_dataset **out)
{
	text *t = create();
	mr_dataset *d = &t->w.base;
	mr_status st;

	if (!t)
		return mr_data_no_memory(sizeof(*t));
	d->ops = &without_text;
	d->input = d->target = (mr_shape){.rows = want->context, .cols = 1, .tokens = true};
	st = take_alphabet(t, want->alphabet);
	if (st != MR_OK) {
		mr_dataset_close(d);
		return st;
	}
	*out = d;
	return MR_OK;
}

static mr_status check_keys(const mr_values *values, const mr_data_want *want)
{
	static const mr_option_need needs[] = {{"vocab", "tokenizer", ""}, {NULL}};

	MR_TRY(mr_excerpts_check_context("text", want));
	MR_TRY(mr_values_check_needs(values, needs));
	if (*mr_values_string(values, "tokenizer"))
		return MR_OK;
	if (mr_values_int(values, "vocab_size"))
		return mr_fail(MR_ECONFIG, "vocab_size: has no effect without a tokenizer");
	return want->alphabet && !strncmp(want->alphabet, MR_TOKENIZER_MARK, strlen(MR_TOKENIZER_MARK))
		       ? mr_fail(MR_ECONFIG, "tokenizer: the model was trained on the tokens of a tokenizer: name its "
					     "tokenizer.json")
		       : MR_OK;
}

static mr_status open_text(const mr_values *values, const mr_data_want *want, mr_dataset **out)
{
	mr_contents *in;
	char *path;
	mr_status st;

	MR_TRY(check_keys(values, want));
	if (*mr_values_string(values, "tokenizer"))
		return mr_tokenized_create(values, want, out);
	path = mr_data_path(want, mr_values_string(values, "path"));
	if (!path)
		return mr_data_no_memory(0);
	st = mr_contents_open(path, &in);
	if (st == MR_OK)
		st = mr_text_create(path, in, values, want, out);
	free(path);
	return st;
}

static const mr_option options[] = {
	{"path", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "the file"},
	MR_TEXT_VOCAB,
	MR_DATA_VALIDATION,
	MR_DATA_ORDER,
	MR_DATA_TOKENIZER,
	{"vocab_size", MR_OPT_INT, "0", 0, 1 << 24, NULL, NULL,
	 "with a tokenizer: size of the vocabulary that the model has; 0: as many as there are tokens"},
	{NULL},
};

extern const mr_dataset_ops mr_data_text;
const mr_dataset_ops mr_data_text = {
	.name = "text",
	.summary = "a text file, byte by byte or by a tokenizer",
	.options = options,
	.make = open_text,
	.load = mr_text_load,
	.check = mr_excerpts_check,
	.close = mr_text_close,
	.train = mr_excerpts_train,
	.sample = mr_excerpts_sample,
	.valid = mr_excerpts_valid,
	.files = "language",
	.form = mr_text_form,
};
