#include "rig.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/rng.h"
#include "check.h"
#include "job/job_help.h"
#include "scratch.h"
#include "stage/stage.h"

#define BASE \
	"backend=reference precision=f64 data.name=synthetic data.features=10 data.classes=3 data.samples=50 " \
	"optimizer.name=adamw system.name=gpipe train.steps=1000 train.batch=8 train.microbatches=4 " \
		"optimizer.lr=0.02 " \
	"train.norm_every=3 machine.workers=2 machine.threads=1 machine.watchdog=60 "

static const char text[] =
	"a pipeline moves a line of work; the line holds no more than a stage can hold, and each stage "
	"waits for the one before it. weights of many versions live at once, but none is read twice "
	"at two ages by one micro-batch, unless the system says so.\n";

void rig_init(rig *r)
{
	*r = (rig){.job = calloc(1, sizeof(*r->job))};
	CU_ASSERT_PTR_NOT_NULL_FATAL(r->job);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(mr_scratch(r->dir, sizeof(r->dir), "system")));
	r->model = "model.name=mlp model.width=16 model.depth=4";
}

void rig_set(rig *r, const char *fmt, ...)
{
	char line[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	CU_ASSERT_FATAL(r->n_sets < RIG_SETS);
	r->set[r->n_sets++] = strdup(line);
}

void rig_sets(rig *r, const char *sets)
{
	char *copy = strdup(sets), *rest = NULL;

	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		rig_set(r, "%s", word);
	free(copy);
}

void rig_tokens(rig *r, const char *sets)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/text.txt", r->dir);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	CU_ASSERT_EQUAL_FATAL(fclose(f), 0);
	if (strncmp(sets, "model.name=", 11) != 0)
		rig_sets(r, "model.name=gpt model.layers=4 model.width=16 model.heads=2 model.context=8");
	rig_set(r, "data.name=text");
	rig_set(r, "data.path=%s", path);
}

void rig_vit(rig *r)
{
	enum { RECORDS = 40, RECORD = 3073 };
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/images.bin", r->dir);
	f = fopen(path, "wb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (uint32_t i = 0; i < RECORDS * RECORD; i++) {
		uint32_t word = mr_rng_u32(1, MR_RNG_TEST, 0, 0, i);

		fputc((int)(i % RECORD ? word & 255 : word % 10), f);
	}
	CU_ASSERT_EQUAL_FATAL(fclose(f), 0);
	rig_sets(r, "model.name=vit model.layers=4 model.width=8 model.heads=2 model.patch=16 data.name=cifar");
	rig_set(r, "data.classes=10"); /* others of the job are those of the mlp */
	rig_set(r, "data.path=%s", path);
}

void rig_gpt(rig *r)
{
	rig_tokens(r, "");
}

const char *rig_network(size_t i)
{
	static const char *const networks[] = {
		"model.name=awd_lm model.layers=6 model.embed=6 model.width=10 model.context=5 model.dropout=0.2",
		"model.name=awd_lm model.layers=5 model.embed=6 model.width=10 model.context=5 data.order=columns "
		"model.word_dropout=0.1 model.input_dropout=0.2 model.hidden_dropout=0.3 model.output_dropout=0.2 "
		"model.weight_dropout=0.4 model.alpha=2 model.beta=1",
	};

	return i < sizeof(networks) / sizeof(networks[0]) ? networks[i] : NULL;
}

mr_status rig_try_open(rig *r)
{
	char base[1024];

	snprintf(base, sizeof(base), "%s%s", BASE, r->model);
	mr_session_close(&r->s); /* of an attempt that was refused */
	mr_job_fini(r->job);
	MR_TRY(mr_test_job(r->job, base, (const char *const *)r->set, r->n_sets));
	return mr_session_open(r->job, &r->s);
}

void rig_open(rig *r)
{
	MR_CHECK_OK(rig_try_open(r));
}

void rig_fini(rig *r)
{
	char path[128];

	mr_session_close(&r->s);
	mr_job_fini(r->job);
	free(r->job);
	for (size_t i = 0; i < r->n_sets; i++)
		free(r->set[i]);
	snprintf(path, sizeof(path), "%s/text.txt", r->dir);
	unlink(path);
	rmdir(r->dir);
	*r = (rig){0};
}

