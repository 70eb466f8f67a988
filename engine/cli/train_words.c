/* train_words.c - the tables before and after a training, its progress line, and its status on request. */
#include "cli/train_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/rank_words.h"
#include "session/objective_report.h"
#include "report/output.h"
#include "outline/plan_report.h"
#include "outline/rank_table.h"
#include "host/service.h"
#include "job/job.h"
#include "observe/counted_report.h"
#include "session/rank_memory.h"
#include "session/shares.h"
#include "session/worker_text.h"
#include "report/screen.h"
#include "session/sample.h"
#include "training/search_limit.h"
#include "weights/steal_queue.h"

/* A table that could not be written does not fail a training; a reader that left (| head) is not even reported.
 * Standard output fails for good, so it is reported once. */
static void complain(mr_status st)
{
	static bool told;

	if (st == MR_OK || mr_output_abandoned() || (told && ferror(stdout)))
		return;
	told = ferror(stdout) != 0;
	if (told)
		fprintf(stderr, "millrace: warning: cannot write to standard output, so tables and progress are lost; "
				"the training goes on\n");
	else
		fprintf(stderr, "millrace: %s\n", mr_error_text());
}

static void print_system(const mr_train *t)
{
	const mr_session *s = &t->s;
	double clip = s->job->train.clip;

	printf("system   %s, %u worker%s, %u micro-batch%s of %lld sample%s a step",
	       s->plan->system, s->place.n_workers,
	       s->place.n_workers == 1 ? "" : "s", s->n_micro, s->n_micro == 1 ? "" : "es", (long long)s->samples,
	       s->samples == 1 ? "" : "s");
	if (s->plan_path)
		printf("; order of %s", s->plan_path);
	if (s->plan_path)
		printf(", which has %u stage%s", s->plan->n_stages, s->plan->n_stages == 1 ? "" : "s");
	printf("; plan %016" PRIx64 ", staleness at most %u", s->plan_hash, s->plan->contract.max_staleness);
	putchar('\n');
	if (s->plan_path && s->file_hash != s->plan_hash)
		printf("         the file is an order, plan %016" PRIx64
		       " by itself; its versions and steps are made for this configuration\n",
		       s->file_hash);
	if (clip > 0 && !s->plan->contract.clip)
		printf("clipping to norm %g per stage: this system never has one moment at which a global norm exists; "
		       "metrics.jsonl has that of the "
		       "last stage\n",
		       clip);
	else if (clip > 0)
		printf("clipping to global norm %g, which metrics.jsonl has\n", clip);
}

/* Is memory that is planned on nodes @at where the cores of worker @w are? */
static bool at_home(const mr_session *s, uint16_t w, const mr_node_list *at)
{
	const mr_node_list *own = &s->place.worker[w].memory;

	return at->n == own->n && !memcmp(at->os, own->os, at->n * sizeof(*at->os));
}

/* The requests for a worker's memory that the system refused (its node, or huge pages); memory that has no room on its
 * node, and pages that lie elsewhere. */
static void print_memory_notes(const mr_session *s)
{
	bool look = !s->executor.replay && s->place.bindable && s->place.n_memories > 1;
	char text[300], nodes[64], who[16];

	for (uint16_t w = 0; w < s->place.n_workers; w++) {
		const mr_run *run = mr_executor_run_of(&s->executor);
		const mr_worker *worker = &run->worker[w];
		const mr_region *r = &worker->region;
		mr_region_look l = look ? mr_region_look_up(r) : (mr_region_look){0};

		if (!mr_run_is_here(&run->c, w))
			continue;
		if (*r->note)
			printf("memory   of w%u as the system gives it; %s\n", w, r->note);
		if (!at_home(s, w, &worker->nodes))
			printf("memory   of w%u on node %s, since its own has no room for all of it\n", w,
			       mr_node_list_text(&worker->nodes, nodes, sizeof(nodes)));
		snprintf(who, sizeof(who), "w%u", w);
		if (!*mr_region_look_text(r, &l, who, text, sizeof(text)))
			continue;
		printf("memory   %s%s\n", l.error ? "" : "warning: ", text);
		look = look && !l.error; /* it would be refused for the others, too */
	}
}

