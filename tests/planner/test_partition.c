/* test_partition.c - the exact partition against brute force, and the partition that the user names. */
#include "planner/partition.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"

/* --- bare numbers --- */

#define MOST 10

typedef struct problem {
	uint64_t cost[2 * MOST];
	uint32_t n, points[MOST], n_points;
	uint64_t enter[MOST]; /* of each point; 0 where nothing is given */
	uint16_t n_stages;
	bool weighs, enters, links;
	uint64_t across[MOST * MOST]; /* [n_stages][n_points]; 0 where there are no links */
	uint32_t weight[MOST]; /* of each stage; 1 where none are given */
} problem;

static uint64_t below(uint64_t seed, uint32_t what, uint64_t n)
{
	return mr_rng_u32(seed, MR_RNG_TEST, 0, what, 0) % n;
}

static problem draw(uint64_t seed)
{
	problem p = {.n = 1 + (uint32_t)below(seed, 0, 2 * MOST)};
	uint64_t largest = below(seed, 1, 2) ? 4 : 1000; /* small costs make ties */

	for (uint32_t i = 0; i < p.n; i++) {
		p.cost[i] = below(seed, 10 + i, largest);
		if (i == 0 || (p.n_points < MOST && below(seed, 100 + i, 3) > 0))
			p.points[p.n_points++] = i;
	}
	p.enters = below(seed, 4, 2);
	for (uint32_t i = 0; i < MOST; i++)
		p.enter[i] = p.enters ? below(seed, 300 + i, largest) : 0;
	p.n_stages = (uint16_t)(1 + below(seed, 2, p.n_points));
	p.links = below(seed, 5, 2);
	for (uint32_t i = 0; p.links && i < p.n_stages * p.n_points; i++)
		p.across[i] = below(seed, 600 + i / p.n_points, 2) ? below(seed, 400 + i, 3 * largest) : 0;
	p.weighs = below(seed, 3, 2);
	for (uint32_t s = 0; s < MOST; s++)
		p.weight[s] = p.weighs ? 1 + (uint32_t)below(seed, 200 + s, 4) : 1;
	return p;
}

/* What partitions are compared by: largest stage, sum of squares, then where the stages begin. */
typedef struct verdict {
	uint64_t largest, squares;
	uint32_t first[MOST + 1];
} verdict;

static void judge(const problem *p, verdict *v)
{
	v->largest = v->squares = 0;
	for (uint16_t s = 0; s < p->n_stages; s++) {
		uint64_t sum = 0, link = 0;

		for (uint32_t i = 0; i < p->n_points; i++)
			sum += p->points[i] == v->first[s] ? p->enter[i] * p->weight[s] : 0;
		for (uint32_t i = v->first[s]; i < v->first[s + 1]; i++)
			sum += p->cost[i] * p->weight[s];
		for (uint32_t i = 0; i < p->n_points; i++)
			link = p->points[i] == v->first[s] ? p->across[s * p->n_points + i] : link;
		v->largest = sum > v->largest ? sum : v->largest;
		v->largest = link > v->largest ? link : v->largest;
		v->squares += link * link;
		v->squares += sum * sum;
	}
}

static bool better(const problem *p, const verdict *a, const verdict *b)
{
	if (a->largest != b->largest)
		return a->largest < b->largest;
	if (a->squares != b->squares)
		return a->squares < b->squares;
	for (uint16_t s = 0; s < p->n_stages; s++)
		if (a->first[s] != b->first[s])
			return a->first[s] < b->first[s];
	return false;
}

/* All subsets of the points behind the first that have the right size. */
static verdict brute_force(const problem *p)
{
	verdict best = {.largest = UINT64_MAX};

	for (uint32_t set = 0; set < 1u << (p->n_points - 1); set++) {
		verdict v = {0};
		uint16_t s = 0;

		if (__builtin_popcount(set) != p->n_stages - 1)
			continue;
		for (uint32_t i = 1; i < p->n_points; i++)
			if (set >> (i - 1) & 1)
				v.first[++s] = p->points[i];
		v.first[p->n_stages] = p->n;
		judge(p, &v);
		if (better(p, &v, &best))
			best = v;
	}
	return best;
}

