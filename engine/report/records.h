/*
 * records.h - what is measured of things of which there are several: of workers, stages, operations, sessions. A record
 * is a struct whose members are rows of figures.def; by these it goes to files and comes back, and into tables.
 */
#ifndef MR_REPORT_RECORDS_H
#define MR_REPORT_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "ir/trace.h"
#include "report/table.h"

typedef struct mr_counts {
	const void *at; /* unsigned, of @bytes, one each @stride bytes; borrowed */
	size_t n, bytes, stride;
	const mr_json *json; /* of a record that was read: in place of @at */
} mr_counts;

/* The first @length elements of @array. */
#define MR_COUNTS(array, length) \
	(mr_counts) \
	{ \
		.at = (array), .n = (length), .bytes = sizeof((array)[0]), .stride = sizeof((array)[0]) \
	}

#define RECORD(ID, type, in) typedef struct type {
#define MEMBER(type, name, ...) __typeof__(type) name;
#define END(type) } type;
#include "report/figures.def"

typedef enum mr_record {
#define RECORD(ID, type, in) MR_RECORD_##ID,
#define MEMBER(type, name, ...)
#define END(type)
#include "report/figures.def"
	MR_N_RECORDS
} mr_record;

/* How many members each has: MR_MEMBERS_USAGE ... */
#define RECORD(ID, type, in) enum { MR_MEMBERS_##ID = 0
#define MEMBER(type, name, ...) +1
#define END(type) };
#include "report/figures.def"

typedef union mr_times {
	mr_times_row row;
	struct {
		double elapsed;
		double at[MR_N_WAITS]; /* by mr_wait_cause; MR_WAIT_NONE: busy */
	};
} mr_times;

typedef union mr_stage_bytes {
	mr_stage_bytes_row row;
	uint64_t at[MR_MEMBERS_STAGE_BYTES];
} mr_stage_bytes;

/** "w3", or "w3.1" of share 1, in @text; @share NAN: the worker is whole. Returns @text. */
const char *mr_report_worker_name(uint32_t worker, double share, char text[24]);

/** The same of row @row, share row % g of worker row / g, where workers have g = @shares (0: as 1). */
const char *mr_report_row_name(uint32_t row, uint32_t shares, char text[24]);

typedef enum mr_member_kind {
	MR_MEMBER_NUMBER, /* double; NAN: unknown, null in files */
	MR_MEMBER_COUNT,  /* unsigned, of 1 to 8 bytes */
	MR_MEMBER_TEXT,   /* an array of char */
	MR_MEMBER_WORD,   /* const char *, borrowed */
	MR_MEMBER_FLAG,   /* bool */
	MR_MEMBER_COUNTS, /* mr_counts */
} mr_member_kind;

typedef struct mr_member {
	const char *name;
	const char *key;     /* NULL: the name */
	const char *unit;    /* NULL: it has none */
	const char *meaning; /* a phrase */
	const char *head;    /* of its column in tables; NULL: it has none */
	const char *format;  /* there, of a double; NULL: of bytes or texts */
	double scale;        /* of the number there; 0: 1 */
	bool beside;         /* the column belongs to the one before */
	bool whole;          /* a number without a fraction */
	bool optional;       /* an unknown number or an empty text is left out of files */
	bool sums;           /* over the sessions of a run; else it is of the last */
	mr_member_kind kind;
	size_t at, bytes;
	mr_record of;
} mr_member;

/** The members of @r: from here on as long as `of` is @r. */
const mr_member *mr_record_members(mr_record r);
/** The one @at bytes from its begin. */
const mr_member *mr_record_member(mr_record r, size_t at);
/** The file that has them, and the key of their array there: "run.json: stages". */
const char *mr_record_in(mr_record r);

/** Write the members of @x into the open object of @w. */
void mr_record_put(mr_record r, const void *x, mr_json_writer *w);
/** Write it as an object. */
void mr_record_put_object(mr_record r, const void *x, mr_json_writer *w);
/** Write its members as an array. */
void mr_record_put_array(mr_record r, const void *x, mr_json_writer *w);
/** Write [@n] of @x, one each @stride bytes, as array @key of objects. */
void mr_record_put_all(mr_record r, const char *key, const void *x, size_t n, size_t stride, mr_json_writer *w);
/** Read them from an object or an array: what @j has not is 0, an unknown number NAN. Words and counts are those of
 * @j. */
void mr_record_get(mr_record r, const mr_json *j, void *x);
/** Add the members of @x that are sums to those of @to. */
void mr_record_add(mr_record r, const void *x, void *to);

/** Count @i of @c. */
uint64_t mr_counts_at(const mr_counts *c, size_t i);

/** Its key in files: "waits.data" is in an object of that name. */
const char *mr_member_key(const mr_member *m);
/** The number that member @m of @x is; NAN: it is none, or unknown. */
double mr_member_number(const mr_member *m, const void *x);
/** A column of a table for @m, and the cell of @x in it: "-" where the number is unknown. */
mr_table_column mr_member_column(const mr_member *m);
void mr_member_cell(const mr_member *m, const void *x, mr_table *t);
/** Append to @columns [@n] those of the members of @r that have heads; returns how many there are then. And their
 * cells. */
uint32_t mr_record_columns(mr_record r, mr_table_column *columns, uint32_t n);
void mr_record_cells(mr_record r, const void *x, mr_table *t);

#endif
