#include "token/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "token/tokenizer_internal.h"

#define LARGEST_FILE ((size_t)256 << 20)

/* The document @root as one line. */
static mr_status spell(const mr_json *root, char **out)
{
	mr_json_writer w;
	size_t len;
	mr_status st;
	FILE *f = open_memstream(out, &len);

	if (!f)
		return mr_fail(MR_ERESOURCE, "no memory for a tokenizer");
	mr_json_init(&w, f, false);
	mr_json_put_tree(&w, root);
	st = mr_json_finish(&w);
	return !fclose(f) && st == MR_OK ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a tokenizer");
}

/* A tokenizer of the document @root, which is destroyed. */
static mr_status make(mr_json *root, mr_tokenizer **out)
{
	mr_tokenizer *t = calloc(1, sizeof(*t));
	mr_status st = mr_fail(MR_ERESOURCE, "no memory for a tokenizer");

	if (t) {
		mr_token_table_init(&t->table);
		st = mr_tokenizer_fill(t, root);
	}
	if (st == MR_OK)
		st = spell(root, &t->json);
	mr_json_destroy(root);
	if (st != MR_OK) {
		mr_tokenizer_close(t);
		return st;
	}
	*out = t;
	return MR_OK;
}

mr_status mr_tokenizer_open(const char *path, mr_tokenizer **out)
{
	mr_json *root;
	mr_status st = mr_json_read_file(path, LARGEST_FILE, &root);

	if (st != MR_OK)
		return st == MR_ECONFIG ? mr_fail(MR_EDATA, "%s", mr_error_text()) : st;
	st = make(root, out);
	return st == MR_EDATA ? mr_fail_in(st, "%s", path) : st;
}

mr_status mr_tokenizer_read(const char *json, mr_tokenizer **out)
{
	mr_json *root;
	mr_status st = mr_json_read_text(json, strlen(json), &root);

	if (st != MR_OK)
		return st == MR_ECONFIG ? mr_fail(MR_EDATA, "%s", mr_error_text()) : st;
	return make(root, out);
}

const char *mr_tokenizer_json(const mr_tokenizer *t)
{
	return t->json;
}

void mr_tokenizer_close(mr_tokenizer *t)
{
	if (!t)
		return;
	mr_token_table_fini(&t->table);
	mr_merges_fini(&t->merges);
	mr_splitter_fini(&t->splitter);
	for (size_t i = 0; i < t->n_added; i++) {
		free(t->added[i].text);
		free(t->added[i].found);
	}
	free(t->added);
	mr_surroundings_fini(&t->beside);
	mr_normal_form_fini(&t->form);
	free(t->json);
	free(t);
}

int64_t mr_tokenizer_size(const mr_tokenizer *t)
{
	return (int64_t)t->table.n;
}

uint64_t mr_tokenizer_hash(const mr_tokenizer *t)
{
	return t->hash;
}

const char *mr_tokenizer_bytes(const mr_tokenizer *t, int32_t token, size_t *len)
{
	const mr_token *k = token >= 0 && (size_t)token < t->table.n ? &t->table.at[token] : NULL;

	*len = k && k->bytes ? k->len : 0;
	return *len ? k->bytes : "";
}

int32_t mr_tokenizer_added(const mr_tokenizer *t, const char *text)
{
	for (size_t i = 0; i < t->n_added; i++)
		if (!strcmp(t->added[i].text, text))
			return t->added[i].token;
	return -1;
}

/* The longest added token of this kind that @text begins with; NULL: none. */
static const mr_added_token *added_at(const mr_tokenizer *t, bool raw, const char *text, size_t len)
{
	const size_t *first = t->first[raw] + (unsigned char)*text;

	for (size_t i = first[0]; i < first[1]; i++) {
		const mr_added_token *a = &t->added[i];

		if (a->len <= len && !memcmp(a->found, text, a->len))
			return a;
	}
	return NULL;
}

typedef struct encoding {
	mr_tokenizer *t;
	mr_tokens *out;
} encoding;

static mr_status encode_word(void *arg, const char *word, size_t len)
{
	const encoding *e = arg;
	int32_t whole = e->t->whole_words ? mr_token_table_find(&e->t->table, word, len) : -1;

	if (whole < 0)
		return mr_merges_encode(&e->t->merges, &e->t->table, word, len, e->out);
	MR_TRY(mr_tokens_reserve(e->out, 1));
	e->out->at[e->out->n++] = whole;
	return MR_OK;
}

static mr_status encode_between(encoding *e, bool raw, const char *text, size_t len);

/* Text in which the added tokens of a kind have been found. */
static mr_status encode_rest(encoding *e, bool raw, const char *text, size_t len)
{
	mr_tokenizer *t = e->t;

	if (!raw)
		return mr_splitter_cut(&t->splitter, text, len, encode_word, e);
	if (!t->has_form)
		return encode_between(e, false, text, len);
	MR_TRY(mr_normal_form_apply(&t->form, text, len));
	return encode_between(e, false, mr_strbuf_text(&t->form.text), t->form.text.len);
}

/* What @a, which was found at [*from, *to), swallows beside it, which begins at @done at the earliest. *@is: it is a
 * token there. @space: the white space behind the last token, which is not looked through twice. */
static mr_status look_beside(const encoding *e, const mr_added_token *a, const char *text, size_t len, size_t done,
			     size_t *from, size_t *to, size_t *space, bool *is)
{
	const mr_surroundings *s = &e->t->beside;

	*is = true;
	if (a->alone)
		MR_TRY(mr_stands_alone(s, text, len, *from, *to, is));
	if (*is && a->strips_before) {
		size_t first = *from;

		MR_TRY(mr_space_before(s, text, done < first ? done : first, first, &first));
		*from = first > done ? first : done;
	}
	if (*is && a->strips_behind) {
		if (*to >= *space)
			MR_TRY(mr_space_behind(s, text, len, *to, space));
		*to = *space;
	}
	return MR_OK;
}

/* Text without added tokens that are raw; where not @raw, without others as well. The next token is looked for behind
 * the last one's own text: one that is white space is found again in what the last one swallowed, and is none if that
 * leaves it nothing. */
static mr_status encode_between(encoding *e, bool raw, const char *text, size_t len)
{
	size_t done = 0, space = 0;

	for (size_t i = 0; i < len && e->t->first[raw][0] < e->t->first[raw][256];) {
		const mr_added_token *a = added_at(e->t, raw, text + i, len - i);
		size_t from = i, to = i + (a ? a->len : 1);
		bool is = a;

		i = to;
		if (a && e->t->looks_beside)
			MR_TRY(look_beside(e, a, text, len, done, &from, &to, &space, &is));
		if (!is)
			continue;
		if (from > done)
			MR_TRY(encode_rest(e, raw, text + done, from - done));
		if (to > from) {
			MR_TRY(mr_tokens_reserve(e->out, 1));
			e->out->at[e->out->n++] = a->token;
		}
		done = to;
	}
	return done < len ? encode_rest(e, raw, text + done, len - done) : MR_OK;
}

mr_status mr_tokenizer_encode(mr_tokenizer *t, const char *text, size_t len, mr_tokens *out)
{
	encoding e = {t, out};

	return encode_between(&e, true, text, len);
}
