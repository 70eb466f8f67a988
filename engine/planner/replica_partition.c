#include "planner/replica_partition.h"

#include <math.h>
#include <stdlib.h>

#include "planner/partition.h"

/* Costs this close are equal: the difference is a rounding error of sums in another order. */
#define SAME 1e-12

/* The best suffix: layers from i on with the last m workers. */
typedef struct cell {
	double bottleneck; /* INFINITY: none */
	double squares;
	uint32_t n_stages, end, replicas; /* of its first stage */
} cell;

typedef struct solver {
	const mr_replica_problem *p;
	double *time, *weights, *saved; /* [n_layers + 1] of all layers before */
	cell *best;                     /* [n_layers + 1][n_workers + 1] */
	bool by_bytes;                  /* the bottleneck is memory, and the capacity does not count */
} solver;

static cell *cell_at(const solver *s, uint32_t layer, uint32_t left)
{
	return &s->best[(size_t)layer * (s->p->n_workers + 1) + left];
}

/* The bandwidth between workers @a and @b. */
static double bandwidth(const mr_replica_problem *p, uint32_t a, uint32_t b)
{
	return !p->node_workers || a / p->node_workers == b / p->node_workers ? p->local : p->remote;
}

static double transfer(double bytes, double bandwidth)
{
	return bandwidth > 0 ? bytes / bandwidth : 0;
}

static mr_replica_stage stage_of(const solver *s, uint32_t first, uint32_t end, uint32_t left, uint32_t replicas)
{
	const mr_replica_problem *p = s->p;
	double t = s->time[end] - s->time[first], w = s->weights[end] - s->weights[first];
	double a = s->saved[end] - s->saved[first], r = replicas, sync, kept;
	uint32_t worker = p->n_workers - left, f = (left + replicas - 1) / replicas;

	sync = transfer((p->sync == MR_SYNC_2018 ? 4 * (r - 1) / r : 2 * (r - 1)) * w,
			bandwidth(p, worker, worker + replicas - 1));
	kept = p->kept == MR_KEPT_EACH ? f : p->kept == MR_KEPT_TWO && f > 1 ? 2 : 1;
	return (mr_replica_stage){
		.first = first,
		.end = end,
		.worker = worker,
		.replicas = replicas,
		.in_flight = f,
		.time = fmax(t, sync) / r,
		.boundary = first ? transfer(2 * p->layer[first - 1].activation, bandwidth(p, worker - 1, worker)) : 0,
		.bytes = (kept + 1 + p->state) * w +
			 (p->recompute ? f * (first ? p->layer[first - 1].activation : 0) + a : f * a),
	};
}

/* What the bottleneck compares; INFINITY where the stage does not fit. */
static double worst_of(const solver *s, const mr_replica_stage *g)
{
	if (s->by_bytes)
		return g->bytes;
	if (s->p->capacity > 0 && g->bytes > s->p->capacity * (1 + SAME))
		return INFINITY;
	return fmax(g->time, g->boundary);
}

static uint32_t most_replicas(const solver *s, uint32_t left)
{
	return s->p->straight && left ? 1 : left;
}

/* First pass: the least bottleneck of each suffix. */
static void find_bottleneck(solver *s, uint32_t layer, uint32_t left)
{
	cell *c = cell_at(s, layer, left);

	c->bottleneck = INFINITY;
	for (uint32_t r = 1; r <= most_replicas(s, left); r++)
		for (uint32_t end = layer + 1; end <= s->p->n_layers; end++) {
			mr_replica_stage g = stage_of(s, layer, end, left, r);
			double worst = fmax(worst_of(s, &g), cell_at(s, end, left - r)->bottleneck);

			if (worst < c->bottleneck)
				c->bottleneck = worst;
			if (!s->by_bytes && g.time >= c->bottleneck)
				break; /* more layers take longer */
		}
}

/* Whether the suffix that begins with a stage of (@end, @replicas) comes before that of @c by its cuts, then by its
 * replicas. Both begin at one layer and have @left workers. */
static bool comes_before(const solver *s, uint32_t left, uint32_t end, uint32_t replicas, const cell *c)
{
	cell a = {.end = end, .replicas = replicas}, b = *c;
	uint32_t left_a = left, left_b = left;
	int by_replicas = 0;

	while (a.end == b.end) {
		if (!by_replicas && a.replicas != b.replicas)
			by_replicas = a.replicas < b.replicas ? -1 : 1;
		if (a.end == s->p->n_layers)
			return by_replicas < 0;
		left_a -= a.replicas;
		left_b -= b.replicas;
		a = *cell_at(s, a.end, left_a);
		b = *cell_at(s, b.end, left_b);
	}
	return a.end < b.end;
}

