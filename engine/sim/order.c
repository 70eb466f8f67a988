/* order.c - a merge of the workers' lists, each of which is in order already. */
#include "sim/order.h"

#include <stdlib.h>

/* A heap of workers; the one whose next instance comes first is on top. */
typedef struct mr_merge {
	const mr_walk *walk;
	size_t *next;   /* [n_workers] next instance of each */
	uint16_t *heap;
	uint32_t n;
} mr_merge;

static bool before(const mr_merge *m, uint16_t a, uint16_t b)
{
	const mr_walk_rec *x = &m->walk->at[m->next[a]], *y = &m->walk->at[m->next[b]];

	return x->begin < y->begin || (x->begin == y->begin && x->rank < y->rank);
}

static void sift_down(mr_merge *m, uint32_t i)
{
	for (uint32_t child; (child = 2 * i + 1) < m->n; i = child) {
		uint16_t w = m->heap[i];

		if (child + 1 < m->n && before(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (!before(m, m->heap[child], w))
			return;
		m->heap[i] = m->heap[child];
		m->heap[child] = w;
	}
}

mr_status mr_sim_order(const mr_walk *walk, mr_sim_event *event)
{
	mr_merge m = {.walk = walk};
	size_t n = 0;

	m.next = malloc(walk->n_workers * sizeof(*m.next));
	m.heap = malloc(walk->n_workers * sizeof(*m.heap));
	if (!m.next || !m.heap) {
		free(m.next);
		free(m.heap);
		return mr_fail(MR_ERESOURCE, "no memory to order the work of %u workers", walk->n_workers);
	}
	for (uint16_t w = 0; w < walk->n_workers; w++) {
		m.next[w] = walk->first[w];
		if (walk->first[w] < walk->first[w + 1])
			m.heap[m.n++] = w;
	}
	for (uint32_t i = m.n / 2; i-- > 0;)
		sift_down(&m, i);
	while (m.n) {
		uint16_t w = m.heap[0];

		event[n++] = (mr_sim_event){(uint32_t)m.next[w], w};
		if (++m.next[w] == walk->first[w + 1])
			m.heap[0] = m.heap[--m.n];
		sift_down(&m, 0);
	}
	free(m.next);
	free(m.heap);
	return MR_OK;
}
