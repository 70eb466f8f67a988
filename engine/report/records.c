#include "report/records.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

#define KIND(x) \
	_Generic((x), double: MR_MEMBER_NUMBER, char *: MR_MEMBER_TEXT, const char *: MR_MEMBER_WORD, \
		 default: MR_MEMBER_COUNT)

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

static uint64_t count_of(const mr_member *m, const void *at)
{
	switch (m->bytes) {
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
	return m->kind == MR_MEMBER_COUNT ? (double)count_of(m, at) : (double)NAN;
}

static const char *text_of(const mr_member *m, const void *x)
{
	const char *at = (const char *)x + m->at;

	return m->kind == MR_MEMBER_WORD ? *(const char *const *)(const void *)at : at;
}

/* --- files --- */

static void put(const mr_member *m, const char *key, const void *x, mr_json_writer *w)
{
	double number = mr_member_number(m, x);

	if (m->kind == MR_MEMBER_COUNT)
		mr_json_field_uint(w, key, count_of(m, (const char *)x + m->at));
	else if (m->kind != MR_MEMBER_NUMBER)
		mr_json_field_string(w, key, text_of(m, x));
	else if (m->whole && number >= 0)
		mr_json_field_uint(w, key, (uint64_t)number);
	else
		mr_json_field_double(w, key, number);
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

		if (m->optional && isnan(mr_member_number(m, x)))
			continue;
		if (strcmp(open, object) != 0) {
			if (*open)
				mr_json_end_object(w);
			if (*object)
				mr_json_field_object(w, object);
			memcpy(open, object, sizeof(open));
		}
		put(m, key, x, w);
	}
	if (*open)
		mr_json_end_object(w);
}

void mr_record_put_all(mr_record r, const char *key, const void *x, size_t n, size_t stride, mr_json_writer *w)
{
	mr_json_field_array(w, key);
	for (size_t i = 0; i < n; i++) {
		mr_json_begin_object(w);
		mr_record_put(r, (const char *)x + i * stride, w);
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
}

void mr_record_get(mr_record r, const mr_json *j, void *x)
{
	for (const mr_member *m = mr_record_members(r); m->of == r; m++) {
		void *at = (char *)x + m->at;
		char object[32];
		const char *key = split(mr_member_key(m), object), *text;
		const mr_json *value = mr_json_get(*object ? mr_json_get(j, object) : j, key);
		int64_t n = mr_json_int(value);

		text = mr_json_string(value);
		if (m->kind == MR_MEMBER_NUMBER)
			*(double *)at = mr_json_is_number(value) ? mr_json_double(value) : (double)NAN;
		else if (m->kind == MR_MEMBER_COUNT)
			set_count(m, at, n > 0 ? (uint64_t)n : 0);
		else if (m->kind == MR_MEMBER_TEXT)
			snprintf(at, m->bytes, "%s", text ? text : "");
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

	if (m->kind == MR_MEMBER_TEXT || m->kind == MR_MEMBER_WORD) {
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
