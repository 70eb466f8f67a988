#include "perf/rpd/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/registry.h"

#define FAR 1e6 /* times the first value: diverged */

void die_unless(mr_status st, const char *what)
{
	if (st == MR_OK)
		return;
	fprintf(stderr, "rpd: %s: %s\n", what, mr_error_text());
	exit(mr_status_exit_code(st));
}

static mr_values *values_of(const mr_option *table, const char *sets)
{
	char *copy = strdup(sets), *rest = NULL;
	mr_values *v;

	die_unless(mr_values_create(table, &v), sets);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *equals = strchr(word, '=');

		*equals = 0;
		die_unless(mr_values_set_text(v, word, equals + 1), word);
	}
	free(copy);
	return v;
}

static void build_graph(problem *p, const char *model, const char *sets)
{
	const mr_model_data md = {.input = p->data->input, .target = p->data->target, .classes = p->data->classes};
	const mr_model_ops *ops = mr_model_find(model); /* our own name */
	mr_values *v;

	v = values_of(ops->options, sets);
	die_unless(mr_values_set_int(v, "blocks", p->n_stages), "blocks");
	die_unless(mr_model_build(ops, v, &md, &p->graph), model);
	mr_values_destroy(v);
}

static void cut(problem *p)
{
	char (*name)[24] = calloc(p->n_stages, sizeof(*name));
	const char **names = calloc(p->n_stages, sizeof(*names));

	for (uint16_t s = 1; s < p->n_stages; s++) {
		snprintf(name[s - 1], sizeof(name[0]), "block.%u", s);
		names[s - 1] = name[s - 1];
	}
	die_unless(mr_partition_explicit(p->graph, names, p->n_stages - 1u, &p->partition), "cutting the model");
	free(names);
	free(name);
}

problem problem_open(const char *model, const char *model_sets, const char *source, const char *data_sets,
		     uint16_t n_stages, int64_t samples, bool facts)
{
	problem p = {.kernels = mr_kernels_find("reference", MR_F64), .n_stages = n_stages, .samples = samples,
		     .place = {.n_threads = 1}};
	const mr_dataset_ops *ops = mr_dataset_find(source);
	mr_data_want want = {.dtype = MR_F64};
	mr_values *v = values_of(ops->options, data_sets);
	mr_objective_spec spec;

	die_unless(mr_dataset_open(ops, v, &want, &p.data), source);
	mr_values_destroy(v);
	build_graph(&p, model, model_sets);
	cut(&p);
	p.n_batches = (uint32_t)(p.data->n_train / (uint64_t)samples);
	if (!mr_graph_objective(p.graph, &spec))
		die_unless(mr_fail(MR_EINVAL, "%s is no objective of the theory", model), model);
	die_unless(mr_objective_create(&spec, p.data, MR_F64, &p.f), "the objective");
	free(spec.block);
	p.f0 = mr_objective_value(p.f);
	if (facts) {
		die_unless(mr_objective_smoothness(p.f, &p.l), "L");
		die_unless(mr_objective_minimum(p.f, &p.f_star), "f*");
	}
	return p;
}

void problem_close(problem *p)
{
	mr_objective_destroy(p->f);
	mr_partition_fini(&p->partition);
	mr_graph_destroy(p->graph);
	mr_dataset_close(p->data);
}

void curve_fini(curve *c)
{
	free(c->f);
	*c = (curve){0};
}

/* --- observing ---------------------------------------------------------------------------------------------------- */

typedef struct watch {
	problem *p;
	const asking *a;
	curve c;
	bool by_update;
	uint16_t replicas;
	size_t total;         /* number of values of the whole run */
	double grads, missed, distance, blocks; /* sums */
	uint64_t n_grads;
	double *mean;         /* of one block over the replicas */
	bool diverged;
} watch;

/* Block @s is now the mean over the replicas. */
static void set_block(watch *w, const mr_histories *model, uint16_t s)
{
	if (w->replicas == 1) {
		mr_objective_set(w->p->f, s, mr_history_latest(&model->at[s]), MR_F64);
		return;
	}
	mr_unit_mean(model, w->replicas, s, &(mr_types)MR_TYPES_ALL(MR_F64), w->mean, NULL);
	mr_objective_set(w->p->f, s, w->mean, MR_F64);
}

static void set_all(watch *w, const mr_histories *model)
{
	for (uint16_t s = 0; s < w->p->n_stages; s++)
		set_block(w, model, s);
}

/* Record value number @i of the run, if it was requested. */
static bool note(watch *w, size_t i)
{
	double f;

	if (!w->a->all && (double)i < (1 - w->a->tail) * (double)w->total - 1 && i % 256)
		return true;
	f = mr_objective_value(w->p->f);
	if (!(f < FAR * w->p->f0)) {
		w->diverged = true;
		return false;
	}
	if (w->a->all || (double)i >= (1 - w->a->tail) * (double)w->total - 1)
		w->c.f[w->c.n++] = f;
	w->c.last = f;
	return true;
}

static void note_gradient(watch *w)
{
	if (!w->a->grads)
		return;
	w->grads += mr_objective_gradient(w->p->f, NULL);
	w->n_grads++;
}

