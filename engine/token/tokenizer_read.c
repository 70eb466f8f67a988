/* Reading a tokenizer.json. Messages begin with the key; the caller puts the file in front. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "token/tokenizer_internal.h"

/* Bytes of an added token: each place of a text is compared with those that begin with its byte, so without a limit a
 * text of n bytes could take n^2. */
#define MOST_ADDED 1024

/* GPT-2's pattern, which a ByteLevel pre-tokenizer has by itself. */
#define GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

static mr_status wrong(const char *key, const char *wanted, const mr_json *got)
{
	const char *text = mr_json_string(got);

	if (text)
		return mr_fail(MR_EDATA, "%s: expected %s, got \"%.60s\"", key, wanted, text);
	return mr_fail(MR_EDATA, "%s: expected %s, got %s", key, wanted, mr_json_kind(got));
}

static bool is_nothing(const mr_json *j)
{
	return !j || mr_json_is_null(j);
}

static bool is_word(const mr_json *j, const char *word)
{
	return mr_json_is_string(j) && !strcmp(mr_json_string(j), word);
}

/* The key @name of @group, true or false; @missing where it is not there. */
static mr_status read_bool(const mr_json *group, const char *path, const char *name, bool missing, bool *out)
{
	const mr_json *j = mr_json_get(group, name);
	char key[128];

	snprintf(key, sizeof(key), "%s.%s", path, name);
	*out = is_nothing(j) ? missing : mr_json_bool(j);
	return is_nothing(j) || mr_json_is_bool(j) ? MR_OK : wrong(key, "true or false", j);
}

static void fold(mr_tokenizer *t, const void *data, size_t len)
{
	t->hash = mr_hash64(t->hash, data, len);
}

static void fold_number(mr_tokenizer *t, int64_t n)
{
	fold(t, &n, sizeof(n));
}

/* --- the vocabulary --- */

/* The character @code stands for this byte; -1: for none. Bytes that are no printing character of Latin-1 are moved to
 * U+0100 and further, in their order. */
static int byte_of(uint32_t code)
{
	static const uint8_t moved[] = {127, 173}; /* beside 0 to 32 and 128 to 160 */

	if ((code >= 33 && code <= 126) || (code >= 161 && code <= 255 && code != 173))
		return (int)code;
	if (code < 256 || code >= 256 + 68)
		return -1;
	code -= 256;
	return code <= 32 ? (int)code : code == 33 ? moved[0] : code <= 66 ? (int)code + 94 : moved[1];
}

/* @key, whose characters stand for bytes, as these bytes. @out has room for strlen(@key). False: one stands for none.
 */
static bool spell(const char *key, char *out, size_t *len)
{
	const unsigned char *c = (const unsigned char *)key;
	size_t left = strlen(key);

	for (*len = 0; left;) {
		size_t n = mr_utf8_length((const char *)c, left);
		int byte = n == 1 ? byte_of(c[0]) : n == 2 ? byte_of((c[0] & 31u) << 6 | (c[1] & 63u)) : -1;

		if (byte < 0)
			return false;
		out[(*len)++] = (char)byte;
		c += n;
		left -= n;
	}
	return true;
}

static bool is_number(const mr_json *j)
{
	return mr_json_is_int(j) && mr_json_int(j) >= 0 && mr_json_int(j) < MR_TOKEN_NUMBERS;
}

static mr_status read_token(mr_tokenizer *t, const char *key, const mr_json *number)
{
	size_t len = strlen(key);
	char *bytes;
	bool listed;
	mr_status st;

	if (!is_number(number))
		return mr_fail(MR_EDATA, "model.vocab: \"%.60s\": expected a number from 0 to %lld, got %s%.0lld", key,
			       (long long)MR_TOKEN_NUMBERS - 1, mr_json_is_int(number) ? "" : mr_json_kind(number),
			       (long long)mr_json_int(number));
	bytes = malloc(len + 1);
	if (!bytes)
		return mr_fail(MR_ERESOURCE, "no memory for a token");
	listed = spell(key, bytes, &len);
	if (!listed)
		memcpy(bytes, key, len = strlen(key));
	st = mr_token_table_put(&t->table, mr_json_int(number), bytes, len, listed && len);
	free(bytes);
	return st == MR_OK ? st : mr_fail_in(st, "model.vocab: \"%.60s\"", key);
}

