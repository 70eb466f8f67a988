/*
 * test_random_graphs.c - random models, cut at random points: with a stage's planned memory and shared gradient buffers
 * the gradients are those of the oracle, where every tensor has a buffer of its own, to the bit.
 *
 * The models are those of random_model.h. A stage begins anywhere, so several values cross a boundary, also the model's
 * input and some of the outputs of one layer, and some pass through stages that do not read them. Values have four
 * dimensions.
 *
 * That is about whole gradients. With steps inside the backward pass gradients may share one place; some of the models
 * are trained so by the engine and by the replay, through plans with B and with I and W apart, and the weights must be
 * those of the oracle to the bit.
 */
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "check.h"
#include "host/group.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "oracle.h"
#include "random_model.h"
#include "rig.h"
#include "schedules/registry.h"
#include "stage/stage.h"

#define MODELS 2000
#define TRAINED 100 /* of them, for STEPS steps */
#define STEPS 3
#define WIDTH RANDOM_WIDTH
#define ROWS 2
#define SAMPLES 2
#define MICROS 3
#define STAGES 8
#define SEED 11

static uint64_t model; /* number of the model in hand */
static uint32_t most_live; /* values that cross a boundary */
static uint32_t together, apart; /* boundaries that all outputs of a layer with several cross, and only some of them */

static void *room(size_t bytes)
{
	size_t n = mr_align_up(bytes ? bytes : 1, MR_CACHE_LINE);
	void *p = aligned_alloc(MR_CACHE_LINE, n);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	memset(p, 0xff, n); /* NaN */
	return p;
}

/* --- data --- */

static void sample(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	(void)d;
	for (uint64_t e = 0; e < ROWS * WIDTH; e++) {
		((double *)input)[e] = 2 * mr_rng_uniform(SEED, MR_RNG_TEST, i, 1, e) - 1;
		((double *)target)[e] = 2 * mr_rng_uniform(SEED, MR_RNG_TEST, i, 2, e) - 1;
	}
}

static void sample_f32(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	double x[ROWS * WIDTH], y[ROWS * WIDTH];

	sample(d, i, x, y);
	for (uint64_t e = 0; e < ROWS * WIDTH; e++) {
		((float *)input)[e] = (float)x[e];
		((float *)target)[e] = (float)y[e];
	}
}

static const mr_dataset_ops data_ops = {.name = "random", .train = sample, .valid = sample};
static const mr_dataset_ops data_ops_f32 = {.name = "random", .train = sample_f32, .valid = sample_f32};
static const mr_shape shape = {.rows = ROWS, .cols = WIDTH, .n_dims = 4, .dim = {1, 1, ROWS, WIDTH}};

static mr_graph *next_model(void)
{
	return random_model(model, shape);
}

/* --- stages --- */

typedef struct chain {
	const mr_graph *g;
	const mr_kernels *k;
	uint32_t n;                 /* stages */
	uint32_t first[STAGES + 1]; /* nodes */
	bool split;
	mr_stage *stage[STAGES];
	void *weights[STAGES], *grads[STAGES], *scratch[STAGES];
	void *in[MICROS][STAGES + 1], *grad[MICROS][STAGES + 1], *slot[MICROS][STAGES], *target[MICROS];
	double loss[MICROS];
	mr_status status;
	char text[256];
} chain;

static void look_at(const mr_graph *g, uint32_t boundary)
{
	uint32_t live = mr_graph_live(g, boundary, NULL);

	most_live = live > most_live ? live : most_live;
	for (uint32_t i = 0; i < boundary; i++) {
		const mr_node *nd = &g->nodes[i];
		uint32_t crossing = 0;

		for (uint32_t j = 0; j < nd->n_out; j++)
			crossing += g->values[nd->out + j].last_use >= boundary;
		together += nd->n_out > 1 && crossing == nd->n_out;
		apart += crossing > 0 && crossing < nd->n_out;
	}
}

static void cut(chain *c)
{
	uint32_t one_in = 1 + random_below(5);

	c->n = 1;
	for (uint32_t i = 1; i < c->g->n_nodes && c->n < STAGES; i++)
		if (mr_graph_cut_ok(c->g, i) && random_below(one_in) == 0) {
			look_at(c->g, i);
			c->first[c->n++] = i;
		}
	c->first[c->n] = c->g->n_nodes;
}

