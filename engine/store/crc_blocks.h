/*
 * crc_blocks.h - the blocks of a whole file, written or compared by several threads.
 *
 * The file is cut into stretches of a few blocks of MR_CRC_BLOCK bytes, which the threads take in ascending order. They
 * write and read past the page cache where the file system has that (O_DIRECT): a save then costs the training hardly
 * more than its checksums, as nothing is copied and no page is allocated, written back or freed; and what is compared
 * comes from the disk. Where addresses or lengths do not fit, data go through a buffer of the thread, or through the
 * page cache.
 *
 * Threads that are started here run where the caller may and with its priority; all signals are blocked in them.
 */
#ifndef MR_STORE_CRC_BLOCKS_H
#define MR_STORE_CRC_BLOCKS_H

#include "store/crc_file.h"

/** At most so much memory do @n_threads threads take for a file of @bytes bytes. */
uint64_t mr_crc_blocks_room(uint64_t bytes, uint32_t n_threads);

/**
 * Write all of @piece [@n] one after the other into @f, which is new and empty, by at most f->n_threads threads, and
 * note the checksums. The caller finishes @f. Where a piece is a hole, @f may be a file that others write, too; no page
 * of 4 KiB may have two writers, since they may be on several hosts. Errors: those of mr_crc_file_write, of the first
 * block that failed; MR_EIO a file that a piece names ends too early.
 */
mr_status mr_crc_blocks_write(mr_crc_file *f, const mr_crc_piece *piece, size_t n) MR_MUST_USE;

/**
 * Two writers had each its own pieces of a file of @bytes bytes, and the other's as holes: *crc [@n], the checksums of
 * one, become those of both by the checksums @other. Any number of writers can be added so, in any order: the CRC of
 * the sum of two texts is the sum of their CRCs and of that of zeros.
 */
void mr_crc_blocks_add(uint32_t *crc, const uint32_t *other, size_t n, uint64_t bytes);

#define MR_CRC_PAGE 4096u

/** How many checksums a file of @bytes bytes has. */
static inline size_t mr_crc_blocks_of(uint64_t bytes)
{
	return (size_t)(bytes / MR_CRC_BLOCK + (bytes % MR_CRC_BLOCK != 0));
}

/** mr_crc_file_verify for a file whose size and number of checksums are right. */
mr_status mr_crc_blocks_verify(int fd, const char *name, uint64_t size, const uint32_t *crcs,
			       uint32_t n_threads) MR_MUST_USE;

#endif
