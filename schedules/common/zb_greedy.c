#include "schedules/common/zb_greedy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { F, I, W, N_KINDS };

static const uint8_t op_of[N_KINDS] = {MR_OP_F, MR_OP_I, MR_OP_W};
static const double takes[N_KINDS] = {1, -0.5, -0.5};

typedef struct zb_worker {
	double clock;  /* end of its last instruction */
	double held;   /* forwards in memory */
	double bubble; /* time it waited after its first forward began */
	uint32_t n[N_KINDS];
	uint32_t more; /* forwards decided on but not yet placed */
} zb_worker;

/* One way of choosing, at work. */
typedef struct zb_run {
	const mr_zb_problem *p;
	bool no_overrun; /* warm-up: wait for the first gradient where a forward would still run when it comes */
	bool hold_back;  /* leave out the forward of a worker that is two ahead of the next one, if that costs little */
	bool always_w;   /* do a weight gradient even where the worker has time to spare */
	double longest;  /* bubble of any worker */
	zb_worker *at;   /* [D] */
	double *end[2];  /* [D][T] of F and I */
	uint8_t *op;     /* [D][3 T] */
} zb_run;

static double cost_of(const zb_run *r, uint16_t w, enum kind k)
{
	const mr_stage_cost *c = &r->p->cost[w];

	return k == F ? c->f : k == I ? c->i : c->w;
}

static bool has_w(const zb_run *r, uint16_t w)
{
	return r->at[w].n[W] < r->at[w].n[I];
}

/* When the next @k of worker @w has its input from another worker; -1 if it needs none. */
static double ready(const zb_run *r, uint16_t w, enum kind k)
{
	uint16_t from = (uint16_t)(k == F ? w - 1 : w + 1);

	if (k == W || (k == F && w == 0) || (k == I && from == r->p->n_workers))
		return -1;
	return r->end[k][(size_t)from * r->p->n_micro + r->at[w].n[k]] + mr_cost_handover(&r->p->cost[from], k == I);
}

static void put(zb_run *r, uint16_t w, enum kind k)
{
	zb_worker *at = &r->at[w];
	double at_once = at->clock + cost_of(r, w, k);
	double end = fmax(at->clock, ready(r, w, k)) + cost_of(r, w, k);

	if (at->n[F])
		at->bubble += end - at_once;
	r->longest = fmax(r->longest, at->bubble);
	at->clock = end;
	at->held += takes[k];
	if (k != W)
		r->end[k][(size_t)w * r->p->n_micro + at->n[k]] = end;
	r->op[(size_t)w * N_KINDS * r->p->n_micro + at->n[F] + at->n[I] + at->n[W]] = op_of[k];
	at->n[k]++;
}

/* Weight gradients that end before @when; then one that does not, if the wait is longer than the worker can spare. */
static void fill(zb_run *r, uint16_t w, double when)
{
	const zb_worker *at = &r->at[w];

	while (has_w(r, w) && at->clock + cost_of(r, w, W) <= when)
		put(r, w, W);
	if (has_w(r, w) && at->clock < when && (r->always_w || when - at->clock > r->longest - at->bubble))
		put(r, w, W);
}

/* How many further forwards each worker does before its first I, from the last worker to the first. */
static void decide_warmup(zb_run *r)
{
	uint16_t last = (uint16_t)(r->p->n_workers - 1);
	double gradient = r->at[last].clock + cost_of(r, last, I);

	for (uint16_t w = last; w-- > 0;) {
		zb_worker *at = &r->at[w];
		double f = cost_of(r, w, F), clock = at->clock;
		double arrives = gradient + mr_cost_handover(&r->p->cost[w + 1], true);

		while (at->n[F] + at->more < r->p->n_micro && at->held + at->more + 1 <= r->p->cap &&
		       (r->no_overrun ? clock + f <= arrives : clock < arrives)) {
			clock += f;
			at->more++;
		}
		gradient = fmax(clock, arrives) + cost_of(r, w, I);
	}
	/* Never more than the worker before, whose forwards they need, and fewer unless all T are out. */
	for (uint16_t w = 1; w <= last; w++) {
		zb_worker *at = &r->at[w];

		if (at->more > at[-1].more)
			at->more = at[-1].more;
		if (at->more && at->more == at[-1].more && at->n[F] + at->more < r->p->n_micro)
			at->more--;
	}
}

