/*
 * inputs.h - the files that this process has read: no result is written over one of them.
 *
 * A file is identified by device, inode and time of its last change. So it is recognized under another name or by a
 * link. The time is part of it because the system reuses the inode number of a removed file.
 */
#ifndef MR_BASE_INPUTS_H
#define MR_BASE_INPUTS_H

#include <stdbool.h>
#include <sys/stat.h>

/** Note that the file @s was opened to be read. Thread: any. Without memory it is not noted. */
void mr_inputs_note(const struct stat *s);

/** Was the file @s read? Thread: any. */
bool mr_inputs_has(const struct stat *s);

#endif
