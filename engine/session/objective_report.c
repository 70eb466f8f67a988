#include "session/objective_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/graph_objective.h"

#define MOST_CELLS 5e5 /* largest data, in numbers, for which the constants are computed: about a second */

static mr_status find(const mr_session *s, mr_objective_report *k)
{
	mr_objective_spec spec;
	mr_status st;

	if ((double)s->data->n_train * (double)s->data->input.cols > MOST_CELLS)
		return MR_OK;
	if (!mr_graph_objective(s->graph, &spec))
		return mr_fail(MR_ERESOURCE, "no memory for the blocks of an objective");
	st = mr_objective_create(&spec, s->data, s->kernels->types.weights, &k->f);
	free(spec.block);
	MR_TRY(st);
	k->f0 = mr_objective_value(k->f);
	k->first = mr_objective_largest(k->f, (uint64_t)s->samples);
	MR_TRY(mr_objective_smoothness(k->f, &k->smoothness));
	return mr_objective_minimum(k->f, &k->minimum);
}

uint64_t mr_objective_report_bytes(const mr_session *s)
{
	double cells = (double)s->data->n_train * (double)s->data->input.cols;

	if (!mr_graph_is_linear(s->graph) || cells > MOST_CELLS)
		return 0;
	return (uint64_t)(sizeof(double) * (cells + (double)s->data->n_train * (s->graph->n_nodes + 2)));
}

mr_status mr_objective_report_create(const mr_session *s, mr_objective_report **out)
{
	mr_status st;

	*out = NULL;
	if (!mr_graph_is_linear(s->graph))
		return MR_OK;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return mr_fail(MR_ERESOURCE, "no memory for the constants of an objective");
	st = find(s, *out);
	if (st != MR_OK) {
		mr_objective_report_destroy(*out);
		*out = NULL;
	}
	return st;
}

void mr_objective_report_destroy(mr_objective_report *k)
{
	if (!k)
		return;
	mr_objective_destroy(k->f);
	free(k);
}

double mr_objective_report_largest(const mr_session *s)
{
	return fmax(s->known->before, mr_run_largest_gradient(mr_executor_run_of(&s->executor)));
}

void mr_objective_report_print(const mr_objective_report *k, FILE *out)
{
	if (k && !k->f)
		fprintf(out, "f(w)     L and f* are not computed for more than %g numbers\n", MOST_CELLS);
	else if (k)
		fprintf(out,
			"f(w)     f(0) %.10g, minimum f* %.6g, smoothness L %.10g, gradient of a block at w = 0 at "
			"most %.6g\n",
			k->f0, k->minimum, k->smoothness, k->first);
}

/* Copy the weights of @s, block by block, into its objective. */
static mr_status look(const mr_session *s)
{
	mr_executor x = s->executor;
	mr_state st;

	MR_TRY(mr_executor_state(&x, &st));
	for (uint32_t p = 0; p < s->graph->n_params; p++)
		for (size_t i = 0; i < st.model.n; i++)
			if (!strcmp(st.model.at[i].name, s->graph->params[p].name))
				mr_objective_set(s->known->f, p, st.model.at[i].data, s->kernels->types.weights);
	mr_state_fini(&st);
	return MR_OK;
}

mr_status mr_objective_report_print_end(const mr_session *s, FILE *out)
{
	mr_objective_report *k = s->known;

	if (!k)
		return MR_OK;
	fprintf(out, "f(w)     ");
	if (k->f) {
		MR_TRY(look(s));
		fprintf(out, "f - f* %.6g, |grad f| %.6g at the end; ", mr_objective_value(k->f) - k->minimum,
			sqrt(mr_objective_gradient(k->f, NULL)));
	}
	fprintf(out, "largest gradient of a block on the way G %.6g\n", mr_objective_report_largest(s));
	return MR_OK;
}
