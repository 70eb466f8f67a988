#include "base/perf_map.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

enum { N_STUBS = 2048, NAME = 96 };

/* Frame, call of the fourth argument with the first three, return; position-independent. */
#if defined(__x86_64__)
static const uint8_t code[] = {
	0xf3, 0x0f, 0x1e, 0xfa, /* endbr64 */
	0x55,                   /* push rbp */
	0x48, 0x89, 0xe5,       /* mov rbp, rsp */
	0xff, 0xd1,             /* call rcx */
	0x5d,                   /* pop rbp */
	0xc3,                   /* ret */
};
#define STRIDE 16
#elif defined(__aarch64__)
static const uint32_t code[] = {
	0xd503245f, /* bti c */
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0xd63f0060, /* blr x3 */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
#define STRIDE 32
#else
static const uint8_t code[1];
#define STRIDE 0
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool tried;
static char *stubs; /* [N_STUBS][STRIDE], all alike; NULL: there are none */
static uint32_t n_named;
static char (*names)[NAME];
static FILE *map;
static _Thread_local mr_perf_stub *current;

/* All stubs are written before the first is called, so that no page is ever writable and executable. */
static void open_map(const char *folder)
{
	char path[4096];
	int fd;

	if (snprintf(path, sizeof(path), "%s/perf-%d.map", folder, (int)getpid()) >= (int)sizeof(path))
		return;
	names = calloc(N_STUBS, sizeof(*names));
	/* Made anew: in a folder that all may write to, a link of that name would lead elsewhere. */
	unlink(path);
	fd = names ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666) : -1;
	map = fd < 0 ? NULL : fdopen(fd, "w");
	if (!map) {
		if (fd >= 0)
			close(fd);
		mr_log(MR_LOG_WARN, "perf", "MR_PERF_MAP: %s cannot be written: no layer has a name", path);
		return;
	}
	stubs = mmap(NULL, (size_t)N_STUBS * STRIDE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stubs == MAP_FAILED) {
		stubs = NULL;
		return;
	}
	for (uint32_t i = 0; i < N_STUBS; i++)
		memcpy(stubs + (size_t)i * STRIDE, code, sizeof(code));
	__builtin___clear_cache(stubs, stubs + (size_t)N_STUBS * STRIDE);
	if (mprotect(stubs, (size_t)N_STUBS * STRIDE, PROT_READ | PROT_EXEC)) {
		mr_log(MR_LOG_WARN, "perf", "MR_PERF_MAP: this system runs no generated code: no layer has a name");
		stubs = NULL;
	}
}

static char *find_stub(const char *name)
{
	for (uint32_t i = 0; i < n_named; i++)
		if (!strncmp(names[i], name, NAME - 1))
			return stubs + (size_t)i * STRIDE;
	if (n_named == N_STUBS)
		return NULL;
	snprintf(names[n_named], NAME, "%s", name);
	fprintf(map, "%llx %x %s\n", (unsigned long long)(uintptr_t)(stubs + (size_t)n_named * STRIDE),
		(unsigned)sizeof(code), names[n_named]);
	fflush(map);
	return stubs + (size_t)n_named++ * STRIDE;
}

mr_perf_stub *mr_perf_map_stub(const char *name)
{
	const char *folder = STRIDE ? getenv("MR_PERF_MAP") : NULL;
	mr_perf_stub *stub = NULL;
	char *at = NULL;

	if (!folder || !*folder)
		return NULL;
	pthread_mutex_lock(&lock);
	if (!tried)
		open_map(folder);
	tried = true;
	if (stubs)
		at = find_stub(name);
	pthread_mutex_unlock(&lock);
	memcpy(&stub, &at, sizeof(stub));
	return stub;
}

mr_status mr_perf_map_named(mr_perf_stub *stub, mr_perf_call *call, const void *a, const void *b, uint32_t n)
{
	mr_perf_stub *outer = current;
	mr_status st;

	current = stub;
	st = stub(a, b, n, call);
	current = outer;
	return st;
}

mr_perf_stub *mr_perf_map_current(void)
{
	return current;
}
