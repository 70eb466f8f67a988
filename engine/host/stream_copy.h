/* stream_copy.h - a copy to memory that is not read soon: past the caches, which keep what they hold. */
#ifndef MR_HOST_STREAM_COPY_H
#define MR_HOST_STREAM_COPY_H

#include <stdint.h>

/** Copy @bytes bytes; the ranges do not overlap. A later release store publishes them, as with memcpy. */
void mr_stream_copy(void *to, const void *from, uint64_t bytes);

#endif
