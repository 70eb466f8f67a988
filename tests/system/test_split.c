/*
 * test_split.c - a stage whose backward comes as I and W apart computes the same bits as one whose backward is whole,
 * also when all I of several micro-batches come before the first W, and with nothing kept in scratch between the two.
 */
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "check.h"
#include "host/group.h"
#include "rig.h"
#include "stage/boundary.h"

#define MICROS 3
#define SAMPLES 2

/* What one micro-batch has at one stage. */
typedef struct flow {
	void *in, *out, *grad_out, *grad_in, *slot, *target;
	double loss;
} flow;

typedef struct side {
	mr_stage *owner, *stage;
	flow f[MICROS];
	void *weights, *owner_weights, *grads, *scratch;
} side;

typedef struct job {
	const mr_session *s;
	uint16_t at; /* stage */
	side whole, split;
	mr_status status;
	char text[256];
} job;

static void *room(size_t bytes)
{
	size_t n = mr_align_up(bytes ? bytes : 1, MR_CACHE_LINE);
	void *p = aligned_alloc(MR_CACHE_LINE, n);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	memset(p, 0xff, n); /* NaN in every dtype */
	return p;
}

static void put_random(const mr_session *s, void *p, mr_shape shape, uint64_t what, int64_t below)
{
	int64_t n = SAMPLES * shape.rows * shape.cols;

	for (int64_t i = 0; i < n; i++) {
		double x = mr_rng_uniform(7, MR_RNG_TEST, what, 0, (uint64_t)i);

		if (shape.tokens)
			((int32_t *)p)[i] = (int32_t)(x * (double)below);
		else if (s->kernels->types.weights == MR_F64)
			((double *)p)[i] = 2 * x - 1;
		else
			((float *)p)[i] = (float)(2 * x - 1);
	}
}

/* What crosses in front of @node. */
static void put_boundary(const mr_session *s, char *p, uint32_t node, bool gradients, uint64_t what)
{
	mr_boundary b;

	MR_CHECK_OK(mr_boundary_make(s->graph, node, SAMPLES, s->kernels->types.weights, &b));
	for (uint32_t i = 0; i < b.n; i++) {
		size_t at = gradients ? b.part[i].grad_at : b.part[i].at;

		if (at != MR_NO_GRAD)
			put_random(s, p + at, s->graph->values[b.part[i].value].shape, what + 1000 * i,
				   s->data->classes);
	}
	mr_boundary_fini(&b);
}

static void make_side(const mr_session *s, uint16_t at, bool split, side *d)
{
	const mr_graph *g = s->graph;
	const uint32_t *first = s->partition.first;
	bool last = at + 1 == s->partition.n_stages;
	const mr_stage_sizes *z;

	*d = (side){0};
	MR_CHECK_OK(mr_stage_create(g, first[0], first[1], SAMPLES, s->kernels, split, NULL, &d->owner));
	MR_CHECK_OK(mr_stage_create(g, first[at], first[at + 1], SAMPLES, s->kernels, split, last ? d->owner : NULL,
				    &d->stage));
	z = mr_stage_size(d->stage);
	d->owner_weights = room(mr_stage_size(d->owner)->weight_bytes);
	d->weights = room(z->weight_bytes);
	d->grads = room(z->grad_bytes);
	d->scratch = room(z->scratch_bytes);
	mr_stage_init_weights(d->owner, 3, d->owner_weights, NULL);
	mr_stage_init_weights(d->stage, 3, d->weights, NULL);
	for (int m = 0; m < MICROS; m++) {
		flow *f = &d->f[m];

		*f = (flow){room(z->in_bytes), room(z->out_bytes), room(z->grad_out_bytes), room(z->grad_in_bytes),
			    room(z->slot_bytes), room(z->target_bytes), 0};
		put_boundary(s, f->in, first[at], false, (uint64_t)m);
		if (last)
			put_random(s, f->target, g->target, 100 + (uint64_t)m, s->data->classes);
		else
			put_boundary(s, f->grad_out, first[at + 1], true, 200 + (uint64_t)m);
	}
}

