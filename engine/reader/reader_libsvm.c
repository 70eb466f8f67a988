/* reader_libsvm.c - lines of a LIBSVM file, with or without a label in front. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/lines.h"
#include "nn/element.h"
#include "reader/reader.h"

typedef struct libsvm {
	mr_reader base;
	mr_lines lines;
} libsvm;

static void close_libsvm(mr_reader *r)
{
	mr_lines_close(&((libsvm *)r)->lines);
	free(r);
}

static mr_status open_libsvm(const mr_form *f, const char *path, mr_dtype dtype, mr_reader **out)
{
	libsvm *s = calloc(1, sizeof(*s));
	mr_status st;

	if (!s)
		return mr_fail(MR_ERESOURCE, "no memory to read rows");
	s->base = (mr_reader){.kind = &mr_reader_libsvm, .form = f, .dtype = dtype};
	st = strcmp(path, "-") ? mr_lines_open(path, "LIBSVM", &s->lines) : mr_lines_of_input("LIBSVM", &s->lines);
	if (st != MR_OK) {
		close_libsvm(&s->base);
		return st;
	}
	*out = &s->base;
	return MR_OK;
}

static mr_status bad(const libsvm *s, const char *what, const char *word)
{
	return mr_fail(MR_EDATA, "%s:%llu: %s, got \"%.40s\"", s->lines.path, (unsigned long long)s->lines.number, what,
		       word);
}

/* The label in the word @word. */
static mr_status take_label(const libsvm *s, const char *word, mr_reader_sample *out)
{
	const mr_form *f = s->base.form;
	char *end, text[32];
	double v = strtod(word, &end);

	if (end == word || *end || !isfinite(v))
		return bad(s, "expected a number as label", word);
	snprintf(text, sizeof(text), "%.17g", v);
	out->has_target = true;
	out->target = f->n_labels ? mr_reader_class(f, text) : v;
	return MR_OK;
}

static mr_status take_pair(const libsvm *s, const char *word, int64_t *last, void *input)
{
	int64_t first = s->base.form->from_zero ? 0 : 1, n = mr_shape_count(s->base.form->shapes.input), at;
	char *end, *rest;
	uint64_t index;
	double v;

	errno = 0;
	index = strtoull(word, &end, 10);
	if (end == word || *word == '-' || *end != ':' || errno || index < (uint64_t)first)
		return bad(s, first ? "expected index:value with an index from 1" : "expected index:value", word);
	if (index - (uint64_t)first >= (uint64_t)n)
		return mr_fail(MR_EDATA, "%s:%llu: index %llu is beyond the %lld of the training", s->lines.path,
			       (unsigned long long)s->lines.number, (unsigned long long)index,
			       (long long)(n - 1 + first));
	if ((int64_t)index <= *last)
		return bad(s, "indices must rise within a line, each at most once", word);
	*last = (int64_t)index;
	at = *last - first;
	v = strtod(end + 1, &rest);
	if (rest == end + 1 || *rest || !isfinite(v))
		return bad(s, "expected a finite number behind the colon", word);
	mr_element_put(s->base.dtype, input, at, v);
	return isfinite(mr_element(s->base.dtype, input, at)) ? MR_OK
									      : bad(s, "the value is too large", word);
}

static mr_status take_line(const libsvm *s, char *line, void *input, mr_reader_sample *out)
{
	int64_t last = -1;
	char *rest, *word = strtok_r(line, " \t\r", &rest);

	if (!strchr(word, ':')) {
		MR_TRY(take_label(s, word, out));
		word = strtok_r(NULL, " \t\r", &rest);
	}
	memset(input, 0, mr_shape_bytes(s->base.form->shapes.input, s->base.dtype));
	for (; word; word = strtok_r(NULL, " \t\r", &rest))
		MR_TRY(take_pair(s, word, &last, input));
	return MR_OK;
}

static mr_status next(mr_reader *r, void *input, mr_reader_sample *out)
{
	libsvm *s = (libsvm *)r;
	char *line;

	do {
		MR_TRY(mr_lines_next(&s->lines, &line));
		if (!line)
			return MR_OK;
		line[strcspn(line, "#")] = 0;
	} while (!line[strspn(line, " \t\r")]);
	out->got = r->skips = true;
	return take_line(s, line, input, out);
}

const mr_reader_kind mr_reader_libsvm = {.files = "libsvm", .open = open_libsvm, .next = next, .close = close_libsvm};
