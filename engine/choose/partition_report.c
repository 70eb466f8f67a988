#include "choose/partition_report.h"

#include <math.h>

#include "base/json.h"
#include "base/str.h"
#include "report/table.h"

/* More workers than this many times the number asked for are not looked at when a refusal says what would fit. */
#define MOST_TIMES 8u

/* --- text --- */

static const char *layers_of(const mr_layer_row *layer, uint32_t first, uint32_t end, char *text, size_t size)
{
	if (end == first + 1)
		snprintf(text, size, "%s", layer[first].name);
	else
		snprintf(text, size, "%s .. %s", layer[first].name, layer[end - 1].name);
	return text;
}

static mr_status print_text(const mr_replica_problem *p, const mr_replica_partition *c,
			    const mr_replica_partition *straight, FILE *out)
{
	static const mr_table_column columns[] = {
		{"stage", true},     {"layers", false}, {"workers", true}, {"from", true},
		{"in flight", true}, {"time", true},    {"boundary", true}, {"bytes a worker", true},
	};
	char layers[140];
	mr_table *t;

	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (uint32_t i = 0; i < c->n_stages; i++) {
		const mr_replica_stage *g = &c->stage[i];

		mr_table_put(t, "%u", i);
		mr_table_put(t, "%s", layers_of(p->layer, g->first, g->end, layers, sizeof(layers)));
		mr_table_cells(t, "%u\t%u\t%u\t%.6g\t%.6g\t%.6g", g->replicas, g->worker, g->in_flight, g->time,
			       g->boundary, g->bytes);
	}
	MR_TRY(mr_table_finish(t, out));
	fprintf(out, "\na micro-batch every %.6g; %u under way keep all workers busy\n", c->bottleneck,
		mr_replica_partition_in_flight(p, c));
	if (straight->n_stages)
		fprintf(out, "one worker a stage: every %.6g\n", straight->bottleneck);
	else
		fputs("one worker a stage: no such cut\n", out);
	return MR_OK;
}

/* --- JSON --- */

