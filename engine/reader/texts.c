#include "reader/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/contents.h"
#include "base/room.h"
#include "base/str.h"
#include "data/text.h"
#include "formats/lines.h"
#include "token/token_file.h"

struct mr_texts {
	const mr_form *form;
	const char *path;
	mr_texts_kind kind;
	mr_dataset *alphabet;    /* that of the form, or */
	mr_tokenizer *tokenizer; /* this one; both NULL: tokens have no texts */
	mr_lines lines;
	bool has_lines, done;
	mr_contents *in;         /* of a file that is read whole */
	mr_strbuf input;         /* all of standard input */
	mr_json *line;           /* owns the text at hand */
	mr_tokens all;           /* of the text at hand */
};

/* --- the vocabulary --- */

static mr_status open_vocabulary(mr_texts *t)
{
	mr_data_want want = {.context = t->form->shapes.input.rows, .alphabet = t->form->alphabet};
	mr_status st = MR_OK;

	if (t->form->tokenizer)
		st = mr_tokenizer_read(t->form->tokenizer, &t->tokenizer);
	else if (t->form->alphabet)
		st = mr_text_of_alphabet(&want, &t->alphabet);
	return st == MR_EDATA ? mr_fail(MR_ECKPT, "the form of the data in the checkpoint is damaged: %s",
					mr_error_text())
			      : st;
}

bool mr_texts_spells(const mr_texts *t)
{
	return t->tokenizer || t->alphabet;
}

const char *mr_texts_spell(const mr_texts *t, int32_t token, size_t *len)
{
	*len = 0;
	if (t->tokenizer)
		return mr_tokenizer_bytes(t->tokenizer, token, len);
	*len = t->alphabet && token >= 0 && token < t->alphabet->classes;
	return *len ? t->alphabet->token_text(t->alphabet, token) : "";
}

/* "file", or "file:line" */
static const char *place(const mr_texts *t, char room[512])
{
	const char *path = strcmp(t->path, "-") ? t->path : "standard input";

	if (!t->has_lines)
		return path;
	snprintf(room, 512, "%.480s:%llu", path, (unsigned long long)t->lines.number);
	return room;
}

static mr_status check_tokens(const mr_texts *t)
{
	char room[512];

	for (size_t i = 0; i < t->all.n; i++)
		if (t->all.at[i] < 0 || t->all.at[i] >= t->form->shapes.classes)
			return mr_fail(MR_EDATA, "%s: token %lld of number %d is not below the vocabulary of %lld",
				       place(t, room), (long long)i + 1, t->all.at[i],
				       (long long)t->form->shapes.classes);
	return MR_OK;
}

static mr_status encode_bytes(mr_texts *t, const char *text, size_t len)
{
	char room[512];

	MR_TRY(mr_tokens_reserve(&t->all, len));
	for (size_t i = 0; i < len; i++) {
		const char byte[2] = {text[i], 0};
		size_t used;
		/* of a NUL token_of would see the end of a text */
		int32_t token = text[i] ? t->alphabet->token_of(t->alphabet, byte, &used) : -1;

		for (int32_t k = 0; !text[i] && k < t->alphabet->classes && token < 0; k++)
			token = *t->alphabet->token_text(t->alphabet, k) ? -1 : k;
		if (token < 0)
			return mr_fail(MR_EDATA, "%s: byte 0x%02x at offset %llu is not in the vocabulary of the model",
				       place(t, room), (unsigned)(unsigned char)text[i], (unsigned long long)i);
		t->all.at[t->all.n++] = token;
	}
	return MR_OK;
}

static mr_status encode(mr_texts *t, const char *text, size_t len)
{
	char room[512];
	mr_status st;

	if (!mr_texts_spells(t))
		return mr_fail(MR_EUSAGE, "%s: the model was trained on token numbers, and nothing in its checkpoint "
					  "spells them: predict tokens", place(t, room));
	if (t->alphabet)
		return encode_bytes(t, text, len);
	st = mr_tokenizer_encode(t->tokenizer, text, len, &t->all);
	return st == MR_OK ? check_tokens(t) : mr_fail_in(st, "%s", place(t, room));
}