/* What the start has found before there was anything to show. */
static void print_found(const mr_train *t)
{
	if (t->search_s > 0) {
		fputs("search   ", stdout);
		mr_search_limit_print(mr_job_system(t->s.job), t->search_s, t->s.n_tries, stdout);
	}
	if (t->opts.init)
		printf("weights  %zu tensors of %s\n", t->n_init, t->opts.init);
}

void mr_train_words_start(const mr_train *t)
{
	const mr_session *s = &t->s;
	const char *bf16 = mr_kernels_bf16_engine(s->kernels);
	char params[32], text[1000];

	print_found(t);
	printf("model    %s, %s parameters, %u layers; %s, %s\n", s->job->model.name,
	       mr_count_text((uint64_t)mr_graph_n_params(mr_session_model(s)), params), mr_session_model(s)->n_nodes,
	       s->kernels->name, mr_types_name(&s->kernels->types));
	if (bf16)
		printf("bf16     products by %s\n", bf16);
	printf("data     %s\n", s->data->describe);
	mr_objective_report_print(s->known, stdout);
	print_system(t);
	printf("machine  %s\n", mr_topo_print(&s->topo, text, sizeof(text)));
	if (*mr_place_print_notes(&s->place, text, sizeof(text)))
		printf("         %s\n", text);
	printf("         %s peak %.0f GFLOP/s (%s) on %u core%s\n", t->isa ? "measured" : "given", t->peak_gflops,
	       t->isa ? t->isa : "machine.peak_gflops", s->place.n_cores_used, s->place.n_cores_used == 1 ? "" : "s");
	if (s->n_shares)
		printf("shares   %s\n", mr_session_shares_text(s, text));
	complain(mr_stage_table_print(s, mr_executor_run_of(&s->executor), NULL, stdout));
	mr_rank_words_start(t);
	print_memory_notes(s);
	if (mr_session_plans_ranks(s)) {
		complain(mr_rank_table_print(s, stdout));
		putchar('\n');
	}
	if (t->clock)
		printf("time     simulated: %s\n", mr_virtual_text(t->clock, text, sizeof(text)));
	printf("run      %s", t->dir.path);
	if (t->step)
		printf(", resumed at step %llu", (unsigned long long)t->step);
	putchar('\n');
	fflush(stdout);
}

/* --- after --- */

/* If there is no column "descheduled", explain where that time is. */
static void print_unknown_delays(const mr_train *t, bool known)
{
	if (!known && !t->clock)
		printf("descheduled: unknown, since this kernel has no /proc/PID/schedstat: time that other programs "
		       "had the cores counts as busy or waiting\n");
}

static void print_workers(const mr_train *t)
{
	const mr_run *run = mr_executor_run_of(&t->s.executor);
	uint32_t n = mr_executor_rows(&t->s.executor), shares = mr_executor_shares(&t->s.executor);
	mr_report_worker_row *rows = calloc(n, sizeof(*rows));
	char(*text)[64] = calloc(n, sizeof(*text));
	mr_staleness_row *stale = calloc(run->n_stages, sizeof(*stale));
	uint64_t(*bins)[MR_STALENESS_BINS] = calloc(run->n_stages, sizeof(*bins));
	bool delays_known = true;

	for (uint32_t i = 0; rows && text && i < n; i++) {
		const mr_worker *w = mr_executor_row(&t->s.executor, i);

		mr_worker_stages_text(run->c.plan, w->id, text[i], sizeof(text[i]));
		rows[i] = (mr_report_worker_row){.worker = w->id, .share = shares > 1 ? i % shares : (double)NAN,
						 .stages = text[i],
						 .times = mr_worker_times(&t->s.executor, i, t->train_ns),
						 .lost_known = w->delay.n > 0};
		delays_known = delays_known && rows[i].lost_known;
	}
	for (uint16_t s = 0; stale && bins && s < run->n_stages; s++) {
		mr_run_staleness(run, s, bins[s]);
		stale[s] = (mr_staleness_row){s, MR_COUNTS(bins[s], MR_STALENESS_BINS)};
	}
	if (rows && text)
		complain(mr_report_workers(rows, n, stdout));
	print_unknown_delays(t, delays_known);
	if (stale && bins)
		complain(mr_report_staleness(stale, run->n_stages, stdout));
	free(rows);
	free(text);
	free(stale);
	free(bins);
}

