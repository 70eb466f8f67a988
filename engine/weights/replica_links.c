#include "weights/replica_links.h"

#include <stdlib.h>

#include "weights/layer_states.h"

/* An array of one replica, or a range of it: message i is @span of what begins at data + i % n * stride. */
typedef struct array {
	uint8_t *data;
	size_t stride;
	uint32_t n;
	mr_range_span span;
} array;

/* Array @a of replica @r in range @p; false: there is none. */
static bool array_of(const mr_replicas *g, uint32_t a, uint32_t r, uint32_t p, array *out)
{
	mr_stage_weights *b = mr_replicas_block(g, r);
	mr_replica_part of = mr_replicas_part(g, p);

	switch (a) {
	case MR_REPLICA_WEIGHTS:
		*out = (array){b->shard[0].version, mr_stage_size(b->stage)->weight_bytes, b->cap,
			       {of.begin, of.end}};
		return true;
	case MR_REPLICA_REST:
		*out = (array){(uint8_t *)b->rest, 0, 1,
			       {of.first * sizeof(*b->rest), (of.first + (size_t)of.n) * sizeof(*b->rest)}};
		return b->rest != NULL;
	case MR_REPLICA_LAYERS:
		*out = (array){b->layer_states ? b->layer_states->state : NULL, 0, 1,
			       {0, mr_stage_size(b->stage)->layer_state_bytes}};
		return b->layer_states != NULL;
	default:
		*out = (array){NULL, 0, 1,
			       {of.first * mr_dtype_bytes(b->k->types.state),
				(of.first + (size_t)of.n) * mr_dtype_bytes(b->k->types.state)}};
		if (!g->average->state || a - MR_REPLICA_STATES >= g->optim->ops->n_states)
			return false;
		out->data = b->state[a - MR_REPLICA_STATES];
		return true;
	}
}

/* --- building --- */

static mr_status create(mr_replicas *g)
{
	mr_replica_links *l = g->links = calloc(1, sizeof(*l));
	size_t pairs = (size_t)g->n * g->n;

	if (!l)
		return mr_fail(MR_ERESOURCE, "no memory for the links of %u replicas", g->n);
	l->n = g->n;
	for (int a = 0; a < MR_REPLICA_ARRAYS; a++) {
		l->up[a] = calloc(pairs, sizeof(*l->up[a]));
		l->down[a] = calloc(pairs, sizeof(*l->down[a]));
		if (!l->up[a] || !l->down[a])
			return mr_fail(MR_ERESOURCE, "no memory for the links of %u replicas", g->n);
	}
	return MR_OK;
}

/* The links from replica @r to owner @p, and back. */
static mr_status choose_pair(mr_replicas *g, mr_edge up, uint32_t r, uint32_t p, const mr_link_kind *const *kinds)
{
	mr_edge down = {.kind = MR_EDGE_WEIGHTS, .from = up.to, .to = up.from, .stage = up.stage};
	const mr_link_kind *to, *back;

	if (up.from == up.to)
		return MR_OK;
	MR_TRY(mr_link_kind_of(kinds, &up, &to));
	MR_TRY(mr_link_kind_of(kinds, &down, &back));
	if (mr_link_kind_shares(to))
		return MR_OK;
	if (!g->links)
		MR_TRY(create(g));
	for (int a = 0; a < MR_REPLICA_ARRAYS; a++) {
		g->links->up[a][r * g->n + p].channel = (mr_channel){.kind = to, .edge = up};
		if (a != MR_REPLICA_LAYERS) /* each process averages these by itself */
			g->links->down[a][p * g->n + r].channel = (mr_channel){.kind = back, .edge = down};
	}
	return MR_OK;
}

mr_status mr_replica_links_choose(mr_replicas *g, uint16_t stage, const uint16_t *worker,
				  const mr_link_kind *const *kinds)
{
	for (uint32_t r = 0; r < g->n; r++)
		for (uint32_t p = 0; p < g->n; p++) {
			mr_edge up = {.kind = MR_EDGE_GRADIENTS, .from = worker[r], .to = worker[p], .stage = stage};

			MR_TRY(choose_pair(g, up, r, p, kinds));
		}
	return MR_OK;
}

