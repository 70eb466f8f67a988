/* test_replica_partition.c - stages with replicas against recorded solutions and against every cut there is. */
#include "planner/replica_partition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/rng.h"
#include "base/str.h"
#include "check.h"
#include "golden_files.h"
#include "planner/width_depth.h"

/* Recorded numbers, and sums in another order, differ by rounding alone. */
#define SAME 1e-12

#define MOST_LAYERS 8
#define MOST_WORKERS 6

static bool same(double a, double b)
{
	return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= SAME * fmax(fabs(a), fabs(b)));
}

/* --- recorded --- */

static double number(const mr_json *j, const char *key, size_t i, double def)
{
	const mr_json *list = mr_json_get(j, key);

	return list ? mr_json_double(mr_json_at(list, i)) : def;
}

/* The layers go through the text of a table, as a user's do. */
static mr_layer_row *layers_of(const mr_json *j, uint32_t *n)
{
	mr_layer_row *rows;
	mr_strbuf b = {0};

	mr_strbuf_append(&b, "name,forward,backward,activation,weights,saved\n");
	for (size_t i = 0; i < mr_json_size(mr_json_get(j, "T")); i++)
		mr_strbuf_printf(&b, "l%zu,0,%.17g,%.17g,%.17g,%.17g\n", i, number(j, "T", i, 0), number(j, "a", i, 0),
				 number(j, "w", i, 0), number(j, "act", i, 0));
	MR_CHECK_OK(mr_layer_table_read(mr_strbuf_text(&b), &rows, n));
	mr_strbuf_fini(&b);
	return rows;
}

static mr_replica_problem problem_of(const mr_json *j, const mr_layer_row *rows, uint32_t n)
{
	const mr_json *numa = mr_json_get(j, "numa"), *vers = mr_json_get(j, "vers");
	mr_replica_problem p = {.layer = rows,
				.n_layers = n,
				.n_workers = (uint32_t)mr_json_int(mr_json_get(j, "M")),
				.local = mr_json_double(mr_json_get(j, "B")),
				.capacity = mr_json_double(mr_json_get(j, "cap")),
				.state = mr_json_double(mr_json_get(j, "opt_mult")) - 1};

	if (numa) {
		p.node_workers = (uint32_t)mr_json_int(mr_json_at(numa, 0));
		p.local = mr_json_double(mr_json_at(numa, 1));
		p.remote = mr_json_double(mr_json_at(numa, 2));
	}
	p.sync = strcmp(mr_json_string(mr_json_get(j, "model")), "pd2018") ? MR_SYNC_2019 : MR_SYNC_2018;
	p.kept = vers && !strcmp(mr_json_string(vers), "2bw") ? MR_KEPT_TWO : MR_KEPT_EACH;
	return p;
}

static bool is_cut(const mr_replica_partition *c, const mr_json *want)
{
	const mr_json *cuts = mr_json_get(want, "cuts"), *reps = mr_json_get(want, "reps");

	if (mr_json_size(cuts) != c->n_stages)
		return false;
	for (uint32_t i = 0; i < c->n_stages; i++)
		if (mr_json_int(mr_json_at(cuts, i)) != c->stage[i].end ||
		    mr_json_int(mr_json_at(reps, i)) != c->stage[i].replicas)
			return false;
	return true;
}

static void expect_one_of(const mr_replica_problem *p, const mr_replica_partition *c, const mr_json *j)
{
	const mr_json *optimal = mr_json_get(j, "optimal"), *noam = mr_json_get(j, "noam");
	const mr_json *bytes = mr_json_get(j, "per_worker_bytes_of_first");
	uint32_t n = 0, flights = 0;

	CU_ASSERT(same(c->bottleneck, mr_json_double(mr_json_get(j, "best"))));
	for (size_t i = 0; i < mr_json_size(optimal); i++)
		n += is_cut(c, mr_json_at(optimal, i));
	CU_ASSERT_EQUAL(n, 1);
	for (size_t i = 0; i < mr_json_size(noam); i++)
		flights += mr_json_int(mr_json_at(noam, i)) == mr_replica_partition_in_flight(p, c);
	CU_ASSERT_EQUAL(flights, 1);
	/* the recorded bytes are those of the first optimum */
	for (uint32_t i = 0; bytes && i < c->n_stages && is_cut(c, mr_json_at(optimal, 0)); i++)
		CU_ASSERT(same(c->stage[i].bytes, mr_json_double(mr_json_at(bytes, i))));
}

