/* auto_candidates.c - what the search may try, and the settings of a candidate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grown.h"
#include "choose/auto_internal.h"
#include "costs/cost_model.h"

/* Instructions of a plan that is tried. */
#define MOST_OF_ONE (1u << 19)
/* Systems that compute their order from costs get plans of at most this many instructions; those that search among
 * plans, which takes as long as trying hundreds of candidates, fewer. */
#define MOST_BY_COSTS 4096u
#define MOST_JUDGED 256u

typedef mr_auto_search_state search;

mr_status mr_auto_add(search *s, const mr_auto_row *like, mr_auto_row **out)
{
	mr_auto *a = s->a;
	uint32_t of = like ? (uint32_t)(like - a->row) : 0;
	mr_auto_row *more = mr_grown(a->row, a->n, sizeof(*more)), *r;

	if (!more)
		return mr_fail(MR_ERESOURCE, "no memory for %u candidates", a->n + 1);
	a->row = more;
	like = like ? &more[of] : NULL;
	r = &a->row[a->n++];
	*r = (mr_auto_row){.step_s = INFINITY};
	*out = r;
	if (!like)
		return MR_OK;
	memcpy(r->label, like->label, sizeof(r->label));
	r->workers = like->workers;
	r->threads = like->threads;
	r->n_micro = like->n_micro;
	r->refined = true;
	for (uint32_t i = 0; i < like->n_sets; i++) {
		r->set[i] = strdup(like->set[i]);
		if (!r->set[i])
			return mr_fail(MR_ERESOURCE, "no memory for a candidate");
		r->n_sets++;
	}
	return MR_OK;
}

/* Which setting has @key; n_sets: none. */
static uint32_t find_setting(const mr_auto_row *r, const char *key)
{
	size_t n = strlen(key);
	uint32_t i = 0;

	while (i < r->n_sets && (strncmp(r->set[i], key, n) || r->set[i][n] != '='))
		i++;
	return i;
}

mr_status mr_auto_set(mr_auto_row *r, const char *key, const char *value)
{
	uint32_t i = find_setting(r, key);
	size_t size = strlen(key) + strlen(value) + 2;
	char *text = i < MR_AUTO_SETS ? malloc(size) : NULL;

	if (!text)
		return mr_fail(MR_ERESOURCE, "no memory for the settings of a candidate");
	snprintf(text, size, "%s=%s", key, value);
	if (i < r->n_sets)
		free(r->set[i]);
	else
		r->n_sets++;
	r->set[i] = text;
	return MR_OK;
}

const char *mr_auto_value(const mr_auto_row *r, const char *key)
{
	uint32_t i = find_setting(r, key);

	return i < r->n_sets ? r->set[i] + strlen(key) + 1 : "";
}

static mr_status set_number(mr_auto_row *r, const char *key, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return mr_auto_set(r, key, text);
}

/* Workers, threads of each and micro-batches, with the lower bounds of their steps. */
typedef struct shape {
	uint32_t workers, threads, n_micro;
	double work;  /* all work over the workers */
	double chain; /* a micro-batch through the model, which a step that flushes waits for */
} shape;

static shape shape_of(const search *s, uint32_t workers, uint32_t threads, uint32_t n_micro)
{
	mr_workload of = mr_session_workload(&s->base);
	mr_model_least l = mr_model_least_of(&of, s->a->batch / n_micro, threads);

	return (shape){workers, threads, n_micro, (n_micro * l.micro + l.commit) / workers, l.micro};
}

/* Bytes that no system undercuts: a copy of the weights with gradients and state, the activations of a micro-batch. */
static uint64_t least_memory(const search *s, uint32_t n_micro)
{
	const mr_graph *g = s->base.graph;
	const mr_types *types = &s->base.kernels->types;
	uint64_t state = s->base.optim.ops->n_states * mr_dtype_bytes(mr_optim_state_type(&s->base.optim, types));
	uint64_t bytes = mr_dtype_bytes(types->weights) * (uint64_t)mr_graph_n_params(g);

	for (uint32_t n = 0; n < g->n_nodes; n++)
		bytes += state * (uint64_t)mr_costs_stepped(g, n);
	for (uint32_t n = 0; n < g->n_nodes; n++)
		if (mr_graph_trains(g, n)) /* others may work in place, be done again, or keep nothing */
			for (uint32_t o = 0; o < g->nodes[n].n_out; o++)
				bytes += (uint64_t)(s->a->batch / n_micro) *
					 mr_shape_bytes(g->nodes[n].out_shape[o], types->activations);
	return bytes;
}