/* If any worker may take a weight gradient: how many were taken, of those that could have been. */
static void print_stolen(const mr_train *t)
{
	const mr_run *run = mr_executor_run_of(&t->s.executor);
	const mr_plan *p = run->c.plan;
	uint64_t stolen = 0, all = 0;

	if (!p->contract.steal)
		return;
	for (uint16_t w = 0; w < run->n_workers; w++) {
		stolen += run->worker[w].steal_queue->n_stolen;
		all += run->worker[w].train.n * mr_steal_count(p, w);
	}
	printf("stolen: %llu weight gradient%s taken over from another worker", (unsigned long long)stolen,
	       stolen == 1 ? " was" : "s were");
	if (all)
		printf(", of %llu that could have been", (unsigned long long)all);
	fputc('\n', stdout);
}

/* "0.42 s", "7:05" */
static const char *time_text(const mr_train *t, uint64_t ns, char buf[32])
{
	double seconds = (double)ns / 1e9;

	if (seconds < 10)
		snprintf(buf, 32, t->clock && seconds < 0.1 ? "%.3g s" : "%.2f s", seconds);
	else
		mr_duration_text(seconds, buf);
	return buf;
}

/* The time of metrics.jsonl and curves, which includes evaluations and saves, and its parts. */
static void print_times(const mr_train *t)
{
	char all[32], train[32], eval[32], save[32];

	if (t->clock) {
		printf("%s of simulated time", time_text(t, t->train_ns, all));
		return;
	}
	printf("%s (training %s, evaluations %s, checkpoints %s%s)", time_text(t, t->end_ns - t->start_ns, all),
	       time_text(t, t->train_ns, train), time_text(t, t->eval_ns, eval), time_text(t, t->save_ns, save),
	       t->seconds_before > 0 ? "; without earlier sessions" : "");
}

/* Versions and bytes in use at once. */
static mr_status print_usage(const mr_train *t)
{
	mr_usage_row *rows;
	uint32_t n;
	mr_status st = mr_train_usage(t, &rows, &n);

	if (st == MR_OK && n)
		st = mr_report_usage(rows, n, stdout);
	free(rows);
	return st;
}

/* The table of --counters. */
static mr_status print_counts(const mr_train *t)
{
	mr_counted_row *rows;
	const char *missing;
	uint32_t n;
	mr_status st = mr_train_counts(t, &rows, &n, &missing);

	if (st == MR_OK && rows)
		st = mr_counted_print(rows, n, stdout);
	if (*missing)
		printf("counters: %s\n", missing);
	if (rows && *t->here.busy)
		printf("counters: %s\n", t->here.busy);
	free(rows);
	return st;
}

/* Where the time and the memory of this session went. */
static void print_tables(const mr_train *t)
{
	char shares[160];

	print_workers(t);
	print_stolen(t);
	mr_rank_words_end(t);
	complain(mr_objective_report_print_end(&t->s, stdout));
	printf("FLOPs of a step by %s\n", mr_flops_by_text(&t->s.flops, shares));
	complain(print_usage(t));
	complain(print_counts(t));
	complain(mr_report_memory(mr_session_predicted_bytes(&t->s), t->peak_bytes, stdout));
	putchar('\n');
}

/* The result of the last evaluation, after @between. */
static void print_evaluation(const mr_train *t, const char *between)
{
	if (!isfinite(t->evaluation.val_loss))
		return;
	fputs(between, stdout);
	mr_figures_say_evaluation(&t->evaluation, MR_DIGITS_RESULT, stdout);
}

