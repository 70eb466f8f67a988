#include "base/mapping.h"

#include <sys/mman.h>

void *mr_mapping_take(size_t bytes)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void mr_mapping_give(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes ? bytes : 1);
}
