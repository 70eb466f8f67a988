/* config_help.h - configurations from texts, for the suites about them. */
#ifndef MR_TESTS_CONFIG_CONFIG_HELP_H
#define MR_TESTS_CONFIG_CONFIG_HELP_H

#include "config/config.h"

/* Lines 1 to 6 of a configuration in order. */
extern const char *const mr_test_lines[6];

/** Write @len bytes to a file called @name in a folder of this process; returns its path, valid until the next call. */
const char *mr_test_file(const char *name, const char *text, size_t len);
/** Remove what mr_test_file wrote. */
void mr_test_files_remove(void);

/**
 * Load @text with @sets. @report gets the mistakes with the file's path replaced by "F". The caller destroys *@out,
 * which is NULL on failure.
 */
mr_status mr_test_load(const char *text, size_t len, const char *const *sets, size_t n_sets, mr_strbuf *report,
		       mr_config **out);

#endif
