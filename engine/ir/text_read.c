/*
 * text_read.c - reads the text form of a plan (ir/text.h), line by line and word by word.
 *
 * The text is untrusted. Words are copied into a small buffer, so a missing final newline or NUL cannot matter; numbers
 * are checked against their range while their digits are read; stage, worker and pipe are checked against the header
 * before they index anything.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/contract_field.h"
#include "ir/op.h"
#include "ir/text.h"
#include "ir/text_words.h"

#define WORD_ROOM 48

typedef struct mr_text_reader {
	const char *at, *end;  /* rest of the text */
	unsigned line;         /* number of the current line, from 1 */
	char word[WORD_ROOM];  /* last word read; "" at the end of a line */
	mr_plan *plan;         /* NULL until the line of counts */
	char system[sizeof(((mr_plan *)0)->system)];
	int section;           /* mr_section of the lines that follow, or -1 in the header */
	bool named, contracted, seen[MR_N_SECTIONS];
	bool placed[UINT8_MAX + 1];
} mr_text_reader;

/* Prepends the line to the message, so that every message has it. */
#define REFUSE(r, ...) fail_at(r, mr_fail(MR_ECONFIG, __VA_ARGS__))

static mr_status fail_at(const mr_text_reader *r, mr_status st)
{
	return mr_fail_in(st, "line %u", r->line);
}

/* Put the next word of this line into r->word; "" when there is none. */
static mr_status next(mr_text_reader *r)
{
	size_t n = 0;

	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
	for (; r->at < r->end && !memchr(" \t\r\n#", *r->at, 5); r->at++) {
		if ((unsigned char)*r->at < 0x20 || (unsigned char)*r->at > 0x7e)
			return REFUSE(r, "the byte 0x%02x does not belong into a plan", (unsigned char)*r->at);
		if (n + 1 == WORD_ROOM)
			return REFUSE(r, "a word is longer than %d letters", WORD_ROOM - 1);
		r->word[n++] = *r->at;
	}
	r->word[n] = 0;
	return MR_OK;
}

/* Go to the start of the next line; false at the end of the text. */
static bool next_line(mr_text_reader *r)
{
	while (r->at < r->end && *r->at != '\n')
		r->at++;
	if (r->at == r->end)
		return false;
	r->at++;
	r->line++;
	return true;
}

static mr_status end_of_line(mr_text_reader *r)
{
	MR_TRY(next(r));
	return r->word[0] ? REFUSE(r, "\"%s\" is one word too many", r->word) : MR_OK;
}

static mr_status expect(mr_text_reader *r, const char *literal)
{
	MR_TRY(next(r));
	return strcmp(r->word, literal) ? REFUSE(r, "expected \"%s\", got \"%s\"", literal, r->word) : MR_OK;
}

/* Digits from @s up to its end, or up to @stop (which may be NUL), into @x. Returns what follows; NULL if it is no
 * number from 0 to @max. */
static const char *digits(const char *s, char stop, uint64_t max, uint64_t *x)
{
	*x = 0;
	if (*s == stop)
		return NULL;
	for (; *s != stop; s++) {
		if (*s < '0' || *s > '9')
			return NULL;
		*x = *x * 10 + (uint64_t)(*s - '0');
		if (*x > max)
			return NULL;
	}
	return s;
}

/* The number behind the first @skip letters of the current word. */
static mr_status number(mr_text_reader *r, size_t skip, const char *what, uint64_t max, uint64_t *x)
{
	*x = 0;
	if (strlen(r->word) < skip || !digits(r->word + skip, 0, max, x))
		return REFUSE(r, "\"%s\" is not a %s (a number from 0 to %llu)", r->word, what,
			      (unsigned long long)max);
	return MR_OK;
}

/* The decimal number behind the first @skip letters of the current word; nothing else that strtod accepts. */
static mr_status real(mr_text_reader *r, size_t skip, double *x)
{
	const char *s = r->word + skip;
	char *end;

	*x = strtod(s, &end);
	if (!*s || *end || s[strspn(s, "0123456789.e+-")] || !isfinite(*x))
		return REFUSE(r, "\"%s\" does not end in a decimal number such as 0.5", r->word);
	return MR_OK;
}

