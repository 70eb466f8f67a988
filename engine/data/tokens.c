/*
 * tokens.c - files of token numbers, as other trainers and `millrace tokenize` write them.
 *
 *	nanogpt   little-endian uint16 tokens and nothing else
 *	llmc      256 little-endian int32: magic 20240520, version 1, number of tokens, zeros; then uint16 tokens. Or
 *	          magic 20240801, version 7, and uint32 tokens. The size of the file must be exactly that
 *
 * "auto" takes the magic number as proof of llmc. Read as tokens it would be 55432 and 308, the first of which no GPT-2
 * vocabulary has.
 */
#include <stdlib.h>

#include "base/stats.h"
#include "base/str.h"
#include "data/part.h"
#include "formats/damage.h"
#include "token/token_file.h"
#include "data/tokenized.h"
#include "data/excerpts.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "token files are read as they lie");

typedef struct shard {
	char *path;
	mr_contents *in;
	bool keeps;      /* load reads it into memory */
	mr_token_file f;
} shard;

typedef struct tokens {
	mr_excerpts w;
	char *alphabet;
	shard train, valid; /* valid.in NULL: the end of train validates */
} tokens;

static mr_status load(shard *s, const char *option, const mr_values *values, const mr_data_want *want)
{
	s->path = mr_data_path(want, mr_values_string(values, option));
	if (!s->path)
		return mr_data_no_memory(0);
	MR_TRY(mr_contents_open(s->path, &s->in));
	return mr_token_file_look(s->in, mr_values_string(values, "format"), &s->f);
}

/* Note each token that is not below @vocab; @vocab 0: raise *@classes to hold all of them. Hashes all on behind
 * *@hash. */
static mr_status check_range(const shard *s, int64_t vocab, int64_t *classes, uint64_t *hash, mr_damage *found)
{
	uint32_t room[MR_CONTENTS_PIECE / 4], most = 0;
	uint64_t size = s->f.wide ? 4 : 2, limit = vocab ? (uint64_t)vocab : MR_TOKEN_NUMBERS;
	mr_hasher h;

	mr_hasher_init(&h, *hash, size * s->f.n);
	for (uint64_t at = 0, len; at < s->f.n; at += len) {
		const void *t;

		len = s->f.n - at < sizeof(room) / size ? s->f.n - at : sizeof(room) / size;
		t = mr_contents_at(s->in, s->f.offset + size * at, size * len, room);
		mr_hasher_add(&h, t, size * len);
		for (uint64_t i = 0; i < len; i++) {
			uint32_t token = s->f.wide ? ((const uint32_t *)t)[i] : ((const uint16_t *)t)[i];

			if (token >= limit) {
				mr_fail(MR_EDATA,
					"%s: token %u at byte offset %llu is not below the vocabulary of %llu",
					s->path, token, (unsigned long long)(s->f.offset + size * (at + i)),
					(unsigned long long)limit);
				MR_TRY(mr_damage_note(found, true, true));
			}
			most = token > most ? token : most;
		}
	}
	*hash = mr_hasher_end(&h);
	if (vocab)
		*classes = vocab;
	else if (*classes < (int64_t)most + 1)
		*classes = (int64_t)most + 1;
	return mr_contents_check(s->in);
}

/* Open both files, of which the second may be none, and look at all of their tokens. */
static mr_status open_files(tokens *t, const mr_values *values, const mr_data_want *want, bool apart, mr_damage *found)
{
	static const char *const key[] = {"path", "validation_path"};
	int64_t vocab = mr_values_int(values, "vocab");
	mr_dataset *d = &t->w.base;

	vocab = vocab || !d->tokenizer ? vocab : mr_tokenizer_size(d->tokenizer);
	for (int i = 0; i < 1 + apart; i++) {
		shard *s = i ? &t->valid : &t->train;
		mr_status st = load(s, key[i], values, want);

		if (st == MR_OK)
			st = check_range(s, vocab, &d->classes, &d->fingerprint, found);
		if (st == MR_EDATA)
			st = mr_damage_note(found, true, true);
		MR_TRY(st);
	}
	return mr_damage_refuse(found, "data \"tokens\"");
}