static void the_solver_equals_brute_force(void)
{
	for (uint64_t seed = 0; seed < 3000; seed++) {
		problem p = draw(seed);
		verdict want = brute_force(&p);
		uint32_t first[MOST + 1];
		bool ok;

		MR_CHECK_OK(mr_partition_solve(p.cost, p.n, p.points, p.enters ? p.enter : NULL,
					       p.links ? p.across : NULL, p.n_points, p.n_stages,
					       p.weighs ? p.weight : NULL, first));
		ok = !memcmp(first, want.first, (p.n_stages + 1u) * sizeof(*first));
		if (!ok)
			fprintf(stderr, "\nseed %llu: %u costs, %u points, %u stages\n", (unsigned long long)seed, p.n,
				p.n_points, p.n_stages);
		CU_ASSERT_FATAL(ok);
	}
}

/* As many places as a model may have, of even costs: no search over all pairs of them. */
static void many_places_are_cut_at_once(void)
{
	static uint64_t cost[MR_GRAPH_MAX_NODES];
	static uint32_t points[MR_GRAPH_MAX_NODES], first[1025];

	for (uint32_t i = 0; i < MR_GRAPH_MAX_NODES; i++) {
		cost[i] = 10 + i % 3;
		points[i] = i;
	}
	for (uint16_t stages = 2; stages <= 1024; stages = (uint16_t)(stages * 8)) {
		double even = 11.0 * MR_GRAPH_MAX_NODES / stages;

		MR_CHECK_OK(mr_partition_solve(cost, MR_GRAPH_MAX_NODES, points, NULL, NULL, MR_GRAPH_MAX_NODES,
					       stages, NULL, first));
		for (uint16_t s = 0; s < stages; s++) {
			double sum = 0;

			for (uint32_t i = first[s]; i < first[s + 1]; i++)
				sum += (double)cost[i];
			CU_ASSERT(fabs(sum - even) <= 12);
		}
	}
}

/* --- graphs --- */

static uint16_t add(mr_graph *g, const char *layer, const char *name, mr_layer_cfg cfg, uint16_t a, uint16_t b)
{
	const mr_layer_ops *ops = mr_layer_find(layer);
	uint16_t in[2] = {a, b}, out;

	MR_CHECK_OK(mr_graph_add(g, ops, name, &cfg, in, ops->n_in, &out));
	return out;
}

/* @depth equal layers fc.0 ..., of width 8, and a loss. */
static mr_graph *stack(uint32_t depth)
{
	mr_graph *g;
	uint16_t x = 0;
	char name[16];

	MR_CHECK_OK(mr_graph_create((mr_shape){.rows = 1, .cols = 8}, (mr_shape){.rows = 1, .cols = 8}, &g));
	for (uint32_t i = 0; i < depth; i++) {
		snprintf(name, sizeof(name), "fc.%u", i);
		x = add(g, "linear", name, (mr_layer_cfg){.out = 8}, x, 0);
	}
	add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	return g;
}

/* Two residual blocks h.0 and h.1 of three layers each behind fc: at the head of a block a single value is live. */
static mr_graph *blocks(void)
{
	mr_graph *g;
	uint16_t x, h;

	MR_CHECK_OK(mr_graph_create((mr_shape){.rows = 1, .cols = 8}, (mr_shape){.rows = 1, .cols = 8}, &g));
	x = add(g, "linear", "fc", (mr_layer_cfg){.out = 8}, 0, 0);
	h = add(g, "layer_norm", "h.0.ln", (mr_layer_cfg){0}, x, 0);
	h = add(g, "linear", "h.0.fc", (mr_layer_cfg){.out = 8}, h, 0);
	x = add(g, "residual", "h.0.add", (mr_layer_cfg){0}, x, h);
	h = add(g, "layer_norm", "h.1.ln", (mr_layer_cfg){0}, x, 0);
	h = add(g, "linear", "h.1.fc", (mr_layer_cfg){.out = 8}, h, 0);
	x = add(g, "residual", "h.1.add", (mr_layer_cfg){0}, x, h);
	add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	return g;
}

