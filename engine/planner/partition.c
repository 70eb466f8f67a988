#include "planner/partition.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

void mr_partition_fini(mr_partition *p)
{
	free(p->first);
	*p = (mr_partition){0};
}

static mr_status allocate(mr_partition *p, uint16_t n_stages)
{
	*p = (mr_partition){.n_stages = n_stages, .first = calloc((size_t)n_stages + 1, sizeof(*p->first))};
	return p->first ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a partition into %u stages", n_stages);
}

uint16_t mr_partition_stage(const mr_partition *p, uint32_t node)
{
	uint16_t s = 0;

	while (p->first[s + 1] <= node)
		s++;
	return s;
}

/* --- the static cost --- */

static double shape_bytes(mr_shape s, int64_t samples, mr_dtype dtype)
{
	return (double)samples * (double)mr_shape_bytes(s, dtype);
}

/* Bytes moved for each element of a weight that trains; @multiplies: F and I read it; @steps: it is updated here. */
static double bytes_per_weight(const mr_kernels *k, bool multiplies, bool steps)
{
	size_t weight = mr_dtype_bytes(k->types.weights), gradient = mr_dtype_bytes(k->types.gradients);
	size_t state = mr_dtype_bytes(k->types.state);

	return (double)((multiplies ? 2 * weight : 0) + gradient + (steps ? 2 * weight + gradient + 4 * state : 0));
}

double mr_partition_cost(const mr_graph *g, uint32_t node, int64_t samples, const mr_kernels *k)
{
	const mr_node *n = &g->nodes[node];
	mr_layer_needs needs = mr_graph_needs(g, node, samples);
	double flops = needs.flops_f + needs.flops_w + needs.flops_i, bytes = 0;
	size_t reads = needs.flops_f > 0 ? 1 + (needs.flops_i > 0) : 0; /* passes over weights that are frozen */

	for (uint32_t i = 0; i < n->n_in; i++) {
		double once = shape_bytes(g->values[n->in[i]].shape, samples, k->types.activations);

		bytes += mr_graph_wants_dx(g, node, i) ? 2 * once : once;
	}
	for (uint32_t i = 0; i < n->n_out; i++)
		bytes += (g->values[n->out + i].fixed ? 1 : 2) *
			 shape_bytes(n->out_shape[i], samples, k->types.activations);
	for (uint32_t i = n->first_param; i < n->first_param + n->n_params; i++)
		bytes += (double)g->params[i].n *
			 (n->frozen ? (double)(reads * mr_dtype_bytes(k->types.weights))
				    : bytes_per_weight(k, needs.flops_f > 0, g->params[i].tied_to < 0));
	return flops / MR_PARTITION_FLOPS + bytes / MR_PARTITION_BYTES;
}

/* --- the exact partition --- */

typedef struct mr_solver {
	const uint64_t *sum; /* [n_points + 1]: cost of all nodes before a point; the last: of all */
	uint32_t n_points;
	const uint32_t *weight; /* [n_stages] factor of each stage's cost; NULL: 1 */
	const uint64_t *enter;  /* [n_points] additional cost of a stage that begins at a point; NULL: 0 */
	const uint64_t *across; /* [n_stages][n_points] cost of a link into a stage, by its begin; NULL: 0 */
	uint64_t limit;      /* no stage may cost more */
	uint32_t *reach;     /* [n_stages] no stage begins behind this point: those before it cannot cover more */
	uint64_t *best;      /* [n_points + 1] least sum of squares from a point to the end; UINT64_MAX: impossible */
	uint64_t *next;      /* the same with one stage more */
	uint32_t *choice;    /* [n_stages][n_points] begin of the stage after this one (a point's number) */
	uint64_t steps;      /* so far */
} mr_solver;

/* Count the @n steps of one stage's begin. */
static bool may_go_on(mr_solver *s, uint32_t n)
{
	s->steps += n;
	return (double)s->steps <= MR_PARTITION_MOST_STEPS;
}

static mr_status too_many_steps(const mr_solver *s, uint16_t n_stages)
{
	return mr_fail(MR_ECONFIG,
		       "the most even cut into %u stages at %u places takes more than %.2g steps: name the layers at "
		       "which stages begin in partition, or take fewer stages", n_stages, s->n_points,
		       MR_PARTITION_MOST_STEPS);
}

