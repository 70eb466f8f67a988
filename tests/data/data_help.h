/* data_help.h - temporary files and quick opening of data sources, for the data suites. */
#ifndef MR_TESTS_NN_DATA_HELP_H
#define MR_TESTS_NN_DATA_HELP_H

#include <stddef.h>

#include "data/dataset.h"

/** A fresh folder below $TMPDIR or /tmp; remove it with data_help_remove. Returns @dir. */
char *data_help_folder(char dir[512]);
void data_help_remove(const char *dir);
/** Write @len bytes to @dir/@name, making folders on the way. */
void data_help_write(const char *dir, const char *name, const void *bytes, size_t len);
/** The same, compressed. */
void data_help_write_gzip(const char *dir, const char *name, const void *bytes, size_t len);

/** Open source @name with "key=value" settings separated by blanks; relative paths start at @want->base_dir. */
mr_status data_help_open(const char *name, const char *settings, const mr_data_want *want, mr_dataset **out);

#endif
