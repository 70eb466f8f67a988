/*
 * pairs.c - pairs of sentences from a text file: in each line a sentence, a tab, and its translation.
 *
 * A sentence is taken as words, which spaces separate, or as the characters of UTF-8 (a byte that is none counts as a
 * character). Pairs with a sentence of more than `length` of them are left out, as is usual for this kind of model. The
 * last part of the pairs that remain validates. Source and target have vocabularies of their own, those of the training
 * pairs; what is not in them is UNKNOWN (data/pair.h).
 *
 * Open reads the file twice: to check and count its lines, then to make the vocabularies. Load stores the tokens.
 */
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/str.h"
#include "formats/lines.h"
#include "data/pair.h"
#include "data/part.h"
#include "token/vocabulary.h"

typedef struct pairs {
	mr_dataset base;
	char *path;
	bool by_character;
	int64_t longest;
	uint64_t n, tokens;           /* pairs that remain, and their tokens */
	mr_vocabulary words[2];       /* of source and target */
	int32_t *token;               /* [tokens] */
	uint64_t *start;              /* [2 n + 1] of each sentence in token */
} pairs;

/* What a pass over the file does with pair @i, sentences @sentence of @len tokens each. */
typedef mr_status pair_fn(pairs *p, uint64_t i, char *const sentence[2], const int64_t len[2]);

static void close_pairs(mr_dataset *d)
{
	pairs *p = (pairs *)d;

	for (int side = 0; side < 2; side++)
		mr_vocabulary_fini(&p->words[side]);
	free(p->token);
	free(p->start);
	free(p->path);
}

