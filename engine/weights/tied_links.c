#include "weights/tied_links.h"

#include <stdlib.h>
#include <string.h>

#include "weights/tied_sum.h"

static mr_tied_links *links_of(const mr_stage_weights *b)
{
	return b->tied ? b->tied->links : NULL;
}

static mr_range *weights_of(const mr_tied_links *l, uint32_t i, uint32_t j)
{
	return &l->weights[i * l->n_users + j];
}

static mr_range *gradients_of(const mr_tied_links *l, uint32_t j, uint32_t i)
{
	return &l->gradients[j * l->n_owners + i];
}

/* --- building --- */

/* The bytes of the tied parameters that owner @i has, and of their gradients at the users. */
static void find_spans(const mr_stage_weights *b, mr_tied_links *l, uint32_t i)
{
	const mr_stage *users = b->tied->user->stage;
	const mr_graph *g = mr_stage_graph(b->stage);
	size_t weight = mr_dtype_bytes(b->k->types.weights), gradient = mr_dtype_bytes(b->k->types.gradients);
	uint32_t begin, end;
	int64_t first, n;

	mr_stage_params(users, &begin, &end);
	for (uint32_t u = begin; u < end; u++) {
		uint32_t p = (uint32_t)g->params[u].tied_to;

		if (g->params[u].tied_to < 0 || p >= begin || !mr_weights_part(b, (uint8_t)i, p, &first, &n))
			continue;
		mr_range_span_widen(&l->of_weights[i], mr_stage_weight_at(b->stage, p) + (size_t)first * weight,
				    (size_t)n * weight);
		mr_range_span_widen(&l->of_gradients[i], mr_stage_grad_at(users, u) + (size_t)first * gradient,
				    (size_t)n * gradient);
	}
}

static mr_status create(mr_stage_weights *b)
{
	uint32_t owners = b->n_shards, users = b->tied->user->n_shards;
	mr_tied_links *l = b->tied->links = calloc(1, sizeof(*l));

	if (!l)
		return mr_fail(MR_ERESOURCE, "no memory for the links of tied parameters");
	*l = (mr_tied_links){
		.n_owners = owners,
		.n_users = users,
		.weights = calloc((size_t)owners * users, sizeof(*l->weights)),
		.gradients = calloc((size_t)owners * users, sizeof(*l->gradients)),
		.of_weights = calloc(owners, sizeof(*l->of_weights)),
		.of_gradients = calloc(owners, sizeof(*l->of_gradients)),
		.home = calloc(users, sizeof(*l->home)),
		.nodes = calloc(users, sizeof(*l->nodes)),
		.copy = calloc(users, sizeof(*l->copy)),
		.n_sums = calloc(users, sizeof(*l->n_sums)),
	};
	if (!l->weights || !l->gradients || !l->of_weights || !l->of_gradients || !l->home || !l->nodes ||
	    !l->copy || !l->n_sums)
		return mr_fail(MR_ERESOURCE, "no memory for the links of tied parameters");
	for (uint32_t j = 0; j < users; j++) /* shards with copies of their own: users have some, too */
		l->home[j] = b->apart ? owners : j < owners ? j : 0;
	for (uint32_t i = 0; i < owners; i++)
		find_spans(b, l, i);
	return MR_OK;
}

/* The kind of @e in *@out; NULL: its ends share memory. */
static mr_status kind_of(const mr_edge *e, const mr_link_kind *const *kinds, const mr_link_kind **out)
{
	*out = NULL;
	if (e->from == e->to)
		return MR_OK;
	MR_TRY(mr_link_kind_of(kinds, e, out));
	if (mr_link_kind_shares(*out))
		*out = NULL;
	return MR_OK;
}