static void expect_straight(mr_replica_problem p, const mr_json *j)
{
	const mr_json *want = mr_json_get(j, "straight_best");
	mr_replica_partition c;
	bool found;

	p.straight = true;
	MR_CHECK_OK(mr_replica_partition_solve(&p, &c, &found));
	CU_ASSERT_EQUAL(found, mr_json_is_number(want));
	if (found)
		CU_ASSERT(same(c.bottleneck, mr_json_double(want)));
	mr_replica_partition_fini(&c);
}

static mr_json *goldens(void)
{
	char path[MR_GOLDEN_PATH];
	mr_json *root;

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "partition/partitions.json"), 1 << 20, &root));
	return root;
}

static void recorded_partitions_are_found(void)
{
	mr_json *root = goldens();
	const mr_json *all = mr_json_get(root, "partitions");

	CU_ASSERT_EQUAL(mr_json_size(all), 24);
	for (size_t i = 0; i < mr_json_size(all); i++) {
		const mr_json *j = mr_json_at(all, i);
		mr_replica_partition c;
		mr_replica_problem p;
		mr_layer_row *rows;
		uint32_t n;
		bool found;

		rows = layers_of(j, &n);
		p = problem_of(j, rows, n);
		MR_CHECK_OK(mr_replica_partition_solve(&p, &c, &found));
		CU_ASSERT_EQUAL(found, mr_json_is_number(mr_json_get(j, "best")));
		if (found)
			expect_one_of(&p, &c, j);
		expect_straight(p, j);
		mr_replica_partition_fini(&c);
		free(rows);
	}
	mr_json_destroy(root);
}

static bool is_choice(const mr_width_depth *r, const mr_json *want)
{
	return r->width == mr_json_int(mr_json_get(want, "w")) && r->depth == mr_json_int(mr_json_get(want, "d")) &&
	       r->micro == mr_json_int(mr_json_get(want, "b")) &&
	       r->recompute == (mr_json_int(mr_json_get(want, "r")) == 1) &&
	       same(r->bytes, mr_json_double(mr_json_get(want, "mem"))) &&
	       same(r->time, mr_json_double(mr_json_get(want, "time"))) &&
	       same(r->rate, mr_json_double(mr_json_get(want, "throughput"))) &&
	       r->fits == mr_json_bool(mr_json_get(want, "fits"));
}

static void expect_choices(const mr_json *j)
{
	const mr_json *in = mr_json_get(j, "inputs"), *rows = mr_json_get(j, "rows"), *bs = mr_json_get(in, "bs");
	double tb = mr_json_double(mr_json_get(in, "tb"));
	uint32_t micro[8], n, best;
	mr_width_depth_problem p = {
		.block = {.forward = tb / 3,
			  .backward = tb - tb / 3,
			  .activation = mr_json_double(mr_json_get(in, "I")),
			  .weights = mr_json_double(mr_json_get(in, "p")),
			  .saved = mr_json_double(mr_json_get(in, "A"))},
		.n_blocks = (uint32_t)mr_json_int(mr_json_get(in, "n")),
		.n_workers = (uint32_t)mr_json_int(mr_json_get(in, "W")),
		.batch = (uint32_t)mr_json_int(mr_json_get(in, "G")),
		.micro = micro,
		.bandwidth = mr_json_double(mr_json_get(in, "B")),
		.state = mr_json_double(mr_json_get(in, "o")),
		.capacity = mr_json_double(mr_json_get(in, "cap")),
	};
	mr_width_depth *got;

	for (; p.n_micro < mr_json_size(bs); p.n_micro++)
		micro[p.n_micro] = (uint32_t)mr_json_int(mr_json_at(bs, p.n_micro));
	MR_CHECK_OK(mr_width_depth_solve(&p, &got, &n, &best));
	CU_ASSERT_EQUAL_FATAL(n, mr_json_size(rows));
	for (uint32_t i = 0; i < n; i++)
		CU_ASSERT(is_choice(&got[i], mr_json_at(rows, i)));
	CU_ASSERT_EQUAL(best < n, mr_json_is_object(mr_json_get(j, "best")));
	if (best < n)
		CU_ASSERT(is_choice(&got[best], mr_json_get(j, "best")));
	free(got);
}

static void recorded_pipelines_of_equal_blocks_are_found(void)
{
	mr_json *root = goldens();
	const mr_json *all = mr_json_get(root, "equal_blocks");

	CU_ASSERT_EQUAL(mr_json_size(all), 3);
	for (size_t i = 0; i < mr_json_size(all); i++)
		expect_choices(mr_json_at(all, i));
	mr_json_destroy(root);
}