/* The stage that stores what stage @s shares: itself, unless it ties a weight to an earlier one. */
static uint32_t owner_of(const chain *c, uint32_t s)
{
	for (uint32_t p = 0; p < c->g->n_params; p++) {
		uint32_t user = c->g->params[p].node, owner, o = 0;

		if (c->g->params[p].tied_to < 0 || user < c->first[s] || user >= c->first[s + 1])
			continue;
		owner = c->g->params[c->g->params[p].tied_to].node;
		while (owner >= c->first[o + 1])
			o++;
		return o;
	}
	return s;
}

static void make_chain(chain *c)
{
	for (uint32_t s = 0; s < c->n; s++) {
		uint32_t o = owner_of(c, s);
		const mr_stage_sizes *z;

		MR_CHECK_OK(mr_stage_create(c->g, c->first[s], c->first[s + 1], SAMPLES, c->k, c->split,
					    o < s ? c->stage[o] : NULL, &c->stage[s]));
		z = mr_stage_size(c->stage[s]);
		c->weights[s] = room(z->weight_bytes);
		c->grads[s] = room(z->grad_bytes);
		c->scratch[s] = room(z->scratch_bytes);
		mr_stage_init_weights(c->stage[s], SEED, c->weights[s], NULL);
		for (uint32_t m = 0; m < MICROS; m++) {
			c->in[m][s] = room(z->in_bytes);
			c->grad[m][s] = room(z->grad_in_bytes);
			c->slot[m][s] = room(z->slot_bytes);
		}
	}
	for (uint64_t m = 0; m < MICROS; m++) {
		c->target[m] = room(SAMPLES * mr_shape_bytes(shape, c->k->types.weights));
		for (uint64_t i = 0; i < SAMPLES; i++)
			sample(NULL, m * SAMPLES + i, (double *)c->in[m][0] + i * ROWS * WIDTH,
			       (double *)c->target[m] + i * ROWS * WIDTH);
	}
}

static void free_chain(chain *c)
{
	for (uint32_t s = 0; s < c->n; s++) {
		mr_stage_destroy(c->stage[s]);
		free(c->weights[s]);
		free(c->grads[s]);
		free(c->scratch[s]);
		for (uint32_t m = 0; m < MICROS; m++) {
			free(c->in[m][s]);
			free(c->grad[m][s]);
			free(c->slot[m][s]);
		}
	}
	for (uint32_t m = 0; m < MICROS; m++)
		free(c->target[m]);
}

typedef mr_status pass(const mr_stage *s, const mr_stage_io *io);

static mr_status one(chain *c, mr_kctx *kc, pass *fn, uint32_t m, uint32_t s)
{
	bool last = s + 1 == c->n;
	mr_stage_io io = {
		.kc = kc,
		.in = c->in[m][s],
		.out = last ? NULL : c->in[m][s + 1],
		.grad_out = last ? NULL : c->grad[m][s + 1],
		.grad_in = s ? c->grad[m][s] : NULL,
		.slot = c->slot[m][s],
		.scratch = c->scratch[s],
		.weights = c->weights[s],
		.tied_weights = c->weights[owner_of(c, s)],
		.grads = c->grads[s],
		.add_grads = m > 0,
		.target = last ? c->target[m] : NULL,
		.loss = &c->loss[m],
		.samples = SAMPLES,
		.train = true,
		.seed = SEED,
		.first_sample = (uint64_t)m * SAMPLES,
	};

	memset(c->scratch[s], 0xff, mr_stage_size(c->stage[s])->scratch_bytes);
	return fn(c->stage[s], &io);
}

static mr_status each(chain *c, mr_kctx *kc, pass *fn, bool backwards)
{
	for (uint32_t m = 0; m < MICROS; m++)
		for (uint32_t i = 0; i < c->n; i++)
			MR_TRY(one(c, kc, fn, m, backwards ? c->n - 1 - i : i));
	return MR_OK;
}

static mr_status all(chain *c, mr_kctx *kc)
{
	MR_TRY(each(c, kc, mr_stage_forward, false));
	MR_TRY(each(c, kc, c->split ? mr_stage_backward_input : mr_stage_backward, true));
	if (c->split)
		MR_TRY(each(c, kc, mr_stage_backward_weight, true));
	for (uint32_t s = 0; s < c->n; s++) {
		uint32_t o = owner_of(c, s);

		MR_CHECK_OK(mr_stage_sum_tied_from(c->stage[o], kc, c->grads[o], c->stage[s], c->grads[s]));
	}
	return MR_OK;
}

