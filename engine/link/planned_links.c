#include "link/planned_links.h"

static const mr_planned_links *of(const mr_link_kind *k)
{
	return k->arg;
}

static bool carries(const mr_link_kind *k, const mr_edge *e)
{
	return of(k)->rank[k->first + e->from] != of(k)->rank[k->first + e->to];
}

static mr_status open_none(mr_channel *c)
{
	return mr_fail(MR_EINVAL, "workers %u and %u are on ranks that are planned, and not started", c->edge.from,
		       c->edge.to);
}

static void close_none(mr_channel *c)
{
	(void)c;
}

static uint64_t kept(const mr_channel *c)
{
	const mr_planned_links *l = of(c->kind);

	return l->self == MR_PLANNED_ALL || l->rank[c->kind->first + c->edge.from] == l->self
		       ? mr_channel_copies_bytes(c)
		       : 0;
}

void mr_planned_links_init(mr_planned_links *l, const uint16_t *rank, uint32_t self)
{
	*l = (mr_planned_links){
		.kind = {.name = "planned", .arg = l, .carries = carries, .open = open_none, .close = close_none,
			 .kept = kept},
		.rank = rank,
		.self = self,
		.kinds = {&l->kind, mr_link_kind_at(0)},
	};
}
