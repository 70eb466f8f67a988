/* auto_refine.c - other cuts, replicas, recomputation of single stages and teams for the best candidates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choose/auto_internal.h"
#include "planner/suffix_cuts.h"
#include "costs/interval_costs.h"
#include "session/host_map.h"
#include "session/machine_levels.h"

/* Candidates that are improved, and tries to improve one. */
#define BASES      4u
#define MOST_MOVES 12u
/* Instructions of all plans that are tried for it, as in auto.c. */
#define MOST_INSTRUCTIONS 250000u
#define MOST_REPLICAS     8u
#define MOST_WORK         1e8 /* suffixes that the programme may look at, of which a second does about 5e7 */
#define BETTER            (1 - 1e-6)

/* --- the suffix programme --- */

typedef struct ask {
	const mr_auto_search_state *s;
	mr_interval_costs costs;
	uint32_t *place; /* [n_places + 1] layers at which a stage may begin, and the end */
	uint32_t n_places, workers, n_micro;
	double *room;           /* [workers] bytes of each; 0: unknown */
	uint32_t *node;         /* [workers] */
	mr_level_problem levels; /* of the machine; without layers */
	mr_host_map *hosts;     /* NULL: all are on one. Owned */
	double versions, state; /* copies of weights, of state in weights */
	bool flush, keeps_all;  /* keeps_all: all micro-batches are in flight */
	bool plain, recomputed; /* ways that are options */
} ask;

static double in_flight(const ask *a, const mr_cut_stage *g)
{
	double most = ceil((double)g->left / g->replicas);

	return a->keeps_all ? a->n_micro : a->flush ? fmin(a->n_micro, most) : most;
}

/* Seconds of a byte from worker @from to worker @to. */
static double byte_s(const ask *a, uint32_t from, uint32_t to)
{
	const mr_hosts *h = a->hosts ? &a->hosts->hosts : NULL;

	if (h && h->rank[from] != h->rank[to])
		return h->link[h->host[h->rank[from]] * h->n_hosts + h->host[h->rank[to]]].byte_s;
	return a->node[from] != a->node[to] ? a->costs.far_s : a->costs.near_s;
}

static mr_cut_option option_of(const ask *a, const mr_cut_stage *g, const mr_interval_cost *c, bool recompute)
{
	const mr_stage_cost *t = &c->time;
	double r = g->replicas, flight = in_flight(a, g), commits = a->flush ? 1 : fmax(1, a->n_micro / r);
	double versions = fmin(a->versions, flight);
	double sums = 3 * c->steps * (r - 1) / r * byte_s(a, g->worker, g->worker + g->replicas - 1);

	return (mr_cut_option){
		.time = a->n_micro *
				(t->f + t->i + t->w + (recompute ? t->f : 0) +
				 c->in * (g->worker ? byte_s(a, g->worker - 1, g->worker) : a->costs.near_s)) /
				r +
			commits * t->u + sums,
		.bytes = c->weights + (versions + a->state) * c->steps +
			 (recompute && flight > 1 ? flight * c->in / 2 + c->kept : flight * c->kept),
		.recompute = recompute,
	};
}

static uint32_t options(void *arg, const mr_cut_stage *g, mr_cut_option *out)
{
	const ask *a = arg;
	mr_interval_cost c = mr_interval_costs_of(&a->costs, a->place[g->first], a->place[g->end]);
	double room = a->room[g->worker];
	uint32_t n = 0;

	for (int again = 0; again < 2; again++) {
		mr_cut_option o;

		if (!(again ? a->recomputed : a->plain))
			continue;
		o = option_of(a, g, &c, again);
		if ((!(room > 0) || o.bytes <= room) && !(n && o.bytes >= out[0].bytes))
			out[n++] = o;
	}
	return n;
}

static mr_status list_places(const mr_graph *g, uint32_t n_stages, ask *a)
{
	bool wide = n_stages > mr_graph_narrow_stages(g);

	a->place = malloc(((size_t)g->n_nodes + 1) * sizeof(*a->place));
	if (!a->place)
		return mr_fail(MR_ERESOURCE, "no memory for the places of %u layers", g->n_nodes);
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (wide ? mr_graph_cut_ok(g, i) : mr_graph_is_narrow(g, i))
			a->place[a->n_places++] = i;
	a->place[a->n_places] = g->n_nodes;
	return MR_OK;
}