/* --- every cut --- */

/* One cut and the figures by which cuts are compared. */
typedef struct verdict {
	double bottleneck, squares, bytes;
	uint32_t n, end[MOST_LAYERS], replicas[MOST_LAYERS];
} verdict;

typedef struct attempt {
	const mr_replica_problem *p;
	verdict now, best;
	double least_bytes;
} attempt;

static double speed(const mr_replica_problem *p, uint32_t a, uint32_t b)
{
	return p->node_workers && a / p->node_workers != b / p->node_workers ? p->remote : p->local;
}

/* The formulas of the header, stage by stage from the front. */
static void judge(const mr_replica_problem *p, verdict *v)
{
	uint32_t layer = 0, worker = 0;

	v->bottleneck = v->squares = v->bytes = 0;
	for (uint32_t s = 0; s < v->n; s++) {
		double t = 0, w = 0, a = 0, r = v->replicas[s], in, sync, time, bytes;
		uint32_t left = p->n_workers - worker, f = left / v->replicas[s] + (left % v->replicas[s] > 0);
		double kept[] = {f, f < 2 ? f : 2, 1};

		in = layer ? p->layer[layer - 1].activation : 0;
		if (layer && speed(p, worker - 1, worker) > 0)
			v->bottleneck = fmax(v->bottleneck, 2 * in / speed(p, worker - 1, worker));
		for (; layer < v->end[s]; layer++) {
			t += p->layer[layer].backward + p->layer[layer].forward * (p->recompute ? 2 : 1);
			w += p->layer[layer].weights;
			a += p->layer[layer].saved;
		}
		sync = p->sync == MR_SYNC_2018 ? 4 * (r - 1) / r * w : 2 * (r - 1) * w;
		sync = p->local > 0 ? sync / speed(p, worker, worker + v->replicas[s] - 1) : 0;
		time = (t > sync ? t : sync) / r;
		bytes = kept[p->kept] * w + w + p->state * w + (p->recompute ? f * in + a : f * a);
		v->bottleneck = fmax(v->bottleneck, time);
		v->squares += time * time;
		v->bytes = fmax(v->bytes, bytes);
		worker += v->replicas[s];
	}
}

static bool better(const verdict *a, const verdict *b)
{
	if (!same(a->bottleneck, b->bottleneck))
		return a->bottleneck < b->bottleneck;
	if (!same(a->squares, b->squares))
		return a->squares < b->squares;
	if (a->n != b->n)
		return a->n < b->n;
	for (uint32_t s = 0; s < a->n; s++)
		if (a->end[s] != b->end[s])
			return a->end[s] < b->end[s];
	for (uint32_t s = 0; s < a->n; s++)
		if (a->replicas[s] != b->replicas[s])
			return a->replicas[s] < b->replicas[s];
	return false;
}

static void try_from(attempt *t, uint32_t layer, uint32_t worker)
{
	const mr_replica_problem *p = t->p;
	verdict *v = &t->now;

	if (layer == p->n_layers && worker == p->n_workers) {
		judge(p, v);
		t->least_bytes = fmin(t->least_bytes, v->bytes);
		if ((!(p->capacity > 0) || v->bytes <= p->capacity * (1 + SAME)) && better(v, &t->best))
			t->best = *v;
		return;
	}
	if (layer == p->n_layers || worker == p->n_workers)
		return;
	for (uint32_t end = layer + 1; end <= p->n_layers; end++)
		for (uint32_t r = 1; r <= (p->straight ? 1 : p->n_workers - worker); r++) {
			v->end[v->n] = end;
			v->replicas[v->n++] = r;
			try_from(t, end, worker + r);
			v->n--;
		}
}

static uint64_t below(uint64_t seed, uint32_t what, uint64_t n)
{
	return mr_rng_u32(seed, MR_RNG_TEST, 0, what, 0) % n;
}

