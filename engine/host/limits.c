#include "host/limits.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 8192 };

/* Where one hierarchy is: `mount` is the folder, `group` the path of our group in it ("" = the mount itself). */
typedef struct hierarchy {
	char mount[PATH_BYTES];
	char group[PATH_BYTES];
	bool v2;
} hierarchy;

static FILE *open_under(const char *root, const char *path)
{
	char full[2 * PATH_BYTES];

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return NULL;
	return fopen(full, "re");
}

/* Whether the comma-separated @list has @word. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, word, n) && (p[n] == ',' || p[n] == '\0' || p[n] == '\n'))
			return true;
	return false;
}

/* The path of our group in the hierarchy of @controller (v1), or in the unified one (v2: "0::/path"). */
static bool find_group(const char *root, bool v2, const char *controller, char group[PATH_BYTES])
{
	FILE *f = open_under(root, "/proc/self/cgroup");
	char line[LINE_BYTES];
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		list++;
		path[strcspn(path, "\n")] = '\0';
		if (v2 ? *list == '\0' : has_word(list, controller)) {
			snprintf(group, PATH_BYTES, "%.*s", PATH_BYTES - 1, path);
			found = true;
		}
	}
	fclose(f);
	return found;
}

/*
 * A mountinfo line: "36 35 98:0 /root-in-fs /mount/point options [tags] - fstype source superoptions". The root is
 * the part of the hierarchy that this mount shows; it is taken off the group's path.
 */
static bool find_mount(const char *root, bool v2, const char *controller, hierarchy *h)
{
	FILE *f = open_under(root, "/proc/self/mountinfo");
	char line[LINE_BYTES], shown[PATH_BYTES], type[64], super[PATH_BYTES];
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		const char *tail = strstr(line, " - ");

		if (!tail || sscanf(line, "%*s %*s %*s %4095s %4095s", shown, h->mount) != 2 ||
		    sscanf(tail, " - %63s %*s %4095s", type, super) != 2)
			continue;
		found = v2 ? !strcmp(type, "cgroup2") : !strcmp(type, "cgroup") && has_word(super, controller);
	}
	fclose(f);
	if (!found || !find_group(root, v2, controller, h->group))
		return false;
	h->v2 = v2;
	if (strcmp(shown, "/") && !strncmp(h->group, shown, strlen(shown)))
		memmove(h->group, h->group + strlen(shown), strlen(h->group + strlen(shown)) + 1);
	return true;
}

/* The first line of a file of the group, without its end. */
static bool read_line(const char *root, const hierarchy *h, const char *file, char *line, int size)
{
	char path[3 * PATH_BYTES];
	FILE *f;
	bool ok;

	if (snprintf(path, sizeof(path), "%s%s/%s", h->mount, h->group, file) >= (int)sizeof(path))
		return false;
	f = open_under(root, path);
	if (!f)
		return false;
	ok = fgets(line, size, f) != NULL;
	fclose(f);
	return ok;
}

/* The quota of this group alone: "max 100000" or "250000 100000" (v2), two files (v1), -1 = none. */
static double group_cpus(const char *root, const hierarchy *h)
{
	char line[128];
	double quota = 0, period = 0;

	if (h->v2) {
		if (!read_line(root, h, "cpu.max", line, sizeof(line)) || sscanf(line, "%lf %lf", &quota, &period) != 2)
			return 0;
	} else {
		if (!read_line(root, h, "cpu.cfs_quota_us", line, sizeof(line)) || sscanf(line, "%lf", &quota) != 1 ||
		    !read_line(root, h, "cpu.cfs_period_us", line, sizeof(line)) || sscanf(line, "%lf", &period) != 1)
			return 0;
	}
	return quota > 0 && period > 0 ? quota / period : 0;
}