/* Do @n_stages stages of at most @limit suffice? Filling each as far as possible needs the fewest. */
static bool suffices(const mr_solver *s, uint16_t n_stages, uint64_t limit)
{
	uint32_t at = 0;

	for (uint16_t stage = 0; stage < n_stages; stage++) {
		uint32_t from = at;

		while (at < s->n_points && s->sum[at + 1] - s->sum[from] <= limit)
			at++;
		if (at == s->n_points)
			return true;
	}
	return false;
}

/* The least largest stage: if fewer stages suffice, they can be cut further. */
static uint64_t least_limit(const mr_solver *s, uint16_t n_stages)
{
	uint64_t low = 0, high = s->sum[s->n_points];

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (suffices(s, n_stages, mid))
			high = mid;
		else
			low = mid + 1;
	}
	return high;
}

/* The cost of stage @stage from point @i to point @j. */
static uint64_t cost_of(const mr_solver *s, uint16_t stage, uint32_t i, uint32_t j)
{
	return (s->sum[j] - s->sum[i] + (s->enter ? s->enter[i] : 0)) * (s->weight ? s->weight[stage] : 1);
}

/* The cost of the link into stage @stage that begins at point @i. */
static uint64_t link_into(const mr_solver *s, uint16_t stage, uint32_t i)
{
	return s->across && i < s->n_points ? s->across[(size_t)stage * s->n_points + i] : 0;
}

/*
 * The same if stages have different factors, or cost something to enter: then cutting a stage further may make it
 * dearer, so all cuts are tried. best[i] is the least largest stage of those that begin at point i.
 */
static mr_status least_weighted_limit(mr_solver *s, uint16_t n_stages)
{
	for (uint32_t i = 0; i < s->n_points; i++)
		s->best[i] = UINT64_MAX;
	s->best[s->n_points] = 0;
	for (uint16_t stage = n_stages; stage-- > 0;)
		for (uint32_t i = 0; i <= s->n_points; i++) {
			/* Ascending, and a stage is never empty: best[j], j > i, is still that of the later stages. */
			uint64_t least = UINT64_MAX;
			uint32_t j = i + 1;

			for (; j <= s->n_points; j++) {
				uint64_t cost = cost_of(s, stage, i, j);

				if (cost >= least)
					break;
				cost = s->best[j] > cost ? s->best[j] : cost;
				least = cost < least ? cost : least;
			}
			s->best[i] = least == UINT64_MAX || least > link_into(s, stage, i) ? least
											    : link_into(s, stage, i);
			if (!may_go_on(s, j - i))
				return too_many_steps(s, n_stages);
		}
	s->limit = s->best[0];
	return MR_OK;
}

/* Fill each stage as far as the limit allows, as if entering it cost nothing. */
static void find_reach(mr_solver *s, uint16_t n_stages)
{
	uint32_t at = 0;

	for (uint16_t stage = 0; stage < n_stages; stage++) {
		uint64_t before = s->sum[at], times = s->weight ? s->weight[stage] : 1;
		uint32_t end = s->n_points;

		s->reach[stage] = at;
		while (at < end && (s->sum[at + 1] - before) * times <= s->limit)
			at++;
	}
}

/* next[i] = least sum of squares of cutting points i.. into stages @stage.., from best, that of the later stages.
 * false: that takes too many steps. */
static bool add_stage(mr_solver *s, uint16_t stage, uint32_t *choice)
{
	uint32_t low = 0; /* where the later stages may begin at the earliest */

	while (low < s->n_points && s->best[low] == UINT64_MAX)
		low++;
	for (uint32_t i = 0; i <= s->n_points; i++)
		s->next[i] = UINT64_MAX;
	for (uint32_t i = 0; i <= s->reach[stage]; i++) {
		uint32_t begin = i + 1 > low ? i + 1 : low, j = begin;
		uint64_t link = link_into(s, stage, i);

		if (link > s->limit)
			continue;
		for (; j <= s->n_points; j++) {
			uint64_t cost = cost_of(s, stage, i, j);

			if (cost > s->limit)
				break;
			if (s->best[j] != UINT64_MAX && cost * cost + link * link + s->best[j] < s->next[i]) {
				s->next[i] = cost * cost + link * link + s->best[j];
				choice[i] = j;
			}
		}
		if (!may_go_on(s, j - begin + 1))
			return false;
	}
	return true;
}