static void free_side(side *d)
{
	mr_stage_destroy(d->stage);
	mr_stage_destroy(d->owner);
	free(d->weights);
	free(d->owner_weights);
	free(d->grads);
	free(d->scratch);
	for (int m = 0; m < MICROS; m++) {
		free(d->f[m].in);
		free(d->f[m].out);
		free(d->f[m].grad_out);
		free(d->f[m].grad_in);
		free(d->f[m].slot);
		free(d->f[m].target);
	}
}

static mr_stage_io io_of(const job *j, side *d, mr_kctx *kc, int m)
{
	bool first = j->at == 0, last = j->at + 1 == j->s->partition.n_stages;
	flow *f = &d->f[m];

	memset(d->scratch, 0xff, mr_stage_size(d->stage)->scratch_bytes);
	return (mr_stage_io){
		.kc = kc,
		.in = f->in,
		.out = last ? NULL : f->out,
		.grad_out = last ? NULL : f->grad_out,
		.grad_in = first ? NULL : f->grad_in,
		.slot = f->slot,
		.scratch = d->scratch,
		.weights = d->weights,
		.tied_weights = d->owner_weights,
		.grads = d->grads,
		.add_grads = m > 0,
		.target = last ? f->target : NULL,
		.loss = &f->loss,
		.samples = SAMPLES,
		.train = true,
		.seed = 5,
		.first_sample = (uint64_t)m * SAMPLES,
	};
}

typedef mr_status pass(const mr_stage *s, const mr_stage_io *io);

static mr_status all(const job *j, side *d, mr_kctx *kc, pass *fn)
{
	for (int m = 0; m < MICROS; m++) {
		mr_stage_io io = io_of(j, d, kc, m);

		MR_TRY(fn(d->stage, &io));
	}
	return MR_OK;
}

static mr_status both(job *j, mr_kctx *kc)
{
	MR_TRY(all(j, &j->whole, kc, mr_stage_forward));
	MR_TRY(all(j, &j->whole, kc, mr_stage_backward));
	MR_TRY(all(j, &j->split, kc, mr_stage_forward));
	MR_TRY(all(j, &j->split, kc, mr_stage_backward_input));
	return all(j, &j->split, kc, mr_stage_backward_weight);
}

static void thread(void *arg)
{
	job *j = arg;
	mr_kctx *kc = NULL;

	j->status = j->s->kernels->ctx_create(j->s->kernels, 1, &kc);
	if (j->status == MR_OK)
		j->status = both(j, kc);
	if (j->status != MR_OK)
		snprintf(j->text, sizeof(j->text), "%s", mr_error_text());
	j->s->kernels->ctx_destroy(kc);
}

static void compare(const job *j, const char *what)
{
	const mr_graph *g = j->s->graph;
	const mr_stage_sizes *z = mr_stage_size(j->whole.stage);
	uint32_t first, end;

	for (int m = 0; m < MICROS; m++) {
		const flow *a = &j->whole.f[m], *b = &j->split.f[m];

		CU_ASSERT_EQUAL_FATAL(memcmp(&a->loss, &b->loss, sizeof(double)), 0);
		CU_ASSERT_EQUAL_FATAL(memcmp(a->out, b->out, z->out_bytes), 0);
		if (memcmp(a->grad_in, b->grad_in, z->grad_in_bytes))
			fprintf(stderr, "\n%s: stage %u, micro-batch %d: gradients of the input differ\n", what, j->at,
				m);
		CU_ASSERT_EQUAL_FATAL(memcmp(a->grad_in, b->grad_in, z->grad_in_bytes), 0);
	}
	mr_stage_params(j->whole.stage, &first, &end);
	CU_ASSERT_FATAL(end > first);
	for (uint32_t p = first; p < end; p++) {
		const char *a = (const char *)j->whole.grads + mr_stage_grad_at(j->whole.stage, p);
		const char *b = (const char *)j->split.grads + mr_stage_grad_at(j->split.stage, p);
		size_t bytes = (size_t)g->params[p].n * mr_dtype_bytes(j->s->kernels->types.weights);
		bool equal = !memcmp(a, b, bytes), set = false;

		for (size_t i = 0; i < bytes && !set; i++)
			set = (unsigned char)a[i] != 0xff;
		if (!equal)
			fprintf(stderr, "\n%s: stage %u: gradients of %s differ\n", what, j->at, g->params[p].name);
		CU_ASSERT_FATAL(equal && set);
	}
}