static void warm_up(zb_run *r)
{
	for (uint16_t w = 0; w < r->p->n_workers; w++)
		put(r, w, F);
	decide_warmup(r);
	for (uint16_t w = 0; w < r->p->n_workers; w++)
		for (; r->at[w].more; r->at[w].more--)
			put(r, w, F);
	for (uint16_t w = r->p->n_workers; w-- > 0;)
		put(r, w, I);
}

/* Worker @w is two forwards ahead of the next one. Should it leave this forward out? */
static bool holds_back(const zb_run *r, uint16_t w)
{
	const zb_worker *at = &r->at[w];
	double comes = at[1].clock + cost_of(r, (uint16_t)(w + 1), F) + cost_of(r, (uint16_t)(w + 1), I) +
		       mr_cost_handover(&r->p->cost[w + 1], true);
	double held = at->held + takes[F], room = 0;

	if (at->clock >= comes)
		return true;
	for (uint32_t n = at->n[W]; held > r->p->cap && n < at->n[I]; n++) {
		room += cost_of(r, w, W);
		held += takes[W];
	}
	return at->clock + cost_of(r, w, F) + room > comes && comes - at->clock <= r->longest - at->bubble;
}

/* One forward of each worker that still has some; one that is left out is left out by all before it too. */
static void decide_forwards(zb_run *r)
{
	bool go = true;

	for (uint16_t w = r->p->n_workers; w-- > 0;) {
		zb_worker *at = &r->at[w];
		bool next = w + 1 < r->p->n_workers;

		go = go && at->n[F] < r->p->n_micro &&
		     !(r->hold_back && next && at->n[F] >= at[1].n[F] + 2 && holds_back(r, w));
		at->more = go;
	}
}

static void round_of(zb_run *r)
{
	decide_forwards(r);
	for (uint16_t w = 0; w < r->p->n_workers; w++) {
		if (!r->at[w].more)
			continue;
		while (r->at[w].held + takes[F] > r->p->cap)
			put(r, w, W); /* there is one: with all done the worker holds less than one forward more than it
			                 may */
		fill(r, w, ready(r, w, F));
		put(r, w, F);
		r->at[w].more = 0;
	}
	for (uint16_t w = r->p->n_workers; w-- > 0;) {
		fill(r, w, ready(r, w, I));
		while (w == 0 && r->at[w].n[F] == r->p->n_micro && has_w(r, w))
			put(r, w, W);
		put(r, w, I);
	}
}

static double run(zb_run *r)
{
	double span = 0;

	memset(r->at, 0, r->p->n_workers * sizeof(*r->at));
	r->longest = 0;
	warm_up(r);
	for (uint32_t m = 1; m < r->p->n_micro; m++)
		round_of(r);
	for (uint16_t w = 0; w < r->p->n_workers; w++) {
		while (has_w(r, w))
			put(r, w, W);
		span = fmax(span, r->at[w].clock - r->end[F][(size_t)w * r->p->n_micro] + cost_of(r, w, F));
	}
	return span;
}

static void try_all(zb_run *r, mr_zb_order *out)
{
	out->span = INFINITY;
	for (unsigned way = 0; way < 8; way++) {
		double span;

		r->no_overrun = !(way & 4);
		r->hold_back = !(way & 2);
		r->always_w = !(way & 1);
		span = run(r);
		if (span < out->span) {
			uint8_t *best = r->op;

			r->op = out->op;
			out->op = best;
			out->span = span;
		}
	}
}

mr_status mr_zb_greedy(const mr_zb_problem *p, mr_zb_order *out)
{
	size_t n = (size_t)p->n_workers * p->n_micro;
	zb_run r = {
		.p = p,
		.at = malloc(p->n_workers * sizeof(*r.at)),
		.end = {malloc(n * sizeof(double)), malloc(n * sizeof(double))},
		.op = malloc(n * N_KINDS),
	};
	mr_status st = MR_OK;

	*out = (mr_zb_order){.op = malloc(n * N_KINDS)};
	if (r.at && r.end[F] && r.end[I] && r.op && out->op) {
		try_all(&r, out);
	} else {
		free(out->op);
		out->op = NULL;
		st = mr_fail(MR_ERESOURCE, "no memory to order %u micro-batches on %u workers", p->n_micro,
			     p->n_workers);
	}
	free(r.at);
	free(r.end[F]);
	free(r.end[I]);
	free(r.op);
	return st;
}
