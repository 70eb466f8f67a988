#include "host/numa_fake.h"

#ifdef MR_FAULTS

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grown.h"

enum { MOST_CPUS = 8192, MOST_FAKES = 8 };

/* A request, or the first touch of pages, in the order in which they came. */
typedef struct record {
	uintptr_t begin, end;
	bool touch;         /* else a request */
	mr_node_list nodes; /* requested; or the one of the thread that touched */
} record;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the records */
static record *records;
static size_t n_records;
static uint32_t n_fakes;
static uint64_t fake_bytes;
static uint8_t node_of_cpu[MOST_CPUS];

/* Malformed settings end the process: a test that silently tests nothing is worse. */
static void read_environment(void)
{
	const char *s = getenv("MR_FAKE_NODES");
	uint64_t mebibytes = 0;
	int used = 0, n;

	if (!s)
		return;
	n = sscanf(s, "%" SCNu32 "%n:%" SCNu64 "%n", &n_fakes, &used, &mebibytes, &used);
	if (n < 1 || s[used] || n_fakes < 1 || n_fakes > MOST_FAKES) {
		fprintf(stderr, "MR_FAKE_NODES: expected n or n:MEBIBYTES with n from 1 to %d, got \"%s\"\n",
			MOST_FAKES, s);
		exit(2);
	}
	fake_bytes = mebibytes << 20;
}

uint32_t mr_numa_fakes(uint64_t *bytes)
{
	pthread_once(&once, read_environment);
	*bytes = fake_bytes;
	return n_fakes;
}

bool mr_numa_fakes_there(void)
{
	uint64_t bytes;

	return mr_numa_fakes(&bytes) > 0;
}

void mr_numa_set_fakes(uint32_t n, uint64_t bytes)
{
	pthread_once(&once, read_environment);
	n_fakes = n;
	fake_bytes = bytes;
	free(records);
	records = NULL;
	n_records = 0;
	memset(node_of_cpu, 0, sizeof(node_of_cpu));
}

void mr_numa_fake_cpu(uint32_t cpu, uint32_t node)
{
	if (cpu < MOST_CPUS)
		node_of_cpu[cpu] = (uint8_t)node;
}

static void add(const void *base, uint64_t bytes, bool touch, mr_node_list nodes)
{
	pthread_mutex_lock(&lock);
	records = mr_grown(records, n_records, sizeof(*records));
	if (!records)
		abort();
	records[n_records++] = (record){(uintptr_t)base, (uintptr_t)base + bytes, touch, nodes};
	pthread_mutex_unlock(&lock);
}

bool mr_numa_fake_bind(const void *base, uint64_t bytes, const mr_node_list *l, int *error)
{
	if (!mr_numa_fakes_there())
		return false;
	*error = 0;
	for (uint32_t i = 0; i < l->n; i++)
		if (l->os[i] >= n_fakes)
			*error = EINVAL;
	if (!*error)
		add(base, bytes, false, *l);
	return true;
}

void mr_numa_touched(const void *base, uint64_t bytes)
{
	int cpu = sched_getcpu();

	if (mr_numa_fakes_there())
		add(base, bytes, true, mr_node_list_of(cpu >= 0 && cpu < MOST_CPUS ? node_of_cpu[cpu] : 0));
}

void mr_numa_unmapped(const void *base, uint64_t bytes)
{
	uintptr_t begin = (uintptr_t)base, end = begin + bytes;
	size_t n = 0;

	if (!mr_numa_fakes_there())
		return;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_records; i++)
		if (records[i].end <= begin || records[i].begin >= end)
			records[n++] = records[i];
	n_records = n;
	pthread_mutex_unlock(&lock);
}

/* The last request before the first touch counts; without one, that touch. */
static uint32_t where(uintptr_t at, uintptr_t page_bytes)
{
	const record *found = NULL;

	for (size_t i = 0; i < n_records; i++) {
		if (at < records[i].begin || at >= records[i].end)
			continue;
		found = records[i].touch && found ? found : &records[i];
		if (records[i].touch)
			break;
	}
	return found ? found->nodes.os[(at - found->begin) / page_bytes % found->nodes.n] : 0;
}

void mr_numa_fake_where(void *const *page, uint64_t n, int *node)
{
	if (!mr_numa_fakes_there())
		return;
	pthread_mutex_lock(&lock);
	for (uint64_t i = 0; i < n; i++)
		if (node[i] >= 0)
			node[i] = (int)where((uintptr_t)page[i], (uintptr_t)sysconf(_SC_PAGESIZE));
	pthread_mutex_unlock(&lock);
}

#else
typedef int mr_numa_fakes_are_off;
#endif
