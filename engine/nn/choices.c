#include "nn/choices.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/stats.h"

#define MAX_BYTES ((size_t)1 << 20)
#define ONE "one"
#define TEAM "team"

static const mr_choice_line built_in[] = {
#define MR_CHOICES_MADE(machine)
#define MR_CHOICE(isa, dtype, threads, kind, rows, size, backend) \
	{#isa, #dtype, #threads, #kind, rows, size, #backend},
#include "nn/kernels/choices.def"
};

#define BETWEEN "; "

static const char built_in_made[] = ""
#define MR_CHOICES_MADE(machine) BETWEEN machine
#define MR_CHOICE(isa, dtype, threads, kind, rows, size, backend)
#include "nn/kernels/choices.def"
	;

_Static_assert(sizeof(built_in_made) > sizeof(BETWEEN), "the table names no machine");

const mr_choices mr_choices_built_in = {"built in", built_in, sizeof(built_in) / sizeof(built_in[0]),
					built_in_made + sizeof(BETWEEN) - 1};

static const char *const kinds[MR_N_CHOICES] = {
#define MR_CHOICE_KIND(id) [MR_CHOICE_##id] = #id,
	MR_CHOICE_KINDS(MR_CHOICE_KIND)
#undef MR_CHOICE_KIND
};

static const char *const backends[MR_N_CHOICE_BY] = {"fused", "onednn", "f32"};

const char *mr_choice_name(mr_choice_kind kind)
{
	return kinds[kind];
}

int64_t mr_choice_most_rows(uint32_t class)
{
	return class + 1 < MR_CHOICE_ROWS ? (int64_t)16 << class : 0;
}

int64_t mr_choice_most_size(uint32_t class)
{
	return class + 1 < MR_CHOICE_SIZES ? (int64_t)4096 << (2 * class) : 0;
}

uint64_t mr_choices_hash(const mr_choices *c)
{
	return mr_hash64(0, c->line, c->n * sizeof(*c->line));
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return !strcmp(word, a) || !strcmp(word, b);
}

/* Which of @n words; @n: none of them. */
static uint32_t find(const char *word, const char *const *words, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && strcmp(word, words[i]))
		i++;
	return i;
}

/* Products of narrow numbers alone. */
static bool may_be_f32(const mr_choice_line *l)
{
	mr_dtype type;

	return mr_dtype_find(l->dtype, &type) && mr_dtype_is_narrow(type) &&
	       mr_choice_is_gemm((mr_choice_kind)find(l->kind, kinds, MR_N_CHOICES));
}

/* What a line must look like, and what its words may be. */
static mr_status read_line(const char *text, mr_choice_line *l)
{
	long long rows, size;
	int end = -1;

	if (sscanf(text, " MR_CHOICE ( %15[a-z0-9_] , %7[a-z0-9_] , %7[a-z] , %15[a-z_] , %lld , %lld , %7[a-z0-9] )%n",
		   l->isa, l->dtype, l->threads, l->kind, &rows, &size, l->backend, &end) != 7 ||
	    end < 0)
		return mr_fail(MR_ECONFIG, "expected \"MR_CHOICE(isa, dtype, one or team, kind, rows, size, fused, "
					   "onednn or f32)\", got \"%.60s\"",
			       text);
	text += end;
	text += strspn(text, " \t\r");
	if (*text && strncmp(text, "/*", 2))
		return mr_fail(MR_ECONFIG, "nothing may follow a choice, got \"%.60s\"", text);
	if (!is_one_of(l->threads, ONE, TEAM))
		return mr_fail(MR_ECONFIG, "threads are \"" ONE "\" or \"" TEAM "\", got \"%s\"", l->threads);
	if (find(l->backend, backends, MR_N_CHOICE_BY) == MR_N_CHOICE_BY)
		return mr_fail(MR_ECONFIG, "a backend is \"fused\", \"onednn\" or \"f32\", got \"%s\"",
			       l->backend);
	if (find(l->kind, kinds, MR_N_CHOICES) == MR_N_CHOICES) {
		const char *near = mr_nearest(l->kind, kinds, MR_N_CHOICES);

		return mr_fail(MR_ECONFIG, "there is no kind of operation \"%s\"%s%s%s", l->kind,
			       near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	}
	if (!strcmp(l->backend, backends[MR_CHOICE_F32]) && !may_be_f32(l))
		return mr_fail(MR_ECONFIG, "\"f32\" is for products in bf16, got %s in %s", l->kind, l->dtype);
	if (rows < 0 || size < 0)
		return mr_fail(MR_ECONFIG, "rows and size are numbers from 0, got %lld and %lld", rows, size);
	l->rows = rows;
	l->size = size;
	return MR_OK;
}

/* A line that names a machine: what is between its quotes, ended in place; else NULL. */
static char *machine_of(char *text)
{
	static const char before[] = "MR_CHOICES_MADE(\"";
	char *end;

	text += strspn(text, " \t\r");
	if (strncmp(text, before, strlen(before)) != 0)
		return NULL;
	text += strlen(before);
	end = strstr(text, "\")");
	if (end)
		*end = '\0';
	return end ? text : NULL;
}

static bool is_comment(const char *text)
{
	text += strspn(text, " \t\r");
	return !*text || strchr("/*#", *text);
}

/* @text: lines with a NUL in place of each line break, @n of them. */
static mr_status read_lines(char *text, size_t n, const char *path, mr_choices *c)
{
	mr_choice_line *line = calloc(n, sizeof(*line));

	if (!line)
		return mr_fail(MR_ERESOURCE, "no memory for %zu choices", n);
	c->line = line;
	for (size_t i = 0; i < n; i++) {
		char *next = text + strlen(text) + 1, *machine = machine_of(text);

		if (machine) {
			MR_TRY(mr_choices_made_add(c, machine));
		} else if (!is_comment(text)) {
			mr_status st = read_line(text, &line[c->n]);

			if (st != MR_OK)
				return mr_fail_in(st, "%s:%zu", path, i + 1);
			c->n++;
		}
		text = next;
	}
	if (!c->n)
		return mr_fail(MR_ECONFIG, "%s: there is no choice in it; millrace tune writes such a file", path);
	return MR_OK;
}

static mr_status new_choices(const char *source, mr_choices **out)
{
	mr_choices *c = calloc(1, sizeof(*c));

	*out = c;
	if (c) {
		c->source = strdup(source);
		c->made = strdup("");
	}
	if (c && c->source && c->made)
		return MR_OK;
	mr_choices_destroy(c);
	*out = NULL;
	return mr_fail(MR_ERESOURCE, "no memory for a table of choices");
}

mr_status mr_choices_read(const char *path, mr_choices **out)
{
	size_t len, n = 1;
	mr_choices *c;
	mr_status st;
	char *text;

	*out = NULL;
	st = mr_file_read(path, MAX_BYTES, &text, &len);
	if (st != MR_OK)
		return st == MR_EIO ? mr_fail(MR_ECONFIG, "%s", mr_error_text()) : st;
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\n') {
			text[i] = '\0';
			n++;
		}
	st = new_choices(path, &c);
	if (st == MR_OK)
		st = read_lines(text, n, path, c);
	free(text);
	if (st == MR_OK)
		*out = c;
	else
		mr_choices_destroy(c);
	return st;
}