/* The nodes of the workers, and the memory that each has: its node's, in equal parts. */
static mr_status place_workers(const mr_topo *t, uint32_t threads, ask *a)
{
	mr_place_params params;
	mr_place place;
	mr_status st;

	a->room = calloc(a->workers, sizeof(*a->room));
	a->node = calloc(a->workers, sizeof(*a->node));
	if (!a->room || !a->node)
		return mr_fail(MR_ERESOURCE, "no memory to place %u workers", a->workers);
	mr_place_defaults(&params, a->workers);
	params.max_threads = threads;
	MR_TRY(mr_place_init(&place, t, &params));
	st = mr_machine_levels(t, &place, a->hosts ? &a->hosts->hosts : NULL, a->costs.near_s, a->costs.far_s,
			       &a->levels);
	for (uint32_t w = 0; w < a->workers; w++)
		a->node[w] = place.worker[w].node;
	for (uint32_t w = 0; w < a->workers; w++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < a->workers; i++)
			n += a->node[i] == a->node[w];
		a->room[w] = (double)t->node[a->node[w]].memory_bytes / n;
	}
	mr_place_fini(&place);
	return st;
}

static void ask_fini(ask *a)
{
	mr_interval_costs_fini(&a->costs);
	mr_host_map_destroy(a->hosts);
	free(a->place);
	free(a->room);
	free(a->node);
}

static bool has_option(const mr_sched_ops *ops, const char *key)
{
	return ops->options && mr_option_find(ops->options, key);
}

static mr_status ask_init(mr_auto_search_state *s, const mr_auto_row *r, const mr_sched_ops *ops, ask *a)
{
	bool again = !strcmp(mr_auto_value(r, "system.recompute"), "always");
	mr_workload of = mr_session_workload(&s->base);

	*a = (ask){.s = s,
		   .workers = r->workers,
		   .n_micro = r->n_micro,
		   /* more than two: one for each micro-batch in flight */
		   .versions = r->versions > 2 ? (double)INFINITY : (double)r->versions,
		   .state = s->base.optim.ops->n_states,
		   .flush = !ops->asynchronous,
		   .keeps_all = r->slots > r->workers && r->slots >= r->n_micro,
		   .plain = !again || has_option(ops, "recompute_stages"),
		   .recomputed = again || has_option(ops, "recompute_stages")};
	MR_TRY(mr_interval_costs_init(&a->costs, &of, s->a->batch / r->n_micro, r->threads));
	MR_TRY(list_places(s->base.graph, has_option(ops, "replicas") ? 1 : r->workers, a));
	MR_TRY(mr_session_spread(&s->base, a->workers, &a->hosts));
	return place_workers(&s->base.topo, r->threads, a);
}

/* --- candidates from cuts --- */

/* Comma-separated texts of a cut: where stages begin; replicas; stages that recompute. */
static mr_status describe(const mr_graph *g, const ask *a, const mr_cut *c, mr_strbuf *cut, mr_strbuf *replicas,
			  mr_strbuf *again)
{
	bool more = false;

	for (uint32_t i = 0; i < c->n_parts; i++) {
		const mr_cut_part *p = &c->part[i];

		if (i)
			mr_strbuf_printf(cut, "%s%s", i > 1 ? "," : "", g->nodes[a->place[p->first]].name);
		mr_strbuf_printf(replicas, "%s%u", i ? ", " : "[", p->replicas);
		more |= p->replicas > 1;
		if (p->option.recompute)
			mr_strbuf_printf(again, "%s%u", again->len ? ", " : "[", i);
	}
	if (more)
		mr_strbuf_append(replicas, "]");
	else
		replicas->len = 0;
	if (again->len)
		mr_strbuf_append(again, "]");
	return cut->failed || replicas->failed || again->failed ? mr_fail(MR_ERESOURCE, "no memory for a cut") : MR_OK;
}