void mr_auto_name(mr_auto_row *r)
{
	const char *replicas = mr_auto_value(r, "system.replicas");
	bool some = *replicas && strcmp(replicas, "[]") != 0;
	bool again = !strcmp(mr_auto_value(r, "system.recompute"), "always");
	const char *stages = again ? mr_auto_value(r, "system.recompute_stages") : "";

	const char *gradients = mr_auto_value(r, "system.gradients");

	snprintf(r->label, sizeof(r->label), "%.24s%s%.24s%s%s%.20s%s%s%.12s%s%s", mr_auto_value(r, "system.name"),
		 some ? " " : "", some ? replicas : "", again ? ", recomputing" : "", *stages ? " " : "", stages,
		 *mr_auto_value(r, "system.merge_w") ? ", merged W" : "", *gradients ? ", " : "", gradients,
		 *gradients ? " gradients" : "", *mr_auto_value(r, "system.parameters") ? ", sharded weights" : "");
}

/* A candidate with @value for the option @key of its system; NULL: all have their defaults. */
static mr_status add(search *s, const shape *h, const char *system, bool stale, const char *key, const char *value)
{
	mr_auto_row *r;

	MR_TRY(mr_auto_add(s, NULL, &r));
	r->workers = h->workers;
	r->threads = h->threads;
	r->n_micro = h->n_micro;
	r->bound_s = stale ? h->work : fmax(h->work, h->chain);
	MR_TRY(mr_auto_set(r, "system.name", system));
	MR_TRY(set_number(r, "machine.workers", h->workers));
	MR_TRY(set_number(r, "machine.threads", h->threads));
	MR_TRY(set_number(r, "train.microbatches", h->n_micro));
	MR_TRY(mr_auto_set(r, "partition", "auto"));
	MR_TRY(mr_auto_set(r, "machine.teams", "equal"));
	MR_TRY(mr_auto_set(r, "machine.cpus", ""));
	if (*s->base.job->machine.ranks)
		MR_TRY(mr_auto_set(r, "machine.ranks", ""));
	if (s->n_hosts > 1)
		MR_TRY(set_number(r, "machine.hosts", s->n_hosts));
	if (key)
		MR_TRY(mr_auto_set(r, key, value));
	mr_auto_name(r);
	return MR_OK;
}

/* Stages of equal numbers of workers: two stages, or four. */
static const char *replicas_of(uint32_t workers, uint32_t stages, char *text, size_t size)
{
	text[0] = '\0';
	for (uint32_t i = 0; i < stages; i++)
		snprintf(text + strlen(text), size - strlen(text), "%s%u%s", i ? ", " : "[", workers / stages,
			 i + 1 < stages ? "" : "]");
	return text;
}

/* The name that @list begins with, without commas and blanks around it; *@n: its length, 0 at the end of the list. */
static const char *next_name(const char *list, size_t *n)
{
	list += strspn(list, ", ");
	*n = strcspn(list, ", ");
	return list;
}

/* Is @name one of the systems that the user asked for? */
static bool is_wanted(const search *s, const char *name)
{
	const char *list = s->q.systems ? s->q.systems : "";
	size_t n;

	if (!*list)
		return true;
	for (list = next_name(list, &n); n; list = next_name(list + n, &n))
		if (strlen(name) == n && !strncmp(list, name, n))
			return true;
	return false;
}

/* Is each name that the user asked for one of a system? */
static mr_status check_names(const search *s)
{
	const char *list = s->q.systems ? s->q.systems : "";
	size_t n;

	for (list = next_name(list, &n); n; list = next_name(list + n, &n)) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)n, list);
		if (!mr_schedule_find(name))
			return mr_fail(MR_EUSAGE, "--systems: no system is called \"%s\"; millrace list systems "
				       "names them", name);
	}
	return MR_OK;
}

static bool has_option(const mr_sched_ops *ops, const char *name)
{
	return ops->options && mr_option_find(ops->options, name);
}

/* Weight gradients of several micro-batches in one product, where @ops can. */
static mr_status add_merged(search *s, const shape *h, const mr_sched_ops *ops, bool stale)
{
	bool joins = h->workers > 1 && h->n_micro >= h->workers && !(s->base.job->train.clip > 0) &&
		     s->n_hosts == 1; /* whose memory all workers read */
	char most[16];

	snprintf(most, sizeof(most), "%u", h->n_micro < UINT8_MAX ? h->n_micro : UINT8_MAX);
	if (h->n_micro > 1 && has_option(ops, "merge_w"))
		MR_TRY(add(s, h, ops->name, stale, "system.merge_w", most));
	if (joins && has_option(ops, "gradients"))
		MR_TRY(add(s, h, ops->name, stale, "system.gradients", "joint"));
	return MR_OK;
}

