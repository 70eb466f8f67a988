/*
 * gather.h - A of a product whose rows are read from images: those of a convolution as a product (images/columns.h).
 *
 * Row r of A belongs to the point [s, y, x] of a grid, counted sample by sample and row by row. Piece p of it is the
 * pixel [s, y * step_h + at[p].h, x * step_w + at[p].w] of the images, with all of its channels, or zeros where there
 * is no such pixel. With `ta` a row of the stored A^T is such a row with its pieces one after the other.
 */
#ifndef MR_KERNELS_GATHER_H
#define MR_KERNELS_GATHER_H

#include <stdint.h>

enum {
	MR_GATHER_PIECES = 64,     /* at most */
	MR_GATHER_CHANNELS = 4096, /* at most */
};

typedef struct mr_gather {
	const void *const *images; /* bf16 [samples, h, w, c]; of a sum of products with `ta` those of each one */
	int64_t h, w, c;
	int64_t grid_h, grid_w, step_h, step_w;
	struct {
		int64_t h, w;
	} at[MR_GATHER_PIECES];
} mr_gather;

/** Fills @rows with the addresses of piece @piece of rows @first to @first + @n of A, from channel @channel of @images
 * on. Rows that are not there are zeros. */
void mr_gather_rows(const mr_gather *g, const uint16_t *images, int64_t piece, int64_t first, int64_t n,
		    int64_t channel, const uint16_t **rows);

#endif
