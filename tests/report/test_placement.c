/* The picture of a machine: each core once, with its worker, inside its cache, inside its node, and nothing outside. */
#include "report/placement.h"

#include <math.h>
#include <string.h>

#include "check.h"

#define NODES 3
#define CACHES 2 /* a node */
#define CORES 12 /* a cache */

static unsigned count(const char *text, const char *part)
{
	unsigned n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

static mr_placement_core core[NODES * CACHES * CORES];
static mr_placement_cache cache[NODES * CACHES];
static mr_placement_node node[NODES];
static const char *const worker[] = {"w0: stage 0", "w1: stage 1 & 2"};

static char *drawn(void)
{
	mr_placement p = {"machine", node, NODES, cache, NODES * CACHES, worker, 2};
	static char *text;
	static size_t len;
	FILE *f = open_memstream(&text, &len);
	mr_svg v = mr_svg_file(f);

	for (uint32_t i = 0; i < NODES * CACHES * CORES; i++)
		core[i] = (mr_placement_core){i, i < CORES ? 0 : i < 2 * CORES ? 1 : MR_PLACEMENT_IDLE};
	for (uint32_t i = 0; i < NODES * CACHES; i++)
		cache[i] = (mr_placement_cache){i ? 1 << 20 : 0, i / CACHES, core + i * CORES, CORES};
	for (uint32_t i = 0; i < NODES; i++)
		node[i] = (mr_placement_node){i, 1 << 30};
	MR_CHECK_OK(mr_placement_put(&p, &v));
	fclose(f);
	return text;
}

typedef struct box {
	double x, y, width, height;
} box;

/* The boxes of class @css, as many as fit. */
static unsigned boxes(const char *text, const char *css, box *to, unsigned most)
{
	char head[64];
	unsigned n = 0;

	snprintf(head, sizeof(head), "<rect class=\"%s\" x=", css);
	for (const char *s = strstr(text, head); s && n < most; s = strstr(s + 1, head), n++)
		CU_ASSERT_EQUAL_FATAL(sscanf(s + strlen(head), "\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"",
					     &to[n].x, &to[n].y, &to[n].width, &to[n].height),
				      4);
	return n;
}

static bool within(const box *a, const box *b)
{
	return a->x >= b->x && a->y >= b->y && a->x + a->width <= b->x + b->width &&
	       a->y + a->height <= b->y + b->height;
}

static bool apart(const box *a, const box *b)
{
	return a->x + a->width <= b->x || b->x + b->width <= a->x || a->y + a->height <= b->y ||
	       b->y + b->height <= a->y;
}

static void each_in_its_place(void)
{
	box nodes[NODES + 1], caches[NODES * CACHES + 1], cores[128], whole = {0};
	char *text = drawn();

	CU_ASSERT_EQUAL(sscanf(strstr(text, " width="), " width=\"%lf\" height=\"%lf\"", &whole.width, &whole.height),
			2);
	CU_ASSERT_EQUAL_FATAL(boxes(text, "soft frame", nodes, NODES + 1), NODES);
	CU_ASSERT_EQUAL_FATAL(boxes(text, "bg frame", caches, NODES * CACHES + 1), NODES * CACHES);
	for (unsigned i = 0; i < NODES; i++) {
		CU_ASSERT_TRUE(within(&nodes[i], &whole));
		for (unsigned k = 0; k < i; k++)
			CU_ASSERT_TRUE(apart(&nodes[i], &nodes[k]));
	}
	for (unsigned i = 0; i < NODES * CACHES; i++) {
		CU_ASSERT_TRUE(within(&caches[i], &nodes[i / CACHES]));
		for (unsigned k = 0; k < i; k++)
			CU_ASSERT_TRUE(apart(&caches[i], &caches[k]));
	}
	CU_ASSERT_EQUAL_FATAL(boxes(text, "gray", cores, 128), (NODES * CACHES - 2) * CORES);
	for (unsigned i = 0; i < (NODES * CACHES - 2) * CORES; i++)
		CU_ASSERT_TRUE(within(&cores[i], &caches[2 + i / CORES]));
	CU_ASSERT_EQUAL_FATAL(boxes(text, "s1", cores, 128), CORES + 1); /* and the legend's */
	for (unsigned i = 0; i < CORES; i++)
		CU_ASSERT_TRUE(within(&cores[i], &caches[1]));
	CU_ASSERT_EQUAL(count(text, ">w0<"), CORES);
	CU_ASSERT_EQUAL(count(text, ">71<"), 1);
	CU_ASSERT_EQUAL(count(text, ">shared cache<"), 1);
	CU_ASSERT_EQUAL(count(text, ">L3, 1.0 MiB<"), NODES * CACHES - 1);
	CU_ASSERT_EQUAL(count(text, ">w1: stage 1 &amp; 2<"), 1);
	free(text);
}

void mr_suite_placement(void);
void mr_suite_placement(void)
{
	MR_SUITE("placement");
	MR_TEST(each_in_its_place);
}