static mr_status solve(mr_solver *s, uint16_t n_stages, const uint32_t *points, uint32_t n, uint32_t *first)
{
	uint32_t at = 0;

	if (s->weight || s->enter || s->across)
		MR_TRY(least_weighted_limit(s, n_stages));
	else
		s->limit = least_limit(s, n_stages);
	find_reach(s, n_stages);
	for (uint32_t i = 0; i < s->n_points; i++)
		s->best[i] = UINT64_MAX;
	s->best[s->n_points] = 0;
	for (uint16_t left = 1; left <= n_stages; left++) {
		uint64_t *swap = s->best;

		if (!add_stage(s, (uint16_t)(n_stages - left),
			       s->choice + (size_t)(n_stages - left) * (s->n_points + 1)))
			return too_many_steps(s, n_stages);
		s->best = s->next;
		s->next = swap;
	}
	for (uint16_t stage = 0; stage < n_stages; stage++) {
		first[stage] = points[at];
		at = s->choice[(size_t)stage * (s->n_points + 1) + at];
	}
	assert(at == s->n_points);
	first[n_stages] = n;
	return MR_OK;
}

mr_status mr_partition_solve(const uint64_t *cost, uint32_t n, const uint32_t *points, const uint64_t *enter,
			     const uint64_t *across, uint32_t n_points, uint16_t n_stages, const uint32_t *weight,
			     uint32_t *first)
{
	size_t width = (size_t)n_points + 1;
	uint64_t *sum = calloc(width, sizeof(*sum));
	uint64_t *best = calloc(width, sizeof(*best)), *next = calloc(width, sizeof(*next));
	mr_solver s = {.sum = sum, .n_points = n_points, .weight = weight, .enter = enter,
		       .across = across, .best = best, .next = next};
	mr_status st;

	assert(n_stages >= 1 && n_stages <= n_points && points[0] == 0 && points[n_points - 1] < n);
	s.choice = calloc(n_stages * width, sizeof(*s.choice));
	s.reach = calloc(n_stages, sizeof(*s.reach));
	if (!sum || !best || !next || !s.choice || !s.reach) {
		st = mr_fail(MR_ERESOURCE, "no memory to partition %u layers into %u stages", n, n_stages);
		goto out;
	}
	for (uint32_t i = 0; i < n_points; i++) {
		uint32_t end = i + 1 < n_points ? points[i + 1] : n;

		sum[i + 1] = sum[i];
		for (uint32_t j = points[i]; j < end; j++)
			sum[i + 1] += cost[j];
	}
	assert(sum[n_points] <= MR_PARTITION_MAX_COST);
	st = solve(&s, n_stages, points, n, first);
out:
	free(s.reach);
	free(s.choice);
	free(next);
	free(best);
	free(sum);
	return st;
}

static mr_status check_count(const mr_graph *g, uint32_t n_stages)
{
	uint32_t most = mr_graph_max_stages(g);

	if (n_stages < 1)
		return mr_fail(MR_ECONFIG, "a model has at least 1 stage, 0 were asked for");
	if (n_stages > most)
		return mr_fail(MR_ECONFIG,
			       "%u stages were asked for, but this model of %u layers can be cut into at most %u "
			       "(a stage has at least one layer besides the loss)",
			       n_stages, g->n_nodes, most);
	return MR_OK;
}

/* The input of the solver. */
typedef struct mr_question {
	uint64_t *cost;   /* [nodes] */
	uint32_t *points; /* [n_points] where a stage may begin */
	uint64_t *enter;  /* [n_points] */
	uint64_t *across; /* [n_stages][n_points]; NULL: no links */
	uint32_t n_points;
	bool wide;        /* enter counts */
} mr_question;

/* Seconds to write and read the values that cross before @node in F, and their gradients in B. */
static double crossing_cost(const mr_graph *g, uint32_t node, int64_t samples, const mr_kernels *k)
{
	size_t bytes = mr_graph_crossing(g, node, k->types.activations, false) +
		       mr_graph_crossing(g, node, k->types.activations, true);

	return 2 * (double)samples * (double)bytes / MR_PARTITION_BYTES;
}