static mr_status set_cut(mr_auto_row *r, const char *cut, const char *replicas, const char *again)
{
	bool replicated = *mr_auto_value(r, "system.replicas") != '\0' || *replicas;

	MR_TRY(mr_auto_set(r, "partition", *cut ? cut : "auto"));
	if (replicated)
		MR_TRY(mr_auto_set(r, "system.replicas", *replicas ? replicas : "[]"));
	if (*again) {
		MR_TRY(mr_auto_set(r, "system.recompute", "always"));
		MR_TRY(mr_auto_set(r, "system.recompute_stages", again));
	} else if (*mr_auto_value(r, "system.recompute")) {
		MR_TRY(mr_auto_set(r, "system.recompute", "never"));
	}
	mr_auto_name(r);
	return MR_OK;
}

static mr_status add_cut(mr_auto_search_state *s, uint32_t base, const ask *a, const mr_cut *c)
{
	mr_strbuf cut = {0}, replicas = {0}, again = {0};
	mr_auto_row *r;
	mr_status st = describe(s->base.graph, a, c, &cut, &replicas, &again);

	if (st == MR_OK)
		st = mr_auto_add(s, &s->a->row[base], &r);
	if (st == MR_OK)
		st = set_cut(r, mr_strbuf_text(&cut), replicas.len ? mr_strbuf_text(&replicas) : "",
			     again.len ? mr_strbuf_text(&again) : "");
	if (st == MR_OK)
		mr_auto_try(s, r);
	mr_strbuf_fini(&cut);
	mr_strbuf_fini(&replicas);
	mr_strbuf_fini(&again);
	return st;
}

/* Row @base with the cuts of the programme. */
static mr_status try_cuts(mr_auto_search_state *s, uint32_t base, const mr_sched_ops *ops)
{
	const mr_auto_row *r = &s->a->row[base];
	mr_cuts cuts = {0};
	mr_cut_question q;
	double work;
	ask a;
	mr_status st = ask_init(s, r, ops, &a);

	q = (mr_cut_question){.n_places = a.n_places, .n_workers = r->workers, .options = options, .arg = &a};
	q.most_replicas = !has_option(ops, "replicas")  ? 1
			  : r->workers <= MOST_REPLICAS ? r->workers - 1
							: MOST_REPLICAS;
	work = (double)a.n_places * a.n_places / 2 * r->workers * (a.plain + a.recomputed) * MR_CUTS;
	if (st == MR_OK && work * q.most_replicas > MOST_WORK)
		q.most_replicas = work < MOST_WORK ? (uint32_t)(MOST_WORK / work) : 1;
	if (st == MR_OK && work <= MOST_WORK)
		st = mr_suffix_cuts(&q, &cuts);
	for (uint32_t i = 0; st == MR_OK && i < cuts.n; i++)
		st = add_cut(s, base, &a, &cuts.cut[i]);
	mr_cuts_fini(&cuts);
	ask_fini(&a);
	return st;
}

/* --- groups in groups --- */

/* May another cut of @r be tried: has it stages that the user's keys can name? */
static bool may_refine(const mr_auto_row *r)
{
	return r->first && r->workers > 1 && r->n_stages > 1;
}

/* The layers between two places, as the hierarchical partition takes them. Owned by the caller. */
static mr_layer_row *rows_of(const ask *a)
{
	mr_layer_row *rows = calloc(a->n_places + 1u, sizeof(*rows));

	for (uint32_t i = 0; rows && i < a->n_places; i++) {
		mr_interval_cost c = mr_interval_costs_of(&a->costs, a->place[i], a->place[i + 1]);

		rows[i].forward = c.time.f;
		rows[i].backward = c.time.i + c.time.w;
		rows[i].weights = c.steps;
		if (i)
			rows[i - 1].activation = c.in / 2;
	}
	return rows;
}