static void thread(void *arg)
{
	chain *c = arg;
	mr_kctx *kc = NULL;

	c->status = c->k->ctx_create(c->k, 1, &kc);
	if (c->status == MR_OK)
		c->status = all(c, kc);
	if (c->status != MR_OK)
		snprintf(c->text, sizeof(c->text), "%s", mr_error_text());
	c->k->ctx_destroy(kc);
}

/* --- comparing --- */

static void print_model(const chain *c)
{
	fprintf(stderr, "\nmodel %llu%s:\n", (unsigned long long)model, c->split ? ", halves apart" : "");
	for (uint32_t i = 0, s = 0; i < c->g->n_nodes; i++) {
		const mr_node *nd = &c->g->nodes[i];

		if (s + 1 < c->n && c->first[s + 1] == i)
			fprintf(stderr, "  stage %u\n", ++s);
		fprintf(stderr, "  %s %s(%u", nd->name, nd->ops->name, nd->in[0]);
		for (uint32_t j = 1; j < nd->n_in; j++)
			fprintf(stderr, ", %u", nd->in[j]);
		fprintf(stderr, ") -> %u and %u behind it\n", nd->out, nd->n_out ? nd->n_out - 1u : 0);
	}
}

static bool equals(const chain *c, const oracle *q)
{
	const double *loss = oracle_losses(q);

	for (uint32_t m = 0; m < MICROS; m++)
		if (c->loss[m] != loss[m]) {
			print_model(c);
			fprintf(stderr, "loss %.17g of micro-batch %u, the oracle has %.17g\n", c->loss[m], m, loss[m]);
			return false;
		}
	for (uint32_t p = 0, s = 0; p < c->g->n_params; p++) {
		const mr_param *param = &c->g->params[p];
		const char *mine;

		while (param->node >= c->first[s + 1])
			s++;
		mine = (const char *)c->grads[s] + mr_stage_grad_at(c->stage[s], p);
		if (memcmp(mine, oracle_gradient(q, p), (size_t)param->n * mr_dtype_bytes(c->k->types.weights))) {
			print_model(c);
			fprintf(stderr, "the gradient of %s differs\n", param->name);
			return false;
		}
	}
	return true;
}

static void check(const oracle_config *sc, bool split, const oracle *q, const chain *where)
{
	chain c = *where;
	mr_group *group;

	c.split = split;
	make_chain(&c);
	MR_CHECK_OK(mr_group_start(sc->place, "mr-graph", thread, &c, &group));
	mr_group_join(group);
	if (c.status != MR_OK)
		fprintf(stderr, "\n%s\n", c.text);
	CU_ASSERT_EQUAL_FATAL(c.status, MR_OK);
	CU_ASSERT_FATAL(equals(&c, q));
	free_chain(&c);
}

static void random_graphs(void)
{
	mr_dataset data = {.ops = &data_ops, .input = shape, .target = shape, .n_train = 100};
	mr_place_worker place = {.n_threads = 1, .cpu = (uint32_t[]){0}};
	mr_lr lr = {.kind = MR_LR_CONSTANT, .base = 0};
	mr_optim optim = {.ops = mr_optim_find("sgd")};
	uint32_t most_stages = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(optim.ops);
	for (model = 0; model < MODELS; model++) {
		oracle_config sc = {
			.kernels = mr_kernels_find("reference", MR_F64),
			.data = &data,
			.optim = &optim,
			.lr = &lr,
			.place = &place,
			.seed = SEED,
			.samples = SAMPLES,
			.n_micro = MICROS,
		};
		chain c = {.k = sc.kernels};
		mr_graph *g;
		oracle *q;

		sc.graph = c.g = g = next_model();
		cut(&c);
		most_stages = c.n > most_stages ? c.n : most_stages;
		q = oracle_create(&sc);
		oracle_run(q, 1, NULL, NULL);
		check(&sc, false, q, &c);
		check(&sc, true, q, &c);
		oracle_destroy(q);
		mr_graph_destroy(g);
	}
	CU_ASSERT(most_stages == STAGES && most_live > 6);
	CU_ASSERT(together > 50 && apart > 50);
}