/* A version: a number in the prologue, otherwise an offset with its sign. */
static mr_status version(mr_text_reader *r, int32_t *v)
{
	const char *s = r->word + 1;
	bool minus = *s == '-', sign = minus || *s == '+';
	uint64_t x;

	if (r->section == MR_PROLOGUE ? *s == '+' : !sign)
		return REFUSE(r, "\"%s\": a version is %s", r->word,
			      r->section == MR_PROLOGUE ? "a number such as v2 in the prologue"
							: "an offset such as v+0 or v-2 here");
	if (!digits(s + sign, 0, (uint64_t)INT32_MAX + minus, &x))
		return REFUSE(r, "\"%s\" is not a version (at most %d)", r->word, INT32_MAX);
	*v = (int32_t)(minus ? -(int64_t)x : (int64_t)x);
	return MR_OK;
}

static mr_status one_of(mr_text_reader *r, const char *s, const char *const *words, size_t n, unsigned *out)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(s, words[i])) {
			*out = i;
			return MR_OK;
		}
	return REFUSE(r, "\"%s\" is not a known word here (such as \"%s\")", r->word, words[0]);
}

static mr_status named_number(mr_text_reader *r, const char *name, uint64_t max, uint64_t *x)
{
	MR_TRY(expect(r, name));
	MR_TRY(next(r));
	return number(r, 0, name, max, x);
}

static mr_status read_counts(mr_text_reader *r)
{
	uint64_t stages, workers, pipes, micro, commits;
	mr_status st;

	if (r->plan)
		return REFUSE(r, "the counts stand here a second time");
	MR_TRY(next(r));
	MR_TRY(number(r, 0, "stages", UINT16_MAX, &stages));
	MR_TRY(named_number(r, "workers", UINT16_MAX, &workers));
	MR_TRY(named_number(r, "pipes", UINT8_MAX, &pipes));
	MR_TRY(named_number(r, "micro", UINT32_MAX, &micro));
	MR_TRY(named_number(r, "commits", UINT32_MAX, &commits));
	MR_TRY(end_of_line(r));
	/* A few bytes must not ask for gigabytes of tables. */
	if (stages * pipes > ((uint64_t)1 << 20))
		return REFUSE(r, "%llu stages in %llu pipes are more than a plan may have", (unsigned long long)stages,
			      (unsigned long long)pipes);
	st = mr_plan_create((uint16_t)stages, (uint16_t)workers, (uint8_t)pipes, &r->plan);
	if (st != MR_OK)
		return mr_fail_in(st == MR_EINVAL ? MR_ECONFIG : st, "line %u", r->line);
	r->plan->n_micro = (uint32_t)micro;
	r->plan->commits = (uint32_t)commits;
	memcpy(r->plan->system, r->system, sizeof(r->system));
	return MR_OK;
}

/* The field of the contract whose key is the first @n letters of the current word, or NULL. */
static const mr_contract_field *field_of(const mr_text_reader *r, size_t n)
{
	for (unsigned i = 0; n > 0 && i < MR_N_FIELDS; i++) {
		const char *key = mr_contract_text_key(&mr_contract_fields[i]);

		if (strlen(key) == n && !memcmp(r->word, key, n))
			return &mr_contract_fields[i];
	}
	return NULL;
}

/* The value of @f behind the first @skip letters of the current word. */
static mr_status read_field(mr_text_reader *r, size_t skip, const mr_contract_field *f, mr_contract *c)
{
	unsigned word = 0;
	uint64_t x = 1;
	double real_x;

	if (f->kind == MR_FIELD_REAL) {
		MR_TRY(real(r, skip, &real_x));
		mr_contract_set_real(c, f, real_x);
		return MR_OK;
	}
	if (f->kind == MR_FIELD_WORD) {
		MR_TRY(one_of(r, r->word + skip, f->words, f->n_words, &word));
		x = word;
	} else if (f->kind == MR_FIELD_COUNT) {
		MR_TRY(number(r, skip, f->key, mr_contract_most(f), &x));
	}
	mr_contract_set(c, f, x);
	return MR_OK;
}