static mr_status read_vocab(mr_tokenizer *t, const mr_json *vocab)
{
	if (!mr_json_is_object(vocab) || !mr_json_size(vocab))
		return mr_fail(MR_EDATA, "model.vocab: expected tokens and their numbers, got %s",
			       mr_json_is_object(vocab) ? "none" : mr_json_kind(vocab));
	for (const char *key = NULL; (key = mr_json_next_key(vocab, key));)
		MR_TRY(read_token(t, key, mr_json_get(vocab, key)));
	for (size_t i = 0; i < t->table.n; i++)
		if (t->table.at[i].bytes) {
			fold_number(t, (int64_t)i);
			fold(t, t->table.at[i].bytes, t->table.at[i].len);
		}
	return MR_OK;
}

/* --- merges --- */

/* Both sides of a rule, "a b" or ["a", "b"], in @room, which the caller frees. */
static mr_status read_sides(const mr_json *rule, size_t i, char **room, const char *side[2])
{
	const char *text = mr_json_string(rule), *blank = text ? strchr(text, ' ') : NULL;
	char key[64];

	*room = NULL;
	if (mr_json_is_array(rule) && mr_json_size(rule) == 2) {
		side[0] = mr_json_string(mr_json_at(rule, 0));
		side[1] = mr_json_string(mr_json_at(rule, 1));
	} else if (blank && !strchr(blank + 1, ' ')) {
		*room = strdup(text);
		if (!*room)
			return mr_fail(MR_ERESOURCE, "no memory for a rule");
		(*room)[blank - text] = '\0';
		side[0] = *room;
		side[1] = *room + (blank - text) + 1;
	} else {
		side[0] = side[1] = NULL;
	}
	if (side[0] && side[1])
		return MR_OK;
	snprintf(key, sizeof(key), "model.merges[%zu]", i);
	return wrong(key, "\"LEFT RIGHT\" or [\"LEFT\", \"RIGHT\"]", rule);
}

static mr_status number_of(const mr_json *vocab, const char *key, size_t i, int32_t *out)
{
	const mr_json *number = mr_json_get(vocab, key);

	*out = (int32_t)mr_json_int(number);
	return number ? MR_OK : mr_fail(MR_EDATA, "model.merges[%zu]: \"%.60s\" is not in model.vocab", i, key);
}

static mr_status put_rule(mr_tokenizer *t, const mr_json *vocab, size_t i, const char *const side[2])
{
	mr_merge rule = {.rank = (int32_t)i};
	char *both;
	mr_status st;

	MR_TRY(number_of(vocab, side[0], i, &rule.left));
	MR_TRY(number_of(vocab, side[1], i, &rule.right));
	if (asprintf(&both, "%s%s", side[0], side[1]) < 0)
		return mr_fail(MR_ERESOURCE, "no memory for a rule");
	st = number_of(vocab, both, i, &rule.token);
	free(both);
	MR_TRY(st);
	mr_merges_put(&t->merges, rule);
	fold(t, &rule, sizeof(rule));
	return MR_OK;
}

static mr_status read_merges(mr_tokenizer *t, const mr_json *vocab, const mr_json *merges)
{
	size_t n = mr_json_size(merges);

	if (!mr_json_is_array(merges) || n > (size_t)MR_TOKEN_NUMBERS)
		return mr_fail(MR_EDATA, "model.merges: expected a list of rules, got %s", mr_json_kind(merges));
	MR_TRY(mr_merges_init(&t->merges, n));
	for (size_t i = 0; i < n; i++) {
		const char *side[2];
		char *room;
		mr_status st = read_sides(mr_json_at(merges, i), i, &room, side);

		if (st == MR_OK)
			st = put_rule(t, vocab, i, side);
		free(room);
		MR_TRY(st);
	}
	return MR_OK;
}

/* Does a token stand for each byte? Then no text is unknown. */
static bool has_all_bytes(const mr_tokenizer *t)
{
	for (int b = 0; b < 256; b++)
		if (t->table.byte[b] < 0)
			return false;
	return true;
}