static void put_partition(mr_json_writer *w, const mr_replica_problem *p, const mr_replica_partition *c)
{
	mr_json_begin_object(w);
	mr_json_field_double(w, "bottleneck", c->bottleneck);
	mr_json_field_uint(w, "in_flight", mr_replica_partition_in_flight(p, c));
	mr_json_field_array(w, "stages");
	for (uint32_t i = 0; i < c->n_stages; i++) {
		const mr_replica_stage *g = &c->stage[i];

		mr_json_begin_object(w);
		mr_json_field_string(w, "first", p->layer[g->first].name);
		mr_json_field_uint(w, "end", g->end);
		mr_json_field_uint(w, "worker", g->worker);
		mr_json_field_uint(w, "replicas", g->replicas);
		mr_json_field_uint(w, "in_flight", g->in_flight);
		mr_json_field_double(w, "time", g->time);
		mr_json_field_double(w, "boundary", g->boundary);
		mr_json_field_double(w, "bytes", g->bytes);
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
	mr_json_end_object(w);
}

mr_status mr_replica_partition_print(const mr_replica_problem *p, const mr_replica_partition *c,
				     const mr_replica_partition *straight, bool json, FILE *out)
{
	mr_json_writer w;

	if (!json)
		return print_text(p, c, straight, out);
	w = mr_json_begin(out, true);
	mr_json_key(&w, "best");
	put_partition(&w, p, c);
	mr_json_key(&w, "one_worker_a_stage");
	if (straight->n_stages)
		put_partition(&w, p, straight);
	else
		mr_json_put_double(&w, NAN);
	return mr_json_finish(&w);
}

/* --- groups in groups --- */

/* Workers of a part of @level. */
static uint32_t workers_of(const mr_level_problem *p, uint32_t level)
{
	uint32_t n = 1;

	for (uint32_t k = 0; k < level; k++)
		n *= p->level[k].parts;
	return n;
}

static mr_status print_levels(const mr_level_problem *p, const mr_level_partition *c, FILE *out)
{
	static const mr_table_column columns[] = {
		{"level", true},   {"layers", false}, {"parts", true},
		{"workers", true}, {"time", true},    {"boundary", true},
	};
	char layers[140];
	mr_table *t;

	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (uint32_t i = 0; i < c->n_stages; i++) {
		const mr_level_stage *g = &c->stage[i];

		mr_table_put(t, "%u", g->level + 1);
		mr_table_put(t, "%s", layers_of(p->layer, g->first, g->end, layers, sizeof(layers)));
		mr_table_cells(t, "%u\t%u\t%.6g\t%.6g", g->parts, g->parts * workers_of(p, g->level), g->time,
			       g->boundary);
	}
	MR_TRY(mr_table_finish(t, out));
	fprintf(out, "\na micro-batch every %.6g; all workers on all layers: every %.6g\n", c->bottleneck,
		mr_level_partition_shared(p));
	return MR_OK;
}

mr_status mr_level_partition_print(const mr_level_problem *p, const mr_level_partition *c, bool json, FILE *out)
{
	mr_json_writer w;

	if (!json)
		return print_levels(p, c, out);
	w = mr_json_begin(out, true);
	mr_json_field_double(&w, "bottleneck", c->bottleneck);
	mr_json_field_double(&w, "shared", mr_level_partition_shared(p));
	mr_json_field_array(&w, "stages");
	for (uint32_t i = 0; i < c->n_stages; i++) {
		const mr_level_stage *g = &c->stage[i];

		mr_json_begin_object(&w);
		mr_json_field_uint(&w, "level", g->level + 1);
		mr_json_field_string(&w, "first", p->layer[g->first].name);
		mr_json_field_uint(&w, "end", g->end);
		mr_json_field_uint(&w, "parts", g->parts);
		mr_json_field_uint(&w, "workers", g->parts * workers_of(p, g->level));
		mr_json_field_double(&w, "time", g->time);
		mr_json_field_double(&w, "boundary", g->boundary);
		mr_json_end_object(&w);
	}
	mr_json_end_array(&w);
	return mr_json_finish(&w);
}

/* --- pipelines of equal blocks --- */

static void put_choice(mr_json_writer *w, const mr_width_depth *r)
{
	mr_json_begin_object(w);
	mr_json_field_uint(w, "width", r->width);
	mr_json_field_uint(w, "depth", r->depth);
	mr_json_field_uint(w, "micro", r->micro);
	mr_json_field_bool(w, "recompute", r->recompute);
	mr_json_field_double(w, "bytes", r->bytes);
	mr_json_field_double(w, "time", r->time);
	mr_json_field_double(w, "rate", r->rate);
	mr_json_field_bool(w, "fits", r->fits);
	mr_json_end_object(w);
}

static mr_status print_choices(const mr_width_depth *rows, uint32_t n, uint32_t best, FILE *out)
{
	static const mr_table_column columns[] = {
		{"", false}, {"pipelines", true}, {"stages", true}, {"micro-batch", true}, {"recompute", false},
		{"bytes a worker", true}, {"time", true}, {"samples per time", true}, {"fits", false},
	};
	mr_table *t;

	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (uint32_t i = 0; i < n; i++)
		mr_table_cells(t, "%s\t%u\t%u\t%u\t%s\t%.6g\t%.6g\t%.6g\t%s", i == best ? "best" : "",
			       rows[i].width, rows[i].depth, rows[i].micro, rows[i].recompute ? "yes" : "no",
			       rows[i].bytes, rows[i].time, rows[i].rate, rows[i].fits ? "yes" : "no");
	return mr_table_finish(t, out);
}

mr_status mr_width_depth_print(const mr_width_depth_problem *p, const mr_width_depth *rows, uint32_t n, uint32_t best,
			       bool json, FILE *out)
{
	mr_json_writer w;

	if (!json) {
		fprintf(out, "%u equal blocks, %u workers, a batch of %u\n\n", p->n_blocks, p->n_workers, p->batch);
		return print_choices(rows, n, best, out);
	}
	w = mr_json_begin(out, true);
	mr_json_key(&w, "best");
	put_choice(&w, &rows[best]);
	mr_json_field_array(&w, "rows");
	for (uint32_t i = 0; i < n; i++)
		put_choice(&w, &rows[i]);
	mr_json_end_array(&w);
	return mr_json_finish(&w);
}

/* --- refusals --- */

/* Append to @text, after "; " or before the last one after "or". */
static void offer(mr_strbuf *text, const char *what)
{
	mr_strbuf_printf(text, "%s%s", text->len ? ", or " : "", what);
}

static mr_status fits(mr_replica_problem p, bool *found)
{
	mr_replica_partition c;
	mr_status st = mr_replica_partition_solve(&p, &c, found);

	mr_replica_partition_fini(&c);
	return st;
}

/* Fewer versions of the weights, and recomputing, and both. */
static mr_status offer_less(const mr_replica_problem *p, mr_strbuf *text)
{
	static const char *const words[2][3] = {
		{"", "two versions of the weights (--versions two)", "one version of the weights (--versions one)"},
		{"recomputing (--recompute)", "--recompute with --versions two", "--recompute with --versions one"},
	};

	for (int again = p->recompute; again < 2; again++)
		for (mr_kept kept = p->kept; kept <= MR_KEPT_ONE; kept++) {
			mr_replica_problem q = *p;
			bool found;

			q.kept = kept;
			q.recompute = again;
			if (kept == p->kept && again == p->recompute)
				continue;
			MR_TRY(fits(q, &found));
			if (!found)
				continue;
			offer(text, again == p->recompute ? words[0][kept] : words[1][kept == p->kept ? 0 : kept]);
			break;
		}
	return MR_OK;
}

static mr_status offer_workers(const mr_replica_problem *p, mr_strbuf *text)
{
	char what[60];

	for (uint32_t n = p->n_workers + 1; n <= MOST_TIMES * p->n_workers; n++) {
		mr_replica_problem q = *p;
		double least;

		q.n_workers = n;
		MR_TRY(mr_replica_partition_least(&q, &least));
		if (least > p->capacity)
			continue;
		snprintf(what, sizeof(what), "%u workers", n);
		offer(text, what);
		break;
	}
	return MR_OK;
}

mr_status mr_replica_partition_refuse(const mr_replica_problem *p)
{
	char what[80];
	mr_strbuf text = {0};
	double least;
	mr_status st;

	MR_TRY(mr_replica_partition_least(p, &least));
	if (!(least < INFINITY)) /* more workers than layers, one worker a stage */
		return mr_fail(MR_ERESOURCE, "%u layers cannot use %u workers with one worker a stage", p->n_layers,
			       p->n_workers);
	st = offer_less(p, &text);
	if (st == MR_OK)
		st = offer_workers(p, &text);
	if (st == MR_OK) {
		snprintf(what, sizeof(what), "%.6g bytes a worker", least);
		offer(&text, what);
		st = mr_fail(MR_ERESOURCE,
			     "no cut of %u layers for %u workers fits into %.6g bytes a worker; would fit: %s",
			     p->n_layers, p->n_workers, p->capacity, mr_strbuf_text(&text));
	}
	mr_strbuf_fini(&text);
	return st;
}

mr_status mr_width_depth_refuse(const mr_width_depth_problem *p, const mr_width_depth *rows, uint32_t n)
{
	double least = INFINITY;

	if (!n)
		return mr_fail(MR_ECONFIG, "%u equal blocks, %u workers and a batch of %u cannot be shared out: stages "
					   "have to divide blocks and workers, and a pipeline takes at least as many "
					   "micro-batches as it has stages",
			       p->n_blocks, p->n_workers, p->batch);
	for (uint32_t i = 0; i < n; i++)
		least = fmin(least, rows[i].bytes);
	return mr_fail(MR_ERESOURCE, "nothing fits into %.6g bytes a worker; would fit: %.6g bytes a worker",
		       p->capacity, least);
}