static void a_stack_is_cut_evenly(void)
{
	mr_graph *g = stack(6);
	const mr_kernels *k = mr_kernels_find("reference", MR_F32);
	mr_partition p;

	MR_CHECK_OK(mr_partition_auto(g, 3, NULL, 4, k, &p));
	CU_ASSERT_EQUAL(p.n_stages, 3);
	CU_ASSERT(p.first[0] == 0 && p.first[1] == 2 && p.first[2] == 4 && p.first[3] == 7);
	CU_ASSERT(mr_partition_stage(&p, 0) == 0 && mr_partition_stage(&p, 2) == 1 && mr_partition_stage(&p, 6) == 2);
	mr_partition_fini(&p);
	MR_CHECK_OK(mr_partition_auto(g, 6, NULL, 4, k, &p));
	for (uint32_t s = 0; s < 6; s++)
		CU_ASSERT_EQUAL(p.first[s], s);
	mr_partition_fini(&p);
	MR_CHECK_OK(mr_partition_auto(g, 1, NULL, 4, k, &p));
	CU_ASSERT(p.first[0] == 0 && p.first[1] == 7);
	mr_partition_fini(&p);
	/* Of six pipes each of two workers has three of the first stage, each of three two of the last: two and three
	 * layers where the middle has one. */
	MR_CHECK_OK(mr_partition_auto(g, 3, (const uint32_t[]){3, 6, 2}, 4, k, &p));
	CU_ASSERT(p.first[1] == 2 && p.first[2] == 3 && p.first[3] == 7);
	mr_partition_fini(&p);
	mr_graph_destroy(g);
}

/* Stages of a stack of which layers are frozen: @want, the begins of the second and later ones. */
static void cut_frozen(const char *frozen, uint16_t n_stages, const uint32_t *want)
{
	mr_graph *g = stack(6);
	mr_partition p;

	for (; *frozen; frozen += 4) { /* names of four characters */
		char name[8];

		snprintf(name, sizeof(name), "%.4s", frozen);
		MR_CHECK_OK(mr_graph_freeze(g, name));
	}
	MR_CHECK_OK(mr_partition_auto(g, n_stages, NULL, 4, mr_kernels_find("reference", MR_F32), &p));
	for (uint16_t s = 1; s < n_stages; s++)
		CU_ASSERT_EQUAL(p.first[s], want[s - 1]);
	mr_partition_fini(&p);
	mr_graph_destroy(g);
}

/* Frozen layers cost what F and I of them do, and F alone before the first one that trains. So more of them fit beside
 * those that train. */
static void frozen_layers_cost_less(void)
{
	cut_frozen("", 2, (const uint32_t[]){3});
	cut_frozen("fc.?", 2, (const uint32_t[]){3});
	cut_frozen("fc.0fc.1fc.2", 2, (const uint32_t[]){4});
	cut_frozen("fc.0fc.1fc.2fc.3", 2, (const uint32_t[]){5});
	cut_frozen("fc.3fc.4fc.5", 2, (const uint32_t[]){2});
}

static void cuts_are_legal_and_balance_the_cost(void)
{
	mr_graph *g = blocks();
	mr_partition p;

	MR_CHECK_OK(mr_partition_auto(g, 3, NULL, 1, mr_kernels_find("reference", MR_F64), &p));
	CU_ASSERT(p.first[1] == 1 && p.first[2] == 4 && p.first[3] == 8);
	mr_partition_fini(&p);
	mr_graph_destroy(g);
}

