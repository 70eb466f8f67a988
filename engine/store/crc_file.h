/*
 * crc_file.h - a file written once from front to back, with the CRC32C of each MiB collected on the way.
 *
 * Data are written in blocks of one MiB (the last may be shorter), and each block has its CRC: a
 * damaged checkpoint is reported by the offset of the block that does not match.
 *
 *	MR_TRY(mr_crc_file_create(&f, dir, "model.safetensors"));
 *	st = mr_crc_file_write(&f, data, len);
 *	if (st == MR_OK)
 *		st = mr_crc_file_finish(&f);
 *	... f.size, f.crcs ...
 *	mr_crc_file_fini(&f);
 */
#ifndef MR_STORE_CRC_FILE_H
#define MR_STORE_CRC_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define MR_CRC_BLOCK ((size_t)1 << 20)

/* A part of a file's contents: at @data; or, with NULL, in the open file @fd from byte @from on; or, with 0 for @fd, a
 * hole, which others write: its bytes count as zeros here. */
typedef struct mr_crc_piece {
	const void *data;
	uint64_t bytes, from;
	int fd;
} mr_crc_piece;

typedef struct mr_crc_file {
	const char *name; /* borrowed, for messages */
	int fd;           /* -1: not open */
	int direct;       /* the same file past the page cache; -1: the file system has no such way */
	uint32_t n_threads; /* that may write it, if all of it is given at once (crc_blocks.h); 1 unless changed */
	uint8_t *block;   /* data not written yet, fewer than MR_CRC_BLOCK bytes */
	size_t n_block;
	uint64_t size;    /* bytes written so far, without those in @block */
	uint32_t *crcs;   /* one a block */
	size_t n_crcs, cap_crcs;
} mr_crc_file;

/** Begin the file @name, which must not exist, in the open directory @dir. On failure nothing is left to undo. */
mr_status mr_crc_file_create(mr_crc_file *f, int dir, const char *name) MR_MUST_USE;
/** Begin to write pieces of the file @name, which is there, beside others. */
mr_status mr_crc_file_open(mr_crc_file *f, int dir, const char *name) MR_MUST_USE;
mr_status mr_crc_file_write(mr_crc_file *f, const void *data, size_t len) MR_MUST_USE;
/** Write the rest, make it durable (fsync) and close. The sizes and CRCs remain. */
mr_status mr_crc_file_finish(mr_crc_file *f) MR_MUST_USE;
/** Close and free, also after an error. The file itself stays. */
void mr_crc_file_fini(mr_crc_file *f);

/**
 * Read @fd from its beginning and compare: @size bytes, and @crcs for its blocks, by at most @n_threads threads. @name
 * begins the message. @fd may be open past the page cache (O_DIRECT).
 * Errors: MR_ECKPT (size, or the offset of the first block that differs with both CRCs), MR_EIO, MR_ERESOURCE.
 */
mr_status mr_crc_file_verify(int fd, const char *name, uint64_t size, const uint32_t *crcs, size_t n_crcs,
			     uint32_t n_threads) MR_MUST_USE;

/** The message for a failed call on @name, from @err: "name: what: No space left on device". MR_ERESOURCE when the
 * disk or the quota is full, else MR_EIO. */
mr_status mr_crc_file_error(const char *name, const char *what, int err) MR_MUST_USE;

#endif
