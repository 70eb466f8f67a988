#include "link/channel.h"

#define MR_LINK_KIND(id) extern const mr_link_kind mr_link_##id;
#include "link/link_kinds.def"
#undef MR_LINK_KIND

static const mr_link_kind *const registered[] = {
#define MR_LINK_KIND(id) &mr_link_##id,
#include "link/link_kinds.def"
#undef MR_LINK_KIND
	NULL,
};

static const char *const edge_names[MR_N_EDGE_KINDS] = {
	[MR_EDGE_FORWARD] = "activations", [MR_EDGE_BACKWARD] = "gradients of activations",
	[MR_EDGE_GRADIENTS] = "gradients", [MR_EDGE_WEIGHTS] = "weights",
	[MR_EDGE_EVENT] = "events", [MR_EDGE_MEETING] = "meetings of shares",
};

const mr_link_kind *mr_link_kind_at(uint32_t i)
{
	return i < sizeof(registered) / sizeof(registered[0]) ? registered[i] : NULL;
}

mr_status mr_link_kind_of(const mr_link_kind *const *kinds, const mr_edge *e, const mr_link_kind **out)
{
	for (kinds = kinds ? kinds : registered; *kinds; kinds++)
		if (!(*kinds)->carries || (*kinds)->carries(*kinds, e)) {
			*out = *kinds;
			return MR_OK;
		}
	return mr_fail(MR_ECONFIG, "no kind of link carries the %s of stage %u from worker %u to worker %u",
		       edge_names[e->kind], e->stage, e->from, e->to);
}

bool mr_link_kinds_share(const mr_link_kind *const *kinds)
{
	const mr_link_kind *first = (kinds ? kinds : registered)[0];

	return first && !first->carries && mr_link_kind_shares(first);
}

void mr_share_links_init(mr_share_links *l, const mr_link_kind *const *kinds, uint32_t first)
{
	kinds = kinds ? kinds : registered;
	*l = (mr_share_links){.kind = *kinds[0], .kinds = {&l->kind, kinds[1]}};
	l->kind.first = first;
}

mr_status mr_channel_open(mr_channel *c)
{
	c->n_posted = c->n_polled = 0;
	return c->kind->open(c);
}

void mr_channel_arm(mr_channel *c)
{
	if (c->kind->arm)
		c->kind->arm(c);
}

uint64_t mr_channel_kept_bytes(const mr_channel *c)
{
	return c->kind->kept ? c->kind->kept(c) : 0;
}

void mr_channel_reset(mr_channel *c, mr_parker *consumer)
{
	c->n_posted = c->n_polled = 0;
	c->consumer = consumer;
	c->kind->reset(c);
}

void mr_channel_close(mr_channel *c)
{
	if (c->kind)
		c->kind->close(c);
}

/* Both ends are threads of this process. */
const mr_link_kind mr_link_ring = {.name = "ring"};
