#include "interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define INTERPOSED 0
#else
#define INTERPOSED 1
#endif

static _Atomic bool on;
static _Atomic uint64_t n_calls;
static void *_Atomic from[INTERPOSE_NOTES];
static _Thread_local bool exempt;

bool interpose_works(void)
{
	return INTERPOSED;
}

void interpose_begin(void)
{
	exempt = true;
	atomic_store(&n_calls, 0);
	atomic_store(&on, true);
}

uint64_t interpose_end(void)
{
	atomic_store(&on, false);
	exempt = false;
	return atomic_load(&n_calls);
}

const char *interpose_object(uint64_t i)
{
	Dl_info info;

	return dladdr(atomic_load(&from[i]), &info) && info.dli_fname ? info.dli_fname : "?";
}

#if INTERPOSED

/* glibc's own, under the names that it keeps for interposers. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

static void note(void *caller)
{
	uint64_t i;

	if (!atomic_load_explicit(&on, memory_order_relaxed) || exempt)
		return;
	i = atomic_fetch_add(&n_calls, 1);
	if (i < INTERPOSE_NOTES)
		atomic_store(&from[i], caller);
}

void *malloc(size_t n)
{
	note(__builtin_return_address(0));
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t each)
{
	note(__builtin_return_address(0));
	return __libc_calloc(n, each);
}

void *realloc(void *p, size_t n)
{
	note(__builtin_return_address(0));
	return __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n)
{
	note(__builtin_return_address(0));
	return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	note(__builtin_return_address(0));
	return __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
	note(__builtin_return_address(0));
	*p = __libc_memalign(align, n);
	return *p ? 0 : ENOMEM;
}

void free(void *p)
{
	note(__builtin_return_address(0));
	__libc_free(p);
}

#endif
