#include "base/room.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"

/* Less than this is in the error of what counts the process's memory. */
#define SMALL ((uint64_t)256 << 10)

static _Atomic uint64_t limit;

uint64_t mr_room_limit(uint64_t bytes)
{
	return atomic_exchange(&limit, bytes);
}

bool mr_room_is_limited(void)
{
	return atomic_load(&limit) != 0;
}

/* 0 where there is no /proc. */
static uint64_t resident(void)
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	unsigned long long all, pages;
	char text[128];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%llu %llu", &all, &pages) == 2 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

mr_status mr_room_check(const char *path, const char *what, uint64_t need)
{
	uint64_t most = atomic_load(&limit), have, left;
	char a[16], b[16], c[16];

	if (!most || need < SMALL)
		return MR_OK;
	have = resident();
	left = most > have ? most - have : 0;
	if (need <= left)
		return MR_OK;
	return mr_fail(MR_ERESOURCE, "%s%s%s may take %s of memory, and %s are left below the limit of %s",
		       path ? path : "", path ? ": " : "", what, mr_bytes_text(need, a), mr_bytes_text(left, b),
		       mr_bytes_text(most, c));
}