/* The two channels between owner @i on worker @owner and user @j on worker @user. */
static mr_status choose_pair(mr_stage_weights *b, uint16_t last, uint32_t i, uint16_t owner, uint32_t j, uint16_t user,
			     const mr_link_kind *const *kinds)
{
	mr_edge down = {.kind = MR_EDGE_WEIGHTS, .from = owner, .to = user, .stage = 0};
	mr_edge up = {.kind = MR_EDGE_GRADIENTS, .from = user, .to = owner, .stage = last};
	const mr_link_kind *weights, *gradients;

	MR_TRY(kind_of(&down, kinds, &weights));
	MR_TRY(kind_of(&up, kinds, &gradients));
	if ((weights || gradients) && !links_of(b))
		MR_TRY(create(b));
	if (weights) {
		weights_of(links_of(b), i, j)->channel = (mr_channel){.kind = weights, .edge = down, .n = b->cap};
		links_of(b)->home[j] = b->n_shards;
	}
	if (gradients)
		gradients_of(links_of(b), j, i)->channel = (mr_channel){.kind = gradients, .edge = up, .n = 1};
	return MR_OK;
}

mr_status mr_tied_links_choose(mr_stage_weights *b, uint16_t last, const uint16_t *owner, const uint16_t *user,
			       const mr_link_kind *const *kinds)
{
	for (uint32_t i = 0; i < b->n_shards; i++)
		for (uint32_t j = 0; j < b->tied->user->n_shards; j++)
			MR_TRY(choose_pair(b, last, i, owner[i], j, user[j], kinds));
	return b->apart && !links_of(b) ? create(b) : MR_OK;
}

mr_status mr_tied_links_place(mr_stage_weights *b, uint32_t j, uint32_t home, const mr_node_list *nodes)
{
	if (home != j && !links_of(b))
		MR_TRY(create(b));
	if (!links_of(b))
		return MR_OK;
	links_of(b)->nodes[j] = *nodes;
	if (links_of(b)->home[j] < b->n_shards)
		links_of(b)->home[j] = home;
	return MR_OK;
}

static bool has_copy(const mr_tied_links *l, uint32_t j)
{
	return l && l->home[j] == l->n_owners;
}

uint64_t mr_tied_links_copy_bytes(const mr_stage_weights *b, uint32_t j)
{
	const mr_tied_links *l = links_of(b);
	uint64_t sum = 0;

	for (uint32_t i = 0; has_copy(l, j) && i < l->n_owners; i++)
		sum += l->of_weights[i].end - l->of_weights[i].begin;
	return sum * b->cap;
}

mr_status mr_tied_links_open(mr_stage_weights *b)
{
	mr_tied_links *l = links_of(b);
	size_t stride = mr_stage_size(b->stage)->weight_bytes;

	for (uint32_t j = 0; l && j < l->n_users; j++) {
		if (has_copy(l, j))
			MR_TRY(mr_region_map(&l->copy[j], stride * b->cap, &l->nodes[j]));
		for (uint32_t i = 0; i < l->n_owners; i++) {
			mr_range *w = weights_of(l, i, j), *g = gradients_of(l, j, i);

			if (w->channel.kind)
				MR_TRY(mr_range_open(w, l->of_weights[i], stride, b->shard[i].version,
						     (uint8_t *)l->copy[j].base + l->of_weights[i].begin));
			if (g->channel.kind)
				MR_TRY(mr_range_open_copies(g, l->of_gradients[i], b->tied->user->shard[j].grads));
		}
	}
	return MR_OK;
}

void mr_tied_links_close(mr_tied_sum *t)
{
	mr_tied_links *l = t->links;

	for (uint32_t k = 0; l && l->weights && k < l->n_owners * l->n_users; k++)
		mr_channel_close(&l->weights[k].channel);
	for (uint32_t k = 0; l && l->gradients && k < l->n_owners * l->n_users; k++) {
		mr_channel_close(&l->gradients[k].channel);
		free(l->gradients[k].copy);
	}
	for (uint32_t j = 0; l && l->copy && j < l->n_users; j++)
		mr_region_unmap(&l->copy[j]);
	if (l) {
		free(l->weights);
		free(l->gradients);
		free(l->of_weights);
		free(l->of_gradients);
		free(l->home);
		free(l->nodes);
		free(l->copy);
		free(l->n_sums);
	}
	free(l);
	t->links = NULL;
}

