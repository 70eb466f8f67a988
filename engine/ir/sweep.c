#include "ir/sweep.h"

#include <stdlib.h>
#include <string.h>

mr_status mr_sweep_init(mr_sweep *s, const mr_unroll *g)
{
	uint32_t n_workers = g->plan->n_workers, n_lines = n_workers + (g->n_all - g->n_nodes);

	*s = (mr_sweep){.g = g};
	s->node = malloc(5 * (size_t)n_lines * sizeof(*s->node));
	s->waiting = malloc(((size_t)g->n_all + 1) * sizeof(*s->waiting));
	s->done = calloc((size_t)g->n_all + 1, 1);
	if (!s->node || !s->waiting || !s->done) {
		mr_sweep_fini(s);
		return mr_fail(MR_ERESOURCE, "no memory to order %u instructions", g->n_all);
	}
	s->last = s->node + n_lines;
	s->source = s->last + n_lines;
	s->ready = s->source + n_lines;
	s->other = s->ready + n_lines;
	memset(s->waiting, 0xff, (size_t)g->n_all * sizeof(*s->waiting));
	for (uint32_t l = 0; l < n_lines; l++) {
		s->node[l] = l < n_workers ? g->first[l] : g->n_nodes + (l - n_workers);
		s->last[l] = l < n_workers ? g->first[l + 1] : s->node[l] + 1;
		s->source[l] = 0;
		s->ready[n_lines - 1 - l] = l;
	}
	s->n_ready = n_lines;
	return MR_OK;
}

void mr_sweep_fini(mr_sweep *s)
{
	free(s->node);
	free(s->waiting);
	free(s->done);
	*s = (mr_sweep){0};
}

/* The first source of @line's next node that is not done, from the one on that is looked at next; or MR_NO_NODE. */
static uint32_t missing(mr_sweep *s, uint32_t line)
{
	const mr_unroll *g = s->g;
	uint32_t node = s->node[line], n = g->edge_first[node + 1] - g->edge_first[node] + 1;

	for (uint32_t k = s->source[line]; k < n; k++) {
		uint32_t from = k                   ? g->edge[g->edge_first[node] + k - 1]
				: node < g->n_nodes ? g->storage[node]
						    : MR_NO_NODE;

		if (from == MR_NO_NODE || s->done[from])
			continue;
		s->source[line] = k;
		return from;
	}
	return MR_NO_NODE;
}

static void finish(mr_sweep *s, uint32_t line, uint32_t node)
{
	s->node[line]++;
	s->source[line] = 0;
	s->done[node] = 1;
	s->n_done++;
	if (s->waiting[node] == MR_NO_NODE)
		return;
	s->n_ready--;
	for (uint32_t l = s->waiting[node]; l != MR_NO_NODE; l = s->other[l])
		s->ready[s->n_ready++] = l;
	s->ready[s->n_ready++] = line; /* which goes on first */
}

uint32_t mr_sweep_next(mr_sweep *s)
{
	while (s->n_ready) {
		uint32_t line = s->ready[s->n_ready - 1], node = s->node[line], from;

		if (node == s->last[line]) {
			s->n_ready--;
			continue;
		}
		from = missing(s, line);
		if (from == MR_NO_NODE) {
			finish(s, line, node);
			return node;
		}
		s->n_ready--;
		s->other[line] = s->waiting[from];
		s->waiting[from] = line;
	}
	return MR_NO_NODE;
}

mr_status mr_sweep_order(const mr_unroll *g, uint32_t *order, bool *complete)
{
	mr_sweep s;
	uint32_t node;

	MR_TRY(mr_sweep_init(&s, g));
	while ((node = mr_sweep_next(&s)) != MR_NO_NODE)
		order[s.n_done - 1] = node;
	*complete = s.n_done == g->n_all;
	mr_sweep_fini(&s);
	return MR_OK;
}