/* --- files --- */

static bool ends(const char *path, const char *with)
{
	size_t n = strlen(path), m = strlen(with);

	return n >= m && !strcmp(path + n - m, with);
}

/* What the file at hand is, where nobody says so. */
static mr_texts_kind guess(const mr_texts *t)
{
	int32_t magic = 0;

	if (ends(t->path, ".jsonl") || ends(t->path, ".ndjson"))
		return MR_TEXTS_JSON;
	if (t->in && mr_contents_bytes(t->in) >= MR_TOKEN_FILE_HEADER)
		memcpy(&magic, mr_contents_at(t->in, 0, sizeof(magic), NULL), sizeof(magic));
	return !mr_texts_spells(t) || ends(t->path, ".bin") || magic == MR_TOKEN_FILE || magic == MR_TOKEN_FILE_WIDE
		       ? MR_TEXTS_TOKENS : MR_TEXTS_WHOLE;
}

static mr_status read_input(mr_texts *t)
{
	char piece[MR_CONTENTS_PIECE];
	size_t n;

	while ((n = fread(piece, 1, sizeof(piece), stdin)) > 0) {
		MR_TRY(mr_room_check("standard input", "a text", n));
		if (!mr_strbuf_append_n(&t->input, piece, n))
			return mr_fail(MR_ERESOURCE, "no memory for the text of standard input");
	}
	return ferror(stdin) ? mr_fail(MR_EDATA, "standard input cannot be read") : MR_OK;
}

static mr_status keep_file(mr_texts *t)
{
	uint64_t bytes;

	MR_TRY(mr_contents_stat(t->path, &bytes));
	MR_TRY(mr_room_check(t->path, "a text and its tokens", 5 * bytes));
	MR_TRY(mr_contents_open(t->path, &t->in));
	return mr_contents_keep(t->in);
}

static mr_status open_file(mr_texts *t)
{
	bool input = !strcmp(t->path, "-");

	MR_TRY(open_vocabulary(t));
	if (t->kind == MR_TEXTS_AUTO && (ends(t->path, ".jsonl") || ends(t->path, ".ndjson")))
		t->kind = MR_TEXTS_JSON;
	t->has_lines = t->kind == MR_TEXTS_JSON || t->kind == MR_TEXTS_LINES;
	if (t->has_lines)
		return input ? mr_lines_of_input("text", &t->lines) : mr_lines_open(t->path, "text", &t->lines);
	MR_TRY(input ? read_input(t) : keep_file(t));
	if (t->kind == MR_TEXTS_AUTO)
		t->kind = guess(t);
	if (t->kind == MR_TEXTS_TOKENS && input)
		return mr_fail(MR_EUSAGE, "tokens are read from a file, not from standard input");
	return MR_OK;
}

mr_status mr_texts_open(const mr_form *f, const char *path, mr_texts_kind kind, mr_texts **out)
{
	mr_texts *t = calloc(1, sizeof(*t));
	mr_status st;

	if (!t)
		return mr_fail(MR_ERESOURCE, "no memory to read texts");
	t->form = f;
	t->path = path;
	t->kind = kind;
	st = open_file(t);
	if (st != MR_OK) {
		mr_texts_close(t);
		return st;
	}
	*out = t;
	return MR_OK;
}

void mr_texts_close(mr_texts *t)
{
	if (!t)
		return;
	if (t->has_lines)
		mr_lines_close(&t->lines);
	mr_contents_close(t->in);
	mr_strbuf_fini(&t->input);
	mr_json_destroy(t->line);
	free(t->all.at);
	mr_tokenizer_close(t->tokenizer);
	mr_dataset_close(t->alphabet);
	free(t);
}

