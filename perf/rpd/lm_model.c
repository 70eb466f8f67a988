#include "perf/rpd/lm_model.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "models/registry.h"
#include "perf/rpd/problem.h"
#include "schedules/registry.h"

mr_values *lm_values(const mr_option *table, const char *const (*sets)[2])
{
	mr_values *v;

	die_unless(mr_values_create(table, &v), "options");
	for (; (*sets)[0]; sets++)
		die_unless(mr_values_set_text(v, (*sets)[0], (*sets)[1]), (*sets)[0]);
	return v;
}

mr_plan *lm_plan(const char *system, const char *const (*sets)[2], mr_sched_args args)
{
	mr_plan_question q = {.system = mr_schedule_find(system), .args = args, .steps_inside = true};
	mr_values *v = NULL;
	mr_plan *plan;

	if (sets)
		v = lm_values(q.system->options, sets);
	q.args.options = v;
	die_unless(mr_plan_make(&q, &plan, NULL), system);
	mr_values_destroy(v);
	return plan;
}

static void cut(lm_model *m, const lm_size *z)
{
	char (*name)[16] = calloc(z->stages, sizeof(*name));
	const char **names = calloc(z->stages, sizeof(*names));

	if (!name || !names)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for %u stages", z->stages), "cutting the model");
	for (uint16_t s = 1; s < z->stages; s++) {
		snprintf(name[s - 1], sizeof(name[0]), "h.%u", z->ends_apart ? s - 1u : s * z->blocks / z->stages);
		names[s - 1] = name[s - 1];
	}
	if (z->ends_apart)
		names[z->stages - 2] = "ln_f";
	die_unless(mr_partition_explicit(m->graph, names, z->stages - 1u, &m->partition), "cutting the model");
	free(names);
	free(name);
}

static void open_text(lm_model *m, const char *text, const lm_size *z)
{
	const mr_dataset_ops *ops = mr_dataset_find("text");
	mr_data_want want = {.dtype = MR_F32, .seed = 1, .context = z->context};
	mr_values *v = lm_values(ops->options,
				 (const char *const[][2]){{"path", text}, {"validation", z->validation}, {NULL, NULL}});

	die_unless(mr_dataset_open(ops, v, &want, &m->data), text);
	mr_values_destroy(v);
}

const char *lm_beginning(const settings *s, size_t n)
{
	size_t len;
	char *text;
	FILE *f;

	die_unless(mr_file_read(s->text, (size_t)1 << 30, &text, &len), s->text);
	if (len < n)
		die_unless(mr_fail(MR_EDATA, "%s has %zu characters, and %zu are needed", s->text, len, n), "a text");
	f = table_open(s, "lm.txt");
	fwrite(text, 1, n, f);
	table_close(f);
	free(text);
	return out_path(s, "lm.txt");
}

lm_model lm_model_open(const char *text, const lm_size *z)
{
	lm_model m = {.kernels = mr_kernels_find("auto", MR_F32), .n_stages = z->stages};
	const mr_model_ops *gpt = mr_model_find("gpt");
	char number[4][8];
	mr_values *v;
	mr_model_data md;

	if (!m.kernels)
		m.kernels = mr_kernels_find("reference", MR_F32);
	open_text(&m, text, z);
	snprintf(number[0], sizeof(number[0]), "%u", z->blocks);
	snprintf(number[1], sizeof(number[1]), "%u", z->width);
	snprintf(number[2], sizeof(number[2]), "%u", z->heads);
	snprintf(number[3], sizeof(number[3]), "%u", z->context);
	v = lm_values(gpt->options, (const char *const[][2]){{"layers", number[0]},
							     {"width", number[1]},
							     {"heads", number[2]},
							     {"context", number[3]},
							     {"init_std", "0.08"},
							     {"embed_std", "1"},
							     {NULL, NULL}});
	md = (mr_model_data){.input = m.data->input, .target = m.data->target, .classes = m.data->classes};
	die_unless(mr_model_build(gpt, v, &md, &m.graph), "gpt");
	mr_values_destroy(v);
	cut(&m, z);
	return m;
}

void lm_model_close(lm_model *m)
{
	mr_partition_fini(&m->partition);
	mr_graph_destroy(m->graph);
	mr_dataset_close(m->data);
}
