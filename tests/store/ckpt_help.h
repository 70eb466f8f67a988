/* ckpt_help.h - small checkpoints with known contents, and folders for them, for the safetensors and checkpoint suites.
 */
#ifndef MR_TESTS_STORE_CKPT_HELP_H
#define MR_TESTS_STORE_CKPT_HELP_H

#include "store/checkpoint_io.h"

/** A fresh folder (scratch.h); remove it with ckpt_help_remove. Returns @dir. */
char *ckpt_help_folder(char dir[512]);
void ckpt_help_remove(const char *dir);

/** Read or write a whole file, below @dir. The caller frees what is read. */
unsigned char *ckpt_help_read(const char *dir, const char *name, size_t *len);
void ckpt_help_write(const char *dir, const char *name, const void *bytes, size_t len);
/** How many entries of @dir have a name that begins with @prefix. */
int ckpt_help_count(const char *dir, const char *prefix);
bool ckpt_help_exists(const char *dir, const char *name);

/** Two files of tensors whose numbers follow from @step, and a third of @ballast bytes if that is not 0. */
mr_status ckpt_help_save(const char *dir, uint64_t step, bool best, uint32_t keep, size_t ballast, char **path);
/** Open, verify and read the checkpoint at @path; the step it holds, or -1 (with a line on stderr) when anything is
 * wrong. */
int64_t ckpt_help_check(const char *path);
/** The step of the latest checkpoint of @dir, checked like that; -1 when there is none. */
int64_t ckpt_help_latest(const char *dir);

/** Send stderr to nowhere while warnings are wanted and not interesting. */
void ckpt_help_quiet(bool on);

#endif
