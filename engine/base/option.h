/*
 * option.h - tables of options, and values that obey them.
 *
 * A plug-in (a model, a data source, an optimizer, a pipeline system) declares the keys it understands in a table,
 * with type, default, range and help. The same table checks a configuration file and --set, documents the key in
 * --help and in the reference configuration, and prints the resolved configuration. No option is parsed by hand.
 *
 *	static const mr_option options[] = {
 *		{"layers", MR_OPT_INT, "4", 1, 1000, NULL, NULL, "number of blocks"},
 *		{"dropout", MR_OPT_FLOAT, "0", 0, 0.95, NULL, NULL, "probability of zeroing an activation"},
 *		{"backward", MR_OPT_ENUM, "fifo", 0, 0, "fifo|lifo", NULL, "order of the backward passes"},
 *		{0},
 *	};
 *
 * Setters return MR_ECONFIG with a message about the value, such as "expected an integer from 1 to 64, got 0"; the
 * caller puts file, line and key in front (mr_fail_in). A name that is not in the table is MR_ECONFIG too, and its
 * message names the nearest key and lists the known ones. A failed setter leaves the old value.
 *
 * One thread sets; after that any thread may read.
 */
#ifndef MR_BASE_OPTION_H
#define MR_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum mr_option_type {
	MR_OPT_INT,    /* int64_t */
	MR_OPT_FLOAT,  /* double; an integer is accepted */
	MR_OPT_BOOL,   /* true or false */
	MR_OPT_STRING, /* text without NUL */
	MR_OPT_ENUM,   /* one of @words */
	MR_OPT_FLOATS  /* list of doubles, possibly empty; min and max hold for each */
} mr_option_type;

typedef struct mr_option {
	const char *name;    /* NULL ends a table */
	mr_option_type type;
	const char *def;     /* the default as text, as in mr_values_set_text; NULL: the option is required. A new
	                        option's default keeps old configurations as they are, so a default never changes */
	double min, max;     /* numbers, ends included; both 0: unbounded; one side open: -INFINITY or INFINITY */
	const char *words;   /* ENUM: "fifo|lifo"; others NULL */
	const char *unit;    /* such as "bytes"; of a string "columns"; NULL: none */
	const char *help;    /* one line, no full stop */
} mr_option;

/** The entry called @name in @table, or NULL. */
const mr_option *mr_option_find(const mr_option *table, const char *name);

/** The known name nearest to @name by edit distance, if that is at most max(2, strlen(name) / 3); else NULL. */
const char *mr_option_nearest(const mr_option *table, const char *name);

/** "integer", "number", "true or false", "string", "one word of a list", "list of numbers": for help texts. */
const char *mr_option_type_text(mr_option_type type);

/** One value for each entry of a table. Heap; borrows the table, which must outlive it. */
typedef struct mr_values mr_values;

/** All defaults. Errors: MR_EINVAL when a default breaks its own table; MR_ERESOURCE. */
MR_MUST_USE mr_status mr_values_create(const mr_option *table, mr_values **out);
/** A copy with the values and marks of @from. Heap. Errors: MR_ERESOURCE. */
MR_MUST_USE mr_status mr_values_copy(const mr_values *from, mr_values **out);
/** @v may be NULL. */
void mr_values_destroy(mr_values *v);

/* Setters; each copies what it is given and marks the option as given explicitly. A setter of another type than the
 * table's fails, except that an integer is accepted where a number is wanted. Numbers must be finite. */
MR_MUST_USE mr_status mr_values_set_int(mr_values *v, const char *name, int64_t value);
MR_MUST_USE mr_status mr_values_set_float(mr_values *v, const char *name, double value);
MR_MUST_USE mr_status mr_values_set_bool(mr_values *v, const char *name, bool value);
/** For MR_OPT_STRING and MR_OPT_ENUM. */
MR_MUST_USE mr_status mr_values_set_string(mr_values *v, const char *name, const char *value);
MR_MUST_USE mr_status mr_values_set_floats(mr_values *v, const char *name, const double *values, size_t n);

/**
 * Parse @text by the option's type, as --set does: whatever a configuration file takes, such as 12, 0xff, 1e-3, true,
 * [1, 2, 3], and plain words in place of strings in quotes. What mr_values_print wrote is read back.
 */
MR_MUST_USE mr_status mr_values_set_text(mr_values *v, const char *name, const char *text);

/** Undo the quoting of a configuration file: "\"a\\n\"" to the text inside, which fits wherever @text does. False: not
 * in quotes, or without the closing one, or with an escape that libconfig does not have. */
bool mr_value_unquote(const char *text, char *out);
/** The exponent that the suffix @c of a number stands for: "e3" for k, "e6" for M, "e9" for G; NULL: it is none. */
const char *mr_number_suffix(char c);

/* Getters. A name that the table does not have, another type, or a required option that was never given breaks the
 * caller's contract (assert). Strings and lists are borrowed until the option is set again or @v is destroyed. */
int64_t mr_values_int(const mr_values *v, const char *name);
double mr_values_float(const mr_values *v, const char *name);
bool mr_values_bool(const mr_values *v, const char *name);
/** For MR_OPT_STRING and MR_OPT_ENUM. */
const char *mr_values_string(const mr_values *v, const char *name);
/** Never NULL; *@n may be 0. */
const double *mr_values_floats(const mr_values *v, const char *name, size_t *n);

/** The value as mr_values_print writes it, on the heap; NULL without memory. */
char *mr_values_text(const mr_values *v, const char *name);

typedef mr_status mr_option_fn(void *arg, const mr_option *o, const char *text);

/**
 * Call @each for every option of @v whose value is not its default, in the table's order, with the value as
 * mr_values_print writes it; a required one never is its default. Ends where @each fails, and returns that. Errors:
 * also MR_ERESOURCE.
 */
MR_MUST_USE mr_status mr_values_each_changed(const mr_values *v, mr_option_fn *each, void *arg);

/** Has the option a value: a default, or one that was given? */
bool mr_values_has(const mr_values *v, const char *name);
/** Was the option given explicitly (rather than left at its default)? */
bool mr_values_is_set(const mr_values *v, const char *name);
/* A key that has an effect only where another of the same table has one of some values. */
typedef struct mr_option_need {
	const char *key;   /* NULL ends a table */
	const char *other; /* ENUM, STRING or BOOL */
	const char *words; /* its values as plain words: "greedy", "uniform|max"; "": only where it is empty */
} mr_option_need;

/** Fail where a key was given that has no effect. Errors: MR_ECONFIG with the message "KEY: has no effect with ...".
 */
MR_MUST_USE mr_status mr_values_check_needs(const mr_values *v, const mr_option_need *needs);
/** The first required option that was not given, or NULL. */
const char *mr_values_missing(const mr_values *v);
const mr_option *mr_values_table(const mr_values *v);

/**
 * The value as it stands in a libconfig file: strings quoted and escaped, integers beyond 32 bits with an L, numbers
 * with '.' or 'e' and as few digits as round-trip, lists "[1.0, 2.0]".
 * Like snprintf: writes at most @size bytes including the final NUL, returns the length without it. A required
 * option that was not given prints as "" and returns 0.
 */
int mr_values_print(const mr_values *v, const char *name, char *buf, size_t size);

#endif