static void check(bool gpt, const char *sets)
{
	rig r;

	rig_init(&r);
	if (gpt)
		rig_gpt(&r);
	rig_sets(&r, sets);
	rig_set(&r, "machine.workers=3");
	rig_open(&r);
	for (uint16_t at = 0; at < 3; at++) {
		job j = {.s = &r.s, .at = at};
		mr_group *group;

		make_side(&r.s, at, false, &j.whole);
		make_side(&r.s, at, true, &j.split);
		MR_CHECK_OK(mr_group_start(&r.s.place.worker[0], "mr-split", thread, &j, &group));
		mr_group_join(group);
		if (j.status != MR_OK)
			fprintf(stderr, "\n%s\n", j.text);
		CU_ASSERT_EQUAL_FATAL(j.status, MR_OK);
		compare(&j, sets);
		free_side(&j.whole);
		free_side(&j.split);
	}
	rig_fini(&r);
}

/* What each class of tensor takes is its own type's: here two of four are twice as wide. Nothing is computed. */
static void sizes_follow_the_types_of_their_class(void)
{
	const mr_kernels *one = mr_kernels_find("reference", MR_F32);
	mr_kernels mixed = *one;
	rig r;

	mixed.types.activations = mixed.types.state = MR_F64;
	rig_init(&r);
	rig_gpt(&r);
	rig_set(&r, "machine.workers=3");
	rig_open(&r);
	for (uint16_t s = 1; s < 3; s++) {
		const uint32_t *first = r.s.partition.first;
		const mr_stage_sizes *a, *b;
		mr_stage *narrow, *wide;

		MR_CHECK_OK(mr_stage_create(r.s.graph, first[s], first[s + 1], SAMPLES, one, false, NULL, &narrow));
		MR_CHECK_OK(mr_stage_create(r.s.graph, first[s], first[s + 1], SAMPLES, &mixed, false, NULL, &wide));
		a = mr_stage_size(narrow);
		b = mr_stage_size(wide);
		CU_ASSERT(a->state_bytes == a->weight_bytes && a->grad_bytes == a->weight_bytes);
		CU_ASSERT(b->weight_bytes == a->weight_bytes && b->grad_bytes == a->grad_bytes);
		CU_ASSERT(b->state_bytes > a->state_bytes && b->state_bytes <= 2 * a->state_bytes);
		CU_ASSERT(b->in_bytes == 2 * a->in_bytes && b->out_bytes == 2 * a->out_bytes);
		CU_ASSERT(b->grad_in_bytes == 2 * a->grad_in_bytes && b->grad_out_bytes == 2 * a->grad_out_bytes);
		CU_ASSERT(b->slot_bytes > a->slot_bytes);
		for (uint32_t p = r.s.graph->nodes[first[s]].first_param; p < r.s.graph->n_params; p++)
			if (mr_stage_weight_at(wide, p) != SIZE_MAX && mr_stage_weight_at(wide, p) > 0)
				CU_ASSERT(mr_stage_state_at(wide, p) > mr_stage_weight_at(wide, p));
		mr_stage_destroy(narrow);
		mr_stage_destroy(wide);
	}
	rig_fini(&r);
}

static void on_all(bool gpt, const char *sets)
{
	static const char *const backends[] = {"backend=reference precision=f64", "backend=reference precision=f32",
					       "backend=auto precision=f32"};

	for (int i = 0; i < 3; i++) {
		char line[200];

		if (i == 2 && !mr_kernels_find("auto", MR_F32))
			continue;
		snprintf(line, sizeof(line), "%s %s", backends[i], sets);
		check(gpt, line);
	}
}

static void mlp(void)
{
	on_all(false, "model.activation=relu");
	on_all(false, "model.activation=gelu");
}

static void gpt(void)
{
	on_all(true, "model.dropout=0.0");
	on_all(true, "model.dropout=0.2");
}

static void gpt_tied(void)
{
	on_all(true, "model.tied=true model.dropout=0.1");
}

void mr_suite_split(void)
{
	MR_SUITE("split");
	MR_TEST(mlp);
	MR_TEST(gpt);
	MR_TEST(sizes_follow_the_types_of_their_class);
	MR_TEST(gpt_tied);
}