static mr_status read_model(mr_tokenizer *t, const mr_json *model)
{
	static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
	const mr_json *type = mr_json_get(model, "type"), *dropout = mr_json_get(model, "dropout");
	bool fallback;

	if (!mr_json_is_object(model))
		return wrong("model", "a group", model);
	if (type && !is_word(type, "BPE")) /* files of older versions have none */
		return wrong("model.type", "\"BPE\"", type);
	if (!is_nothing(dropout) && (!mr_json_is_number(dropout) || mr_json_double(dropout) != 0))
		return wrong("model.dropout", "none, since tokens are not random here", dropout);
	for (int i = 0; i < 2; i++) {
		const mr_json *j = mr_json_get(model, affixes[i]);

		if (!is_nothing(j) && !is_word(j, ""))
			return mr_fail(MR_EDATA, "model.%s: expected none, since a byte-level tokenizer has none",
				       affixes[i]);
	}
	MR_TRY(read_bool(model, "model", "ignore_merges", false, &t->whole_words));
	MR_TRY(read_bool(model, "model", "byte_fallback", false, &fallback));
	MR_TRY(read_vocab(t, mr_json_get(model, "vocab")));
	MR_TRY(read_merges(t, mr_json_get(model, "vocab"), mr_json_get(model, "merges")));
	fold_number(t, t->whole_words);
	if ((fallback || !is_nothing(mr_json_get(model, "unk_token"))) && !has_all_bytes(t))
		return mr_fail(MR_EDATA,
			       "model.%s: can be read only where model.vocab has a token for each of the 256 bytes",
			       fallback ? "byte_fallback" : "unk_token");
	return MR_OK;
}

/* --- pre-tokenizers --- */

static mr_status add_step(mr_tokenizer *t, const char *key, const char *pattern, bool literal, mr_split_step step)
{
	mr_splitter *s = &t->splitter;

	if (s->n == MR_SPLITTER_STEPS)
		return mr_fail(MR_EDATA, "%s: expected at most %d steps", key, MR_SPLITTER_STEPS);
	if (pattern) {
		mr_status st = mr_regex_create(pattern, literal, &step.regex);

		if (st != MR_OK)
			return mr_fail_in(st, "%s", key);
		fold(t, pattern, strlen(pattern));
	}
	fold_number(t, literal | step.drops_matches << 1 | step.drops_rest << 2);
	s->step[s->n++] = step;
	return MR_OK;
}

static mr_status read_byte_level(mr_tokenizer *t, const mr_json *j, const char *key)
{
	bool blank, pattern;

	MR_TRY(read_bool(j, key, "add_prefix_space", true, &blank));
	MR_TRY(read_bool(j, key, "use_regex", true, &pattern));
	if (blank)
		MR_TRY(add_step(t, key, NULL, false, (mr_split_step){0}));
	return pattern ? add_step(t, key, GPT2_PATTERN, false, (mr_split_step){0}) : MR_OK;
}

static mr_status read_split(mr_tokenizer *t, const mr_json *j, const char *key)
{
	const mr_json *pattern = mr_json_get(j, "pattern"), *behavior = mr_json_get(j, "behavior");
	const mr_json *regex = mr_json_get(pattern, "Regex"), *text = mr_json_get(pattern, "String");
	mr_split_step step = {0};
	char name[96];
	bool invert;

	MR_TRY(read_bool(j, key, "invert", false, &invert));
	snprintf(name, sizeof(name), "%s.behavior", key);
	if (is_word(behavior, "Removed"))
		*(invert ? &step.drops_rest : &step.drops_matches) = true;
	else if (!is_word(behavior, "Isolated"))
		return wrong(name, "\"Isolated\" or \"Removed\"", behavior);
	snprintf(name, sizeof(name), "%s.pattern", key);
	if (!mr_json_is_string(regex) && !mr_json_is_string(text))
		return wrong(name, "{\"Regex\": ...} or {\"String\": ...}", pattern);
	return add_step(t, name, mr_json_string(regex ? regex : text), !regex, step);
}

static mr_status read_digits(mr_tokenizer *t, const mr_json *j, const char *key)
{
	bool each;

	MR_TRY(read_bool(j, key, "individual_digits", false, &each));
	return add_step(t, key, each ? "\\p{N}" : "\\p{N}+", false, (mr_split_step){0});
}

/* The pre-tokenizer @j, not a Sequence. *@ends: it is the one that makes bytes of characters, the last. */
static mr_status read_step(mr_tokenizer *t, const mr_json *j, const char *key, bool *ends)
{
	const mr_json *type = mr_json_get(j, "type");
	char name[80];

	if (*ends)
		return mr_fail(MR_EDATA, "%s: expected nothing behind ByteLevel", key);
	*ends = is_word(type, "ByteLevel");
	if (*ends)
		return read_byte_level(t, j, key);
	if (is_word(type, "Split"))
		return read_split(t, j, key);
	if (is_word(type, "Digits"))
		return read_digits(t, j, key);
	snprintf(name, sizeof(name), "%s.type", key);
	return wrong(mr_json_is_object(j) ? name : key, "ByteLevel, Split, Digits or a Sequence of them",
		     mr_json_is_object(j) ? type : j);
}