/* The dearest stage of a cut: its layers, and the bytes that cross into it, values and gradients, written and read. */
static double largest_stage(const mr_graph *g, const mr_kernels *k, const uint32_t *first, uint32_t n)
{
	double largest = 0;

	for (uint32_t s = 0; s < n; s++) {
		double sum = s ? 2 * (double)(mr_graph_crossing(g, first[s], k->types.weights, false) +
					      mr_graph_crossing(g, first[s], k->types.weights, true)) /
					     MR_PARTITION_BYTES : 0;

		for (uint32_t i = first[s]; i < first[s + 1]; i++)
			sum += mr_partition_cost(g, i, 1, k);
		largest = sum > largest ? sum : largest;
	}
	return largest;
}

/* Past the places with a single live value all layers may begin a stage, and the bytes that cross count. */
static void wide_places_are_used_where_narrow_ones_do_not_suffice(void)
{
	const mr_kernels *k = mr_kernels_find("reference", MR_F64);
	mr_graph *g = blocks();
	mr_partition p;

	MR_CHECK_OK(mr_partition_auto(g, 7, NULL, 1, k, &p));
	for (uint32_t s = 0; s < 7; s++)
		CU_ASSERT_EQUAL(p.first[s], s);
	mr_partition_fini(&p);
	MR_CHECK_OK(mr_partition_auto(g, 4, NULL, 1, k, &p));
	for (uint32_t a = 1; a < 5; a++)
		for (uint32_t b = a + 1; b < 6; b++)
			for (uint32_t c = b + 1; c < 7; c++)
				CU_ASSERT(largest_stage(g, k, p.first, 4) <=
					  largest_stage(g, k, (const uint32_t[]){0, a, b, c, 8}, 4) * (1 + 1e-6));
	mr_partition_fini(&p);
	mr_graph_destroy(g);
}

static void too_many_stages_are_refused(void)
{
	mr_graph *g = blocks();
	mr_partition p;
	const char *const names[] = {"1", "2", "3", "4", "5", "6", "7"};

	MR_CHECK_FAIL(mr_partition_auto(g, 8, NULL, 1, mr_kernels_find("reference", MR_F64), &p), MR_ECONFIG,
		      "at most 7");
	MR_CHECK_FAIL(mr_partition_auto(g, 0, NULL, 1, mr_kernels_find("reference", MR_F64), &p), MR_ECONFIG,
		      "at least 1");
	MR_CHECK_FAIL(mr_partition_explicit(g, names, 7, &p), MR_ECONFIG, "at most 7");
	mr_graph_destroy(g);
}

/* The cost by hand: linear 8 -> 8 with bias, 5 samples in f32. */
static void the_cost_counts_flops_and_bytes(void)
{
	mr_graph *g = stack(2);
	const mr_kernels *k = mr_kernels_find("reference", MR_F32);
	double gemm = 2.0 * 5 * 64, params = (64 + 8) * 4, value = 5 * 8 * 4;

	CU_ASSERT_DOUBLE_EQUAL(mr_partition_cost(g, 1, 5, k),
			       3 * gemm / MR_PARTITION_FLOPS + (10 * params + 4 * value) / MR_PARTITION_BYTES, 1e-20);
	CU_ASSERT_DOUBLE_EQUAL(mr_partition_cost(g, 0, 5, k),
			       2 * gemm / MR_PARTITION_FLOPS + (10 * params + 3 * value) / MR_PARTITION_BYTES, 1e-20);
	CU_ASSERT_DOUBLE_EQUAL(mr_partition_cost(g, 2, 5, k), 2 * value / MR_PARTITION_BYTES, 1e-20);
	mr_graph_destroy(g);
}

