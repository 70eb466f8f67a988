#include "perf/steps/results.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "report/table.h"

enum { N_FIXED = 13, MOST_RATIOS = MR_N_BENCH_PRECISIONS * (1 + MR_N_PEERS) };

static const char *const place_names[] = {"NEAR", "FAR"};

/* NaN without samples. */
static double median_of(const double *x, size_t n)
{
	double copy[MR_MAX_BURSTS];

	memcpy(copy, x, n * sizeof(*copy));
	return mr_median(copy, n);
}

double mr_results_ms(const mr_contender *x, int place)
{
	const mr_samples *s = mr_contender_samples(x, place);

	return median_of(s->ms, s->n);
}

const mr_contender *mr_results_ours(const mr_results *r, int system, mr_bench_precision precision)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->all[i].system == &mr_line_up[system] && r->all[i].precision == precision)
			return &r->all[i];
	return NULL;
}

const mr_contender *mr_results_peer(const mr_results *r, int peer, mr_bench_precision precision)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->all[i].peer == &r->peers[peer] && r->all[i].precision == precision)
			return &r->all[i];
	return NULL;
}

double mr_results_percent(const mr_results *r, double ms, mr_bench_precision precision)
{
	return 100 * mr_peak_share(&r->peak, precision, r->flops / ms / 1e6);
}

/* --- ratios ------------------------------------------------------------------------------------------------------- */

typedef struct ratio {
	char head[48];             /* without "/this" */
	const mr_contender *other;
} ratio;

static bool alone(const mr_results *r)
{
	return (r->precisions & (r->precisions - 1)) == 0;
}

static void name_ratio(const mr_results *r, ratio *x, const char *name)
{
	snprintf(x->head, sizeof(x->head), "%s%s%s", name, alone(r) ? "" : " ",
		 alone(r) ? "" : mr_bench_precision_name(x->other->precision));
}

/* The columns of a case: A, then each peer, in each precision. */
static uint32_t ratios_of(const mr_results *r, ratio out[MOST_RATIOS])
{
	uint32_t n = 0;

	for (int peer = -1; peer < MR_N_PEERS; peer++)
		for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++) {
			mr_bench_precision p = (mr_bench_precision)k;

			out[n].other = peer < 0 ? mr_results_ours(r, MR_A, p) : mr_results_peer(r, peer, p);
			if (out[n].other)
				name_ratio(r, &out[n++], peer < 0 ? "A" : r->peers[peer].ops->name);
		}
	return n;
}

