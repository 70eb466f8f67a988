/*
 * json.h - writing JSON as a stream, reading it as a tree.
 *
 * The writer needs no memory and no tree: it prints values as they come, adds the commas, and asserts that begins and
 * ends match. Its functions return nothing; a failing file shows in mr_json_finish.
 *
 *	mr_json_writer w = mr_json_begin(f, false);
 *	mr_json_key(&w, "step");	mr_json_put_int(&w, 12);
 *	mr_json_key(&w, "loss");	mr_json_put_double(&w, 1.5);
 *	MR_TRY(mr_json_finish(&w));
 *
 * The reader checks the whole text first (strict JSON, UTF-8, no key twice in an object) and hands out borrowed nodes:
 * children live as long as the root. A function called on a node of another kind returns NULL, 0 or false as stated, so
 * check the kind first where the difference matters; all accept NULL nodes. A tree may be read by many threads.
 */
#ifndef MR_BASE_JSON_H
#define MR_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* --- writing --- */

#define MR_JSON_MAX_DEPTH 32

typedef struct mr_json_writer {
	FILE *file;      /* borrowed */
	bool pretty;     /* objects on indented lines; arrays of plain values stay on one */
	bool after_key;  /* a key was written and waits for its value */
	unsigned depth;  /* open objects and arrays */
	uint32_t arrays; /* bit i: level i is an array, else an object */
	uint32_t filled; /* bit i: level i has an entry already, so the next needs a comma */
	uint32_t broken; /* bit i: level i has entries on lines of their own */
	unsigned opened; /* 1: mr_json_begin opened the document's object, which mr_json_finish ends */
} mr_json_writer;

/** Begin a document that is one object. */
mr_json_writer mr_json_begin(FILE *file, bool pretty);
/** The same for a value of any kind, which is to follow. */
void mr_json_init(mr_json_writer *w, FILE *file, bool pretty);
void mr_json_begin_object(mr_json_writer *w);
void mr_json_end_object(mr_json_writer *w);
void mr_json_begin_array(mr_json_writer *w);
void mr_json_end_array(mr_json_writer *w);
/** Only inside an object; a value follows. The caller repeats no key. */
void mr_json_key(mr_json_writer *w, const char *key);
/** Bytes that are not UTF-8 are replaced by U+FFFD; @s == NULL writes null. */
void mr_json_put_string(mr_json_writer *w, const char *s);
void mr_json_put_int(mr_json_writer *w, int64_t x);
void mr_json_put_uint(mr_json_writer *w, uint64_t x);
/** As few digits as read back to the same double; NaN and infinities as null, since JSON has no word for them. */
void mr_json_put_double(mr_json_writer *w, double x);
void mr_json_put_bool(mr_json_writer *w, bool x);

/** @key and its value, inside an object. */
void mr_json_field_string(mr_json_writer *w, const char *key, const char *s);
void mr_json_field_int(mr_json_writer *w, const char *key, int64_t x);
void mr_json_field_uint(mr_json_writer *w, const char *key, uint64_t x);
void mr_json_field_double(mr_json_writer *w, const char *key, double x);
void mr_json_field_bool(mr_json_writer *w, const char *key, bool x);
/** @key, and begin its value. */
void mr_json_field_object(mr_json_writer *w, const char *key);
void mr_json_field_array(mr_json_writer *w, const char *key);

/**
 * End the document with a newline; after mr_json_init the writer is then ready for the next one. Does not flush or
 * close. Errors: MR_EIO when the file has its error flag set.
 */
MR_MUST_USE mr_status mr_json_finish(mr_json_writer *w);

/* --- reading --- */

typedef struct mr_json mr_json;

/** At least the memory that the tree of the JSON @text takes, by its strings, lists and values. What is not JSON
 * takes no more before reading it fails. */
uint64_t mr_json_tree_bytes(const char *text, size_t len);

/**
 * Read a document from a file of at most @max_bytes, or from @len bytes of @text. The caller destroys *@root.
 * Errors: MR_ECONFIG with "path:line:column: reason" (without the path for a text), also when the file cannot be read;
 * MR_ERESOURCE without memory, or when the tree may take more than is left (base/room.h).
 */
MR_MUST_USE mr_status mr_json_read_file(const char *path, size_t max_bytes, mr_json **root);
MR_MUST_USE mr_status mr_json_read_text(const char *text, size_t len, mr_json **root);
/** Write a tree that was read; NULL as null. */
void mr_json_put_tree(mr_json_writer *w, const mr_json *j);
/** Only the root; NULL is accepted. */
void mr_json_destroy(mr_json *root);

bool mr_json_is_object(const mr_json *j);
bool mr_json_is_array(const mr_json *j);
bool mr_json_is_string(const mr_json *j);
/** Written without '.' and exponent, and within int64_t (others are refused when reading). */
bool mr_json_is_int(const mr_json *j);
/** An int or a real. */
bool mr_json_is_number(const mr_json *j);
bool mr_json_is_bool(const mr_json *j);
bool mr_json_is_null(const mr_json *j);
/** "object", "array", "string", "integer", "number", "true or false", "null", "nothing" (NULL): for messages. */
const char *mr_json_kind(const mr_json *j);

/** The value under @key; NULL if @obj has no such key or is no object. */
const mr_json *mr_json_get(const mr_json *obj, const char *key);
/** Entry @i; NULL beyond the end or if @arr is no array. */
const mr_json *mr_json_at(const mr_json *arr, size_t i);
/** Entries of an array or an object; else 0. */
size_t mr_json_size(const mr_json *j);
/** The keys of an object in the order of the text: begin with @prev == NULL, then give the key last returned (that very
 * pointer). NULL at the end. */
const char *mr_json_next_key(const mr_json *obj, const char *prev);

/** 0 if not an int. */
int64_t mr_json_int(const mr_json *j);
/** 0 if not a number. */
double mr_json_double(const mr_json *j);
/** NULL if not a string. Borrowed from the root. */
const char *mr_json_string(const mr_json *j);
/** False if not a bool. */
bool mr_json_bool(const mr_json *j);

#endif
