#include "outline/plan_kernels.h"
#include "session/kernel_memory.h"

#include <inttypes.h>
#include <stdlib.h>

#include "outline/plan_bits.h"
#include "outline/plan_report.h"
#include "outline/proof.h"
#include "outline/rank_table.h"
#include "session/rank_memory.h"

mr_status mr_plan_kernels_init(mr_plan_kernels *k, const mr_session *s, const mr_forecast *f)
{

	*k = (mr_plan_kernels){.stage = calloc(s->partition.n_stages, sizeof(*k->stage)), .n = s->partition.n_stages};
	if (!k->stage)
		return mr_fail(MR_ERESOURCE, "no memory for the kernels of %u stages", k->n);
	for (uint16_t i = 0; i < (f->run ? k->n : 1); i++)
		MR_TRY(mr_session_stage_calls(s, f->run, i, &k->stage[i]));
	return MR_OK;
}

void mr_plan_kernels_fini(mr_plan_kernels *k)
{
	for (uint32_t i = 0; k->stage && i < k->n; i++)
		mr_stage_calls_fini(&k->stage[i]);
	free(k->stage);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void put_call(mr_json_writer *w, const mr_recorded *r, bool forward)
{
	const mr_kernel_call *c = &r->call;

	mr_json_begin_object(w);
	mr_json_field_string(w, "pass", forward ? "F" : "B");
	mr_json_field_string(w, "operation", mr_kernel_name(c->id));
	if (c->is_gemm) {
		mr_json_field_string(w, "turned", c->gemm.ta ? "A" : c->gemm.tb ? "B" : "none");
		mr_json_field_int(w, "m", c->gemm.m);
		mr_json_field_int(w, "n", c->gemm.n);
		mr_json_field_int(w, "k", c->gemm.k);
	} else {
		mr_json_field_int(w, "rows", c->rows);
		mr_json_field_int(w, "cols", c->cols);
	}
	if (c->flops > 0)
		mr_json_field_double(w, "flops", c->flops);
	mr_json_field_string(w, "backend", mr_kernel_by_name(r->by));
	mr_json_end_object(w);
}

static void put_stage(mr_json_writer *w, const mr_session *s, const mr_forecast *f, const mr_stage_calls *c, uint16_t i)
{
	uint16_t worker = mr_plan_worker(s->plan, 0, i);

	mr_json_begin_object(w);
	mr_json_field_int(w, "stage", i);
	mr_json_field_int(w, "worker", worker);
	mr_json_field_int(w, "threads", s->place.worker[worker].n_threads);
	mr_json_field_string(w, "first", s->graph->nodes[s->partition.first[i]].name);
	mr_json_field_string(w, "last", s->graph->nodes[s->partition.first[i + 1] - 1].name);
	mr_json_field_double(w, "f_s", f->stage[i].f);
	mr_json_field_double(w, "i_s", f->stage[i].i);
	mr_json_field_double(w, "w_s", f->stage[i].w);
	mr_json_field_array(w, "operations");
	for (size_t j = 0; j < c->n; j++)
		put_call(w, &c->call[j], j < c->n_forward);
	mr_json_end_array(w);
	mr_json_end_object(w);
}

/* The share of a step's FLOPs that oneDNN executes; null: unknown. */
static void put_share(mr_json_writer *w, const mr_plan_kernels *k)
{
	mr_flops_by f = {0};

	for (uint32_t i = 0; i < k->n; i++)
		mr_flops_by_add(&f, &k->stage[i]);
	mr_json_field_double(w, "onednn_flops", mr_flops_by_share(&f, MR_BY_ONEDNN));
}

/* The operations whose bits may depend on the number of threads, and what executes them. */
static void put_bits(mr_json_writer *w, const mr_plan_kernels *k, const mr_session *s, const mr_forecast *f)
{
	mr_strbuf text = {0};

	mr_plan_bits_text(k, s, f, &text);
	mr_json_field_string(w, "bits_by_threads", mr_strbuf_text(&text));
	mr_strbuf_fini(&text);
}

static void put_kernels(mr_json_writer *w, const mr_session *s)
{
	char hash[24];

	mr_json_field_object(w, "kernels");
	mr_json_field_string(w, "backend", s->kernels->name);
	mr_json_field_string(w, "precision", mr_types_name(&s->kernels->types));
	mr_json_field_string(w, "isa", mr_kernels_isa(s->kernels->types.weights));
	mr_json_field_string(w, "library", mr_kernels_library());
	if (s->kernels->choices) {
		snprintf(hash, sizeof(hash), "%016" PRIx64, mr_choices_hash(s->kernels->choices));
		mr_json_field_string(w, "choices", hash);
		mr_json_field_string(w, "choices_source", s->kernels->choices->source);
		mr_json_field_string(w, "choices_made", s->kernels->choices->made);
	}
	mr_json_end_object(w);
}

mr_status mr_forecast_print_json(const mr_session *s, const mr_forecast *f, FILE *out)
{
	mr_plan_kernels k;
	mr_json_writer w;
	char hash[24];
	mr_status st = mr_plan_kernels_init(&k, s, f);

	if (st != MR_OK) {
		mr_plan_kernels_fini(&k);
		return st;
	}
	w = mr_json_begin(out, true);
	mr_json_field_string(&w, "model", s->job->model.name);
	mr_json_field_string(&w, "system", s->job->system.name);
	mr_json_field_int(&w, "parameters", mr_graph_n_params(mr_session_model(s)));
	mr_json_field_int(&w, "workers", s->place.n_workers);
	mr_json_field_int(&w, "microbatches", s->n_micro);
	mr_json_field_int(&w, "samples", s->samples);
	snprintf(hash, sizeof(hash), "%016" PRIx64, s->plan_hash);
	mr_json_field_string(&w, "plan", hash);
	mr_json_field_double(&w, "step_s", f->step_s);
	mr_json_field_int(&w, "bytes", (int64_t)f->bytes);
	if (f->sent)
		mr_json_field_int(&w, "bytes_between_ranks", (int64_t)mr_forecast_sent(f));
	mr_proof_put(&w, &s->proof);
	put_kernels(&w, s);
	put_share(&w, &k);
	put_bits(&w, &k, s, f);
	mr_json_field_array(&w, "stages");
	for (uint16_t i = 0; i < k.n; i++)
		put_stage(&w, s, f, &k.stage[i], i);
	mr_json_end_array(&w);
	mr_plan_kernels_fini(&k);
	st = mr_session_plans_ranks(s) ? mr_rank_table_put(&w, s) : MR_OK;
	return st == MR_OK ? mr_json_finish(&w) : st;
}