/* --- running --- */

static double norm_of(const mr_step_rec *rec)
{
	return !isnan(rec->norm) ? rec->norm : !isnan(rec->stage_norm) ? rec->stage_norm : -1;
}

bool rig_progress(void *arg, const mr_step_rec *rec)
{
	rig_result *out = arg;

	if (!rec || !out)
		return true;
	if (out->n_steps == out->room) {
		out->room = out->room ? 2 * out->room : 64;
		out->step = realloc(out->step, out->room * sizeof(*out->step));
		CU_ASSERT_PTR_NOT_NULL_FATAL(out->step);
	}
	out->step[out->n_steps++] = (rig_step){rec->step, rec->loss, rec->lr, norm_of(rec)};
	return true;
}

void rig_start(rig *r)
{
	MR_CHECK_OK(mr_session_start(&r->s, NULL));
}

void rig_run(rig *r, uint64_t until, rig_result *out)
{
	uint64_t reached;

	MR_CHECK_OK(mr_executor_run(&r->s.executor, until, rig_progress, out, &reached));
	CU_ASSERT_EQUAL_FATAL(reached, until);
}

static void copy_list(mr_state_list *to, const mr_state_list *from)
{
	*to = (mr_state_list){.at = calloc(from->n + 1, sizeof(*to->at)), .n = from->n, .room = from->n};
	CU_ASSERT_PTR_NOT_NULL_FATAL(to->at);
	for (size_t i = 0; i < from->n; i++) {
		to->at[i] = from->at[i];
		to->at[i].name = strdup(from->at[i].name);
		to->at[i].data = malloc(from->at[i].bytes + 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(to->at[i].data);
		memcpy(to->at[i].data, from->at[i].data, from->at[i].bytes);
	}
}

static void fini_list(mr_state_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free((char *)l->at[i].name);
		free(l->at[i].data);
	}
	free(l->at);
	*l = (mr_state_list){0};
}

void rig_copy_state(const mr_state *st, rig_result *out)
{
	fini_list(&out->model);
	fini_list(&out->optimizer);
	fini_list(&out->inflight);
	copy_list(&out->model, &st->model);
	copy_list(&out->optimizer, &st->optimizer);
	copy_list(&out->inflight, &st->inflight);
}

void rig_collect(rig *r, bool eval, rig_result *out)
{
	mr_state st;

	out->eval = NAN;
	if (eval)
		MR_CHECK_OK(mr_executor_eval(&r->s.executor, NULL, NULL, &out->eval));
	MR_CHECK_OK(mr_executor_state(&r->s.executor, &st));
	rig_copy_state(&st, out);
	mr_state_fini(&st);
}

void rig_collect_run(const mr_run *run, rig_result *out)
{
	mr_state st;

	out->eval = NAN;
	MR_CHECK_OK(mr_state_of_run(run, &st));
	rig_copy_state(&st, out);
	mr_state_fini(&st);
}

void rig_losses_of_run(const mr_run *run, rig_result *out)
{
	uint64_t n = atomic_load_explicit(&run->n_steps, memory_order_acquire);

	CU_ASSERT_FATAL(n <= MR_STEP_RING);
	out->n_steps = 0;
	for (uint64_t i = 0; i < n; i++)
		rig_progress(out, &run->step[i]);
}

void rig_train(rig *r, uint64_t steps, bool eval, rig_result *out)
{
	rig_start(r);
	rig_run(r, steps, out);
	rig_collect(r, eval, out);
}

void rig_replay(rig *r, uint64_t steps, mr_replay_order order, uint64_t seed, rig_result *out)
{
	mr_run_config c = mr_session_run_config(&r->s, NULL);
	mr_replay *replay;

	MR_CHECK_OK(mr_replay_create(&c, &replay));
	MR_CHECK_OK(mr_replay_run(replay, steps, order, seed));
	rig_losses_of_run(mr_replay_run_of(replay), out);
	rig_collect_run(mr_replay_run_of(replay), out);
	mr_replay_destroy(replay);
}

void rig_result_fini(rig_result *out)
{
	fini_list(&out->model);
	fini_list(&out->optimizer);
	fini_list(&out->inflight);
	free(out->step);
	*out = (rig_result){0};
}

