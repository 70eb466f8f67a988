#include "perf/steps/results.h"

#include <string.h>

#include "base/stats.h"
#include "report/table.h"

enum { N_FIXED = 11 };

static const char *const place_names[] = {"NEAR", "FAR"};

/* NaN without samples. */
static double median_of(const double *x, size_t n)
{
	double copy[MR_MAX_ROUNDS];

	memcpy(copy, x, n * sizeof(*copy));
	return mr_median(copy, n);
}

static const mr_contender *find(const mr_results *r, const mr_peer *peer)
{
	for (size_t i = 0; i < r->n; i++)
		if (peer ? r->all[i].peer == peer : r->all[i].system == &mr_line_up[MR_A])
			return &r->all[i];
	return NULL;
}

/* Time of @other (NULL: none) over that of @x in the same placement; NaN where one of them has none. */
static double ratio(const mr_contender *other, const mr_contender *x, int place)
{
	const mr_samples *o = other ? &other->at[place] : NULL, *s = &x->at[place];

	return median_of(o ? o->ms : NULL, o ? o->n : 0) / median_of(s->ms, s->n);
}

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

static void put_ratio(mr_table *t, double x)
{
	if (x == x)
		mr_table_put(t, "x%.2f", x);
	else
		mr_table_put(t, "-");
}

/* The samples stay in their order. */
static mr_quartiles quartiles_of(const mr_samples *s)
{
	double copy[MR_MAX_ROUNDS];

	memcpy(copy, s->ms, s->n * sizeof(*copy));
	return mr_quartiles_of(copy, s->n);
}

static void put_row(const mr_results *r, const mr_contender *x, int place, mr_table *t)
{
	const mr_samples *s = &x->at[place];
	mr_quartiles q = quartiles_of(s);
	double gflops = r->flops / q.median / 1e6;

	mr_table_put(t, "%s", x->label);
	mr_table_put(t, "%d x %d", x->workers, x->threads);
	mr_table_put(t, "%s", place_names[place]);
	mr_table_put(t, "%zu", s->n);
	mr_table_put(t, "%.3f", q.median);
	mr_table_put(t, "%.3f", q.q1);
	mr_table_put(t, "%.3f", q.q3);
	mr_table_put(t, "%.*f", q.median > 10 * r->c->batch ? 2 : 0, 1e3 * r->c->batch / q.median);
	mr_table_put(t, "%.1f", gflops);
	mr_table_put(t, "%.1f %%", 100 * gflops / mr_peak_all(&r->peak));
	put_ratio(t, ratio(find(r, NULL), x, place));
	for (int i = 0; i < MR_N_PEERS; i++)
		if (find(r, &r->peers[i]))
			put_ratio(t, ratio(find(r, &r->peers[i]), x, place));
	if (s->n_over)
		mr_table_put(t, "%.3f", median_of(s->over, s->n_over));
	else
		mr_table_put(t, "-");
}

static void put_row_json(const mr_results *r, const mr_contender *x, int place, mr_json_writer *json)
{
	const mr_samples *s = &x->at[place];
	mr_quartiles q = quartiles_of(s);
	double gflops = r->flops / q.median / 1e6;

	mr_json_begin_object(json);
	put_string(json, "system", x->label);
	mr_json_key(json, "peer");
	mr_json_put_bool(json, x->peer != NULL);
	put_number(json, "workers", x->workers);
	put_number(json, "threads", x->threads);
	put_string(json, "placement", place_names[place]);
	put_number(json, "samples", (double)s->n);
	put_number(json, "ms", q.median);
	put_number(json, "ms_quartile_1", q.q1);
	put_number(json, "ms_quartile_3", q.q3);
	put_number(json, "samples_per_second", 1e3 * r->c->batch / q.median);
	put_number(json, "gflops", gflops);
	put_number(json, "percent_of_peak", 100 * gflops / mr_peak_all(&r->peak));
	put_number(json, "a_over_this", ratio(find(r, NULL), x, place));
	mr_json_key(json, "peer_over_this");
	mr_json_begin_object(json);
	for (int i = 0; i < MR_N_PEERS; i++)
		if (find(r, &r->peers[i]))
			put_number(json, r->peers[i].ops->name, ratio(find(r, &r->peers[i]), x, place));
	mr_json_end_object(json);
	if (s->n_over) {
		put_number(json, "allowed_ms", median_of(s->allowed, s->n_over));
		put_number(json, "measured_over_allowed", median_of(s->over, s->n_over));
	}
	mr_json_end_object(json);
}