static void list_points(const mr_graph *g, mr_question *q)
{
	q->n_points = 0;
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (q->wide ? mr_graph_cut_ok(g, i) : mr_graph_is_narrow(g, i))
			q->points[q->n_points++] = i;
}

/* Seconds of a link of @byte_s seconds a byte that carries what crosses before @node, and its gradients back. */
static double link_cost(const mr_graph *g, uint32_t node, int64_t samples, const mr_kernels *k, double byte_s)
{
	return crossing_cost(g, node, samples, k) / 2 * MR_PARTITION_BYTES * byte_s;
}

/* Whole numbers in the proportion of the costs that add up to at most 2^@bits. */
static void scale_costs(const mr_graph *g, int64_t samples, const mr_kernels *k, int bits, const double *byte_s,
			uint16_t n_stages, mr_question *q)
{
	double total = 0, crossing = 0;
	int exponent;

	for (uint32_t i = 0; i < g->n_nodes; i++)
		total += mr_partition_cost(g, i, samples, k);
	for (uint32_t i = 1; q->wide && i < q->n_points; i++)
		total += crossing_cost(g, q->points[i], samples, k);
	for (uint32_t i = 1; byte_s && i < q->n_points; i++)
		crossing = fmax(crossing, link_cost(g, q->points[i], samples, k, 1));
	for (uint16_t s = 1; byte_s && s < n_stages; s++)
		total += crossing * byte_s[s];
	frexp(total, &exponent); /* total < 2^exponent */
	for (uint32_t i = 0; i < g->n_nodes; i++)
		q->cost[i] = (uint64_t)llround(ldexp(mr_partition_cost(g, i, samples, k), bits - exponent));
	for (uint32_t i = 1; q->wide && i < q->n_points; i++) /* the model's input crosses in any case */
		q->enter[i] = (uint64_t)llround(ldexp(crossing_cost(g, q->points[i], samples, k), bits - exponent));
	for (uint16_t s = 1; byte_s && s < n_stages; s++)
		for (uint32_t i = 1; i < q->n_points; i++)
			q->across[(size_t)s * q->n_points + i] = (uint64_t)llround(
				ldexp(link_cost(g, q->points[i], samples, k, byte_s[s]), bits - exponent));
}

mr_status mr_partition_over_links(const mr_graph *g, uint16_t n_stages, const uint32_t *weight, const double *byte_s,
				  int64_t samples, const mr_kernels *k, mr_partition *p)
{
	mr_question q = {0};
	mr_status st;

	*p = (mr_partition){0};
	MR_TRY(check_count(g, n_stages));
	q.cost = calloc(g->n_nodes, sizeof(*q.cost));
	q.points = calloc(g->n_nodes, sizeof(*q.points));
	q.enter = calloc(g->n_nodes, sizeof(*q.enter));
	q.across = byte_s ? calloc((size_t)n_stages * g->n_nodes, sizeof(*q.across)) : NULL;
	if (!q.cost || !q.points || !q.enter || (byte_s && !q.across)) {
		st = mr_fail(MR_ERESOURCE, "no memory to partition %u layers", g->n_nodes);
		goto out;
	}
	st = allocate(p, n_stages);
	if (st != MR_OK)
		goto out;
	q.wide = n_stages > mr_graph_narrow_stages(g);
	list_points(g, &q);
	scale_costs(g, samples, k, weight ? 22 : 30, byte_s, n_stages, &q); /* 255 times as much may count */
	st = mr_partition_solve(q.cost, g->n_nodes, q.points, q.wide ? q.enter : NULL, q.across, q.n_points, n_stages,
				weight, p->first);
out:
	free(q.cost);
	free(q.points);
	free(q.enter);
	free(q.across);
	if (st != MR_OK)
		mr_partition_fini(p);
	return st;
}

mr_status mr_partition_auto(const mr_graph *g, uint16_t n_stages, const uint32_t *weight, int64_t samples,
			    const mr_kernels *k, mr_partition *p)
{
	return mr_partition_over_links(g, n_stages, weight, NULL, samples, k, p);
}