/* Bytes of the character at @s, which is not empty. */
static size_t character(const char *s)
{
	unsigned char first = (unsigned char)*s;
	size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;

	for (size_t i = 1; i < n; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 1;
	return n;
}

/* Move *@at to the next token of the sentence and return its bytes; 0 at the end. */
static size_t next(const pairs *p, const char **at)
{
	if (p->by_character)
		return **at ? character(*at) : 0;
	*at += strspn(*at, " ");
	return strcspn(*at, " ");
}

static int64_t count(const pairs *p, const char *sentence)
{
	int64_t n = 0;

	for (size_t len; (len = next(p, &sentence)) > 0; sentence += len)
		n++;
	return n;
}

/* Cut @line at its tab. */
static mr_status cut(const mr_lines *l, char *line, char *sentence[2])
{
	char *tab = strchr(line, '\t');

	if (!tab)
		return mr_fail(MR_EDATA, "%s:%llu: no tab, expected a sentence, a tab and its translation", l->path,
			       (unsigned long long)l->number);
	if (strchr(tab + 1, '\t'))
		return mr_fail(MR_EDATA, "%s:%llu: more than one tab, expected a sentence, a tab and its translation",
			       l->path, (unsigned long long)l->number);
	*tab = 0;
	sentence[0] = line;
	sentence[1] = tab + 1;
	sentence[1][strcspn(sentence[1], "\r")] = 0;
	return MR_OK;
}

/* Call @fn for each pair that is not too long. */
static mr_status each_line(pairs *p, mr_lines *l, pair_fn *fn)
{
	uint64_t i = 0;

	for (;;) {
		char *line, *sentence[2];
		int64_t len[2];

		MR_TRY(mr_lines_next(l, &line));
		if (!line)
			return MR_OK;
		MR_TRY(cut(l, line, sentence));
		for (int side = 0; side < 2; side++) {
			len[side] = count(p, sentence[side]);
			if (len[side] == 0)
				return mr_fail(MR_EDATA, "%s:%llu: nothing %s the tab, expected a sentence", l->path,
					       (unsigned long long)l->number, side ? "after" : "before");
		}
		if (len[0] <= p->longest && len[1] <= p->longest)
			MR_TRY(fn(p, i++, sentence, len));
	}
}

static mr_status each(pairs *p, pair_fn *fn)
{
	mr_lines l;
	mr_status st = mr_lines_open(p->path, "text", &l);

	if (st == MR_OK)
		st = each_line(p, &l, fn);
	mr_lines_close(&l);
	return st;
}

static mr_status measure(pairs *p, uint64_t i, char *const sentence[2], const int64_t len[2])
{
	(void)sentence;
	p->n = i + 1;
	p->tokens += (uint64_t)(len[0] + len[1]);
	return MR_OK;
}

static mr_status collect(pairs *p, uint64_t i, char *const sentence[2], const int64_t len[2])
{
	(void)len;
	for (int side = 0; side < 2 && i < p->base.n_train; side++) {
		const char *at = sentence[side];

		for (size_t n; (n = next(p, &at)) > 0; at += n) {
			mr_status st = mr_vocabulary_count(&p->words[side], at, n);

			if (st != MR_OK)
				return mr_fail_in(st, "%s", p->path);
		}
	}
	return MR_OK;
}

static mr_status changed(const pairs *p)
{
	return mr_fail(MR_EDATA, "%s has changed since it was opened", p->path);
}

static mr_status store(pairs *p, uint64_t i, char *const sentence[2], const int64_t len[2])
{
	if (i >= p->n || p->start[2 * i] + (uint64_t)(len[0] + len[1]) > p->tokens)
		return changed(p);
	for (uint64_t side = 0; side < 2; side++) {
		uint64_t to = p->start[2 * i + side];
		const char *at = sentence[side];

		for (size_t n; (n = next(p, &at)) > 0; at += n) {
			int32_t number = mr_vocabulary_find(&p->words[side], at, n);

			p->token[to++] = number < 0 ? MR_PAIR_UNKNOWN : number;
		}
		p->start[2 * i + side + 1] = to;
	}
	return MR_OK;
}

static mr_status load_pairs(mr_dataset *d)
{
	pairs *p = (pairs *)d;
	uint64_t sizes[] = {p->n, d->n_train, (uint64_t)d->classes, (uint64_t)d->source_classes, (uint64_t)p->longest};

	p->token = calloc(p->tokens, sizeof(*p->token));
	p->start = calloc(2 * p->n + 1, sizeof(*p->start));
	if (!p->token || !p->start)
		return mr_data_no_memory(d->bytes.kept);
	MR_TRY(each(p, store));
	if (p->start[2 * p->n] != p->tokens)
		return changed(p);
	d->fingerprint = mr_hash64(mr_hash64(0, p->token, p->tokens * sizeof(*p->token)), p->start,
				   (2 * p->n + 1) * sizeof(*p->start));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		d->fingerprint = mr_data_fold(d->fingerprint, sizes[i]);
	for (int side = 0; side < 2; side++)
		mr_vocabulary_fini(&p->words[side]);
	return MR_OK;
}

static mr_status describe(pairs *p)
{
	mr_dataset *d = &p->base;
	mr_strbuf b = {0};

	mr_strbuf_printf(&b,
			 "%s: %llu training and %llu validation pairs of up to %lld %s, "
			 "vocabularies of %lld and %lld",
			 p->path, (unsigned long long)d->n_train, (unsigned long long)d->n_valid,
			 (long long)p->longest, p->by_character ? "characters" : "words",
			 (long long)d->source_classes, (long long)d->classes);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

static mr_status look(pairs *p, const mr_values *values)
{
	mr_dataset *d = &p->base;
	size_t most = (size_t)mr_values_int(values, "vocab"), n[2];

	p->by_character = !strcmp(mr_values_string(values, "units"), "char");
	p->longest = mr_values_int(values, "length");
	MR_TRY(each(p, measure));
	if (p->n == 0)
		return mr_fail(MR_EDATA, "%s: all pairs have a sentence of more than length = %lld %s", p->path,
			       (long long)p->longest, p->by_character ? "characters" : "words");
	MR_TRY(mr_data_split(p->path, values, p->n, &d->n_train));
	d->n_valid = p->n - d->n_train;
	MR_TRY(each(p, collect));
	for (int side = 0; side < 2; side++)
		MR_TRY(mr_vocabulary_seal(&p->words[side], MR_PAIR_FIRST, most, &n[side]));
	mr_pair_shapes(d, p->longest, p->longest, (int64_t)(MR_PAIR_FIRST + n[0]), (int64_t)(MR_PAIR_FIRST + n[1]));
	d->bytes.kept = p->tokens * sizeof(*p->token) + (2 * p->n + 1) * sizeof(*p->start);
	return describe(p);
}

static mr_status open_pairs(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	pairs *p = (pairs *)d;

	MR_TRY(mr_pair_check_context("pairs", want));
	p->path = mr_data_path(want, mr_values_string(values, "path"));
	return p->path ? look(p, values) : mr_data_no_memory(0);
}

static void sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	const pairs *p = (const pairs *)d;
	const uint64_t *start = p->start + 2 * i;

	(void)g;
	mr_pair_put(&p->base, p->token + start[0], (int64_t)(start[1] - start[0]), p->token + start[1],
		    (int64_t)(start[2] - start[1]), input, target);
}

static const mr_option options[] = {
	{"path", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "the file: in each line a sentence, a tab, its translation"},
	{"units", MR_OPT_ENUM, "word", 0, 0, "word|char", NULL,
	 "what a token is: a word, or a character of UTF-8"},
	{"length", MR_OPT_INT, "50", 1, 100000, NULL, "tokens", "pairs with a longer sentence are left out"},
	{"vocab", MR_OPT_INT, "0", 0, 1 << 30, NULL, NULL,
	 "most frequent words that each vocabulary keeps; the others are unknown; 0: all"},
	MR_DATA_VALIDATION,
	{NULL},
};

extern const mr_dataset_ops mr_data_pairs;
const mr_dataset_ops mr_data_pairs = {
	.name = "pairs",
	.summary = "a text file of sentences and their translations, separated by tabs",
	.options = options,
	.bytes = sizeof(pairs),
	.open = open_pairs,
	.load = load_pairs,
	.close = close_pairs,
	.train = mr_data_train,
	.valid = mr_data_valid,
	.sample = sample,
};