static mr_status read_pre_tokenizer(mr_tokenizer *t, const mr_json *j)
{
	const mr_json *list = mr_json_get(j, "pretokenizers");
	bool ends = false;
	char key[64];

	if (!is_word(mr_json_get(j, "type"), "Sequence"))
		MR_TRY(read_step(t, j, "pre_tokenizer", &ends));
	else if (!mr_json_is_array(list))
		return wrong("pre_tokenizer.pretokenizers", "a list", list);
	for (size_t i = 0; i < mr_json_size(list); i++) {
		snprintf(key, sizeof(key), "pre_tokenizer.pretokenizers[%zu]", i);
		MR_TRY(read_step(t, mr_json_at(list, i), key, &ends));
	}
	return ends ? MR_OK
		    : mr_fail(MR_EDATA, "pre_tokenizer: expected ByteLevel at its end: only byte-level tokenizers "
					"can be read");
}

/* --- added tokens --- */

/* What is found in the text for @a: its text, or the normal form of it where the text takes one before. */
static mr_status fill_found(mr_tokenizer *t, mr_added_token *a)
{
	bool same = a->raw || !t->has_form;

	if (!same)
		MR_TRY(mr_normal_form_apply(&t->form, a->text, strlen(a->text)));
	a->found = strdup(same ? a->text : mr_strbuf_text(&t->form.text));
	if (!a->found)
		return mr_fail(MR_ERESOURCE, "no memory for a token");
	a->len = strlen(a->found);
	return MR_OK;
}

static mr_status add_token(mr_tokenizer *t, const mr_json *vocab, const mr_json *j, size_t i)
{
	const mr_json *text = mr_json_get(j, "content"), *number = mr_json_get(j, "id"), *known;
	mr_added_token *a = &t->added[t->n_added];
	bool normalized;
	char key[64];

	snprintf(key, sizeof(key), "added_tokens[%zu]", i);
	if (!mr_json_is_string(text) || !*mr_json_string(text) || !is_number(number))
		return mr_fail(MR_EDATA, "%s: expected a text as content and a number as id", key);
	if (strlen(mr_json_string(text)) > MOST_ADDED)
		return mr_fail(MR_EDATA, "%s: content has %zu bytes, expected at most %d", key,
			       strlen(mr_json_string(text)), MOST_ADDED);
	MR_TRY(read_bool(j, key, "lstrip", false, &a->strips_before));
	MR_TRY(read_bool(j, key, "rstrip", false, &a->strips_behind));
	MR_TRY(read_bool(j, key, "single_word", false, &a->alone));
	MR_TRY(read_bool(j, key, "normalized", false, &normalized));
	known = mr_json_get(vocab, mr_json_string(text));
	if (known && mr_json_int(known) != mr_json_int(number))
		return mr_fail(MR_EDATA, "%s: \"%.40s\" is token %lld in model.vocab, and %lld here", key,
			       mr_json_string(text), (long long)mr_json_int(known), (long long)mr_json_int(number));
	a->text = strdup(mr_json_string(text));
	if (!a->text)
		return mr_fail(MR_ERESOURCE, "no memory for a token");
	a->token = (int32_t)mr_json_int(number);
	a->raw = !normalized;
	t->n_added++;
	t->looks_beside = t->looks_beside || a->strips_before || a->strips_behind || a->alone;
	MR_TRY(fill_found(t, a));
	if (!known) {
		mr_status st = mr_token_table_put(&t->table, a->token, a->text, strlen(a->text), false);

		return st == MR_OK ? st : mr_fail_in(st, "%s", key);
	}
	return MR_OK;
}

static int by_place(const void *x, const void *y)
{
	const mr_added_token *a = x, *b = y;
	int first = (int)(unsigned char)*a->found - (int)(unsigned char)*b->found;

	if (a->raw != b->raw)
		return a->raw - b->raw;
	if (first)
		return first;
	return a->len != b->len ? (a->len < b->len ? 1 : -1) : strcmp(a->found, b->found);
}

