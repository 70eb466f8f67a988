/*
 * saved.h - the data that a layer or a kernel leaves in memory for a later call, piece by piece.
 *
 * A checkpoint of a plan that never drains holds such memory as bytes, and only a build that gives the bytes the same
 * meaning may go on from it. So each piece of memory has a name for its contents: the names, the sizes and their order
 * make the fact "slots" of the checkpoint's manifest. Code that saves something else, or the same in another form, must
 * give it another name.
 */
#ifndef MR_NN_SAVED_H
#define MR_NN_SAVED_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>


#define MR_SAVED_PIECES 4

typedef struct mr_saved_piece {
	const char *what;
	size_t bytes;
} mr_saved_piece;

typedef struct mr_saved {
	size_t bytes; /* of all pieces */
	uint32_t n;
	mr_saved_piece piece[MR_SAVED_PIECES]; /* one after the other */
} mr_saved;

/** Add a piece of @bytes for @what, a literal such as "mean of each row". 0 bytes (sizes are not needed) also count. */
static inline void mr_saved_add(mr_saved *s, const char *what, size_t bytes)
{
	assert(s->n < MR_SAVED_PIECES);
	s->piece[s->n++] = (mr_saved_piece){what, bytes};
	s->bytes += bytes;
}

/** Names and sizes, in order, continuing the hash @h (base/stats.h). */
uint64_t mr_saved_hash(const mr_saved *s, uint64_t h);

#endif