static mr_status read_contract(mr_text_reader *r)
{
	mr_contract *c = &r->plan->contract;

	*c = (mr_contract){0};
	MR_TRY(next(r));
	MR_TRY(read_field(r, 0, &mr_contract_fields[MR_FIELD_coverage], c));
	MR_TRY(next(r));
	while (r->word[0]) {
		size_t n = strcspn(r->word, "=");
		const mr_contract_field *f = field_of(r, n);

		if (!f || (f->kind == MR_FIELD_FLAG) != (r->word[n] == 0))
			return REFUSE(r, "\"%s\" is not a key of a contract", r->word);
		MR_TRY(read_field(r, n + 1, f, c));
		MR_TRY(next(r));
	}
	r->contracted = true;
	return MR_OK;
}

/* The word "p1" with an existing pipe. */
static mr_status read_pipe(mr_text_reader *r, uint8_t *pipe)
{
	uint64_t x;

	MR_TRY(next(r));
	if (r->word[0] != 'p')
		return REFUSE(r, "expected a pipe such as p0, got \"%s\"", r->word);
	MR_TRY(number(r, 1, "pipe", r->plan->n_pipes - 1u, &x));
	*pipe = (uint8_t)x;
	return MR_OK;
}

static mr_status read_place(mr_text_reader *r)
{
	uint64_t w;
	uint8_t p;

	MR_TRY(read_pipe(r, &p));
	for (unsigned s = 0; s < r->plan->n_stages; s++) {
		MR_TRY(next(r));
		w = MR_WORKER_ANY;
		if (strcmp(r->word, "-"))
			MR_TRY(number(r, 0, "worker", r->plan->n_workers - 1u, &w));
		r->plan->worker_of[mr_plan_at(r->plan, p, (uint16_t)s)] = (uint16_t)w;
	}
	r->placed[p] = true;
	return end_of_line(r);
}

static mr_status read_storage(mr_text_reader *r)
{
	unsigned i = 0;

	MR_TRY(next(r));
	MR_TRY(one_of(r, r->word, mr_text_storage, MR_TEXT_COUNT(mr_text_storage), &i));
	r->plan->storage = (mr_storage)i;
	r->plan->lowered = true;
	return end_of_line(r);
}

/* One count for every stage into @table (the part of one pipe). */
static mr_status read_row(mr_text_reader *r, const char *what, uint16_t *table)
{
	uint64_t x;

	for (unsigned s = 0; s < r->plan->n_stages; s++) {
		MR_TRY(next(r));
		MR_TRY(number(r, 0, what, UINT16_MAX, &x));
		table[s] = (uint16_t)x;
	}
	return end_of_line(r);
}

static mr_status read_buffers(mr_text_reader *r)
{
	uint64_t fwd, bwd;
	uint8_t p;

	MR_TRY(read_pipe(r, &p));
	for (unsigned s = 0; s < r->plan->n_stages; s++) {
		size_t at = mr_plan_at(r->plan, p, (uint16_t)s);
		const char *slash;

		MR_TRY(next(r));
		slash = digits(r->word, '/', UINT16_MAX, &fwd);
		if (!slash || !digits(slash + 1, 0, UINT16_MAX, &bwd))
			return REFUSE(r, "\"%s\" is not a pair of buffer counts such as 2/2", r->word);
		r->plan->n_fwd[at] = (uint16_t)fwd;
		r->plan->n_bwd[at] = (uint16_t)bwd;
	}
	return end_of_line(r);
}

static mr_status read_lowered_counts(mr_text_reader *r)
{
	uint8_t p;

	if (!r->plan->lowered)
		return REFUSE(r, "\"%s\" needs a line \"storage\" before it", r->word);
	if (!strcmp(r->word, "buffers"))
		return read_buffers(r);
	if (!strcmp(r->word, "versions"))
		return read_row(r, "number of versions", r->plan->n_versions);
	MR_TRY(read_pipe(r, &p));
	return read_row(r, "number of slots", r->plan->n_slots + mr_plan_at(r->plan, p, 0));
}