static mr_status print_table(const mr_results *r)
{
	mr_table_column columns[N_FIXED + MR_N_PEERS + 1] = {
		{"system", false},  {"w x t", false},   {"place", false},    {"n", true},
		{"ms/step", true},  {"quartile", true}, {"quartile", true},  {"samples/s", true},
		{"GFLOP/s", true},  {"of peak", true},  {"A/this", true},
	};
	char heads[MR_N_PEERS][32];
	uint32_t n = N_FIXED;
	mr_table *t;
	mr_status st;

	for (int i = 0; i < MR_N_PEERS; i++)
		if (find(r, &r->peers[i])) {
			snprintf(heads[i], sizeof(heads[i]), "%s/this", r->peers[i].ops->name);
			columns[n++] = (mr_table_column){heads[i], true};
		}
	columns[n++] = (mr_table_column){"of plan", true};
	MR_TRY(mr_table_create(columns, n, &t));
	for (int place = 0; place < 2; place++)
		for (size_t i = 0; i < r->n; i++)
			if (r->all[i].at[place].n)
				put_row(r, &r->all[i], place, t);
	st = mr_table_print(t, "  ", stdout);
	mr_table_destroy(t);
	return st;
}

/* What takes no part, and why. */
static void put_absent(const mr_results *r, mr_json_writer *json)
{
	mr_json_key(json, "absent");
	mr_json_begin_array(json);
	for (size_t i = 0; i < r->n; i++)
		if (r->all[i].out) {
			mr_json_begin_object(json);
			put_string(json, "system", r->all[i].label);
			put_string(json, "reason", r->all[i].peer ? r->all[i].peer->failed : r->all[i].why);
			mr_json_end_object(json);
		}
	for (int i = 0; i < MR_N_PEERS; i++)
		if (!r->peers[i].where && r->peers[i].ops->takes(r->c)) {
			mr_json_begin_object(json);
			put_string(json, "system", r->peers[i].ops->name);
			put_string(json, "reason", "not found");
			mr_json_end_object(json);
		}
	mr_json_end_array(json);
}

static double percent_at_rest(const mr_results *r)
{
	return r->rest.wall_s > 0 ? 100 * r->rest.cpu_s / r->rest.wall_s : 0;
}

static void put_json(const mr_results *r, mr_json_writer *json)
{
	size_t dropped = 0;

	put_string(json, "case", r->c->name);
	put_string(json, "what", r->c->what);
	put_number(json, "batch", r->c->batch);
	put_number(json, "microbatches", r->c->micro);
	put_number(json, "burst", r->c->burst);
	put_number(json, "gflop_a_step", r->flops / 1e9);
	put_number(json, "peak_gflops", mr_peak_all(&r->peak));
	put_number(json, "peak_gflops_one_core", mr_peak_one(&r->peak));
	put_string(json, "isa", r->peak.isa);
	mr_json_key(json, "rows");
	mr_json_begin_array(json);
	for (int place = 0; place < 2; place++)
		for (size_t i = 0; i < r->n; i++)
			if (r->all[i].at[place].n)
				put_row_json(r, &r->all[i], place, json);
	mr_json_end_array(json);
	put_absent(r, json);
	for (size_t i = 0; i < r->n; i++)
		dropped += r->all[i].dropped;
	put_number(json, "dropped", (double)dropped);
	put_number(json, "percent_of_a_core_used_at_rest", percent_at_rest(r));
}

mr_status mr_results_put(const mr_results *r, mr_json_writer *json)
{
	size_t dropped = 0;

	MR_TRY(print_table(r));
	for (size_t i = 0; i < r->n; i++)
		dropped += r->all[i].dropped;
	printf("  peak %.1f GFLOP/s of %d core%s at once, %.1f of one (%s); %zu bursts of no one placement dropped\n",
	       mr_peak_all(&r->peak), r->peak.cores, r->peak.cores == 1 ? "" : "s", mr_peak_one(&r->peak), r->peak.isa,
	       dropped);
	for (size_t i = 0; i < r->n; i++)
		if (r->all[i].peer && r->rest.wall_s > 0) {
			printf("  while one was timed, all others together used %.2f %% of a core\n",
			       percent_at_rest(r));
			break;
		}
	if (json)
		put_json(r, json);
	return MR_OK;
}