/* The ranks of workers in the order of @f's stages, as machine.ranks has them. */
static mr_status set_ranks(mr_auto_row *r, const ask *a, const mr_flat_partition *f)
{
	mr_strbuf ranks = {0};
	mr_status st;

	for (uint32_t w = 0; w < a->workers; w++)
		mr_strbuf_printf(&ranks, "%s%u", w ? " " : "", a->hosts->hosts.rank[f->worker[w]]);
	st = ranks.failed ? mr_fail(MR_ERESOURCE, "no memory for the ranks of %u workers", a->workers)
			  : mr_auto_set(r, "machine.ranks", mr_strbuf_text(&ranks));
	mr_strbuf_fini(&ranks);
	return st;
}

static mr_status add_flat(mr_auto_search_state *s, uint32_t base, const ask *a, const mr_flat_partition *f)
{
	const mr_graph *g = s->base.graph;
	mr_strbuf cut = {0}, replicas = {0};
	mr_auto_row *r;
	mr_status st = mr_auto_add(s, &s->a->row[base], &r);

	for (uint32_t i = 0; i < f->n_stages; i++) {
		if (i)
			mr_strbuf_printf(&cut, "%s%s", i > 1 ? "," : "", g->nodes[a->place[f->stage[i].first]].name);
		mr_strbuf_printf(&replicas, "%s%u", i ? ", " : "[", f->stage[i].replicas);
	}
	mr_strbuf_append(&replicas, "]");
	if (st == MR_OK && (cut.failed || replicas.failed))
		st = mr_fail(MR_ERESOURCE, "no memory for a cut");
	if (st == MR_OK)
		st = set_cut(r, mr_strbuf_text(&cut), mr_strbuf_text(&replicas), "");
	if (st == MR_OK && !f->in_order && a->hosts)
		st = set_ranks(r, a, f);
	if (st == MR_OK) {
		size_t len = strlen(r->label);

		snprintf(r->label + len, sizeof(r->label) - len, ", by levels");
		mr_auto_try(s, r);
	}
	mr_strbuf_fini(&cut);
	mr_strbuf_fini(&replicas);
	return st;
}

/* Steps of the programme, of which a second does some 1e8. */
static double steps_of(const mr_level_problem *p)
{
	double n = p->n_layers, sum = 0;

	for (uint32_t k = 0; k < p->n_levels; k++)
		sum += n * n * n * p->level[k].parts * p->level[k].parts / 6;
	return sum;
}

/* Row @base with the stages of PipeDream's hierarchical partition: whole parts of a level, each cut again inside. */
static mr_status try_levels(mr_auto_search_state *s, uint32_t base, const mr_sched_ops *ops)
{
	mr_level_partition c = {0};
	mr_flat_partition f = {0};
	mr_layer_row *rows = NULL;
	mr_level_problem p;
	ask a;
	mr_status st = ask_init(s, &s->a->row[base], ops, &a);

	if (st == MR_OK && !(rows = rows_of(&a)))
		st = mr_fail(MR_ERESOURCE, "no memory for %u layers", a.n_places);
	p = a.levels;
	p.layer = rows;
	p.n_layers = a.n_places;
	p.sync = MR_SYNC_2019;
	if (st == MR_OK && steps_of(&p) <= MOST_WORK) {
		st = mr_level_partition_solve(&p, &c);
		if (st == MR_OK)
			st = mr_level_partition_flatten(&p, &c, &f);
		if (st == MR_OK && f.n_stages > 1)
			st = add_flat(s, base, &a, &f);
	}
	mr_flat_partition_fini(&f);
	mr_level_partition_fini(&c);
	free(rows);
	ask_fini(&a);
	return st;
}

/* The fastest row of each system whose stages may have replicas. */
static mr_status try_all_levels(mr_auto_search_state *s)
{
	uint32_t n = s->a->n;

	for (size_t i = 0; mr_schedule_at(i); i++) {
		const mr_sched_ops *ops = mr_schedule_at(i);
		uint32_t r = 0;

		while (r < n && (strcmp(mr_auto_value(&s->a->row[r], "system.name"), ops->name) != 0 ||
				 !mr_auto_is_done(&s->a->row[r]) || !may_refine(&s->a->row[r])))
			r++;
		if (r < n && has_option(ops, "replicas") && !ops->replicates)
			MR_TRY(try_levels(s, r, ops));
	}
	return MR_OK;
}

