/*
 * mapping.h - large temporary memory, in a mapping of its own. What malloc has mapped raises, when it is freed, the
 * size from which it maps; later buffers then come from its heap, which keeps them: a process that takes and frees a
 * few megabytes would stay larger by them, and no plan of its memory could say by how much.
 */
#ifndef MR_BASE_MAPPING_H
#define MR_BASE_MAPPING_H

#include <stddef.h>

/** @bytes of zeros on a page of their own, which take memory as they are touched; NULL: there is none. */
void *mr_mapping_take(size_t bytes);

/** Give back what mr_mapping_take returned for @bytes; accepts NULL. */
void mr_mapping_give(void *p, size_t bytes);

#endif