/* Time of @other over that of @x in the same placement; NaN where one of them has none. */
static double ratio_of(const mr_contender *other, const mr_contender *x, int place)
{
	return mr_results_ms(other, place) / mr_results_ms(x, place);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* @text of @x, or "-" where there is none. */
static void put_known(mr_table *t, const char *text, double x)
{
	if (x == x)
		mr_table_put(t, text, x);
	else
		mr_table_put(t, "-");
}

/* The samples stay in their order. */
static mr_quartiles quartiles_of(const mr_samples *s)
{
	double copy[MR_MAX_BURSTS];

	memcpy(copy, s->ms, s->n * sizeof(*copy));
	return mr_quartiles_of(copy, s->n);
}

static size_t left_out(const mr_contender *x, int place)
{
	return mr_contender_marked(x, place) ? x->quiet[place].n : x->disturbed[place].n;
}

static void put_row(const mr_results *r, const mr_contender *x, int place, mr_table *t)
{
	const mr_samples *s = mr_contender_samples(x, place);
	mr_quartiles q = quartiles_of(s);
	ratio ratios[MOST_RATIOS];
	uint32_t n = ratios_of(r, ratios);

	mr_table_put(t, "%s", x->label);
	mr_table_put(t, "%s", mr_bench_precision_name(x->precision));
	mr_table_put(t, "%d x %d", x->workers, x->threads);
	mr_table_put(t, "%s", place_names[place]);
	mr_table_put(t, "%zu%s%s", s->n, x->far_off[place] ? "*" : "", mr_contender_marked(x, place) ? "!" : "");
	mr_table_put(t, "%zu", left_out(x, place));
	mr_table_put(t, "%.3f", q.median);
	mr_table_put(t, "%.3f", q.q1);
	mr_table_put(t, "%.3f", q.q3);
	mr_table_put(t, "%.*f", q.median > 10 * r->c->batch ? 2 : 0, 1e3 * r->c->batch / q.median);
	mr_table_put(t, "%.1f", r->flops / q.median / 1e6);
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		put_known(t, "%.1f %%", mr_results_percent(r, q.median, (mr_bench_precision)k));
	for (uint32_t i = 0; i < n; i++)
		put_known(t, "x%.2f", ratio_of(ratios[i].other, x, place));
	put_known(t, "%.3f", median_of(s->over, s->n_over));
}

static mr_status print_table(const mr_results *r)
{
	mr_table_column columns[N_FIXED + MOST_RATIOS + 1] = {
		{"system", false},  {"type", false},    {"w x t", false},    {"place", false},  {"n", true},
		{"out", true},      {"ms/step", true},  {"quartile", true},  {"quartile", true}, {"samples/s", true},
		{"GFLOP/s", true},  {"of f32", true},   {"of bf16", true},
	};
	ratio ratios[MOST_RATIOS];
	char heads[MOST_RATIOS][64];
	uint32_t n_ratios = ratios_of(r, ratios), n = N_FIXED;
	mr_table *t;
	mr_status st;

	for (uint32_t i = 0; i < n_ratios; i++) {
		snprintf(heads[i], sizeof(heads[i]), "%.40s/this", ratios[i].head);
		columns[n++] = (mr_table_column){heads[i], true};
	}
	columns[n++] = (mr_table_column){"of plan", true};
	MR_TRY(mr_table_create(columns, n, &t));
	for (int place = 0; place < 2; place++)
		for (size_t i = 0; i < r->n; i++)
			if (mr_contender_samples(&r->all[i], place)->n)
				put_row(r, &r->all[i], place, t);
	st = mr_table_print(t, "  ", stdout);
	mr_table_destroy(t);
	return st;
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void put_number(mr_json_writer *json, const char *key, double x)
{
	mr_json_key(json, key);
	mr_json_put_double(json, x);
}

static void put_string(mr_json_writer *json, const char *key, const char *s)
{
	mr_json_key(json, key);
	mr_json_put_string(json, s);
}

static void put_bool(mr_json_writer *json, const char *key, bool x)
{
	mr_json_key(json, key);
	mr_json_put_bool(json, x);
}

static void put_ratios_json(const mr_results *r, const mr_contender *x, int place, mr_json_writer *json)
{
	ratio ratios[MOST_RATIOS];
	uint32_t n = ratios_of(r, ratios);

	mr_json_key(json, "over_this");
	mr_json_begin_object(json);
	for (uint32_t i = 0; i < n; i++)
		put_number(json, ratios[i].head, ratio_of(ratios[i].other, x, place));
	mr_json_end_object(json);
}

static void put_percent_json(const mr_results *r, const char *key, double ms, mr_bench_precision precision,
			     mr_json_writer *json)
{
	double percent = mr_results_percent(r, ms, precision);

	if (percent == percent)
		put_number(json, key, percent);
}

static void put_row_json(const mr_results *r, const mr_contender *x, int place, mr_json_writer *json)
{
	const mr_samples *s = mr_contender_samples(x, place);
	mr_quartiles q = quartiles_of(s);

	mr_json_begin_object(json);
	put_string(json, "system", x->label);
	put_string(json, "precision", mr_bench_precision_name(x->precision));
	put_bool(json, "peer", x->peer != NULL);
	put_number(json, "workers", x->workers);
	put_number(json, "threads", x->threads);
	put_string(json, "placement", place_names[place]);
	put_number(json, "samples", (double)s->n);
	put_bool(json, "far_off", x->far_off[place]);
	put_bool(json, "disturbed", mr_contender_marked(x, place));
	put_number(json, "disturbed_and_left_out", (double)left_out(x, place));
	put_number(json, "own_cpu_s", x->use.own_s);
	put_number(json, "others_cpu_s", x->use.others_s);
	put_number(json, "ms", q.median);
	put_number(json, "ms_quartile_1", q.q1);
	put_number(json, "ms_quartile_3", q.q3);
	put_number(json, "samples_per_second", 1e3 * r->c->batch / q.median);
	put_number(json, "gflops", r->flops / q.median / 1e6);
	put_percent_json(r, "percent_of_f32_peak", q.median, MR_BENCH_F32, json);
	put_percent_json(r, "percent_of_bf16_peak", q.median, MR_BENCH_BF16, json);
	put_ratios_json(r, x, place, json);
	if (s->n_over) {
		put_number(json, "allowed_ms", median_of(s->allowed, s->n_over));
		put_number(json, "measured_over_allowed", median_of(s->over, s->n_over));
	}
	mr_json_end_object(json);
}

static void put_absent_one(mr_json_writer *json, const char *label, mr_bench_precision precision, const char *reason)
{
	mr_json_begin_object(json);
	put_string(json, "system", label);
	put_string(json, "precision", mr_bench_precision_name(precision));
	put_string(json, "reason", reason);
	mr_json_end_object(json);
}

/* What takes no part, and why. */
static void put_absent(const mr_results *r, mr_json_writer *json)
{
	mr_json_key(json, "absent");
	mr_json_begin_array(json);
	for (size_t i = 0; i < r->n; i++) {
		const mr_contender *x = &r->all[i];

		if (x->out)
			put_absent_one(json, x->label, x->precision, x->peer ? x->peer->failed : x->why);
	}
	for (int i = 0; i < MR_N_PEERS; i++)
		for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
			if (!r->peers[i].where && r->precisions & 1u << k &&
			    r->peers[i].ops->takes(r->c, (mr_bench_precision)k))
				put_absent_one(json, r->peers[i].ops->name, (mr_bench_precision)k, "not found");
	mr_json_end_array(json);
}

typedef struct counts {
	size_t bursts, mixed, disturbed, left_out;
	double wall_s, others_s;
} counts;

static counts count(const mr_results *r)
{
	counts c = {0};

	for (size_t i = 0; i < r->n; i++) {
		const mr_contender *x = &r->all[i];

		c.mixed += x->dropped;
		c.wall_s += x->use.wall_s;
		c.others_s += x->use.others_s;
		for (int place = 0; place < 2; place++) {
			c.bursts += x->quiet[place].n + x->disturbed[place].n;
			c.disturbed += x->disturbed[place].n;
			c.left_out += mr_contender_marked(x, place) ? 0 : x->disturbed[place].n;
		}
	}
	c.bursts += c.mixed;
	return c;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void put_peaks(const mr_results *r, mr_json_writer *json)
{
	mr_json_key(json, "peaks");
	mr_json_begin_array(json);
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++)
		if (r->peak.of[k].isa) {
			mr_json_begin_object(json);
			put_string(json, "precision", mr_bench_precision_name((mr_bench_precision)k));
			put_string(json, "isa", r->peak.of[k].isa);
			put_number(json, "gflops", r->peak.of[k].all);
			put_number(json, "gflops_one_core", r->peak.of[k].one);
			mr_json_end_object(json);
		}
	mr_json_end_array(json);
}

static void put_json(const mr_results *r, mr_json_writer *json)
{
	counts n = count(r);

	put_string(json, "case", r->c->name);
	put_string(json, "what", r->c->what);
	put_number(json, "batch", r->c->batch);
	put_number(json, "microbatches", r->c->micro);
	put_number(json, "burst", r->c->burst);
	put_number(json, "seconds", r->seconds);
	put_number(json, "gflop_a_step", r->flops / 1e9);
	put_peaks(r, json);
	mr_json_key(json, "rows");
	mr_json_begin_array(json);
	for (int place = 0; place < 2; place++)
		for (size_t i = 0; i < r->n; i++)
			if (mr_contender_samples(&r->all[i], place)->n)
				put_row_json(r, &r->all[i], place, json);
	mr_json_end_array(json);
	put_absent(r, json);
	put_number(json, "bursts", (double)n.bursts);
	put_number(json, "of_no_one_placement", (double)n.mixed);
	put_number(json, "disturbed", (double)n.disturbed);
	put_number(json, "disturbed_and_left_out", (double)n.left_out);
	put_number(json, "percent_of_a_cpu_used_by_others", percent(n.others_s, n.wall_s));
	put_number(json, "percent_of_a_core_used_at_rest", percent(r->rest.own_s, r->rest.wall_s));
}

static void print_peaks(const mr_results *r)
{
	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++) {
		const mr_peak_best *best = &r->peak.of[k];

		if (best->isa)
			printf("  peak in %s: %.1f GFLOP/s of %d core%s at once, %.1f of one (%s)\n",
			       mr_bench_precision_name((mr_bench_precision)k), best->all, r->peak.cores,
			       r->peak.cores == 1 ? "" : "s", best->one, best->isa);
	}
}

static bool any_far_off(const mr_results *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->all[i].far_off[0] || r->all[i].far_off[1])
			return true;
	return false;
}

mr_status mr_results_put(const mr_results *r, mr_json_writer *json)
{
	counts n = count(r);

	MR_TRY(print_table(r));
	if (any_far_off(r))
		printf("  * each burst took more than %.1f times the fastest of ours, or of the peers: no more of it\n",
		       MR_FAR_OFF);
	print_peaks(r);
	printf("  %zu bursts, %.0f s: %zu of no one placement dropped; %zu disturbed by others, %zu of them left out;"
	       " others used %.1f %% of a CPU\n",
	       n.bursts, r->seconds, n.mixed, n.disturbed, n.left_out, percent(n.others_s, n.wall_s));
	for (size_t i = 0; i < r->n; i++)
		if (r->all[i].peer && r->rest.wall_s > 0) {
			printf("  while one was timed, those that stood still used %.2f %% of a core\n",
			       percent(r->rest.own_s, r->rest.wall_s));
			break;
		}
	if (json)
		put_json(r, json);
	return MR_OK;
}