/* --- local improvement --- */

static uint16_t busiest_of(const mr_auto_row *r)
{
	uint16_t most = 0;

	for (uint16_t i = 1; i < r->n_stages; i++)
		most = r->busy[i] > r->busy[most] ? i : most;
	return most;
}

/* The next place after (@step 1) or before (-1) layer @at where a stage may begin; 0: none. */
static uint32_t next_place(const mr_graph *g, uint32_t at, int step)
{
	bool wide = !mr_graph_is_narrow(g, at);

	for (at += (uint32_t)step; at && at < g->n_nodes; at += (uint32_t)step)
		if (wide ? mr_graph_cut_ok(g, at) : mr_graph_is_narrow(g, at))
			return at;
	return 0;
}

/* Row @of with the begin of stage @stage moved by one place. *@better: the new row, or @of if it is no better. */
static mr_status move_begin(mr_auto_search_state *s, uint32_t of, uint16_t stage, int step, uint32_t *better)
{
	const mr_graph *g = s->base.graph;
	const mr_auto_row *r = &s->a->row[of];
	uint32_t to = stage && stage < r->n_stages ? next_place(g, r->first[stage], step) : 0;
	mr_strbuf cut = {0};
	mr_auto_row *new;
	mr_status st;

	*better = of;
	if (!to || to <= r->first[stage - 1] || to >= r->first[stage + 1] || !mr_graph_cut_ok(g, to))
		return MR_OK;
	for (uint16_t i = 1; i < r->n_stages; i++)
		mr_strbuf_printf(&cut, "%s%s", i > 1 ? "," : "", g->nodes[i == stage ? to : r->first[i]].name);
	st = cut.failed ? mr_fail(MR_ERESOURCE, "no memory for a cut") : mr_auto_add(s, r, &new);
	if (st == MR_OK)
		st = mr_auto_set(new, "partition", mr_strbuf_text(&cut));
	mr_strbuf_fini(&cut);
	MR_TRY(st);
	mr_auto_try(s, new);
	if (mr_auto_is_done(new) && new->step_s < s->a->row[of].step_s * BETTER)
		*better = s->a->n - 1;
	return MR_OK;
}

/* The CPUs of teams of @size threads, as machine.cpus has them. */
static mr_status teams_text(const mr_topo *t, const uint32_t *size, uint32_t workers, mr_strbuf *out)
{
	mr_place_params params;
	mr_place place;

	mr_place_defaults(&params, workers);
	params.n_threads = size;
	MR_TRY(mr_place_init(&place, t, &params));
	for (uint32_t w = 0; w < workers && !place.shared; w++)
		for (uint32_t i = 0; i < place.worker[w].n_threads; i++)
			mr_strbuf_printf(out, "%s%u", i ? "," : w ? " " : "", place.worker[w].cpu[i]);
	mr_place_fini(&place);
	return out->failed ? mr_fail(MR_ERESOURCE, "no memory for the teams of %u workers", workers) : MR_OK;
}

/* Row @of with a core of the idlest worker given to the busiest one. */
static mr_status move_core(mr_auto_search_state *s, uint32_t of, uint32_t *better)
{
	const mr_auto_row *r = &s->a->row[of];
	uint32_t *size = malloc(r->workers * sizeof(*size));
	uint16_t from = 0, to = busiest_of(r);
	mr_auto_row *new;
	mr_strbuf cpus = {0};
	mr_status st = size ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %u teams", r->workers);

	*better = of;
	for (uint32_t w = 0; st == MR_OK && w < r->workers; w++) {
		size[w] = r->threads;
		from = r->busy[w] < r->busy[from] ? (uint16_t)w : from;
	}
	if (st == MR_OK) {
		size[from]--;
		size[to]++;
		st = teams_text(&s->base.topo, size, r->workers, &cpus);
	}
	free(size);
	if (st == MR_OK && cpus.len) {
		st = mr_auto_add(s, r, &new);
		if (st == MR_OK)
			st = mr_auto_set(new, "machine.cpus", mr_strbuf_text(&cpus));
		if (st == MR_OK)
			st = mr_auto_set(new, "machine.threads", "0");
		if (st == MR_OK) {
			size_t len = strlen(new->label);

			snprintf(new->label + len, sizeof(new->label) - len, ", uneven teams");
			mr_auto_try(s, new);
			if (mr_auto_is_done(new) && new->step_s < s->a->row[of].step_s * BETTER)
				*better = s->a->n - 1;
		}
	}
	mr_strbuf_fini(&cpus);
	return st;
}

