/* data_help.h - temporary files and quick opening of data sources, for the data suites. */
#ifndef MR_TESTS_NN_DATA_HELP_H
#define MR_TESTS_NN_DATA_HELP_H

#include <stddef.h>

#include "data/dataset.h"

/** A fresh folder (scratch.h); remove it with data_help_remove. Returns @dir. */
char *data_help_folder(char dir[512]);
void data_help_remove(const char *dir);
/** Write @len bytes to @dir/@name, making folders on the way. */
void data_help_write(const char *dir, const char *name, const void *bytes, size_t len);
/** The same, compressed. */
void data_help_write_gzip(const char *dir, const char *name, const void *bytes, size_t len);

/** Open source @name with "key=value" settings separated by blanks; relative paths start at @want->base_dir. */
mr_status data_help_open(const char *name, const char *settings, const mr_data_want *want, mr_dataset **out);

/** Open @source; if that works, read everything that one may read. Under ASan a bad bound ends the test. Returns the
 * status. */
mr_status data_help_survive(const char *source, const char *settings, const mr_data_want *want);

/** Survive file @name in @want->base_dir cut at every @step-th of its @len bytes, and with each bit of its first @flips
 * bytes changed; @exact: a cut file must be refused. The whole file, which is left there, must open. */
void data_help_mistreat(const char *source, const char *settings, const mr_data_want *want, const char *name,
			const unsigned char *bytes, size_t len, size_t step, bool exact, size_t flips);

#endif
