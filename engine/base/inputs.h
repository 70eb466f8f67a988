/*
 * inputs.h - the files that this process has read: no result is written over one of them.
 *
 * Files are told apart by device and inode, so another name, a link or a hard link does not hide one; and by the time
 * of the last change, because the number of an inode is given anew once its file is removed.
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