void mr_tied_links_reset(mr_stage_weights *b, mr_parker *const *owner, mr_parker *const *user)
{
	mr_tied_links *l = links_of(b);

	for (uint32_t j = 0; l && j < l->n_users; j++) {
		for (uint32_t i = 0; i < l->n_owners; i++) {
			mr_range_reset(weights_of(l, i, j), b->latest, user[j]);
			mr_range_reset(gradients_of(l, j, i), b->latest, owner[i]);
		}
		l->n_sums[j] = b->latest;
	}
	mr_tied_links_spread(b);
}

/* Owner @i's part of version buffer @v, from @from, to user @j's copy. */
static void write_copy(const mr_stage_weights *b, uint32_t i, uint32_t j, uint64_t v, const uint8_t *from)
{
	const mr_tied_links *l = links_of(b);
	size_t at = v * mr_stage_size(b->stage)->weight_bytes + l->of_weights[i].begin;

	memcpy((uint8_t *)l->copy[j].base + at, from + at, l->of_weights[i].end - l->of_weights[i].begin);
}

void mr_tied_links_spread(mr_stage_weights *b)
{
	mr_tied_links *l = links_of(b);

	for (uint32_t j = 0; l && j < l->n_users; j++)
		for (uint32_t i = 0; has_copy(l, j) && i < l->n_owners; i++)
			for (uint64_t v = 0; v < b->cap; v++)
				write_copy(b, i, j, v, b->shard[0].version);
}

/* --- on the step path --- */

void mr_tied_links_send_weights(mr_stage_weights *b, uint32_t i, uint64_t version)
{
	mr_tied_links *l = links_of(b);

	for (uint32_t j = 0; l && j < l->n_users; j++) {
		mr_range *w = weights_of(l, i, j);

		if (w->channel.kind)
			mr_channel_post(&w->channel, version);
		else if (has_copy(l, j))
			write_copy(b, i, j, version % b->cap, b->shard[i].version);
	}
}

bool mr_tied_links_have_weights(mr_stage_weights *b, uint32_t j, uint64_t version)
{
	mr_tied_links *l = links_of(b);

	for (uint32_t i = 0; l && i < l->n_owners; i++)
		if (!mr_range_has(weights_of(l, i, j), version))
			return false;
	return true;
}

const void *mr_tied_links_weights(const mr_stage_weights *b, uint32_t j, uint64_t version)
{
	const mr_tied_links *l = links_of(b);

	if (!has_copy(l, j))
		return mr_weights_at(b, (uint8_t)(l ? l->home[j] : j), version);
	return (uint8_t *)l->copy[j].base + (version % b->cap) * mr_stage_size(b->stage)->weight_bytes;
}

void mr_tied_links_send_sum(mr_stage_weights *b, uint32_t j)
{
	mr_tied_links *l = links_of(b);

	if (!l)
		return;
	l->n_sums[j]++;
	for (uint32_t i = 0; i < l->n_owners; i++)
		if (gradients_of(l, j, i)->channel.kind)
			mr_channel_post(&gradients_of(l, j, i)->channel, l->n_sums[j]);
}

bool mr_tied_links_have_sums(mr_stage_weights *b, uint32_t i, uint64_t commit)
{
	mr_tied_links *l = links_of(b);

	for (uint32_t j = 0; l && j < l->n_users; j++)
		if (b->tied->user->shard[j].need && !mr_range_has(gradients_of(l, j, i), commit))
			return false;
	return true;
}

uint8_t *mr_tied_links_sum_of(const mr_stage_weights *b, uint32_t j, uint32_t i, size_t at)
{
	const mr_range *g = links_of(b) ? gradients_of(links_of(b), j, i) : NULL;

	if (!g || !g->channel.kind)
		return b->tied->user->shard[j].grads + at;
	return mr_range_copy(g) + (at - links_of(b)->of_gradients[i].begin);
}
