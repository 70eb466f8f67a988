#include "guarded.h"

#include <string.h>
#include <sys/mman.h>

#include "check.h"

#define PAGE ((size_t)4096)
#define MARK 0xFF /* four of them are not a number */

static size_t bytes_of(const guarded *g)
{
	return g->n * sizeof(float);
}

guarded guarded_make(int64_t n, bool at_end)
{
	guarded g = {.n = (size_t)n, .pages = ((size_t)n * sizeof(float) + PAGE - 1) / PAGE};
	char *inside;

	g.map = mmap(NULL, (g.pages + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(g.map != MAP_FAILED);
	inside = g.map + PAGE;
	CU_ASSERT_FATAL(g.pages == 0 || mprotect(inside, g.pages * PAGE, PROT_READ | PROT_WRITE) == 0);
	g.p = (float *)(at_end ? inside + g.pages * PAGE - bytes_of(&g) : inside);
	if (at_end)
		memset(inside, MARK, (size_t)((char *)g.p - inside));
	else
		memset(inside + bytes_of(&g), MARK, g.pages * PAGE - bytes_of(&g));
	return g;
}

guarded guarded_fill(int64_t n, bool at_end, uint32_t stream, float lo, float hi)
{
	guarded g = guarded_make(n, at_end);

	for (int64_t i = 0; i < n; i++)
		g.p[i] = number_of(stream, i, lo, hi);
	return g;
}

void guarded_freeze(const guarded *g)
{
	CU_ASSERT_FATAL(g->pages == 0 || mprotect(g->map + PAGE, g->pages * PAGE, PROT_READ) == 0);
}

void guarded_free(guarded *g)
{
	const unsigned char *inside, *from = (const unsigned char *)g->p;
	bool whole = true;

	if (!g->map)
		return;
	inside = (const unsigned char *)g->map + PAGE;
	for (const unsigned char *q = inside; q < from; q++)
		whole = whole && *q == MARK;
	for (const unsigned char *q = from + bytes_of(g); q < inside + g->pages * PAGE; q++)
		whole = whole && *q == MARK;
	CU_ASSERT(whole);
	munmap(g->map, (g->pages + 2) * PAGE);
	*g = (guarded){0};
}