static void note_block(watch *w, const mr_history *h)
{
	const double *g = (const double *)(const void *)h->grads;
	size_t n = mr_stage_size(h->stage)->weight_bytes / sizeof(double);
	double sum = 0;

	if (!w->a->grads)
		return;
	for (size_t i = 0; i < n; i++)
		sum += g[i] * g[i];
	w->c.largest = fmax(w->c.largest, sqrt(sum));
	w->blocks += sum;
}

/* |version @a - version @b|^2 */
static double apart(const mr_history *h, uint64_t a, uint64_t b)
{
	const double *x = mr_history_weights(h, a), *y = mr_history_weights(h, b);
	size_t n = mr_stage_size(h->stage)->weight_bytes / sizeof(double);
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (x[i] - y[i]) * (x[i] - y[i]);
	return sum;
}

static bool on_step(void *arg, const mr_aged_event *e)
{
	watch *w = arg;

	set_block(w, e->model, e->stage);
	for (uint16_t s = 0; s < w->p->n_stages && w->a->grads; s++) {
		const mr_history *h = &e->model->at[s];
		uint64_t before = h->latest - (s == e->stage);
		double missed = (double)(before - e->read[s]);

		w->missed += missed * missed;
		w->distance += before == e->read[s] ? 0 : apart(h, before, e->read[s]);
	}
	note_block(w, &e->model->at[e->stage]);
	note_gradient(w);
	w->c.n_updates++;
	return note(w, e->k);
}

static bool on_time(void *arg, const mr_unit_event *e)
{
	watch *w = arg;

	if (e->kind == MR_UNIT_UPDATE) {
		if (w->replicas == 1)
			set_block(w, e->model, e->stage);
		note_block(w, &e->model[e->replica].at[e->stage]);
		note_gradient(w);
		w->c.n_updates++;
		return w->by_update ? note(w, w->c.n_updates - 1) : true;
	}
	if (w->by_update)
		return true;
	if (w->replicas > 1)
		set_all(w, e->model);
	return note(w, e->time);
}

static watch begin(problem *p, const asking *a, size_t total, uint16_t replicas)
{
	watch w = {.p = p, .a = a, .total = total, .replicas = replicas};
	size_t widest = (size_t)mr_objective_coordinates(p->f) * sizeof(double);

	w.c.f = malloc((total + 1) * sizeof(double));
	w.mean = calloc(1, widest);
	if (!w.c.f || !w.mean)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for %zu values", total), "a curve");
	for (uint16_t s = 0; s < p->n_stages; s++)
		mr_objective_set(p->f, s, w.mean, MR_F64);
	note_gradient(&w);
	return w;
}

static curve end(watch *w, mr_status st)
{
	size_t n = (size_t)ceil(w->a->tail * (double)w->c.n), first;

	if (st == MR_EDIVERGED)
		w->diverged = true;
	else
		die_unless(st, "a run");
	n = w->a->all ? n : w->c.n;
	first = w->c.n - (n < w->c.n ? n : w->c.n);
	for (size_t i = first; i < w->c.n; i++)
		w->c.tail += w->c.f[i] / (double)(w->c.n - first);
	if (w->diverged)
		w->c.last = w->c.tail = INFINITY;
	w->c.mean_grad = w->n_grads ? w->grads / (double)w->n_grads : NAN;
	w->c.missed_sq = w->c.n_updates ? w->missed / w->c.n_updates : 0;
	w->c.distance_sq = w->c.n_updates ? w->distance / w->c.n_updates : 0;
	w->c.mean_block = w->c.n_updates ? w->blocks / w->c.n_updates : 0;
	free(w->mean);
	return w->c;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static mr_optim sgd(void)
{
	const mr_optim_ops *ops = mr_optim_find("sgd");
	mr_values *v = values_of(ops->options, "");
	mr_optim o;

	mr_optim_init(&o, ops, v);
	mr_values_destroy(v);
	return o;
}

curve run_steps(problem *p, const mr_aged *steps, const asking *a)
{
	watch w = begin(p, a, steps->n_steps, 1);
	mr_lr lr = {.kind = MR_LR_CONSTANT, .base = a->gamma};
	mr_optim o = sgd();
	mr_aged_config c = {.graph = p->graph,
			    .partition = &p->partition,
			    .kernels = p->kernels,
			    .data = p->data,
			    .optim = &o,
			    .lr = &lr,
			    .place = &p->place,
			    .samples = p->samples,
			    .seed = a->seed,
			    .steps = steps,
			    .observer = on_step,
			    .arg = &w};

	return end(&w, mr_aged_run(&c, NULL));
}

curve run_timeline(problem *p, const mr_unit_time *u, const asking *a, bool by_update)
{
	watch w = begin(p, a, by_update ? u->n / 2 : u->length, u->n_replicas);
	mr_lr lr = {.kind = MR_LR_CONSTANT, .base = a->gamma};
	mr_optim o = sgd();
	mr_unit_config c = {.graph = p->graph,
			    .partition = &p->partition,
			    .kernels = p->kernels,
			    .data = p->data,
			    .optim = &o,
			    .lr = &lr,
			    .place = &p->place,
			    .samples = p->samples,
			    .seed = a->seed,
			    .timeline = u,
			    .noise = a->noise,
			    .n_noise = a->n_noise,
			    .observer = on_time,
			    .arg = &w};

	w.by_update = by_update;
	return end(&w, mr_unit_run(&c));
}