void mr_choices_destroy(mr_choices *c)
{
	if (!c)
		return;
	free((char *)(uintptr_t)c->source);
	free((char *)(uintptr_t)c->made);
	free((mr_choice_line *)(uintptr_t)c->line);
	free(c);
}

mr_status mr_choices_made_add(mr_choices *c, const char *machine)
{
	size_t size;
	char *both;

	if (!machine || !*machine || strstr(c->made, machine))
		return MR_OK;
	size = strlen(c->made) + sizeof(BETWEEN) + strlen(machine);
	both = malloc(size);
	if (!both)
		return mr_fail(MR_ERESOURCE, "no memory for a table of choices");
	snprintf(both, size, "%s%s%s", c->made, *c->made ? BETWEEN : "", machine);
	free((char *)(uintptr_t)c->made);
	c->made = both;
	return MR_OK;
}

mr_status mr_choices_copy(const mr_choices *c, mr_choices **out)
{
	mr_choice_line *line = calloc(c->n + 1, sizeof(*line));
	mr_status st = new_choices("measured", out);

	if (st == MR_OK && !line)
		st = mr_fail(MR_ERESOURCE, "no memory for a table of choices");
	if (st == MR_OK)
		st = mr_choices_made_add(*out, c->made);
	if (st != MR_OK) {
		free(line);
		mr_choices_destroy(*out);
		*out = NULL;
		return st;
	}
	if (c->n)
		memcpy(line, c->line, c->n * sizeof(*line));
	(*out)->line = line;
	(*out)->n = c->n;
	return MR_OK;
}

/* --- looking up --------------------------------------------------------------------------------------------------- */

static const char *threads_word(uint32_t n_threads)
{
	return n_threads > 1 ? TEAM : ONE;
}

static bool is_of(const mr_choice_line *l, const char *isa, mr_dtype dtype, uint32_t n_threads)
{
	return !strcmp(l->isa, isa) && !strcmp(l->dtype, mr_dtype_name(dtype)) &&
	       !strcmp(l->threads, threads_word(n_threads));
}

/* Are all numbers of a class up to @most of it, by a line that goes up to @bound? */
static bool covers(int64_t bound, int64_t most)
{
	return !bound || (most && most <= bound);
}