static mr_status read_table(mr_text_reader *r, const mr_stage_table *t)
{
	uint64_t x;

	for (unsigned s = 0; s < r->plan->n_stages; s++) {
		MR_TRY(next(r));
		MR_TRY(number(r, 0, t->key, mr_stage_table_most(r->plan, t), &x));
		mr_stage_table_of(r->plan, t)[s] = (uint8_t)x;
	}
	return end_of_line(r);
}

static mr_status read_header_line(mr_text_reader *r)
{
	if (!r->named) {
		if (strcmp(r->word, "plan"))
			return REFUSE(r, "a plan begins with \"plan NAME\", not with \"%s\"", r->word);
		MR_TRY(next(r));
		if (!r->word[0] || strlen(r->word) >= sizeof(r->system))
			return REFUSE(r, "the system's name must have 1 to %zu letters", sizeof(r->system) - 1);
		memcpy(r->system, r->word, strlen(r->word) + 1);
		r->named = true;
		return end_of_line(r);
	}
	if (!strcmp(r->word, "stages"))
		return read_counts(r);
	if (!r->plan)
		return REFUSE(r, "expected the counts (\"stages ...\"), got \"%s\"", r->word);
	if (!strcmp(r->word, "contract"))
		return read_contract(r);
	for (unsigned i = 0; i < MR_N_TABLES; i++)
		if (!strcmp(r->word, mr_stage_tables[i].key))
			return read_table(r, &mr_stage_tables[i]);
	if (!strcmp(r->word, "place"))
		return read_place(r);
	if (!strcmp(r->word, "storage"))
		return read_storage(r);
	if (!strcmp(r->word, "slots") || !strcmp(r->word, "buffers") || !strcmp(r->word, "versions"))
		return read_lowered_counts(r);
	return REFUSE(r, "\"%s\" is not a line of a plan's header", r->word);
}

static mr_status header_done(mr_text_reader *r)
{
	if (!r->plan)
		return REFUSE(r, "the counts (\"stages ...\") are missing before this");
	if (!r->contracted)
		return REFUSE(r, "the contract is missing before this");
	for (unsigned p = 0; p < r->plan->n_pipes; p++)
		if (!r->placed[p])
			return REFUSE(r, "the line \"place p%u\" is missing before this", p);
	return MR_OK;
}

static mr_status read_section(mr_text_reader *r)
{
	uint64_t micro, commits;

	MR_TRY(header_done(r));
	if (!strcmp(r->word, "[prologue]")) {
		r->section = MR_PROLOGUE;
	} else if (!strcmp(r->word, "[epilogue]")) {
		r->section = MR_EPILOGUE;
	} else if (!strcmp(r->word, "[body")) {
		r->section = MR_BODY;
		MR_TRY(expect(r, "x"));
		MR_TRY(expect(r, "N"));
		MR_TRY(next(r));
		if (strncmp(r->word, "micro+", 6) || !digits(r->word + 6, 0, UINT32_MAX, &micro) ||
		    micro != r->plan->n_micro)
			return REFUSE(r, "\"%s\" must be micro+%u, as in the header", r->word, r->plan->n_micro);
		MR_TRY(next(r));
		if (strncmp(r->word, "ver+", 4) || !digits(r->word + 4, ']', UINT32_MAX, &commits) ||
		    commits != r->plan->commits)
			return REFUSE(r, "\"%s\" must be ver+%u], as in the header", r->word, r->plan->commits);
	} else {
		return REFUSE(r, "\"%s\" is no section; there are [prologue], [body x N ...] and [epilogue]", r->word);
	}
	if (r->seen[r->section])
		return REFUSE(r, "this section stands here a second time");
	r->seen[r->section] = true;
	return end_of_line(r);
}

