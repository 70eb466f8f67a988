/*
 * str.h - growable strings, near names, and figures as people read them.
 */
#ifndef MR_BASE_STR_H
#define MR_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/**
 * A string that grows; all zero: empty. Failure is sticky: once memory ran out every further call does nothing and
 * returns false, so a writer may ignore results and look at @failed (or at the NULL of mr_strbuf_take) once at the end.
 */
typedef struct mr_strbuf {
	char *data; /* NUL-terminated; NULL while nothing was ever appended: use mr_strbuf_text */
	size_t len; /* bytes without the NUL */
	size_t cap;
	bool failed;
} mr_strbuf;

void mr_strbuf_fini(mr_strbuf *b);
bool mr_strbuf_append(mr_strbuf *b, const char *s);
bool mr_strbuf_append_n(mr_strbuf *b, const char *s, size_t n);
bool mr_strbuf_printf(mr_strbuf *b, const char *fmt, ...) MR_PRINTF(2, 3);
/** The text so far, borrowed until the next call on @b; never NULL. */
const char *mr_strbuf_text(const mr_strbuf *b);
/** Forget the text, keep the memory and clear @failed. */
void mr_strbuf_reset(mr_strbuf *b);
/** Move the text out: the caller frees it. NULL if an append failed. @b is empty afterwards, and needs no fini. */
char *mr_strbuf_take(mr_strbuf *b);

/** "@dir/@name", which the caller frees; NULL: no memory. */
char *mr_path_join(const char *dir, const char *name);

/**
 * Least number of inserted, deleted, changed and swapped neighbouring characters that turns @a into @b. Only the first
 * 64 bytes are compared.
 */
unsigned mr_edit_distance(const char *a, const char *b);
/**
 * The one of @names nearest to @name within mr_nearest_limit(@name) edits, the first of equals; else NULL. NULL entries
 * are skipped.
 */
const char *mr_nearest(const char *name, const char *const *names, size_t n);
/** The largest distance at which a name counts as a misspelling of @name: a third of its length; half of it below 6
 * letters, so that two letters of three must be right. */
unsigned mr_nearest_limit(const char *name);

/** Does @pattern mean the text of @len bytes at @text? In it ? is any one character and * any number of them, as in a
 * shell. */
bool mr_matches(const char *pattern, const char *text, size_t len);

/** Bytes of the character at @text[@len], which is not empty: 1 to 4; 0: it is no valid UTF-8 (RFC 3629). */
size_t mr_utf8_length(const char *text, size_t len);

/** "0 B", "1023 B", "1.5 MiB", "12 GiB": at most 4 digits. Returns @buf. */
char *mr_bytes_text(uint64_t bytes, char buf[16]);
/** "950", "1.2 k", "1.2 M", "124 M", "1.5 G", powers of 1000. Returns @buf. */
char *mr_count_text(uint64_t n, char buf[16]);
/** "0:05", "2:03", "1:02:03", in whole seconds; "-:--" if negative, not finite or above 9999 hours. Returns @buf. */
char *mr_duration_text(double seconds, char buf[16]);
/**
 * The shortest of %.15g, %.16g, %.17g that reads back as @x, with ".0" put behind if it would look like an integer.
 * NaN and infinities give "nan", "inf", "-inf". Returns @buf.
 */
char *mr_double_text(double x, char buf[32]);

#endif