static void print_norm(const mr_train *t)
{
	bool of_stage = isnan(t->normed.grad_norm);

	if (!t->normed.step)
		return;
	printf(", gradient norm %.4g%s", of_stage ? t->normed.stage_grad_norm : t->normed.grad_norm,
	       of_stage ? " of the last stage" : "");
	if (t->normed.step < t->last.step)
		printf(" at step %llu", (unsigned long long)t->normed.step);
}

void mr_train_words_end(const mr_train *t)
{
	bool idle = t->last.step == 0; /* without a step there are no times, and no file with them */
	uint64_t first, last;
	char text[32];

	if (!mr_train_is_begun(t)) { /* a signal came before the first step */
		printf("stopped before the first step: nothing is left of this run\n");
		return;
	}
	if (t->opts.record)
		printf("the order of the run is in %s\n", t->opts.record);
	if (idle && t->step >= t->n_steps) { /* resumed where it had ended, or with a smaller train.steps */
		printf("\nnothing to do: the run is at step %llu, and train.steps asks for %llu",
		       (unsigned long long)t->step, (unsigned long long)t->n_steps);
		print_evaluation(t, "; "); /* one that a signal had broken off */
		putchar('\n');
		fflush(stdout);
		return;
	}
	printf("\n%s %llu of %llu steps in ",
	       t->step == t->n_steps ? "done:" : t->early ? "ended early:" : "stopped at",
	       (unsigned long long)t->step, (unsigned long long)t->n_steps);
	print_times(t);
	if (t->last.step)
		printf(", loss %s", mr_loss_text(t->last.loss, text));
	print_norm(t);
	print_evaluation(t, ", ");
	printf(t->step < t->n_steps && !t->early ? "; --resume goes on from here\n\n" : "\n\n");
	if (!idle)
		print_tables(t);
	printf("written to %s: resolved.cfg, run.json, metrics.jsonl%s%s", t->dir.path, !idle ? ", memory.json" : "",
	       t->saved ? ", checkpoints/" : "");
	printf(t->trace_written ? ", trace.json (open it at ui.perfetto.dev)\n" : "\n");
	if (mr_job_trace_steps(t->s.job, &first, &last) && !t->trace_written)
		printf("no trace: this session had no step of trace.steps\n");
	fflush(stdout);
}

/* --- while it runs --- */

static bool is_due(void *arg, uint64_t step, double seconds)
{
	const mr_train_words *w = arg;

	return mr_progress_due(&w->progress, step, seconds);
}

static void show(void *arg, const mr_figures *p, double seconds, bool force)
{
	mr_train_words *w = arg;

	if (force)
		mr_progress_force(&w->progress, p, seconds);
	else
		mr_progress_update(&w->progress, p, seconds);
	mr_service_notify("STATUS=step %llu of %.0f, loss %.4f", (unsigned long long)p->step, p->steps, p->loss);
}

static void print_status(void *arg)
{
	mr_train_words *w = arg;
	unsigned columns = mr_screen_columns(stderr);
	mr_run_status s;

	if (mr_train_status(w->t, &s) != MR_OK)
		return;
	mr_progress_finish(&w->progress);
	fputc('\n', stderr);
	if (mr_run_status_screen(&s, columns ? columns : 80, s.n_workers + 9, stderr) != MR_OK)
		clearerr(stderr);
	fputc('\n', stderr);
	mr_run_status_fini(&s);
}

static void finish_line(void *arg)
{
	mr_train_words *w = arg;

	mr_progress_finish(&w->progress);
}

mr_train_hooks mr_train_words_hooks(mr_train_words *w)
{
	return (mr_train_hooks){.arg = w, .due = is_due, .show = show, .status = print_status, .settle = finish_line};
}

void mr_train_words_begin(mr_train_words *w, mr_train *t)
{
	mr_progress_params p = mr_progress_defaults(stdout,
						    mr_session_tokens_per_sample(&t->s) ? "tok/s" : "samples/s");

	w->t = t;
	mr_progress_init(&w->progress, &p);
}