/* --- texts --- */

static mr_status take_whole(mr_texts *t)
{
	uint64_t n = t->in ? mr_contents_bytes(t->in) : t->input.len;

	return encode(t, t->in ? mr_contents_at(t->in, 0, n, NULL) : mr_strbuf_text(&t->input), n);
}

static mr_status take_token_file(mr_texts *t)
{
	mr_token_file f;
	const char *at;

	MR_TRY(mr_token_file_look(t->in, "auto", &f));
	MR_TRY(mr_tokens_reserve(&t->all, f.n));
	at = (const char *)mr_contents_at(t->in, 0, mr_contents_bytes(t->in), NULL) + f.offset;
	for (size_t size = f.wide ? 4 : 2; t->all.n < f.n; at += size) {
		uint16_t narrow;
		uint32_t wide;

		memcpy(f.wide ? (void *)&wide : &narrow, at, size);
		wide = f.wide ? wide : narrow;
		t->all.at[t->all.n++] = wide > INT32_MAX ? -1 : (int32_t)wide;
	}
	return check_tokens(t);
}

static mr_status take_numbers(mr_texts *t, const mr_json *list)
{
	char room[512];

	MR_TRY(mr_tokens_reserve(&t->all, mr_json_size(list)));
	for (size_t i = 0; i < mr_json_size(list); i++) {
		int64_t token = mr_json_int(mr_json_at(list, i));

		if (!mr_json_is_int(mr_json_at(list, i)))
			return mr_fail(MR_EDATA, "%s: \"tokens\": expected whole numbers, got %s", place(t, room),
				       mr_json_kind(mr_json_at(list, i)));
		t->all.at[t->all.n++] = (int32_t)(token < 0 || token > INT32_MAX ? -1 : token);
	}
	return check_tokens(t);
}

static mr_status take_json(mr_texts *t, const char *line, mr_text *out)
{
	const mr_json *list, *text;
	char room[512];
	mr_status st;

	mr_json_destroy(t->line);
	t->line = NULL;
	st = mr_json_read_text(line, strlen(line), &t->line);
	if (st != MR_OK)
		return st == MR_ECONFIG ? mr_fail(MR_EDATA, "%s: %s", place(t, room), mr_error_text()) : st;
	list = mr_json_get(t->line, "tokens");
	text = mr_json_get(t->line, "text");
	if (mr_json_is_string(text)) {
		out->bytes = mr_json_string(text);
		out->len = strlen(out->bytes);
		return encode(t, out->bytes, out->len);
	}
	return mr_json_is_array(list) ? take_numbers(t, list)
				      : mr_fail(MR_EDATA, "%s: expected an object with \"text\" (a string) or "
							  "\"tokens\" (a list of numbers)", place(t, room));
}

static mr_status take_line(mr_texts *t, mr_text *out, bool *skips)
{
	char *line;

	do {
		MR_TRY(mr_lines_next(&t->lines, &line));
		out->got = line != NULL;
		if (!line)
			return MR_OK;
		line[strcspn(line, "\r\n")] = 0;
	} while (t->kind == MR_TEXTS_JSON && !line[strspn(line, " \t")]);
	*skips = true;
	if (t->kind == MR_TEXTS_JSON)
		return take_json(t, line, out);
	out->bytes = line;
	out->len = strlen(line);
	return encode(t, line, out->len);
}

mr_status mr_texts_next(mr_texts *t, mr_text *out, bool *skips)
{
	*out = (mr_text){.got = !t->done};
	*skips = false;
	t->all.n = 0;
	if (t->has_lines)
		MR_TRY(take_line(t, out, skips));
	else if (!t->done)
		MR_TRY(t->kind == MR_TEXTS_TOKENS ? take_token_file(t) : take_whole(t));
	t->done = true;
	out->token = t->all.at;
	out->n = t->all.n;
	return MR_OK;
}