/* Small changes of row @of, as long as the step gets shorter. */
static mr_status improve(mr_auto_search_state *s, uint32_t of, uint64_t limit)
{
	for (uint32_t n = 0; n < MOST_MOVES && s->visited < limit; n++) {
		const mr_auto_row *r = &s->a->row[of];
		uint16_t at = busiest_of(r);
		uint32_t better = of;

		MR_TRY(move_begin(s, of, at, 1, &better));
		if (better == of)
			MR_TRY(move_begin(s, of, (uint16_t)(at + 1), -1, &better));
		r = &s->a->row[of];
		/* teams are lists of CPUs, whose numbers on another machine are unknown */
		if (better == of && r->threads > 1 && r->n_stages == r->workers && !s->base.topo.synthetic &&
		    !*mr_auto_value(r, "machine.cpus"))
			MR_TRY(move_core(s, of, &better));
		if (better == of)
			return MR_OK;
		of = better;
	}
	return MR_OK;
}

/* --- which --- */

/* Has @r the system, workers, threads and micro-batches of one of the @n rows @of? */
static bool is_known(const mr_auto *a, const uint32_t *of, uint32_t n, const mr_auto_row *r)
{
	for (uint32_t i = 0; i < n; i++) {
		const mr_auto_row *x = &a->row[of[i]];

		if (x->workers == r->workers && x->threads == r->threads && x->n_micro == r->n_micro &&
		    !strcmp(mr_auto_value(x, "system.name"), mr_auto_value(r, "system.name")))
			return true;
	}
	return false;
}

/* The fastest that fit; if none does, those that need least memory. */
static uint32_t choose_bases(const mr_auto *a, uint32_t *base)
{
	bool some = a->n && mr_auto_is_done(&a->row[0]);
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n && some && n < BASES; i++)
		if (mr_auto_is_done(&a->row[i]) && may_refine(&a->row[i]) && !is_known(a, base, n, &a->row[i]))
			base[n++] = i;
	while (!some && n < BASES) {
		uint32_t least = a->n;

		for (uint32_t i = 0; i < a->n; i++)
			if (may_refine(&a->row[i]) && a->row[i].bytes && !is_known(a, base, n, &a->row[i]) &&
			    (least == a->n || a->row[i].bytes < a->row[least].bytes))
				least = i;
		if (least == a->n)
			break;
		base[n++] = least;
	}
	return n;
}

mr_status mr_auto_refine(mr_auto_search_state *s)
{
	uint64_t limit = s->visited + MOST_INSTRUCTIONS;
	uint32_t base[BASES], n;

	MR_TRY(try_all_levels(s));
	mr_auto_sort(s->a);
	n = choose_bases(s->a, base);
	for (uint32_t i = 0; i < n && s->visited < limit; i++) {
		uint32_t before = s->a->n, best = base[i];
		const mr_sched_ops *ops = mr_schedule_find(mr_auto_value(&s->a->row[best], "system.name"));

		if (ops && ops->chunks <= 1 && !ops->chunks_of && !has_option(ops, "chunks") &&
		    (has_option(ops, "replicas") || s->a->row[best].n_stages == s->a->row[best].workers))
			MR_TRY(try_cuts(s, best, ops));
		for (uint32_t k = before; k < s->a->n; k++)
			if (mr_auto_is_done(&s->a->row[k]) &&
			    (!mr_auto_is_done(&s->a->row[best]) || s->a->row[k].step_s < s->a->row[best].step_s))
				best = k;
		if (mr_auto_is_done(&s->a->row[best]))
			MR_TRY(improve(s, best, limit));
	}
	return MR_OK;
}
