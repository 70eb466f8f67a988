/* What a plan looks like: the same figures in the table of layers, in JSON and in pictures as in the forecast. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "job/job_help.h"
#include "outline/forecast_picture.h"
#include "outline/plan_kernels.h"
#include "outline/plan_report.h"
#include "planner/layer_table.h"

static mr_job job;
static mr_session session;
static mr_forecast forecast;

static void open_plan(const char *sets)
{
	mr_test_job_of(&job,
		       "model.name=mlp model.hidden=[32,24,16] data.name=synthetic data.features=16 data.classes=4 "
		       "data.samples=64 optimizer.name=adamw optimizer.lr=0.01 system.name=1f1b train.steps=2 "
		       "train.batch=16 train.microbatches=4 machine.workers=2 machine.threads=1",
		       sets);
	job.machine.topology = "core:4";
	MR_CHECK_OK(mr_session_survey(&job, &session));
	MR_CHECK_OK(mr_session_forecast(&session, &forecast));
}

static void close_plan(void)
{
	mr_forecast_fini(&forecast);
	mr_session_close(&session);
	mr_job_fini(&job);
}

/* The rows of partition's table are the layers between two places of a cut: sums are those of all layers. */
static void the_table_of_layers_has_all_costs(void)
{
	double forward = 0, backward = 0, weights = 0, f = 0, b = 0;
	char *text = NULL;
	size_t size;
	FILE *out;
	mr_layer_row *rows;
	uint32_t n;

	open_plan("");
	out = open_memstream(&text, &size);
	MR_CHECK_OK(mr_plan_layers_print(&session, &forecast, out));
	fclose(out);
	MR_CHECK_OK(mr_layer_table_read(text, &rows, &n));
	CU_ASSERT(n >= 4 && n <= session.graph->n_nodes);
	for (uint32_t i = 0; i < n; i++) {
		forward += rows[i].forward;
		backward += rows[i].backward;
		weights += rows[i].weights;
		CU_ASSERT((rows[i].activation > 0) == (i + 1 < n)); /* the last one hands nothing on */
	}
	for (uint32_t i = 0; i < session.graph->n_nodes; i++) {
		const mr_stage_cost *c = &forecast.costs.layer[i];

		f += c->f;
		b += c->i + c->w + c->u;
	}
	CU_ASSERT_DOUBLE_EQUAL(forward, f, 1e-4 * f); /* six digits a row */
	CU_ASSERT_DOUBLE_EQUAL(backward, b, 1e-4 * b);
	CU_ASSERT_EQUAL(weights, (double)mr_graph_n_params(session.graph) *
					 (double)mr_dtype_bytes(session.kernels->types.weights));
	free(rows);
	free(text);
	close_plan();
}

static void json_has_the_figures_of_the_forecast(void)
{
	const mr_json *stages;
	char *text = NULL;
	mr_json *root;
	size_t size;
	FILE *out;

	open_plan("");
	out = open_memstream(&text, &size);
	MR_CHECK_OK(mr_forecast_print_json(&session, &forecast, out));
	fclose(out);
	MR_CHECK_OK(mr_json_read_text(text, size, &root));
	CU_ASSERT_DOUBLE_EQUAL(mr_json_double(mr_json_get(root, "step_s")), forecast.step_s, 1e-12);
	CU_ASSERT_EQUAL((uint64_t)mr_json_double(mr_json_get(root, "bytes")), forecast.bytes);
	stages = mr_json_get(root, "stages");
	CU_ASSERT_EQUAL_FATAL(mr_json_size(stages), session.partition.n_stages);
	for (uint16_t i = 0; i < session.partition.n_stages; i++) {
		const mr_json *s = mr_json_at(stages, i);

		CU_ASSERT_DOUBLE_EQUAL(mr_json_double(mr_json_get(s, "f_s")), forecast.stage[i].f, 1e-15);
		CU_ASSERT_DOUBLE_EQUAL(mr_json_double(mr_json_get(s, "w_s")), forecast.stage[i].w, 1e-15);
		CU_ASSERT(mr_json_size(mr_json_get(s, "operations")) > 0);
	}
	mr_json_destroy(root);
	free(text);
	close_plan();
}

/* Memory of the workers in a picture: all classes together are their total, and no more than is planned. */
static void bars_of_a_picture_are_the_planned_memory(void)
{
	static const char *const systems[] = {"system.name=1f1b", "system.name=data_parallel",
					      "system.name=pipedream train.microbatches=1"};

	for (size_t k = 0; k < sizeof(systems) / sizeof(systems[0]); k++) {
		mr_picture_worker *w;
		uint64_t all = 0, further = 0, weights = 0;

		open_plan(systems[k]);
		MR_CHECK_OK(mr_picture_workers(&session, &forecast, &w));
		for (uint32_t i = 0; i < session.place.n_workers; i++) {
			uint64_t sum = 0;

			for (int c = 0; c < MR_PICTURE_CLASSES; c++)
				sum += w[i].bytes[c];
			CU_ASSERT_EQUAL(sum, w[i].total);
			CU_ASSERT(w[i].total > 0 && !strncmp(w[i].stages, "stage ", 6));
			all += sum;
			weights += w[i].bytes[0];
			further += w[i].bytes[1];
		}
		CU_ASSERT(all <= forecast.bytes && all > forecast.bytes / 4);
		CU_ASSERT(weights >= (uint64_t)mr_graph_n_params(session.graph) * 4);
		CU_ASSERT_EQUAL(further > 0, k == 2); /* versions that a pipeline without flush keeps */
		free(w);
		close_plan();
	}
}

/* Each row is its node's cores: a letter a worker, a dot where no worker is. */
static void a_text_picture_shows_the_cores(void)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	open_plan("");
	out = open_memstream(&text, &size);
	MR_CHECK_OK(mr_forecast_picture_text(&session, &forecast, out));
	fclose(out);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "[01..]"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n0  w0   "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n1  w1   "));
	free(text);
	close_plan();
}

void mr_suite_forecast_tables(void)
{
	MR_SUITE("forecast_tables");
	MR_TEST(the_table_of_layers_has_all_costs);
	MR_TEST(json_has_the_figures_of_the_forecast);
	MR_TEST(bars_of_a_picture_are_the_planned_memory);
	MR_TEST(a_text_picture_shows_the_cores);
}