/* The memory limit of this group alone. v1 writes "no limit" as a number near LONG_MAX. */
static uint64_t group_memory(const char *root, const hierarchy *h)
{
	const char *file = h->v2 ? "memory.max" : "memory.limit_in_bytes";
	unsigned long long bytes;
	char line[128];

	if (!read_line(root, h, file, line, sizeof(line)) || sscanf(line, "%llu", &bytes) != 1)
		return UINT64_MAX;
	return bytes >= (unsigned long long)LONG_MAX / 2 ? UINT64_MAX : bytes;
}

/* The number behind @name in the memory.stat of this group. */
static uint64_t group_stat(const char *root, const hierarchy *h, const char *name)
{
	unsigned long long bytes = 0;
	char path[3 * PATH_BYTES], line[256];
	size_t length = strlen(name);
	FILE *f;

	if (snprintf(path, sizeof(path), "%s%s/memory.stat", h->mount, h->group) >= (int)sizeof(path) ||
	    !(f = open_under(root, path)))
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, length) && sscanf(line + length, " %llu", &bytes) == 1)
			break;
	fclose(f);
	return bytes;
}

/* What this group's own @limit leaves now: what its processes have counts, cached files, which the kernel drops, do
 * not. */
static uint64_t group_left(const char *root, const hierarchy *h, uint64_t limit)
{
	const char *file = h->v2 ? "memory.current" : "memory.usage_in_bytes";
	uint64_t cached = group_stat(root, h, h->v2 ? "inactive_file" : "total_inactive_file") +
			  group_stat(root, h, h->v2 ? "active_file" : "total_active_file");
	unsigned long long used;
	char line[128];

	if (!read_line(root, h, file, line, sizeof(line)) || sscanf(line, "%llu", &used) != 1)
		return limit;
	used = used > cached ? used - cached : 0;
	return limit > used ? limit - used : 0;
}

/* Step to the parent group; false at the mount. */
static bool step_up(hierarchy *h)
{
	char *slash = strrchr(h->group, '/');

	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

static void limit_cpus(const char *root, hierarchy *h, mr_limits *l)
{
	do {
		double cpus = group_cpus(root, h);

		if (cpus > 0 && (l->cpus == 0 || cpus < l->cpus))
			l->cpus = cpus;
	} while (step_up(h));
}

static void limit_memory(const char *root, hierarchy *h, mr_limits *l)
{
	do {
		uint64_t bytes = group_memory(root, h), left = bytes < UINT64_MAX ? group_left(root, h, bytes) : bytes;

		if (left < l->available_bytes)
			l->available_bytes = left;
		if (bytes < l->memory_bytes) {
			l->memory_bytes = bytes;
			l->memory_from = h->v2 ? "cgroup memory.max" : "cgroup memory.limit_in_bytes";
		}
	} while (step_up(h));
}

static void read_meminfo(const char *root, mr_limits *limits)
{
	FILE *f = open_under(root, "/proc/meminfo");
	unsigned long long kib;
	char line[256];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1 && (uint64_t)kib << 10 < limits->available_bytes)
			limits->available_bytes = (uint64_t)kib << 10;
		if (sscanf(line, "MemTotal: %llu kB", &kib) == 1)
			limits->total_bytes = (uint64_t)kib << 10;
	}
	fclose(f);
}

void mr_limits_read(const char *root, mr_limits *limits)
{
	hierarchy *h = calloc(1, sizeof(*h)); /* two long paths: too big for a comfortable stack frame */
	struct rlimit as;

	*limits = (mr_limits){.memory_bytes = UINT64_MAX, .available_bytes = UINT64_MAX};
	for (int v2 = 0; h && v2 < 2; v2++) {
		if (find_mount(root, v2, "cpu", h))
			limit_cpus(root, h, limits);
		if (find_mount(root, v2, "memory", h))
			limit_memory(root, h, limits);
	}
	free(h);
	if (!getrlimit(RLIMIT_AS, &as) && as.rlim_cur != RLIM_INFINITY && as.rlim_cur < limits->memory_bytes) {
		limits->memory_bytes = as.rlim_cur;
		limits->memory_from = "RLIMIT_AS";
	}
	read_meminfo(root, limits);
}
