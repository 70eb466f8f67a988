/*
 * room.h - memory that is left for what is read by the size of a file.
 *
 * What a run keeps is planned before it starts (session/memory_plan.h). What is read earlier, or to decide what to
 * plan, has the size that its file says: the header of a file of tensors, an index, a tree of JSON, a list of pictures,
 * the words of a text. Its reader asks here before it takes the memory, so that no file makes the process pass its
 * limit.
 *
 * The limit is the process's (machine.memory_limit, cgroups, the machine): the session that was opened last sets it.
 * Thread: any.
 */
#ifndef MR_BASE_ROOM_H
#define MR_BASE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/** From now on the process may have @bytes of memory in all while it reads; 0: nothing is known. Returns the limit that
 * was there before. */
uint64_t mr_room_limit(uint64_t bytes);

/** Is there a limit? */
bool mr_room_is_limited(void);

/** May the process take @need bytes more for @what of the file @path (NULL: the caller names it)? A few hundred KiB it
 * always may. Errors: MR_ERESOURCE with both figures. */
mr_status mr_room_check(const char *path, const char *what, uint64_t need) MR_MUST_USE;

#endif
