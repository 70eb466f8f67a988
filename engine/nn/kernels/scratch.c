#include "nn/kernels/scratch.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

mr_status mr_scratch_grow(mr_scratch *s, size_t bytes)
{
	enum { PAGE = 4096 };

	if (s->at && bytes <= s->bytes)
		return MR_OK;
	free(s->at);
	bytes = (bytes / PAGE + 1) * PAGE;
	s->at = aligned_alloc(PAGE, bytes);
	s->bytes = s->at ? bytes : 0;
	return s->at ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %zu bytes of scratch of a kernel", bytes);
}

size_t mr_scratch_touched(const mr_scratch *s)
{
	enum { AT_ONCE = 1024 };
	unsigned char in[AT_ONCE];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
	uintptr_t begin = (uintptr_t)s->at / page * page, end = ((uintptr_t)s->at + s->bytes + page - 1) / page * page;

	if (!s->at)
		return 0;
	for (uintptr_t at = begin; at < end; at += AT_ONCE * page) {
		size_t pages = (end - at) / page;

		pages = pages < AT_ONCE ? pages : AT_ONCE;
		if (mincore((void *)at, pages * page, in))
			return s->bytes;
		for (size_t i = 0; i < pages; i++)
			n += in[i] & 1;
	}
	return n * page;
}