static mr_replica_problem draw(uint64_t seed, mr_layer_row *rows)
{
	uint64_t most = below(seed, 0, 2) ? 5 : 1000; /* small numbers make ties */
	mr_replica_problem p = {.layer = rows,
				.n_layers = 1 + (uint32_t)below(seed, 1, MOST_LAYERS - 1),
				.n_workers = 1 + (uint32_t)below(seed, 2, MOST_WORKERS - 1),
				.node_workers = (uint32_t)below(seed, 3, 4),
				.local = (double)below(seed, 4, 20),
				.sync = (mr_sync_rule)below(seed, 5, 2),
				.kept = (mr_kept)below(seed, 6, 3),
				.state = (double)below(seed, 7, 3),
				.recompute = below(seed, 8, 4) == 0,
				.straight = below(seed, 9, 8) == 0};

	p.remote = p.local / (double)(1 + below(seed, 10, 5));
	for (uint32_t i = 0; i < p.n_layers; i++) {
		double x[5];

		for (uint32_t k = 0; k < 5; k++)
			x[k] = (double)below(seed, 100 + 5 * i + k, most) / (k < 2 ? 1 : 2);
		rows[i] = (mr_layer_row){
			.forward = x[0], .backward = x[1], .activation = x[2], .weights = x[3], .saved = x[4]};
	}
	if (below(seed, 11, 2))
		p.capacity = (double)(1 + below(seed, 12, most * p.n_layers * 4));
	return p;
}

static bool equals(const mr_replica_partition *c, const verdict *want)
{
	bool equal = c->n_stages == want->n && same(c->bottleneck, want->bottleneck);

	for (uint32_t s = 0; equal && s < want->n; s++)
		equal = c->stage[s].end == want->end[s] && c->stage[s].replicas == want->replicas[s];
	return equal;
}

static void random_problems_equal_brute_force(void)
{
	uint32_t n_found = 0;

	for (uint64_t seed = 0; seed < 10000; seed++) {
		mr_layer_row rows[MOST_LAYERS] = {0};
		mr_replica_problem p = draw(seed, rows);
		attempt t = {.p = &p, .best = {.bottleneck = INFINITY}, .least_bytes = INFINITY};
		mr_replica_partition c;
		double least;
		bool found, ok;

		try_from(&t, 0, 0);
		MR_CHECK_OK(mr_replica_partition_solve(&p, &c, &found));
		MR_CHECK_OK(mr_replica_partition_least(&p, &least));
		ok = found == (t.best.bottleneck < INFINITY) && (!found || equals(&c, &t.best)) &&
		     same(least, t.least_bytes);
		if (!ok)
			fprintf(stderr, "\nseed %llu: %u layers, %u workers: %g, brute force %g; bytes %g, %g\n",
				(unsigned long long)seed, p.n_layers, p.n_workers, c.bottleneck, t.best.bottleneck,
				least, t.least_bytes);
		mr_replica_partition_fini(&c);
		CU_ASSERT_FATAL(ok);
		n_found += found;
	}
	CU_ASSERT(n_found > 3000 && n_found < 9999); /* both outcomes occur */
}

/* --- the table --- */

static void wrong_tables_are_refused(void)
{
	static const struct {
		const char *text, *part;
	} wrong[] = {
		{"", "it has no layer"},
		{"name,forward,backward,activation,weights\n", "it has no layer"},
		{"layer,forward\n", "line 1: expected \"name,forward,backward,activation,weights\""},
		{"name,forward,backward,activation,weights\na,1,2,3\n", "line 2: expected 4 numbers after the name"},
		{"name,forward,backward,activation,weights\na,1,2,3,4,5\n", "line 2: expected 4 numbers"},
		{"name,forward,backward,activation,weights\na,1,2,3,-4\n",
		"line 2: times and bytes are numbers from 0"},
		{"name,forward,backward,activation,weights\na,1,2,3,nan\n",
		"line 2: times and bytes are numbers from 0"},
		{"name,forward,backward,activation,weights\n,1,2,3,4\n", "line 2: expected a name"},
	};
	mr_layer_row *rows;
	uint32_t n;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		MR_CHECK_FAIL(mr_layer_table_read(wrong[i].text, &rows, &n), MR_ECONFIG, wrong[i].part);
	MR_CHECK_OK(mr_layer_table_read("# a note\r\nname,forward,backward,activation,weights\r\n\r\nx,1,2,3,4\r\n",
					&rows, &n));
	CU_ASSERT(n == 1 && !strcmp(rows[0].name, "x") && rows[0].weights == 4 && rows[0].saved == 3);
	free(rows);
}

void mr_suite_replica_partition(void);
void mr_suite_replica_partition(void)
{
	MR_SUITE("replica_partition");

	MR_TEST(recorded_partitions_are_found);
	MR_TEST(recorded_pipelines_of_equal_blocks_are_found);
	MR_TEST(random_problems_equal_brute_force);
	MR_TEST(wrong_tables_are_refused);
}