/* Of array @a between replica @r and owner @p. */
static mr_status open_pair(mr_replicas *g, uint32_t a, uint32_t r, uint32_t p)
{
	mr_range *up = &g->links->up[a][r * g->n + p], *down = &g->links->down[a][p * g->n + r];
	array of;

	if (!up->channel.kind)
		return MR_OK;
	if (!array_of(g, a, r, p, &of)) {
		up->channel.kind = down->channel.kind = NULL;
		return MR_OK;
	}
	up->channel.n = of.n;
	up->channel.from_stride = of.stride;
	MR_TRY(mr_range_open_copies(up, of.span, of.data));
	if (!down->channel.kind)
		return MR_OK;
	down->channel.n = of.n;
	down->channel.bytes = up->channel.bytes;
	down->channel.from = up->copy;
	down->channel.from_stride = up->channel.to_stride;
	down->channel.to = of.data + of.span.begin;
	down->channel.to_stride = of.stride;
	return mr_channel_open(&down->channel);
}

mr_status mr_replica_links_open(mr_replicas *g)
{
	for (uint32_t a = 0; g->links && a < MR_REPLICA_ARRAYS; a++)
		for (uint32_t r = 0; r < g->n; r++)
			for (uint32_t p = 0; p < g->n; p++)
				MR_TRY(open_pair(g, a, r, p));
	return MR_OK;
}

void mr_replica_links_close(mr_replicas *g)
{
	mr_replica_links *l = g->links;

	for (int a = 0; l && a < MR_REPLICA_ARRAYS; a++) {
		for (uint32_t i = 0; l->up[a] && i < l->n * l->n; i++) {
			mr_channel_close(&l->up[a][i].channel);
			free(l->up[a][i].copy);
		}
		for (uint32_t i = 0; l->down[a] && i < l->n * l->n; i++)
			mr_channel_close(&l->down[a][i].channel);
		free(l->up[a]);
		free(l->down[a]);
	}
	free(l);
	g->links = NULL;
}

void mr_replica_links_reset(mr_replicas *g, uint64_t version, mr_parker *const *parker)
{
	for (int a = 0; g->links && a < MR_REPLICA_ARRAYS; a++)
		for (uint32_t i = 0; i < g->n * g->n; i++) {
			mr_range_reset(&g->links->up[a][i], version, parker[i % g->n]);
			mr_range_reset(&g->links->down[a][i], version, parker[i % g->n]);
		}
}

/* --- on the step path --- */

/* Send @number of all arrays from @from to all that share no memory with it. */
static void send(mr_replicas *g, mr_range *const *table, uint32_t from, uint64_t number)
{
	for (int a = 0; a < MR_REPLICA_ARRAYS; a++)
		for (uint32_t to = 0; to < g->n; to++)
			if (table[a][from * g->n + to].channel.kind)
				mr_channel_post(&table[a][from * g->n + to].channel, number);
}

static bool have(mr_replicas *g, mr_range *const *table, uint32_t to, uint64_t number)
{
	for (int a = 0; a < MR_REPLICA_ARRAYS; a++)
		for (uint32_t from = 0; from < g->n; from++)
			if (!mr_range_has(&table[a][from * g->n + to], number))
				return false;
	return true;
}

void mr_replica_links_send_up(mr_replicas *g, uint32_t r, uint64_t version)
{
	if (g->links && (version + 1) % (g->average->every + (uint64_t)1) == 0)
		send(g, g->links->up, r, version);
}

bool mr_replica_links_have_up(mr_replicas *g, uint32_t p, uint64_t version)
{
	return !g->links || have(g, g->links->up, p, version);
}

void mr_replica_links_send_down(mr_replicas *g, uint32_t p, uint64_t version)
{
	if (g->links)
		send(g, g->links->down, p, version);
}

bool mr_replica_links_have_down(mr_replicas *g, uint32_t r, uint64_t version)
{
	uint64_t last = version - version % (g->average->every + (uint64_t)1);

	return !g->links || have(g, g->links->down, r, last);
}

void *mr_replica_links_at(const mr_replicas *g, uint32_t a, uint32_t p, uint32_t r, uint64_t version)
{
	const mr_range *up = g->links ? &g->links->up[a][r * g->n + p] : NULL;

	return up && up->channel.kind ? up->copy + version % up->channel.n * up->channel.to_stride : NULL;
}
