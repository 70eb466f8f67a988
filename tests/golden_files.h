/* golden_files.h - the recorded files of tests/golden; ctest says in MR_GOLDEN where that is. */
#ifndef MR_TESTS_GOLDEN_FILES_H
#define MR_TESTS_GOLDEN_FILES_H

#include <dirent.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "check.h"

#define MR_GOLDEN_PATH 1024

/** The path of a file or folder of tests/golden, whose name in there @fmt makes. Returns @path. */
__attribute__((format(printf, 2, 3)))
static inline const char *mr_golden_path(char path[MR_GOLDEN_PATH], const char *fmt, ...)
{
	const char *root = getenv("MR_GOLDEN");
	va_list ap;
	int n;

	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	n = snprintf(path, MR_GOLDEN_PATH, "%s/", root);
	CU_ASSERT_FATAL(n > 0 && n < MR_GOLDEN_PATH);
	va_start(ap, fmt);
	vsnprintf(path + n, MR_GOLDEN_PATH - (size_t)n, fmt, ap);
	va_end(ap);
	return path;
}

/** The place of number @i of parameter @name [rows, cols] in its list in @table, a record of parameters or gradients:
 * the records of gpt have its head the other way round. */
static inline size_t mr_golden_at(const mr_json *table, const char *name, int64_t rows, int64_t cols, size_t i)
{
	if (strcmp(name, "lm_head.weight") != 0 || !mr_json_get(table, "wte.weight"))
		return i;
	return i % (size_t)cols * (size_t)rows + i / (size_t)cols;
}

/** Call @one for each JSON file of @folder, by name, with its number from 0. Returns how many there are. */
static inline uint32_t mr_golden_each(const char *folder, void (*one)(void *arg, const char *path, uint32_t number),
				      void *arg)
{
	char dir[MR_GOLDEN_PATH], path[MR_GOLDEN_PATH + 256];
	struct dirent **list;
	uint32_t number = 0;
	int n = scandir(mr_golden_path(dir, "%s", folder), &list, NULL, alphasort);

	CU_ASSERT_FATAL(n >= 0);
	for (int i = 0; i < n; i++) {
		size_t len = strlen(list[i]->d_name);

		if (len > 5 && !strcmp(list[i]->d_name + len - 5, ".json")) {
			snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
			one(arg, path, number++);
		}
		free(list[i]);
	}
	free(list);
	return number;
}

#endif
