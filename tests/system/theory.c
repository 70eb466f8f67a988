#include "theory.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "golden_files.h"

#define TOLERANCE 1e-12

void theory_open(theory *t, bool logistic)
{
	theory_open_with(t, logistic, "");
}

void theory_open_with(theory *t, bool logistic, const char *sets)
{
	mr_objective_spec spec;
	char path[MR_GOLDEN_PATH];

	*t = (theory){0};
	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "rpd/rpd.json"), 1 << 22, &t->root));
	t->want = mr_json_get(mr_json_get(t->root, "deterministic"), logistic ? "logistic" : "quadratic");
	CU_ASSERT_FATAL(mr_json_is_object(t->want));
	rig_init(&t->r);
	rig_sets(&t->r, logistic ? "model.name=logistic model.l2=0.01" : "model.name=quadratic");
	rig_set(&t->r, "data.name=formula");
	rig_set(&t->r, "data.features=%d", THEORY_D);
	if (logistic)
		rig_set(&t->r, "data.target=classes");
	rig_sets(&t->r, "optimizer.name=sgd system.name=pipedream optimizer.lr=0.25 train.batch=4 train.microbatches=1 "
			"machine.workers=4");
	rig_sets(&t->r, sets);
	rig_open(&t->r);
	CU_ASSERT_FATAL(mr_graph_objective(t->r.s.graph, &spec));
	t->l2 = spec.l2;
	MR_CHECK_OK(mr_objective_create(&spec, t->r.s.data, MR_F64, &t->f));
	free(spec.block);
}

void theory_close(theory *t)
{
	mr_objective_destroy(t->f);
	rig_fini(&t->r);
	mr_json_destroy(t->root);
}

mr_aged_config theory_aged(const theory *t, const mr_aged *steps)
{
	const mr_session *s = &t->r.s;

	return (mr_aged_config){.graph = s->graph, .partition = &s->partition, .kernels = s->kernels, .data = s->data,
				.optim = &s->optim, .lr = &s->lr, .place = &s->place.worker[0], .samples = s->samples,
				.seed = 1, .steps = steps};
}

mr_unit_config theory_unit(const theory *t, const mr_unit_time *timeline)
{
	const mr_session *s = &t->r.s;

	return (mr_unit_config){.graph = s->graph, .partition = &s->partition, .kernels = s->kernels, .data = s->data,
				.optim = &s->optim, .lr = &s->lr, .place = &s->place.worker[0], .samples = s->samples,
				.seed = 1, .timeline = timeline};
}

static uint32_t draw(uint32_t *x, uint32_t n)
{
	*x = (uint32_t)((1103515245ull * *x + 12345) & 0x7fffffff);
	return (*x >> 8) % n;
}

mr_aged *theory_lcg(uint32_t n, uint32_t delta)
{
	uint32_t x = 42;
	mr_aged *a;

	MR_CHECK_OK(mr_aged_create(THEORY_STAGES, n, &a));
	for (uint32_t k = 0; k < n; k++) {
		a->stage[k] = (uint16_t)draw(&x, THEORY_STAGES);
		a->batch[k] = draw(&x, 8);
		for (uint16_t b = 0; b < THEORY_STAGES; b++)
			a->delay[k * THEORY_STAGES + b] = draw(&x, (delta < k ? delta : k) + 1);
	}
	MR_CHECK_OK(mr_aged_index(a));
	return a;
}

void theory_number(const char *what, size_t i, const mr_json *want, double got)
{
	double x = mr_json_double(want);

	if (fabs(got - x) > TOLERANCE * fabs(x) + 1e-16)
		fprintf(stderr, "\n%s [%zu]: %.17g where %.17g is recorded\n", what, i, got, x);
	CU_ASSERT_FATAL(mr_json_is_number(want) && fabs(got - x) <= TOLERANCE * fabs(x) + 1e-16);
}