/* --- training --- */

/* Everything that the three executors are made from. */
typedef struct trainee {
	mr_run_config c;
	mr_dataset data;
	mr_optim optim;
	mr_lr lr;
	mr_place place;
	mr_place_worker worker[STAGES];
	mr_partition partition;
	uint32_t cpu;
} trainee;

static void make_trainee(trainee *t, chain *where)
{
	static const char *const optimizers[] = {"sgd", "momentum", "adamw"};
	bool wide = where->k->types.weights == MR_F64;

	*t = (trainee){
		.data = {.ops = wide ? &data_ops : &data_ops_f32, .input = shape, .target = shape, .n_train = 100},
		.optim = {.ops = mr_optim_find(optimizers[random_below(3)]), .mu = 0.9, .b1 = 0.9, .b2 = 0.99,
			  .eps = 1e-8, .weight_decay = 0.01, .coupled = random_below(2), .decay_all = random_below(2)},
		.lr = {.kind = MR_LR_CONSTANT, .base = 1e-6}, /* sums of sums can be steep */
		.place = {.n_workers = where->n, .worker = t->worker, .shared = true},
		.partition = {.n_stages = (uint16_t)where->n, .first = where->first},
	};
	CU_ASSERT_PTR_NOT_NULL_FATAL(t->optim.ops);
	for (uint32_t w = 0; w < where->n; w++)
		t->worker[w] = (mr_place_worker){.n_threads = 1, .cpu = &t->cpu, .shared = true};
	t->c = (mr_run_config){
		.graph = where->g,
		.partition = &t->partition,
		.kernels = where->k,
		.data = &t->data,
		.optim = &t->optim,
		.lr = &t->lr,
		.place = &t->place,
		.seed = SEED,
		.samples = SAMPLES,
	};
}

/* @from with I and W in place of B; a W may wait behind what follows it on its worker. */
static mr_plan *split_plan(mr_plan *from)
{
	mr_plan *to;

	MR_CHECK_OK(mr_plan_create_like(from, false, &to));
	for (uint16_t w = 0; w < from->n_workers; w++) {
		const mr_list *l = mr_plan_list(from, w, MR_BODY);
		mr_instr waiting[MICROS];
		uint32_t n = 0;

		for (uint32_t i = 0; i < l->n; i++) {
			mr_instr in = l->at[i];

			if (in.op == MR_OP_B) {
				in.op = MR_OP_W;
				waiting[n++] = in;
				in.op = MR_OP_I;
			}
			MR_CHECK_OK(mr_plan_append(to, w, MR_BODY, in));
			if (i + 1 < l->n && random_below(2))
				continue;
			for (uint32_t k = 0; k < n; k++)
				MR_CHECK_OK(mr_plan_append(to, w, MR_BODY, waiting[k]));
			n = 0;
		}
	}
	mr_plan_destroy(from);
	return to;
}

static mr_plan *plan_of(const char *system, uint32_t n_stages, uint32_t n_micro, bool split)
{
	const mr_sched_ops *ops = mr_schedule_find(system);
	mr_values *values = NULL;
	mr_plan *p;
	uint32_t inside = 0;

	if (ops->options)
		MR_CHECK_OK(mr_values_create(ops->options, &values));
	MR_CHECK_OK(mr_schedule_emit(
		ops, &(mr_sched_args){.n_workers = (uint16_t)n_stages, .n_micro = n_micro, .options = values}, &p));
	mr_values_destroy(values);
	if (p->contract.flush == MR_FLUSH_BARRIER)
		p->contract.flush = MR_FLUSH_LOCAL;
	if (split)
		p = split_plan(p);
	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.update_inside = true}));
	MR_CHECK_OK(mr_plan_check(p));
	for (uint16_t w = 0; w < p->n_workers; w++)
		for (uint32_t i = 0; i < mr_plan_list(p, w, MR_BODY)->n; i++) {
			const mr_instr *in = &mr_plan_list(p, w, MR_BODY)->at[i];

			CU_ASSERT_FATAL(in->op != MR_OP_U);
			inside += in->op != (split ? MR_OP_B : MR_OP_I) && in->flags & MR_INSTR_UPDATE;
		}
	CU_ASSERT_FATAL(inside >= n_stages);
	return p;
}