/* --- comparing --- */

static bool equal_lists(const mr_state_list *a, const mr_state_list *b, const char *what)
{
	if (a->n != b->n) {
		fprintf(stderr, "\n%s: %zu tensors against %zu\n", what, a->n, b->n);
		return false;
	}
	for (size_t i = 0; i < a->n; i++) {
		const mr_saved_tensor *x = &a->at[i], *y = &b->at[i];

		if (strcmp(x->name, y->name) || x->bytes != y->bytes) {
			fprintf(stderr, "\n%s: tensor %zu is %s (%llu bytes) against %s (%llu)\n", what, i, x->name,
				(unsigned long long)x->bytes, y->name, (unsigned long long)y->bytes);
			return false;
		}
		if (memcmp(x->data, y->data, x->bytes)) {
			fprintf(stderr, "\n%s: %s differs\n", what, x->name);
			return false;
		}
	}
	return true;
}

bool rig_equal(const rig_result *a, const rig_result *b, bool inflight, const char *what)
{
	bool evals = isnan(a->eval) || isnan(b->eval) || a->eval == b->eval;

	if (a->model.n == 0 || a->n_steps != b->n_steps) {
		fprintf(stderr, "\n%s: %zu tensors, %llu steps against %llu\n", what, a->model.n,
			(unsigned long long)a->n_steps, (unsigned long long)b->n_steps);
		return false;
	}
	for (uint64_t i = 0; i < a->n_steps; i++)
		if (memcmp(&a->step[i], &b->step[i], sizeof(rig_step))) {
			fprintf(stderr, "\n%s: step %llu (loss %.17g, norm %.17g) against %llu (%.17g, %.17g)\n", what,
				(unsigned long long)a->step[i].step, a->step[i].loss, a->step[i].norm,
				(unsigned long long)b->step[i].step, b->step[i].loss, b->step[i].norm);
			return false;
		}
	if (!evals)
		fprintf(stderr, "\n%s: evaluation %.17g against %.17g\n", what, a->eval, b->eval);
	return evals && rig_equal_weights(a, b, what) &&
	       (!inflight || equal_lists(&a->inflight, &b->inflight, what));
}

bool rig_equal_weights(const rig_result *a, const rig_result *b, const char *what)
{
	return a->model.n > 0 && equal_lists(&a->model, &b->model, what) &&
	       equal_lists(&a->optimizer, &b->optimizer, what);
}

static bool fill_list(mr_state_list *to, const mr_state_list *from)
{
	if (to->n != from->n) {
		fprintf(stderr, "\nrestoring %zu tensors into %zu\n", from->n, to->n);
		return false;
	}
	for (size_t i = 0; i < to->n; i++) {
		const mr_saved_tensor *src = NULL;

		for (size_t j = 0; j < from->n && !src; j++)
			if (!strcmp(from->at[j].name, to->at[i].name))
				src = &from->at[j];
		if (!src || src->bytes != to->at[i].bytes) {
			fprintf(stderr, "\nnothing was saved that fits %s\n", to->at[i].name);
			return false;
		}
		memcpy(to->at[i].data, src->data, src->bytes);
	}
	return true;
}

bool rig_fill(mr_state *to, const rig_result *from)
{
	return fill_list(&to->model, &from->model) && fill_list(&to->optimizer, &from->optimizer) &&
	       fill_list(&to->inflight, &from->inflight);
}

bool rig_delays(uint32_t max_us, uint64_t seed)
{
#ifdef MR_FAULTS
	mr_fault_set_delay(max_us, max_us ? 5 : 0, seed);
	return true;
#else
	(void)max_us;
	(void)seed;
	return false;
#endif
}

void rig_memory(const rig *r, bool split, uint64_t bytes[2])
{
	mr_stage *s;

	MR_CHECK_OK(mr_stage_create(r->s.graph, 0, r->s.graph->n_nodes, r->s.samples, r->s.kernels, split, NULL, &s));
	bytes[0] = mr_stage_size(s)->slot_bytes;
	bytes[1] = mr_stage_size(s)->scratch_bytes;
	mr_stage_destroy(s);
}
