#include "outline/plan_bits.h"

#include "nn/thread_bits.h"

typedef bool named[MR_N_KERNELS][MR_N_KERNEL_BY][MR_N_KERNEL_BY]; /* by a team, by one thread */

static uint32_t threads_of(const mr_session *s, uint32_t stage)
{
	return s->place.worker[mr_plan_worker(s->plan, 0, (uint16_t)stage)].n_threads;
}

static void note(const mr_session *s, uint32_t n_threads, const mr_kernel_call *c, named out)
{
	mr_thread_bits b = mr_thread_bits_of(s->kernels, n_threads, c);

	out[c->id][b.by][b.by_one] |= b.depend;
}

/* The products of the optimizer's steps of stage @i. */
static void note_steps(const mr_session *s, const mr_forecast *f, uint32_t i, named out)
{
	uint32_t first, end;

	if (!s->optim.ops->products)
		return;
	mr_stage_params(f->run->stage[i], &first, &end);
	for (uint32_t p = first; p < end; p++) {
		mr_optim_matrix m = mr_graph_matrix(s->graph, p);
		mr_gemm g[MR_OPTIM_PRODUCTS] = {0};

		if (!m.rows)
			continue;
		s->optim.ops->products(&m, g);
		for (int j = 0; j < MR_OPTIM_PRODUCTS && g[j].m; j++)
			note(s, threads_of(s, i), &(mr_kernel_call){.id = MR_KERNEL_gemm, .is_gemm = true,
								    .gemm = g[j]}, out);
	}
}

static void put(mr_strbuf *out, int id, int by, int by_one)
{
	mr_strbuf_printf(out, "%s%s (%s", out->len ? ", " : "", mr_kernel_name((mr_kernel_id)id),
			 mr_kernel_by_name((mr_kernel_by)by));
	if (by != by_one)
		mr_strbuf_printf(out, "; %s with one thread", mr_kernel_by_name((mr_kernel_by)by_one));
	mr_strbuf_append(out, ")");
}

void mr_plan_bits_text(const mr_plan_kernels *k, const mr_session *s, const mr_forecast *f, mr_strbuf *out)
{
	named all = {0};

	for (uint32_t i = 0; i < k->n; i++) {
		for (size_t j = 0; j < k->stage[i].n; j++)
			note(s, threads_of(s, i), &k->stage[i].call[j].call, all);
		note_steps(s, f, i, all);
	}
	for (int id = 0; id < MR_N_KERNELS; id++)
		for (int by = 0; by < MR_N_KERNEL_BY; by++)
			for (int by_one = 0; by_one < MR_N_KERNEL_BY; by_one++)
				if (all[id][by][by_one])
					put(out, id, by, by_one);
}

void mr_plan_bits_print(const mr_plan_kernels *k, const mr_session *s, const mr_forecast *f, FILE *out)
{
	bool teams = false, known = true;
	mr_strbuf text = {0};

	for (uint32_t i = 0; i < k->n; i++) {
		teams = teams || threads_of(s, i) > 1;
		known = known && k->stage[i].recorder;
	}
	if (!teams || !known)
		return;
	mr_plan_bits_text(k, s, f, &text);
	if (text.len)
		fprintf(out, "bits may depend on the threads a worker: %s\n", mr_strbuf_text(&text));
	else
		fprintf(out, "bits are those of one thread a worker\n");
	mr_strbuf_fini(&text);
}