void mr_choices_select(const mr_choices *c, const char *isa, mr_dtype dtype, uint32_t n_threads, mr_chosen *out)
{
	bool known[MR_N_CHOICES][MR_CHOICE_ROWS][MR_CHOICE_SIZES] = {0};

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < c->n; i++) {
		const mr_choice_line *l = &c->line[i];
		uint32_t k = find(l->kind, kinds, MR_N_CHOICES), by = find(l->backend, backends, MR_N_CHOICE_BY);

		assert(k < MR_N_CHOICES && by < MR_N_CHOICE_BY);
		if (!is_of(l, isa, dtype, mr_choice_is_for_any_threads((mr_choice_kind)k) ? 1 : n_threads))
			continue;
		for (uint32_t r = 0; r < MR_CHOICE_ROWS; r++)
			for (uint32_t s = 0; s < MR_CHOICE_SIZES; s++) {
				if (known[k][r][s] || !covers(l->rows, mr_choice_most_rows(r)) ||
				    !covers(l->size, mr_choice_most_size(s)))
					continue;
				known[k][r][s] = true;
				out->by[k][r][s] = (uint8_t)by;
			}
	}
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void print_made(const char *made, mr_strbuf *out)
{
	while (made && *made) {
		const char *end = strstr(made, BETWEEN);
		int n = end ? (int)(end - made) : (int)strlen(made);

		mr_strbuf_printf(out, "MR_CHOICES_MADE(\"%.*s\")\n", n, made);
		made += end ? (size_t)n + strlen(BETWEEN) : (size_t)n;
	}
}

void mr_choices_print(const mr_choices *c, mr_strbuf *out)
{
	print_made(c->made, out);
	for (size_t i = 0; i < c->n; i++) {
		const mr_choice_line *l = &c->line[i];

		mr_strbuf_printf(out, "MR_CHOICE(%s, %s, %s, %s, %lld, %lld, %s)\n", l->isa, l->dtype, l->threads,
				 l->kind, (long long)l->rows, (long long)l->size, l->backend);
	}
	mr_strbuf_append(out, "\n#undef MR_CHOICE\n#undef MR_CHOICES_MADE\n");
}

/* Appends the choices of @kind: of rows that are alike the last class, of sizes that are alike the last one, and what
 * @fused executes anyway not at all. */
static void append(const mr_choice_line *of, const mr_chosen *chosen, mr_choice_kind kind, mr_choice_line *to,
		   size_t *n)
{
	size_t first = *n;

	for (uint32_t r = 0; r < MR_CHOICE_ROWS; r++) {
		const uint8_t *row = chosen->by[kind][r];

		if (r + 1 < MR_CHOICE_ROWS && !memcmp(row, chosen->by[kind][r + 1], MR_CHOICE_SIZES * sizeof(*row)))
			continue;
		for (uint32_t s = 0; s < MR_CHOICE_SIZES; s++) {
			mr_choice_line *l = &to[*n];

			if (s + 1 < MR_CHOICE_SIZES && row[s] == row[s + 1])
				continue;
			*l = *of;
			snprintf(l->kind, sizeof(l->kind), "%s", kinds[kind]);
			l->rows = mr_choice_most_rows(r);
			l->size = mr_choice_most_size(s);
			snprintf(l->backend, sizeof(l->backend), "%s", backends[row[s]]);
			(*n)++;
		}
	}
	while (*n > first && !strcmp(to[*n - 1].backend, backends[MR_CHOICE_FUSED]))
		memset(&to[--*n], 0, sizeof(*to));
}

mr_status mr_choices_with(const mr_choices *c, const char *isa, mr_dtype dtype, uint32_t n_threads,
			  const mr_chosen *chosen, mr_choices **out)
{
	mr_choice_line of = {.rows = 0}, *line;
	size_t first;

	MR_TRY(new_choices("measured", out));
	if (mr_choices_made_add(*out, c->made) != MR_OK) {
		mr_choices_destroy(*out);
		*out = NULL;
		return MR_ERESOURCE;
	}
	line = calloc(c->n + 1 + MR_N_CHOICES * MR_CHOICE_ROWS * MR_CHOICE_SIZES, sizeof(*line));
	if (!line) {
		mr_choices_destroy(*out);
		*out = NULL;
		return mr_fail(MR_ERESOURCE, "no memory for a table of choices");
	}
	(*out)->line = line;
	for (size_t i = 0; i < c->n; i++)
		if (!is_of(&c->line[i], isa, dtype, n_threads))
			line[(*out)->n++] = c->line[i];
	snprintf(of.isa, sizeof(of.isa), "%s", isa);
	snprintf(of.dtype, sizeof(of.dtype), "%s", mr_dtype_name(dtype));
	snprintf(of.threads, sizeof(of.threads), "%s", threads_word(n_threads));
	first = (*out)->n;
	for (int k = 0; k < MR_N_CHOICES; k++)
		if (n_threads == 1 || !mr_choice_is_for_any_threads((mr_choice_kind)k))
			append(&of, chosen, (mr_choice_kind)k, line, &(*out)->n);
	if ((*out)->n == first) { /* a file needs a line */
		snprintf(of.kind, sizeof(of.kind), "%s", kinds[0]);
		snprintf(of.backend, sizeof(of.backend), "%s", backends[MR_CHOICE_FUSED]);
		line[(*out)->n++] = of;
	}
	return MR_OK;
}
