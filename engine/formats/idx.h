/*
 * idx.h - the IDX files of MNIST and its relatives, plain or gzip.
 *
 *	images  big-endian int32: magic 2051, count, rows, columns; then count * rows * columns bytes
 *	labels  big-endian int32: magic 2049, count; then count bytes
 *
 * A file must have exactly the size that its header says. A compressed file is unpacked into memory, whatever its size,
 * since a sample of it cannot be read alone; zlib checks its CRC.
 */
#ifndef MR_FORMATS_IDX_H
#define MR_FORMATS_IDX_H

#include "base/contents.h"

typedef enum mr_idx_kind { MR_IDX_IMAGES = 2051, MR_IDX_LABELS = 2049 } mr_idx_kind;

#define MR_IDX_MAX_SIDE 65536u

typedef struct mr_idx {
	char *path;             /* owned */
	uint32_t n, rows, cols; /* samples; labels: rows = cols = 1 */
	uint64_t header;        /* bytes in front of the samples */
	bool packed;            /* load unpacks it */
	bool keeps;             /* set by who opened it: load reads a file that is not packed into memory, too */
	mr_contents *in;        /* the file, or from load on what is in memory, header and all */
} mr_idx;

/** Open @path and look at its header. The caller closes @x, which was zeroed, also after an error. Errors: MR_EDATA
 * naming the path and what is wrong; MR_ERESOURCE. */
mr_status mr_idx_open(mr_idx *x, const char *path, mr_idx_kind kind) MR_MUST_USE;

/** Before the first sample is read. Errors: as of open. */
mr_status mr_idx_load(mr_idx *x) MR_MUST_USE;
void mr_idx_close(mr_idx *x);

/** Does @path begin as a file of images, packed or not? */
bool mr_idx_is_images(const char *path);

static inline uint64_t mr_idx_sample_bytes(const mr_idx *x)
{
	return (uint64_t)x->rows * x->cols;
}

static inline uint64_t mr_idx_bytes(const mr_idx *x)
{
	return x->header + x->n * mr_idx_sample_bytes(x);
}

#endif