static void by_engine(const mr_run_config *c, rig_result *out)
{
	mr_engine *e;
	uint64_t reached;

	MR_CHECK_OK(mr_engine_create(c, 60, &e));
	out->n_steps = 0;
	MR_CHECK_OK(mr_engine_run(e, STEPS, rig_progress, out, &reached));
	rig_collect_run(mr_engine_run_of(e), out);
	mr_engine_destroy(e);
}

static void by_replay(const mr_run_config *c, rig_result *out)
{
	mr_replay *r;

	MR_CHECK_OK(mr_replay_create(c, &r));
	MR_CHECK_OK(mr_replay_run(r, STEPS, MR_REPLAY_RANDOM, model));
	rig_losses_of_run(mr_replay_run_of(r), out);
	rig_collect_run(mr_replay_run_of(r), out);
	mr_replay_destroy(r);
}

static void by_oracle(const trainee *t, uint32_t n_micro, rig_result *out)
{
	oracle_config c = {
		.graph = t->c.graph,
		.kernels = t->c.kernels,
		.data = &t->data,
		.optim = &t->optim,
		.lr = &t->lr,
		.place = t->worker,
		.seed = SEED,
		.samples = SAMPLES,
		.n_micro = n_micro,
	};
	oracle *o = oracle_create(&c);

	out->n_steps = 0;
	oracle_run(o, STEPS, rig_progress, out);
	oracle_collect(o, false, out);
	oracle_destroy(o);
}

static void train(const chain *where, trainee *t, const char *system, uint32_t n_micro, bool split)
{
	rig_result engine = {0}, replay = {0}, naive = {0};
	mr_plan *plan = plan_of(system, where->n, n_micro, split);
	bool flushes = plan->contract.flush != MR_FLUSH_NONE, same;
	char what[100];

	snprintf(what, sizeof(what), "model %llu, %s, %u stages, %u micro-batches%s, %s", (unsigned long long)model,
		 system, where->n, n_micro, split ? ", halves apart" : "", where->k->name);
	t->c.plan = plan;
	by_engine(&t->c, &engine);
	by_replay(&t->c, &replay);
	CU_ASSERT_EQUAL_FATAL(engine.n_steps, STEPS);
	same = rig_equal(&engine, &replay, true, what);
	if (same && (flushes || where->n == 1)) {
		by_oracle(t, n_micro, &naive);
		same = rig_equal(&engine, &naive, false, what);
	}
	if (!same)
		print_model(where);
	CU_ASSERT_FATAL(same);
	rig_result_fini(&engine);
	rig_result_fini(&replay);
	rig_result_fini(&naive);
	mr_plan_destroy(plan);
}

static void steps_inside_on(const mr_kernels *k)
{
	uint32_t trained = 0, most_stages = 0;

	for (model = 0; trained < TRAINED; model++) {
		chain c = {.k = k};
		trainee t;
		mr_graph *g;

		c.g = g = next_model();
		cut(&c);
		if (!mr_graph_ties(g)) { /* else steps are not inside */
			make_trainee(&t, &c);
			train(&c, &t, "pipedream", 1, false);
			train(&c, &t, "zb_h1", MICROS, false);
			for (int split = 0; split < 2; split++) {
				train(&c, &t, "1f1b", 1, split);
				train(&c, &t, model % 2 ? "gpipe" : "1f1b", MICROS, split);
			}
			most_stages = c.n > most_stages ? c.n : most_stages;
			trained++;
		}
		mr_graph_destroy(g);
	}
	CU_ASSERT(most_stages == STAGES && most_live > 6);
	CU_ASSERT(together > 50 && apart > 50);
}

static void steps_inside_equal_sequential(void)
{
	steps_inside_on(mr_kernels_find("reference", MR_F64));
}

static void steps_inside_equal_sequential_f32(void)
{
	steps_inside_on(mr_kernels_find(mr_kernels_find("auto", MR_F32) ? "auto" : "reference", MR_F32));
}

void mr_suite_random_graphs(void)
{
	MR_SUITE("random_graphs");
	MR_TEST(random_graphs);
	MR_TEST(steps_inside_equal_sequential);
	MR_TEST(steps_inside_equal_sequential_f32);
}
