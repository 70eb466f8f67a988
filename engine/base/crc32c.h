/*
 * crc32c.h - the Castagnoli CRC (polynomial 0x1EDC6F41, reflected; RFC 3720 appendix B.4), which guards checkpoints.
 */
#ifndef MR_BASE_CRC32C_H
#define MR_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/**
 * The CRC of @len bytes at @data, continued from @crc: begin with 0, feed pieces in order, and the result is the CRC
 * of all of them. Uses the CPU's instruction where it has one.
 */
uint32_t mr_crc32c(uint32_t crc, const void *data, size_t len);

/**
 * The CRC of each block of @block bytes of @data into @crc, one after the other; the last block may be shorter. One
 * instruction waits for the one before it, so four blocks at a time take as long as one.
 */
void mr_crc32c_blocks(const void *data, size_t len, size_t block, uint32_t *crc);

/** The same result as mr_crc32c by a table, on any CPU: its fallback. */
uint32_t mr_crc32c_portable(uint32_t crc, const void *data, size_t len);

#endif
