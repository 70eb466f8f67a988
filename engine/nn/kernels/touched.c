#include "nn/kernels/touched.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

size_t mr_touched_bytes(const void *p, size_t bytes)
{
	enum { AT_ONCE = 1024 };
	unsigned char in[AT_ONCE];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
	uintptr_t begin = (uintptr_t)p / page * page, end = ((uintptr_t)p + bytes + page - 1) / page * page;

	if (!p || bytes == 0)
		return 0;
	for (uintptr_t at = begin; at < end; at += AT_ONCE * page) {
		size_t pages = (end - at) / page;

		pages = pages < AT_ONCE ? pages : AT_ONCE;
		if (mincore((void *)at, pages * page, in))
			return bytes;
		for (size_t i = 0; i < pages; i++)
			n += in[i] & 1;
	}
	return n * page;
}
