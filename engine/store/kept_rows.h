/*
 * kept_rows.h - a file of times that are kept for a machine and a program, below the user's folder for caches.
 *
 * The first line of the file names what the times were measured with (the words), and has a hash of the other lines: a
 * file with other words, or a damaged one, is ignored with a sentence on standard error. It is replaced as a whole,
 * under a lock of its folder, so what two processes keep at once is both kept.
 *
 * The file is kept-layers.csv (store/kept_path.h). costs/kept_layers.h says what the rows are.
 */
#ifndef MR_STORE_KEPT_ROWS_H
#define MR_STORE_KEPT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mr_kept_layer {
	int64_t samples; /* of the micro-batch */
	uint32_t threads;
	double f, i, w, u; /* seconds; u is 0 where w contains it, as steps are inside of backward passes */
} mr_kept_layer;

typedef struct mr_kept_row {
	uint64_t key; /* of a kind of layer */
	char kind[32]; /* for people: a word without commas */
	mr_kept_layer layer;
} mr_kept_row;

typedef struct mr_kept_rows {
	mr_kept_row *at; /* [n] by key; owned */
	uint32_t n;
} mr_kept_rows;

/* What times were measured with. */
#define MR_KEPT_WORDS 4
typedef char mr_kept_words[MR_KEPT_WORDS][128];
extern const char *const mr_kept_word[MR_KEPT_WORDS];

/** The path of the file (store/kept_path.h). */
bool mr_kept_rows_path(char *path, size_t size);

/** Is there such a file? */
bool mr_kept_rows_there(void);

/** Read the file; none, or one of other words or a damaged one, gives no rows. The caller calls fini. */
void mr_kept_rows_read(mr_kept_rows *k, mr_kept_words words);
void mr_kept_rows_fini(mr_kept_rows *k);

/** The row of @key with the nearest samples and threads, if these are near; else NULL. */
const mr_kept_row *mr_kept_rows_nearest(const mr_kept_rows *k, uint64_t key, int64_t samples, uint32_t threads);

/** The rows of @key with @threads threads and the next fewer and the next more samples than @samples. False: one of
 * them is missing. */
bool mr_kept_rows_around(const mr_kept_rows *k, uint64_t key, int64_t samples, uint32_t threads,
			 const mr_kept_row *around[2]) MR_MUST_USE;

/** The one of @at[@n] that has the key, the samples and the threads of @r; @n: there is none. */
uint32_t mr_kept_rows_same(const mr_kept_row *at, uint32_t n, const mr_kept_row *r);

/** Add @fresh[@n], no two of which are the same, to @k alone, in place of their rows. Errors: MR_ERESOURCE. */
mr_status mr_kept_rows_add(mr_kept_rows *k, const mr_kept_row *fresh, uint32_t n) MR_MUST_USE;

/** Add @fresh[@n], no two of which are the same, to the file in place of their rows; where @anew, of all rows. *@rows:
 * how many it has then. Errors: MR_EIO with the reason, among them that there is no such folder; MR_ERESOURCE. */
mr_status mr_kept_rows_store(mr_kept_words words, const mr_kept_row *fresh, uint32_t n, bool anew,
			     uint32_t *rows) MR_MUST_USE;

#endif