/* --- the explicit partition --- */

/* Put the layer or block whose name is nearest to @name into @near; "" when none is near. */
static void find_near(const mr_graph *g, const char *name, char near[sizeof(g->nodes->name)])
{
	char candidate[sizeof(g->nodes->name)];

	*near = 0;
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const char *full = g->nodes[i].name;

		for (size_t len = 1; len <= strlen(full); len++) {
			const char *best, *pair[2] = {*near ? near : NULL, candidate};

			if (full[len] != '.' && full[len] != 0)
				continue;
			memcpy(candidate, full, len);
			candidate[len] = 0;
			best = mr_nearest(name, pair, 2);
			if (best == candidate)
				strcpy(near, candidate);
		}
	}
}

static mr_status find_start(const mr_graph *g, const char *name, uint32_t *node)
{
	char *end, near[sizeof(g->nodes->name)];
	unsigned long number;

	*node = mr_graph_find_node(g, name);
	if (*node != MR_GRAPH_NO_NODE)
		return MR_OK;
	number = strtoul(name, &end, 10);
	if (*name >= '0' && *name <= '9' && !*end) {
		if (number >= g->n_nodes)
			return mr_fail(MR_ECONFIG, "stage start %s: the model's layers are 0 to %u", name,
				       g->n_nodes - 1);
		*node = (uint32_t)number;
		return MR_OK;
	}
	find_near(g, name, near);
	return mr_fail(MR_ECONFIG, "stage start \"%s\": the model has no such layer or block%s%s%s", name,
		       *near ? "; did you mean \"" : "", near, *near ? "\"?" : "");
}

static mr_status check_start(const mr_graph *g, uint32_t node, uint32_t after)
{
	const char *name = g->nodes[node].name;

	if (node == 0)
		return mr_fail(MR_ECONFIG,
			       "stage start %s: the first stage begins there by itself; name the later ones", name);
	if (node <= after)
		return mr_fail(MR_ECONFIG, "stage start %s does not come after %s, where the stage before it begins",
			       name, g->nodes[after].name);
	if (!mr_graph_cut_ok(g, node))
		return mr_fail(MR_ECONFIG,
			       "no stage may begin at %s, since a loss stays with the layer in front of it, %s", name,
			       g->nodes[node - 1].name);
	return MR_OK;
}

mr_status mr_partition_explicit(const mr_graph *g, const char *const *names, uint32_t n_names, mr_partition *p)
{
	mr_status st;

	*p = (mr_partition){0};
	MR_TRY(check_count(g, n_names + 1));
	MR_TRY(allocate(p, (uint16_t)(n_names + 1)));
	for (uint32_t i = 0; i < n_names; i++) {
		st = find_start(g, names[i], &p->first[i + 1]);
		if (st == MR_OK)
			st = check_start(g, p->first[i + 1], p->first[i]);
		if (st != MR_OK) {
			mr_partition_fini(p);
			return st;
		}
	}
	p->first[n_names + 1] = g->n_nodes;
	return MR_OK;
}

/* --- around layers of a kind --- */

uint32_t mr_partition_count(const mr_graph *g, const char *kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_nodes; i++)
		n += !strcmp(g->nodes[i].ops->name, kind);
	return n;
}

mr_status mr_partition_around(const mr_graph *g, const char *kind, mr_partition *p)
{
	uint32_t n = 2 * mr_partition_count(g, kind) + 1, s = 0;
	mr_status st = MR_OK;

	*p = (mr_partition){0};
	MR_TRY(check_count(g, n));
	MR_TRY(allocate(p, (uint16_t)n));
	for (uint32_t i = 0; st == MR_OK && i < g->n_nodes; i++) {
		if (strcmp(g->nodes[i].ops->name, kind) != 0)
			continue;
		if (i == p->first[s] || i + 1 == g->n_nodes || !mr_graph_cut_ok(g, i + 1))
			st = mr_fail(MR_ECONFIG, "%s cannot be a stage by itself: another stage would be empty",
				     g->nodes[i].name);
		p->first[++s] = i;
		p->first[++s] = i + 1;
	}
	p->first[n] = g->n_nodes;
	if (st != MR_OK)
		mr_partition_fini(p);
	return st;
}