static void fold_added(mr_tokenizer *t, const mr_added_token *a)
{
	int beside = a->strips_before | a->strips_behind << 1 | a->alone << 2;

	fold_number(t, a->token * 2 + a->raw);
	fold(t, a->found, a->len);
	if (beside)
		fold_number(t, beside);
}

static mr_status read_added(mr_tokenizer *t, const mr_json *vocab, const mr_json *list)
{
	size_t n = mr_json_size(list), i = 0;

	if (!is_nothing(list) && !mr_json_is_array(list))
		return wrong("added_tokens", "a list", list);
	t->added = calloc(n + 1, sizeof(*t->added));
	if (!t->added)
		return mr_fail(MR_ERESOURCE, "no memory for %zu tokens", n);
	for (size_t k = 0; k < n; k++)
		MR_TRY(add_token(t, vocab, mr_json_at(list, k), k));
	qsort(t->added, n, sizeof(*t->added), by_place);
	for (int raw = 0; raw < 2; raw++)
		for (unsigned b = 0; b < 257; b++) {
			while (i < n && t->added[i].raw == raw && (unsigned char)*t->added[i].found < b)
				i++;
			t->first[raw][b] = i;
		}
	for (size_t k = 0; k < n; k++) {
		if (k && !by_place(&t->added[k - 1], &t->added[k]))
			return mr_fail(MR_EDATA, "added_tokens: the tokens %d and %d have the same text \"%.40s\"",
				       t->added[k - 1].token, t->added[k].token, t->added[k].text);
		fold_added(t, &t->added[k]);
	}
	return t->looks_beside ? mr_surroundings_init(&t->beside) : MR_OK;
}

/* --- normal forms --- */

static mr_status read_form(mr_tokenizer *t, const mr_json *j, const char *key)
{
	static const char *const names[] = {"NFD", "NFC", "NFKD", "NFKC"};
	const mr_json *type = mr_json_get(j, "type");
	int k = 0;

	while (k < 4 && !is_word(type, names[k]))
		k++;
	if (k == 4)
		return wrong(key, "NFC, NFD, NFKC, NFKD or a Sequence of them; for another one, write the text in its "
				  "form and set the normalizer to null", mr_json_is_object(j) ? type : j);
	if (!strcmp(mr_normal_form_version(), "none"))
		return mr_fail(MR_EDATA, "%s: this build has no %s: it was made without utf8proc (libutf8proc-dev)",
			       key, names[k]);
	/* One form behind another is the form of both that is compatible, composed if the last one is. */
	t->has_form = true;
	t->form.compatible = t->form.compatible || k & 2;
	t->form.composed = k & 1;
	return MR_OK;
}

static mr_status read_normalizer(mr_tokenizer *t, const mr_json *j)
{
	const mr_json *list = mr_json_get(j, "normalizers");
	char key[64];

	if (is_nothing(j))
		return MR_OK;
	if (!is_word(mr_json_get(j, "type"), "Sequence"))
		MR_TRY(read_form(t, j, "normalizer"));
	else if (!mr_json_is_array(list))
		return wrong("normalizer.normalizers", "a list", list);
	else
		for (size_t i = 0; i < mr_json_size(list); i++) {
			snprintf(key, sizeof(key), "normalizer.normalizers[%zu]", i);
			MR_TRY(read_form(t, mr_json_at(list, i), key));
		}
	if (t->has_form)
		fold_number(t, 2 + t->form.compatible + 4 * t->form.composed);
	return MR_OK;
}

mr_status mr_tokenizer_fill(mr_tokenizer *t, const mr_json *root)
{
	const mr_json *model = mr_json_get(root, "model");
	const mr_json *decoder = mr_json_get(root, "decoder"), *kind = mr_json_get(decoder, "type");

	if (!mr_json_is_object(root) || !model)
		return mr_fail(MR_EDATA, "model: is missing: this is no tokenizer.json of Hugging Face");
	if (!is_nothing(decoder) && !is_word(kind, "ByteLevel"))
		return wrong("decoder.type", "\"ByteLevel\"", kind);
	MR_TRY(read_normalizer(t, mr_json_get(root, "normalizer")));
	MR_TRY(read_model(t, model));
	MR_TRY(read_pre_tokenizer(t, mr_json_get(root, "pre_tokenizer")));
	return read_added(t, mr_json_get(model, "vocab"), mr_json_get(root, "added_tokens"));
}