static mr_status open_shards(tokens *t, const mr_values *values, const mr_data_want *want)
{
	bool apart = mr_values_string(values, "validation_path")[0] != '\0';
	double fraction = mr_values_float(values, "validation");
	int64_t width;
	const char *valid_name = NULL; /* whose shortness is an error */
	mr_dataset *d = &t->w.base;
	mr_damage found = {0};
	mr_status st;

	if (apart && mr_values_is_set(values, "validation"))
		return mr_fail(MR_ECONFIG, "data \"tokens\": give validation_path or validation, not both");
	st = open_files(t, values, want, apart, &found);
	mr_damage_reset(&found);
	MR_TRY(st);
	t->w.train = (mr_token_range){t->train.in, t->train.f.offset, t->train.f.n, NULL, t->train.f.wide};
	t->train.keeps = mr_data_will_keep(d, t->train.in, want);
	if (apart) {
		t->w.valid = (mr_token_range){t->valid.in, t->valid.f.offset, t->valid.f.n, NULL, t->valid.f.wide};
		t->valid.keeps = mr_data_will_keep(d, t->valid.in, want);
	} else {
		t->w.train.n = mr_data_train_part(t->train.f.n, fraction);
		width = t->train.f.wide ? 4 : 2;
		t->w.valid = (mr_token_range){t->train.in, t->train.f.offset + (uint64_t)width * t->w.train.n,
					      t->train.f.n - t->w.train.n, NULL, t->train.f.wide};
	}
	d->fingerprint = mr_data_fold(mr_data_fold(d->fingerprint, t->w.train.n), (uint64_t)d->classes);
	if (fraction > 0 && mr_values_is_set(values, "validation"))
		valid_name = t->train.path;
	return mr_excerpts_init(&t->w, t->train.path, apart ? t->valid.path : valid_name, values, want);
}

static mr_status describe(tokens *t)
{
	mr_dataset *d = &t->w.base;
	mr_strbuf b = {0};

	mr_strbuf_printf(&b, "%s: %s, %llu tokens", t->train.path, t->train.f.offset ? "llm.c" : "nanoGPT",
			 (unsigned long long)t->train.f.n);
	if (t->valid.in)
		mr_strbuf_printf(&b, "; %s: %s, %llu tokens", t->valid.path, t->valid.f.offset ? "llm.c" : "nanoGPT",
				 (unsigned long long)t->valid.f.n);
	mr_strbuf_printf(&b, "; vocabulary %lld, %llu training and %llu validation windows of %lld",
			 (long long)d->classes, (unsigned long long)d->n_train, (unsigned long long)d->n_valid,
			 (long long)d->input.rows);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

static void close_tokens(mr_dataset *d)
{
	tokens *t = (tokens *)d;

	free(t->train.path);
	mr_contents_close(t->train.in);
	free(t->valid.path);
	mr_contents_close(t->valid.in);
	mr_tokenizer_close(d->tokenizer);
	free(t->alphabet);
}

/* The tokenizer spells tokens for `sample`. A model that was trained on tokens alone has no mark to compare it with. */
static mr_status open_tokenizer(tokens *t, const mr_values *values, const mr_data_want *want)
{
	mr_tokenizer *opened;

	if (!*mr_values_string(values, "tokenizer"))
		return MR_OK;
	MR_TRY(mr_tokenized_open(values, want, &opened, &t->alphabet));
	t->w.base.tokenizer = opened;
	t->w.base.alphabet = want->alphabet ? t->alphabet : NULL;
	return MR_OK;
}

static mr_status open_tokens(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	tokens *t = (tokens *)d;

	MR_TRY(mr_excerpts_check_context("tokens", want));
	MR_TRY(open_tokenizer(t, values, want));
	MR_TRY(open_shards(t, values, want));
	return describe(t);
}

static mr_status load_tokens(mr_dataset *d)
{
	tokens *t = (tokens *)d;

	if (t->train.keeps)
		MR_TRY(mr_contents_keep(t->train.in));
	return t->valid.keeps ? mr_contents_keep(t->valid.in) : MR_OK;
}

static void form(const mr_dataset *d, mr_json_writer *w)
{
	if (d->tokenizer)
		mr_json_field_string(w, "tokenizer", mr_tokenizer_json(d->tokenizer));
}

static const mr_option options[] = {
	{"path", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "file of token numbers"},
	{"validation_path", MR_OPT_STRING, "", 0, 0, NULL, NULL, "a file of its own for validation; empty: split path"},
	MR_DATA_VALIDATION,
	MR_DATA_ORDER,
	{"format", MR_OPT_ENUM, "auto", 0, 0, "auto|nanogpt|llmc", NULL,
	 "bare tokens, or llm.c's header in front of them"},
	{"vocab", MR_OPT_INT, "0", 0, 1 << 24, NULL, NULL,
	 "size of the vocabulary; 0: that of the tokenizer, or the largest token plus 1"},
	MR_DATA_TOKENIZER,
	{NULL},
};

extern const mr_dataset_ops mr_data_tokens;
const mr_dataset_ops mr_data_tokens = {
	.name = "tokens",
	.summary = "token files of nanoGPT, llm.c and millrace tokenize",
	.options = options,
	.bytes = sizeof(tokens),
	.open = open_tokens,
	.load = load_tokens,
	.check = mr_excerpts_check,
	.close = close_tokens,
	.train = mr_excerpts_train,
	.sample = mr_excerpts_sample,
	.valid = mr_excerpts_valid,
	.files = "language",
	.form = form,
};