/* Second pass, among stages and boundaries of at most @limit: the most even suffix. */
static void find_even(solver *s, uint32_t layer, uint32_t left, double limit)
{
	cell *c = cell_at(s, layer, left), best = {.bottleneck = INFINITY, .squares = INFINITY};

	for (uint32_t end = layer + 1; end <= s->p->n_layers; end++)
		for (uint32_t r = 1; r <= most_replicas(s, left); r++) {
			mr_replica_stage g = stage_of(s, layer, end, left, r);
			const cell *rest = cell_at(s, end, left - r);
			double squares = g.time * g.time + rest->squares;
			bool better;

			if (!(rest->bottleneck < INFINITY) || !(worst_of(s, &g) <= limit))
				continue;
			better = squares < best.squares * (1 - SAME);
			if (!better && squares <= best.squares * (1 + SAME))
				better = rest->n_stages + 1 < best.n_stages ||
					 (rest->n_stages + 1 == best.n_stages && comes_before(s, left, end, r, &best));
			if (better)
				best = (cell){0, squares, rest->n_stages + 1, end, r};
		}
	*c = best;
}

static void clear(solver *s)
{
	for (size_t i = 0; i < ((size_t)s->p->n_layers + 1) * (s->p->n_workers + 1); i++)
		s->best[i] = (cell){.bottleneck = INFINITY, .squares = INFINITY};
	*cell_at(s, s->p->n_layers, 0) = (cell){0};
}

static double least_bottleneck(solver *s)
{
	clear(s);
	for (uint32_t layer = s->p->n_layers; layer-- > 0;)
		for (uint32_t left = 1; left <= s->p->n_workers; left++)
			find_bottleneck(s, layer, left);
	return cell_at(s, 0, s->p->n_workers)->bottleneck;
}

/* The search takes layers^2 workers^2 steps. */
static mr_status bound(const mr_replica_problem *p)
{
	double each = (double)p->n_workers * p->n_workers, steps = each * p->n_layers * p->n_layers;

	if (steps <= MR_PARTITION_MOST_STEPS)
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "%u layers on %u workers take %.2g steps (layers^2 workers^2), and at most %.2g are allowed: "
		       "at most %.0f layers; rows of neighbouring layers can be added up", p->n_layers, p->n_workers,
		       steps, MR_PARTITION_MOST_STEPS, floor(sqrt(MR_PARTITION_MOST_STEPS / each)));
}

static mr_status open_solver(solver *s, const mr_replica_problem *p)
{
	MR_TRY(bound(p));
	*s = (solver){.p = p};
	s->time = calloc(3 * ((size_t)p->n_layers + 1), sizeof(*s->time));
	s->best = calloc(((size_t)p->n_layers + 1) * ((size_t)p->n_workers + 1), sizeof(*s->best));
	if (!s->time || !s->best) {
		free(s->time);
		free(s->best);
		return mr_fail(MR_ERESOURCE, "no memory to give %u workers to %u layers", p->n_workers, p->n_layers);
	}
	s->weights = s->time + p->n_layers + 1;
	s->saved = s->weights + p->n_layers + 1;
	for (uint32_t i = 0; i < p->n_layers; i++) {
		const mr_layer_row *l = &p->layer[i];

		s->time[i + 1] = s->time[i] + l->forward * (p->recompute ? 2 : 1) + l->backward;
		s->weights[i + 1] = s->weights[i] + l->weights;
		s->saved[i + 1] = s->saved[i] + l->saved;
	}
	return MR_OK;
}

static void close_solver(solver *s)
{
	free(s->time);
	free(s->best);
}

static mr_status take(const solver *s, mr_replica_partition *out)
{
	uint32_t layer = 0, left = s->p->n_workers;

	out->n_stages = cell_at(s, 0, left)->n_stages;
	out->stage = calloc(out->n_stages, sizeof(*out->stage));
	if (!out->stage)
		return mr_fail(MR_ERESOURCE, "no memory for %u stages", out->n_stages);
	for (uint32_t i = 0; i < out->n_stages; i++) {
		const cell *c = cell_at(s, layer, left);

		out->stage[i] = stage_of(s, layer, c->end, left, c->replicas);
		layer = c->end;
		left -= c->replicas;
	}
	return MR_OK;
}

mr_status mr_replica_partition_solve(const mr_replica_problem *p, mr_replica_partition *out, bool *found)
{
	mr_status st = MR_OK;
	solver s;

	*out = (mr_replica_partition){0};
	MR_TRY(open_solver(&s, p));
	out->bottleneck = least_bottleneck(&s);
	*found = out->bottleneck < INFINITY;
	if (*found) {
		double limit = out->bottleneck * (1 + SAME);

		clear(&s);
		for (uint32_t layer = p->n_layers; layer-- > 0;)
			for (uint32_t left = 1; left <= p->n_workers; left++)
				find_even(&s, layer, left, limit);
		st = take(&s, out);
	}
	close_solver(&s);
	return st;
}

mr_status mr_replica_partition_least(const mr_replica_problem *p, double *bytes)
{
	solver s;

	MR_TRY(open_solver(&s, p));
	s.by_bytes = true;
	*bytes = least_bottleneck(&s);
	close_solver(&s);
	return MR_OK;
}

uint32_t mr_replica_partition_in_flight(const mr_replica_problem *p, const mr_replica_partition *c)
{
	return (p->n_workers + c->stage[0].replicas - 1) / c->stage[0].replicas;
}

void mr_replica_partition_fini(mr_replica_partition *c)
{
	free(c->stage);
	*c = (mr_replica_partition){0};
}
