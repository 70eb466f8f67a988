#include "report/records.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

#define KIND(x) \
	_Generic((x), double: MR_MEMBER_NUMBER, char *: MR_MEMBER_TEXT, const char *: MR_MEMBER_WORD, \
		 bool: MR_MEMBER_FLAG, mr_counts: MR_MEMBER_COUNTS, default: MR_MEMBER_COUNT)

#define RECORD(ID, type, in) \
	static const mr_member *type##_members(void) \
	{ \
		typedef type record; \
		enum { of = MR_RECORD_##ID }; \
		static const mr_member members[] = {
#define MEMBER(type, id, ...) \
	{.name = #id, .of = (mr_record)of, .at = offsetof(record, id), .bytes = sizeof(((record *)0)->id), \
	 .kind = KIND(((record *)0)->id), __VA_ARGS__},
#define END(type) \
			{.of = MR_N_RECORDS}, \
		}; \
		return members; \
	}
#include "report/figures.def"

static const struct {
	const char *in;
	const mr_member *(*members)(void);
} records[] = {
#define RECORD(ID, type, in) {in, type##_members},
#define MEMBER(type, name, ...)
#define END(type)
#include "report/figures.def"
};

_Static_assert(offsetof(mr_times, row.descheduled) == offsetof(mr_times, at[MR_WAIT_DESCHEDULED]), "a member a cause");

const char *mr_report_worker_name(uint32_t worker, double share, char text[24])
{
	if (isnan(share))
		snprintf(text, 24, "w%u", worker);
	else
		snprintf(text, 24, "w%u.%.0f", worker, share);
	return text;
}

const char *mr_report_row_name(uint32_t row, uint32_t shares, char text[24])
{
	return shares > 1 ? mr_report_worker_name(row / shares, row % shares, text)
			  : mr_report_worker_name(row, NAN, text);
}

const mr_member *mr_record_members(mr_record r)
{
	return records[r].members();
}

const mr_member *mr_record_member(mr_record r, size_t at)
{
	const mr_member *m = mr_record_members(r);

	while (m->at != at)
		m++;
	return m;
}

const char *mr_record_in(mr_record r)
{
	return records[r].in;
}

const char *mr_member_key(const mr_member *m)
{
	return m->key ? m->key : m->name;
}

static uint64_t count_of(size_t bytes, const void *at)
{
	switch (bytes) {
	case 1: return *(const uint8_t *)at;
	case 2: return *(const uint16_t *)at;
	case 4: return *(const uint32_t *)at;
	default: return *(const uint64_t *)at;
	}
}

static void set_count(const mr_member *m, void *at, uint64_t n)
{
	switch (m->bytes) {
	case 1: *(uint8_t *)at = (uint8_t)n; break;
	case 2: *(uint16_t *)at = (uint16_t)n; break;
	case 4: *(uint32_t *)at = (uint32_t)n; break;
	default: *(uint64_t *)at = n;
	}
}

double mr_member_number(const mr_member *m, const void *x)
{
	const void *at = (const char *)x + m->at;

	if (m->kind == MR_MEMBER_NUMBER)
		return *(const double *)at;
	return m->kind == MR_MEMBER_COUNT ? (double)count_of(m->bytes, at) : (double)NAN;
}

static const char *text_of(const mr_member *m, const void *x)
{
	const void *at = (const char *)x + m->at;
	const char *text = m->kind == MR_MEMBER_WORD ? *(const char *const *)at : at;

	return text ? text : "";
}

static bool is_text(const mr_member *m)
{
	return m->kind == MR_MEMBER_TEXT || m->kind == MR_MEMBER_WORD;
}

uint64_t mr_counts_at(const mr_counts *c, size_t i)
{
	int64_t n = c->json ? mr_json_int(mr_json_at(c->json, i)) : 0;

	if (c->json)
		return n > 0 ? (uint64_t)n : 0;
	return count_of(c->bytes, (const char *)c->at + i * c->stride);
}

/* --- files --- */

static void put_counts(const mr_counts *c, mr_json_writer *w)
{
	mr_json_begin_array(w);
	for (size_t i = 0; i < c->n; i++)
		mr_json_put_uint(w, mr_counts_at(c, i));
	mr_json_end_array(w);
}

static void put(const mr_member *m, const void *x, mr_json_writer *w)
{
	const void *at = (const char *)x + m->at;
	double number = mr_member_number(m, x);

	if (m->kind == MR_MEMBER_COUNT)
		mr_json_put_uint(w, count_of(m->bytes, at));
	else if (m->kind == MR_MEMBER_FLAG)
		mr_json_put_bool(w, *(const bool *)at);
	else if (m->kind == MR_MEMBER_COUNTS)
		put_counts(at, w);
	else if (m->kind != MR_MEMBER_NUMBER)
		mr_json_put_string(w, text_of(m, x));
	else if (m->whole && number >= 0)
		mr_json_put_uint(w, (uint64_t)number);
	else
		mr_json_put_double(w, number);
}

/* The part of @key before its point, "" without one, and the part behind it. */
static const char *split(const char *key, char object[32])
{
	const char *dot = strchr(key, '.');

	snprintf(object, 32, "%.*s", dot ? (int)(dot - key) : 0, key);
	return dot ? dot + 1 : key;
}

void mr_record_put(mr_record r, const void *x, mr_json_writer *w)
{
	char open[32] = "", object[32];

	for (const mr_member *m = mr_record_members(r); m->of == r; m++) {
		const char *key = split(mr_member_key(m), object);

		if (m->optional && (is_text(m) ? !*text_of(m, x) : isnan(mr_member_number(m, x))))
			continue;
		if (strcmp(open, object) != 0) {
			if (*open)
				mr_json_end_object(w);
			if (*object)
				mr_json_field_object(w, object);
			memcpy(open, object, sizeof(open));
		}
		mr_json_key(w, key);
		put(m, x, w);
	}
	if (*open)
		mr_json_end_object(w);
}

void mr_record_put_object(mr_record r, const void *x, mr_json_writer *w)
{
	mr_json_begin_object(w);
	mr_record_put(r, x, w);
	mr_json_end_object(w);
}

void mr_record_put_array(mr_record r, const void *x, mr_json_writer *w)
{
	mr_json_begin_array(w);
	for (const mr_member *m = mr_record_members(r); m->of == r; m++)
		put(m, x, w);
	mr_json_end_array(w);
}

void mr_record_put_all(mr_record r, const char *key, const void *x, size_t n, size_t stride, mr_json_writer *w)
{
	mr_json_field_array(w, key);
	for (size_t i = 0; i < n; i++)
		mr_record_put_object(r, (const char *)x + i * stride, w);
	mr_json_end_array(w);
}

/* What @j has of member @m, the one numbered @i. */
static const mr_json *value_of(const mr_member *m, size_t i, const mr_json *j)
{
	char object[32];
	const char *key = split(mr_member_key(m), object);

	return mr_json_is_array(j) ? mr_json_at(j, i) : mr_json_get(*object ? mr_json_get(j, object) : j, key);
}

void mr_record_get(mr_record r, const mr_json *j, void *x)
{
	const mr_member *first = mr_record_members(r);

	for (const mr_member *m = first; m->of == r; m++) {
		void *at = (char *)x + m->at;
		const mr_json *value = value_of(m, (size_t)(m - first), j);
		const char *text = mr_json_string(value);
		int64_t n = mr_json_int(value);

		switch (m->kind) {
		case MR_MEMBER_NUMBER:
			*(double *)at = mr_json_is_number(value) ? mr_json_double(value) : (double)NAN;
			break;
		case MR_MEMBER_COUNT: set_count(m, at, n > 0 ? (uint64_t)n : 0); break;
		case MR_MEMBER_TEXT: snprintf(at, m->bytes, "%s", text ? text : ""); break;
		case MR_MEMBER_WORD: *(const char **)at = text ? text : ""; break;
		case MR_MEMBER_FLAG: *(bool *)at = mr_json_bool(value); break;
		case MR_MEMBER_COUNTS: *(mr_counts *)at = (mr_counts){.n = mr_json_size(value), .json = value}; break;
		}
	}
}

void mr_record_add(mr_record r, const void *x, void *to)
{
	for (const mr_member *m = mr_record_members(r); m->of == r; m++)
		if (m->sums && !isnan(mr_member_number(m, x)))
			*(double *)(void *)((char *)to + m->at) += mr_member_number(m, x);
}

/* --- tables --- */

mr_table_column mr_member_column(const mr_member *m)
{
	bool number = m->kind == MR_MEMBER_NUMBER || m->kind == MR_MEMBER_COUNT;

	return (mr_table_column){m->head, m->beside ? MR_TABLE_RIGHT_BESIDE : number ? MR_TABLE_RIGHT : MR_TABLE_LEFT};
}

void mr_member_cell(const mr_member *m, const void *x, mr_table *t)
{
	double number = mr_member_number(m, x) * (m->scale != 0 ? m->scale : 1);
	char text[32];

	if (is_text(m)) {
		mr_table_put(t, "%s", text_of(m, x));
	} else if (!isfinite(number)) {
		mr_table_put(t, "-");
	} else if (m->format) {
		snprintf(text, sizeof(text), m->format, number);
		mr_table_put(t, "%s", text);
	} else {
		mr_table_put(t, "%s", mr_bytes_text((uint64_t)number, text));
	}
}

uint32_t mr_record_columns(mr_record r, mr_table_column *columns, uint32_t n)
{
	for (const mr_member *m = mr_record_members(r); m->of == r; m++)
		if (m->head)
			columns[n++] = mr_member_column(m);
	return n;
}

void mr_record_cells(mr_record r, const void *x, mr_table *t)
{
	for (const mr_member *m = mr_record_members(r); m->of == r; m++)
		if (m->head)
			mr_member_cell(m, x, t);
}