/* What keeps less and is no faster: where memory is limited. */
static mr_status add_lean(search *s, const shape *h, const mr_sched_ops *ops, bool stale)
{
	if (!s->q.memory || h->workers < 2 || s->base.job->train.clip > 0)
		return MR_OK;
	if (has_option(ops, "gradients"))
		MR_TRY(add(s, h, ops->name, stale, "system.gradients", "released"));
	if (has_option(ops, "parameters") && s->n_hosts > 1)
		MR_TRY(add(s, h, ops->name, stale, "system.parameters", "sharded"));
	return MR_OK;
}

static mr_status add_system(search *s, const shape *h, const mr_sched_ops *ops)
{
	uint64_t length = (uint64_t)h->workers * h->n_micro * 3; /* F, I and W, or nearly so */
	bool stale = ops->asynchronous || ops->replicates;
	bool again = !s->q.plain && s->q.memory && has_option(ops, "recompute");
	char text[64];

	if (!is_wanted(s, ops->name))
		return MR_OK;
	if (stale && (!s->q.allow_stale || ops->replicates || (!ops->accumulates && h->n_micro > 1)))
		return MR_OK;
	if (length > MOST_OF_ONE || (ops->by_costs && length > MOST_BY_COSTS) || (ops->judged && length > MOST_JUDGED))
		return MR_OK;
	MR_TRY(add(s, h, ops->name, stale, NULL, NULL));
	if (again)
		MR_TRY(add(s, h, ops->name, stale, "system.recompute", "always"));
	if (s->q.plain)
		return MR_OK;
	MR_TRY(add_merged(s, h, ops, stale));
	MR_TRY(add_lean(s, h, ops, stale));
	if (!has_option(ops, "replicas"))
		return MR_OK;
	for (uint32_t stages = 2; stages <= 4 && 2 * stages <= h->workers; stages *= 2)
		if (h->workers % stages == 0)
			MR_TRY(add(s, h, ops->name, stale, "system.replicas",
				   replicas_of(h->workers, stages, text, sizeof(text))));
	return MR_OK;
}

/* All systems with these workers and threads, for all numbers of micro-batches. */
static mr_status add_shape(search *s, uint32_t workers, uint32_t threads)
{
	uint32_t most = s->a->batch < 8 * (int64_t)workers ? (uint32_t)s->a->batch : 8 * workers;

	for (uint32_t n = 1; n <= most; n++) {
		shape h;

		if (s->a->batch % n || (n > 2 && n < workers / 2))
			continue;
		if (s->q.memory && workers > 1 && n < most && least_memory(s, n) > s->q.memory)
			continue;
		h = shape_of(s, workers, threads, n);
		for (size_t i = 0; mr_schedule_at(i); i++)
			if ((workers == 1) == (mr_schedule_at(i)->workers == 1)) /* one worker needs no pipeline */
				MR_TRY(add_system(s, &h, mr_schedule_at(i)));
	}
	return MR_OK;
}

/* The most threads of each of @workers workers, none of which has cores of two nodes, or of two of @hosts hosts. */
static uint32_t most_threads(const mr_topo *t, uint32_t hosts, uint32_t workers)
{
	uint32_t k = t->n_usable / workers, most = t->n_usable / hosts;

	k = most && k > most ? most : k;
	for (; k > 1; k--) {
		uint32_t fit = 0;

		for (uint32_t i = 0; i < t->n_nodes && t->node[i].first_core < t->n_usable; i++) {
			uint32_t left = t->n_usable - t->node[i].first_core;

			fit += (left < t->node[i].n_cores ? left : t->node[i].n_cores) / k;
		}
		if (fit >= workers)
			break;
	}
	return k;
}

mr_status mr_auto_candidates(search *s)
{
	const mr_topo *t = &s->base.topo;
	uint32_t most = t->n_usable < 512 ? t->n_usable : 512;

	MR_TRY(check_names(s));
	for (uint32_t d = 1; d <= most; d += d < 4 ? 1 : d < 8 ? 2 : d < 16 ? 4 : d / 2)
		for (uint32_t k = most_threads(t, s->n_hosts, d); k; k = k > 1 ? (k + 1) / 2 : 0)
			MR_TRY(add_shape(s, d, k));
	return MR_OK;
}

