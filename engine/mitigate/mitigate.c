#include "mitigate/mitigate.h"

#include "base/registry.h"

#define MR_MITIGATE(id) extern const mr_mitigate_ops mr_mitigate_##id;
#include "mitigate/mitigate.def"
#undef MR_MITIGATE

static const mr_mitigate_ops *const mitigations[] = {
#define MR_MITIGATE(id) &mr_mitigate_##id,
#include "mitigate/mitigate.def"
#undef MR_MITIGATE
};

MR_REGISTRY(mr_mitigate_ops, mitigations, mr_mitigate_at, mr_mitigate_find)

void mr_mitigate_init(mr_mitigate *m, const mr_mitigate_ops *ops, const mr_values *values)
{
	*m = (mr_mitigate){.ops = ops};
	if (ops->init)
		ops->init(m, values);
}

typedef struct work {
	const mr_mitigate *m;
	const mr_mitigate_call *c;
	void *g;
	const void *made;
	void *amended;
	int16_t *rest;
} work;

static void correct_range(const void *args, int64_t lo, int64_t hi)
{
	const work *w = args;

	w->m->ops->correct(w->m, w->c, w->g, lo, hi);
}

static void follow_range(const void *args, int64_t lo, int64_t hi)
{
	const work *w = args;

	w->m->ops->follow(w->m, w->c, w->made, lo, hi);
}

static void amend_range(const void *args, int64_t lo, int64_t hi)
{
	const work *w = args;

	w->m->ops->amend(w->m, w->c, w->amended, w->rest, lo, hi);
}

mr_status mr_mitigate_correct(const mr_mitigate *m, const mr_mitigate_call *c, const mr_kernels *k, mr_kctx *kc,
			      void *g)
{
	return k->ranges(kc, &(mr_ranges_args){.n = c->n, .fn = correct_range,
					       .args = &(work){.m = m, .c = c, .g = g}});
}

mr_status mr_mitigate_follow(const mr_mitigate *m, const mr_mitigate_call *c, const mr_kernels *k, mr_kctx *kc,
			     const void *made)
{
	return k->ranges(kc, &(mr_ranges_args){.n = c->n, .fn = follow_range,
					       .args = &(work){.m = m, .c = c, .made = made}});
}

mr_status mr_mitigate_amend(const mr_mitigate *m, const mr_mitigate_call *c, const mr_kernels *k, mr_kctx *kc,
			    void *made, int16_t *made_rest)
{
	return k->ranges(kc, &(mr_ranges_args){.n = c->n, .fn = amend_range,
					       .args = &(work){.m = m, .c = c, .amended = made, .rest = made_rest}});
}

bool mr_mitigate_is_none(const mr_mitigate_ops *ops)
{
	return !strcmp(ops->name, MR_MITIGATE_NONE);
}
