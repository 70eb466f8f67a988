#include "store/kept_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool mr_kept_path(const char *name, char *path, size_t size)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	if (cache && *cache == '/')
		n = snprintf(path, size, "%s/millrace/%s", cache, name);
	else if (home && *home == '/')
		n = snprintf(path, size, "%s/.cache/millrace/%s", home, name);
	else
		return false;
	return n > 0 && (size_t)n < size;
}

mr_status mr_kept_path_make(const char *name, char *path, size_t size)
{
	char *slash, *above;

	if (!mr_kept_path(name, path, size))
		return mr_fail(MR_EIO, "there is no folder for it: neither XDG_CACHE_HOME nor HOME is a path");
	slash = strrchr(path, '/');
	*slash = '\0';
	above = strrchr(path, '/');
	*above = '\0';
	mkdir(path, 0700);
	*above = '/';
	mkdir(path, 0700);
	*slash = '/';
	return MR_OK;
}