/* The words behind the pipe: each a letter and a number, or a flag. */
static mr_status read_instr_word(mr_text_reader *r, mr_instr *in)
{
	uint64_t x;

	for (unsigned k = 0; k < MR_TEXT_COUNT(mr_text_flags); k++)
		if (!strcmp(r->word, mr_text_flags[k])) {
			in->flags |= (uint8_t)(1u << k);
			return MR_OK;
		}
	switch (r->word[0]) {
	case 'v': return version(r, mr_op_is_compute(in->op) ? &in->read : &in->target);
	case 't':
	case 'r':
		if ((r->word[0] == 't') != mr_op_is_compute(in->op))
			break;
		return version(r, r->word[0] == 't' ? &in->target : &in->read);
	case 'x':
		MR_TRY(number(r, 1, "span", UINT8_MAX, &x));
		in->span = (uint8_t)x;
		return MR_OK;
	case 'a':
		MR_TRY(number(r, 1, "slot", UINT16_MAX, &x));
		in->slot = (uint16_t)x;
		return MR_OK;
	case 'i':
		MR_TRY(number(r, 1, "buffer", UINT16_MAX, &x));
		in->in = (uint16_t)x;
		return MR_OK;
	case 'o':
		MR_TRY(number(r, 1, "buffer", UINT16_MAX, &x));
		in->out = (uint16_t)x;
		return MR_OK;
	default: break;
	}
	return REFUSE(r, "\"%s\" is not a word of the instruction %s", r->word, mr_op_name((mr_op)in->op));
}

static mr_status read_micro(mr_text_reader *r, mr_instr *in)
{
	bool offset = r->section != MR_PROLOGUE;
	uint64_t x;

	MR_TRY(next(r));
	if (r->word[0] != 'm' || (r->word[1] == '+') != offset)
		return REFUSE(r, "expected a micro-batch such as %s here, got \"%s\"", offset ? "m+3" : "m3", r->word);
	MR_TRY(number(r, offset ? 2 : 1, "micro-batch", UINT32_MAX, &x));
	in->micro = (uint32_t)x;
	return MR_OK;
}

/* r->word holds the first word of the line. */
static mr_status read_instr(mr_text_reader *r)
{
	mr_instr in = {.span = 1};
	uint64_t worker, stage;
	mr_op op;

	if (r->word[0] != 'w')
		return REFUSE(r, "expected an instruction such as \"w1 F m3 s1 p0\" or a section, got \"%s\"", r->word);
	MR_TRY(number(r, 1, "worker", r->plan->n_workers - 1u, &worker));
	MR_TRY(next(r));
	op = mr_op_parse(r->word);
	if (op == MR_N_OPS)
		return REFUSE(r, "there is no op called \"%s\"", r->word);
	in.op = (uint8_t)op;
	MR_TRY(read_micro(r, &in));
	MR_TRY(next(r));
	if (r->word[0] != 's')
		return REFUSE(r, "expected a stage such as s1, got \"%s\"", r->word);
	MR_TRY(number(r, 1, "stage", r->plan->n_stages - 1u, &stage));
	in.stage = (uint16_t)stage;
	MR_TRY(read_pipe(r, &in.pipe));
	MR_TRY(next(r));
	while (r->word[0]) {
		MR_TRY(read_instr_word(r, &in));
		MR_TRY(next(r));
	}
	return mr_plan_append(r->plan, (uint16_t)worker, (mr_section)r->section, in);
}

static mr_status read_all(mr_text_reader *r)
{
	do {
		MR_TRY(next(r));
		if (!r->word[0])
			continue;
		if (r->word[0] == '[')
			MR_TRY(read_section(r));
		else if (r->section < 0)
			MR_TRY(read_header_line(r));
		else
			MR_TRY(read_instr(r));
	} while (next_line(r));
	return header_done(r);
}

mr_status mr_text_read(const char *text, size_t len, mr_plan **out)
{
	mr_text_reader *r = calloc(1, sizeof(*r));
	mr_status st;

	if (!r)
		return mr_fail(MR_ERESOURCE, "no memory to read a plan");
	r->at = text;
	r->end = text + len;
	r->line = 1;
	r->section = -1;
	st = read_all(r);
	if (st == MR_OK)
		*out = r->plan;
	else
		mr_plan_destroy(r->plan);
	free(r);
	return st;
}
