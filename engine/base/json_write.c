#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/str.h"

void mr_json_init(mr_json_writer *w, FILE *file, bool pretty)
{
	*w = (mr_json_writer){.file = file, .pretty = pretty};
}

mr_json_writer mr_json_begin(FILE *file, bool pretty)
{
	mr_json_writer w = {.file = file, .pretty = pretty, .opened = 1};

	mr_json_begin_object(&w);
	return w;
}

__attribute__((unused)) /* release builds assert nothing */
static bool in_array(const mr_json_writer *w)
{
	return w->depth && (w->arrays >> (w->depth - 1) & 1);
}

static void new_line(mr_json_writer *w)
{
	fputc('\n', w->file);
	for (unsigned i = 0; i < w->depth; i++)
		fputc('\t', w->file);
}

/* Write what separates the next entry of the innermost level from the last: a comma, and a line break or a space. */
static void separate(mr_json_writer *w, bool own_line)
{
	uint32_t level;
	bool first;

	if (!w->depth)
		return;
	level = (uint32_t)1 << (w->depth - 1);
	first = !(w->filled & level);
	if (!first)
		fputc(',', w->file);
	w->filled |= level;
	if (w->pretty && own_line) {
		w->broken |= level;
		new_line(w);
	} else if (w->pretty && !first) {
		fputc(' ', w->file);
	}
}

static void before_value(mr_json_writer *w, bool container)
{
	if (w->after_key) {
		w->after_key = false;
		return;
	}
	assert(!w->depth || in_array(w)); /* an object's value follows a key */
	separate(w, container);
}

static void begin(mr_json_writer *w, bool array)
{
	uint32_t level;

	before_value(w, true);
	assert(w->depth < MR_JSON_MAX_DEPTH);
	level = (uint32_t)1 << w->depth++;
	w->arrays = array ? w->arrays | level : w->arrays & ~level;
	w->filled &= ~level;
	w->broken &= ~level;
	fputc(array ? '[' : '{', w->file);
}

static void end(mr_json_writer *w, bool array)
{
	bool broken;

	assert(w->depth && in_array(w) == array && !w->after_key);
	w->depth--;
	broken = w->broken >> w->depth & 1;
	if (broken)
		new_line(w);
	fputc(array ? ']' : '}', w->file);
}

void mr_json_begin_object(mr_json_writer *w)
{
	begin(w, false);
}

void mr_json_end_object(mr_json_writer *w)
{
	end(w, false);
}

void mr_json_begin_array(mr_json_writer *w)
{
	begin(w, true);
}

void mr_json_end_array(mr_json_writer *w)
{
	end(w, true);
}

static void put_escaped(FILE *f, unsigned char c)
{
	static const char letters[] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};

	if (c == '"' || c == '\\')
		fprintf(f, "\\%c", c);
	else if (c < sizeof(letters) && letters[c])
		fprintf(f, "\\%c", letters[c]);
	else
		fprintf(f, "\\u%04x", c);
}

static void put_quoted(FILE *f, const char *text)
{
	fputc('"', f);
	while (*text) {
		unsigned char c = (unsigned char)*text;
		size_t n = mr_utf8_length(text, 4); /* the NUL at the end continues nothing */

		if (!n) {
			fputs("\xEF\xBF\xBD", f); /* U+FFFD */
			n = 1;
		} else if (c < 0x20 || c == '"' || c == '\\' || c == 0x7F) {
			put_escaped(f, c);
		} else {
			fwrite(text, 1, n, f);
		}
		text += n;
	}
	fputc('"', f);
}

void mr_json_key(mr_json_writer *w, const char *key)
{
	assert(w->depth && !in_array(w) && !w->after_key);
	separate(w, true);
	put_quoted(w->file, key);
	fputs(w->pretty ? ": " : ":", w->file);
	w->after_key = true;
}

void mr_json_put_string(mr_json_writer *w, const char *s)
{
	before_value(w, false);
	if (s)
		put_quoted(w->file, s);
	else
		fputs("null", w->file);
}

void mr_json_put_int(mr_json_writer *w, int64_t x)
{
	before_value(w, false);
	fprintf(w->file, "%" PRId64, x);
}

void mr_json_put_uint(mr_json_writer *w, uint64_t x)
{
	before_value(w, false);
	fprintf(w->file, "%" PRIu64, x);
}

void mr_json_put_double(mr_json_writer *w, double x)
{
	char buf[32];

	before_value(w, false);
	fputs(isfinite(x) ? mr_double_text(x, buf) : "null", w->file);
}

void mr_json_put_bool(mr_json_writer *w, bool x)
{
	before_value(w, false);
	fputs(x ? "true" : "false", w->file);
}

void mr_json_field_string(mr_json_writer *w, const char *key, const char *s)
{
	mr_json_key(w, key);
	mr_json_put_string(w, s);
}

void mr_json_field_int(mr_json_writer *w, const char *key, int64_t x)
{
	mr_json_key(w, key);
	mr_json_put_int(w, x);
}

void mr_json_field_uint(mr_json_writer *w, const char *key, uint64_t x)
{
	mr_json_key(w, key);
	mr_json_put_uint(w, x);
}

void mr_json_field_double(mr_json_writer *w, const char *key, double x)
{
	mr_json_key(w, key);
	mr_json_put_double(w, x);
}

void mr_json_field_bool(mr_json_writer *w, const char *key, bool x)
{
	mr_json_key(w, key);
	mr_json_put_bool(w, x);
}

void mr_json_field_object(mr_json_writer *w, const char *key)
{
	mr_json_key(w, key);
	mr_json_begin_object(w);
}

void mr_json_field_array(mr_json_writer *w, const char *key)
{
	mr_json_key(w, key);
	mr_json_begin_array(w);
}

void mr_json_put_tree(mr_json_writer *w, const mr_json *j)
{
	if (mr_json_is_object(j)) {
		mr_json_begin_object(w);
		for (const char *key = NULL; (key = mr_json_next_key(j, key));) {
			mr_json_key(w, key);
			mr_json_put_tree(w, mr_json_get(j, key));
		}
		mr_json_end_object(w);
	} else if (mr_json_is_array(j)) {
		mr_json_begin_array(w);
		for (size_t i = 0; i < mr_json_size(j); i++)
			mr_json_put_tree(w, mr_json_at(j, i));
		mr_json_end_array(w);
	} else if (mr_json_is_int(j)) {
		mr_json_put_int(w, mr_json_int(j));
	} else if (mr_json_is_number(j)) {
		mr_json_put_double(w, mr_json_double(j));
	} else if (mr_json_is_bool(j)) {
		mr_json_put_bool(w, mr_json_bool(j));
	} else {
		mr_json_put_string(w, mr_json_string(j));
	}
}

mr_status mr_json_finish(mr_json_writer *w)
{
	assert(w->depth == w->opened && !w->after_key);
	if (w->opened)
		end(w, false);
	fputc('\n', w->file);
	return ferror(w->file) ? mr_fail(MR_EIO, "cannot write JSON") : MR_OK;
}
