#include "host/node_memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/numa_fake.h"

/* The fields of nodeN/meminfo that count, in the order of their sum. */
enum { FREE, ACTIVE_FILE, INACTIVE_FILE, RECLAIMABLE, DIRTY, WRITEBACK, N_FIELDS };

static const char *const names[N_FIELDS] = {"MemFree:", "Active(file):", "Inactive(file):", "SReclaimable:", "Dirty:",
					    "Writeback:"};

/* Bytes that the kernel keeps free on node @os: the high marks of its zones. */
static uint64_t kept_free(const char *root, uint32_t os)
{
	unsigned long long pages, sum = 0;
	char path[4096], line[256];
	unsigned node = UINT32_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/zoneinfo", root);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		(void)sscanf(line, "Node %u, zone", &node);
		if (node == os && sscanf(line, " high %llu", &pages) == 1)
			sum += pages;
	}
	if (f)
		fclose(f);
	return sum * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t mr_node_memory_free(const char *root, uint32_t os)
{
	uint64_t bytes[N_FIELDS] = {0}, cached, changed, kept = kept_free(root, os);
	char path[4096], line[256], name[64];
	unsigned long long kib;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/devices/system/node/node%u/meminfo", root, os);
	f = mr_numa_fakes_there() ? NULL : fopen(path, "re");
	if (!f)
		return MR_NODE_MEMORY_UNKNOWN;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Node %*u %63s %llu kB", name, &kib) != 2)
			continue;
		for (int i = 0; i < N_FIELDS; i++)
			if (!strcmp(name, names[i])) {
				bytes[i] = (uint64_t)kib << 10;
				found |= i == FREE;
			}
	}
	fclose(f);
	cached = bytes[ACTIVE_FILE] + bytes[INACTIVE_FILE] + bytes[RECLAIMABLE];
	changed = bytes[DIRTY] + bytes[WRITEBACK];
	cached = cached > changed ? cached - changed : 0;
	cached = bytes[FREE] + cached / 2;
	return !found ? MR_NODE_MEMORY_UNKNOWN : cached > kept ? cached - kept : 0;
}