static void the_user_names_the_cut(void)
{
	mr_graph *g = blocks();
	mr_partition p;

	MR_CHECK_OK(mr_partition_explicit(g, (const char *const[]){"h.0", "h.1.ln"}, 2, &p));
	CU_ASSERT(p.n_stages == 3 && p.first[0] == 0 && p.first[1] == 1 && p.first[2] == 4 && p.first[3] == 8);
	mr_partition_fini(&p);
	MR_CHECK_OK(mr_partition_explicit(g, (const char *const[]){"4"}, 1, &p));
	CU_ASSERT(p.n_stages == 2 && p.first[1] == 4 && p.first[2] == 8);
	mr_partition_fini(&p);
	MR_CHECK_OK(mr_partition_explicit(g, (const char *const[]){"h.0.fc", "h.0.add"}, 2, &p));
	CU_ASSERT(p.n_stages == 3 && p.first[1] == 2 && p.first[2] == 3);
	mr_partition_fini(&p);
	MR_CHECK_OK(mr_partition_explicit(g, NULL, 0, &p));
	CU_ASSERT(p.n_stages == 1 && p.first[0] == 0 && p.first[1] == 8);
	mr_partition_fini(&p);
	mr_graph_destroy(g);
}

static void a_kind_is_cut_around(void)
{
	static const uint32_t want[] = {0, 1, 2, 4, 5, 8};
	mr_graph *g = blocks();
	mr_partition p;

	CU_ASSERT_EQUAL(mr_partition_count(g, "layer_norm"), 2);
	MR_CHECK_OK(mr_partition_around(g, "layer_norm", &p));
	CU_ASSERT_EQUAL_FATAL(p.n_stages, 5);
	CU_ASSERT_FALSE(memcmp(p.first, want, sizeof(want)));
	mr_partition_fini(&p);
	MR_CHECK_OK(mr_partition_around(g, "attention", &p));
	CU_ASSERT_EQUAL(p.n_stages, 1);
	mr_partition_fini(&p);
	/* behind the last one is the loss alone */
	MR_CHECK_FAIL(mr_partition_around(g, "residual", &p), MR_ECONFIG, "h.1.add cannot be a stage by itself");
	CU_ASSERT_PTR_NULL(p.first);
	mr_graph_destroy(g);
}

static void wrong_names_are_refused(void)
{
	static const struct {
		const char *names[2];
		uint32_t n;
		const char *part;
	} bad[] = {
		{{"h.2"}, 1, "\"h.2\": the model has no such layer or block"},
		{{"8"}, 1, "layers are 0 to 7"},
		{{"4x"}, 1, "no such layer"},
		{{""}, 1, "no such layer"},
		{{"fc"}, 1, "begins there by itself"},
		{{"h.1", "h.0"}, 2, "h.0.ln does not come after h.1.ln"},
		{{"h.1", "h.1"}, 2, "does not come after"},
		{{"loss"}, 1, "no stage may begin at loss, since a loss stays with the layer in front of it, h.1.add"},
	};
	mr_graph *g = blocks();

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		mr_partition p;

		MR_CHECK_FAIL(mr_partition_explicit(g, bad[i].names, bad[i].n, &p), MR_ECONFIG, bad[i].part);
		CU_ASSERT_PTR_NULL(p.first);
	}
	mr_graph_destroy(g);
}

void mr_suite_partition(void); /* the runner declares it too */

void mr_suite_partition(void)
{
	MR_SUITE("partition");
	MR_TEST(the_solver_equals_brute_force);
	MR_TEST(many_places_are_cut_at_once);
	MR_TEST(a_stack_is_cut_evenly);
	MR_TEST(cuts_are_legal_and_balance_the_cost);
	MR_TEST(frozen_layers_cost_less);
	MR_TEST(wide_places_are_used_where_narrow_ones_do_not_suffice);
	MR_TEST(too_many_stages_are_refused);
	MR_TEST(the_cost_counts_flops_and_bytes);
	MR_TEST(the_user_names_the_cut);
	MR_TEST(a_kind_is_cut_around);
	MR_TEST(wrong_names_are_refused);
}
