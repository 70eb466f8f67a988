#include "session/memory_plan.h"

#include <stdlib.h>
#include <string.h>

#include "host/limits.h"
#include "host/memory.h"
#include "ranks/traffic.h"
#include "session/host_map.h"
#include "session/kernel_memory.h"
#include "session/objective_report.h"
#include "session/shares.h"
#include "store/crc_blocks.h"

/* Memory of a process that comes after its start, beside all that is counted: pages of our own code that are touched
 * late, and the heap (measured together: 1 to 2 MiB). What the library's code takes more is mr_kernel_code. */
#define PROCESS_BYTES ((uint64_t)11 << 18)

/* The library's code, in a session of which nothing was planned. */
#define UNKNOWN_CODE ((uint64_t)2 << 20)

/* Of PROCESS_BYTES as much is touched between the plan and the first step, and counted there as resident. */
#define SETTLING ((uint64_t)1 << 20)

/* Memory of a thread: the used part of its stack, its waits and its part of the heap (measured with 64 to 1024
 * workers: 12 to 14 KiB, and 6 KiB more with the context of oneDNN). */
#define THREAD_BYTES ((uint64_t)20 << 10)

/* Headers, lists of checksums and the like of a checkpoint. */
#define NOTES ((uint64_t)256 << 10)

/* Of a tensor in a checkpoint: its entry in a list, its name, its text in the file's header, and its place among what
 * is written. */
#define TENSOR_BYTES (sizeof(mr_saved_tensor) + 32 + 112 + sizeof(mr_crc_piece))

/* Windows of a plan without end (ir/endless.h) that lie in memory beside the first one: those that workers and loaders
 * are in, and those that are kept. */
#define MORE_WINDOWS 5

/* Of a copied state, whose three lists begin on pages. */
#define STATE_PADDING ((uint64_t)3 << 12)

/* A plan that depends on the memory that is left must not depend on single pages, which differ from run to run. */
#define WHOLE_BYTES ((uint64_t)1 << 20)

static const char *const names[MR_N_MEMORY_USES] = {
	[MR_MEMORY_PROGRAM] = "program and libraries",
	[MR_MEMORY_PLAN] = "plan",
	[MR_MEMORY_DATA] = "data",
	[MR_MEMORY_LOADING] = "data while they are made",
	[MR_MEMORY_WORKERS] = "workers",
	[MR_MEMORY_KERNELS] = "kernels",
	[MR_MEMORY_MESSAGES] = "MPI's copies of messages",
	[MR_MEMORY_READING] = "decoding of samples",
	[MR_MEMORY_THREADS] = "threads",
	[MR_MEMORY_EVALUATION] = "evaluation",
	[MR_MEMORY_TRACE] = "trace",
	[MR_MEMORY_CHECKPOINT] = "checkpoint buffers",
};

static uint64_t plan_bytes(const mr_session *s)
{
	return (s->plan ? mr_plan_bytes(s->plan) : 0) + (s->steady ? mr_plan_bytes(s->steady) : 0);
}

/* What is made of a plan without end while it trains. */
static uint64_t window_bytes(const mr_session *s)
{
	return s->plan && s->plan->endless ? MORE_WINDOWS * mr_plan_bytes(s->plan) : 0;
}

/* Runs that have what one run has. */
static uint32_t shares(const mr_session *s)
{
	return s->n_shares ? s->n_shares : 1;
}

static bool is_here(const mr_session *s, uint32_t w)
{
	return !s->ranks || s->ranks->of_worker[w] == s->ranks->self;
}

static uint64_t of_threads(const mr_session *s)
{
	uint64_t n_threads = 0;

	for (uint32_t w = 0; w < s->place.n_workers * shares(s); w++)
		n_threads += is_here(s, w) ? s->place.worker[w].n_threads : 0;
	return PROCESS_BYTES + n_threads * THREAD_BYTES;
}

uint64_t mr_memory_late_bytes(const mr_session *s)
{
	uint64_t known = s->program_bytes + plan_bytes(s) + s->data->bytes.kept + s->more_bytes;
	uint64_t base = mr_executor_run_of(&s->executor)->base_bytes, touched = base > known ? base - known : 0;
	uint64_t late = s->late_bytes ? s->late_bytes : of_threads(s) + UNKNOWN_CODE;

	return late - (touched < SETTLING ? touched : SETTLING) + window_bytes(s);
}

/* Over ranks: does this one get the state of all, as it writes all? */
static bool gathers(const mr_session *s)
{
	return !s->ranks->self && (s->job->checkpoint.parts == MR_PARTS_RANK0 || s->n_shares);
}

/* Checkpoints are due, and written from a copy, while the training goes on: over ranks by rank 0, where it writes all.
 */
static bool saves_on_the_way(const mr_session *s)
{
	if (s->ranks && !gathers(s))
		return false;
	return s->job->checkpoint.every && s->job->checkpoint.every < s->job->train.steps;
}

/* What the executor takes, and upper bounds of the three parts of its state at a pause (state.h). */
typedef struct needs {
	mr_kernel_bytes kernels;
	uint64_t workers, messages, model, optimizer, inflight, n_tensors;
	uint64_t away; /* over ranks: the state of workers of others */
} needs;

/* Is @rank on another host than this one's rank? By the hosts of a plan, where nobody runs it. */
static bool is_far(const mr_session *s, uint32_t rank)
{
	const mr_ranks *r = s->ranks;

	if (!r->at)
		return s->hosts->hosts.host[rank] != s->hosts->hosts.host[r->self];
	return strcmp(r->at[rank].host, r->at[r->self].host) != 0;
}

static mr_status copies_of(const mr_session *s, const mr_run *run, uint64_t *out)
{
	const mr_ranks *r = s->ranks;
	bool *far;

	*out = 0;
	if (!r || !r->by->copies_most)
		return MR_OK;
	far = calloc(r->n, sizeof(*far));
	if (!far)
		return mr_fail(MR_ERESOURCE, "no memory for %u ranks", r->n);
	for (uint32_t i = 0; i < r->n; i++)
		far[i] = is_far(s, i);
	*out = mr_rank_copies(run, far, r->by->copies_most);
	free(far);
	return MR_OK;
}

/* Tensors of the state of stage @i: weights, their rest, the optimizer's states, of which each may have scales, and
 * versions if they are saved. */
static uint64_t tensors_of(const mr_run *run, uint16_t i, bool flushes)
{
	uint32_t first, end;

	mr_stage_params(run->stage[i], &first, &end);
	return (end - first) * ((run->c.optim->form ? 2 : 1) * run->c.optim->ops->n_states + 2 +
				(flushes ? 0 : (uint64_t)run->weights[i].cap));
}

static mr_status needs_of_run(const mr_session *s, const mr_run *run, needs *out)
{
	bool flushes = run->c.plan->contract.flush != MR_FLUSH_NONE;

	*out = (needs){.workers = mr_run_mapped_bytes(run)};
	for (unsigned p = 0; p < run->n_pipes; p++)
		for (uint16_t i = 0; i < run->n_stages; i++) {
			mr_run_memory m;

			mr_run_memory_of_stage(run, (uint8_t)p, i, &m);
			out->model += m.weights;
			out->optimizer += m.optimizer;
			if (!mr_run_is_here(&run->c, mr_plan_worker(run->c.plan, (uint8_t)p, i)))
				out->away += m.weights + m.optimizer + (flushes ? 0 : m.stashes);
			out->inflight += flushes && !run->replicas ? 0 : m.stashes;
			out->inflight += flushes ? 0 : m.activations + m.boundaries;
			out->n_tensors += p ? 0 : tensors_of(run, i, flushes);
		}
	MR_TRY(copies_of(s, run, &out->messages));
	return mr_kernel_memory(s, run, &out->kernels);
}

/* Those of @c, which is not made for them, but laid out. */
static mr_status needs_of_config(const mr_session *s, mr_run_config c, needs *out)
{
	mr_run *laid_out;
	mr_status st;

	c.only_layout = true;
	MR_TRY(mr_job_blame(s->job, MR_JOB_SYSTEM, "name", mr_run_create(&c, &laid_out)));
	st = needs_of_run(s, laid_out, out);
	mr_run_destroy(laid_out);
	return st;
}

/* Of several ranks each has other workers of the shares. */
static mr_status needs_of_rank(const mr_session *s, needs *out)
{
	mr_run_config c = mr_session_run_config(s, NULL);

	*out = (needs){.workers = mr_session_rank_meeting_bytes(s)};
	for (uint32_t q = 0; q < s->n_shares; q++) {
		mr_run_config own = mr_session_share_config(s, &c, q);
		mr_share_links links;
		needs n;

		mr_share_links_init(&links, c.links, q * s->place.n_workers);
		own.links = links.kinds;
		MR_TRY(needs_of_config(s, own, &n));
		out->kernels.contexts += n.kernels.contexts;
		out->kernels.code = n.kernels.code;
		out->kernels.flops = n.kernels.flops; /* its shares are the same of each */
		out->workers += n.workers;
		out->model += n.model;
		out->optimizer += n.optimizer;
		out->inflight += n.inflight;
		out->n_tensors += n.n_tensors;
		out->messages += n.messages;
		out->away += n.away;
	}
	return MR_OK;
}

static mr_status needs_of(const mr_session *s, const mr_run *run, needs *out)
{
	uint32_t n = shares(s);

	if (s->ranks && s->n_shares)
		return needs_of_rank(s, out);
	MR_TRY(run ? needs_of_run(s, run, out) : needs_of_config(s, mr_session_run_config(s, NULL), out));
	out->kernels.contexts *= n;
	out->workers = n * out->workers + (run ? 0 : mr_session_meeting_bytes(s));
	out->model *= n;
	out->optimizer *= n;
	out->inflight *= n;
	return MR_OK;
}

/* Buffers of a checkpoint, whose files are written one after the other. */
static uint64_t buffers(const mr_session *s, const needs *n)
{
	uint64_t most = n->model > n->optimizer ? n->model : n->optimizer;

	most = most > n->inflight ? most : n->inflight;
	return NOTES + n->n_tensors * TENSOR_BYTES +
	       mr_crc_blocks_room(most, s->place.n_cores_used + s->place.n_cores_idle);
}

uint64_t mr_memory_of_program(const mr_session *s)
{
	uint64_t resident, less = plan_bytes(s) + s->data->bytes.opened;

	if (s->program_bytes)
		return s->program_bytes;
	mr_memory_give_back();
	resident = mr_memory_resident_bytes();
	return ((resident > less ? resident - less : 0) + WHOLE_BYTES - 1) / WHOLE_BYTES * WHOLE_BYTES;
}

/* Threads that may make a sample at once: the loaders of training and of evaluation, of which there is one a node at
 * least. */
static uint64_t readers(const mr_session *s)
{
	uint64_t n = mr_session_loaders(s);

	return 2 * (n > s->place.n_memories ? n : s->place.n_memories);
}

/* A limit that a process of @total bytes exceeds, and its @name; 0: there is none. */
static uint64_t limit_below(const mr_session *s, uint64_t total, const char **name)
{
	uint64_t set = (uint64_t)s->job->machine.memory_limit;
	const mr_topo *t = &s->topo;

	*name = "machine.memory_limit";
	if (set && total > set)
		return set;
	*name = *t->memory_limit ? t->memory_limit : "all memory of the machine";
	return t->memory_bytes && total > t->memory_bytes ? t->memory_bytes : 0;
}

/* A limit that @m exceeds; bytes 0: none. */
typedef struct exceeded {
	uint64_t bytes, asked;
	const char *name;
} exceeded;

static exceeded limit_of(const mr_memory_plan *m, const mr_session *s)
{
	uint64_t still = m->total > m->resident ? m->total - m->resident : 0;
	exceeded e = {.asked = m->total};

	e.bytes = limit_below(s, m->total, &e.name);
	if (!e.bytes && s->topo.memory_available_bytes && still > s->topo.memory_available_bytes)
		e = (exceeded){s->topo.memory_available_bytes, still, "what is free now"};
	return e;
}

static void add_up(const mr_session *s, mr_memory_plan *m)
{
	const mr_data_bytes *d = &s->data->bytes;
	uint64_t running = 0;

	for (int i = MR_MEMORY_WORKERS; i < MR_N_MEMORY_USES; i++)
		running += m->bytes[i];
	m->total = m->bytes[MR_MEMORY_PROGRAM] + m->bytes[MR_MEMORY_PLAN] + d->kept +
		   (running > d->passing ? running : d->passing);
}

/* Plan a copy of the state, which has @bytes bytes, where there is room for it. */
static void plan_copy(const mr_session *s, uint64_t bytes, mr_memory_plan *m)
{
	mr_memory_plan with = *m;

	with.copy = bytes + STATE_PADDING;
	with.bytes[MR_MEMORY_CHECKPOINT] += with.copy;
	add_up(s, &with);
	if (!limit_of(&with, s).bytes)
		*m = with;
}

mr_status mr_memory_plan_of(const mr_session *s, const mr_run *run, mr_memory_plan *out)
{
	const mr_dataset *d = s->data;
	uint64_t first, last, plan = plan_bytes(s) + window_bytes(s);
	uint64_t *b = out->bytes;
	needs n;

	*out = (mr_memory_plan){.on_disk = d->bytes.on_disk};
	b[MR_MEMORY_PLAN] = plan;
	b[MR_MEMORY_PROGRAM] = mr_memory_of_program(s);
	out->resident = mr_memory_resident_bytes();
	b[MR_MEMORY_DATA] = d->bytes.kept;
	b[MR_MEMORY_READING] = d->bytes.reading * readers(s);
	b[MR_MEMORY_LOADING] = d->bytes.passing;
	MR_TRY(needs_of(s, run, &n));
	b[MR_MEMORY_WORKERS] = n.workers;
	b[MR_MEMORY_KERNELS] = n.kernels.contexts;
	b[MR_MEMORY_MESSAGES] = n.messages;
	out->flops = n.kernels.flops;
	b[MR_MEMORY_THREADS] = of_threads(s) + n.kernels.code;
	b[MR_MEMORY_EVALUATION] = (d->n_valid / (uint64_t)s->samples + 1) * (sizeof(double) + sizeof(uint64_t)) +
				  mr_objective_report_bytes(s);
	if (mr_job_trace_steps(s->job, &first, &last))
		b[MR_MEMORY_TRACE] = s->place.n_workers * shares(s) * MR_TRACE_BYTES;
	b[MR_MEMORY_CHECKPOINT] = buffers(s, &n) + mr_session_joined_bytes(s) + (s->ranks && gathers(s) ? n.away : 0);
	add_up(s, out);
	if (saves_on_the_way(s))
		plan_copy(s, n.model + n.optimizer + n.inflight, out);
	return MR_OK;
}

void mr_memory_plan_print(const mr_memory_plan *m, mr_strbuf *out)
{
	char text[16];

	for (int i = 0; i < MR_N_MEMORY_USES; i++)
		if (m->bytes[i])
			mr_strbuf_printf(out, "  %-24s %10s\n", names[i], mr_bytes_text(m->bytes[i], text));
	mr_strbuf_printf(out, "  %-24s %10s\n", "at most at once", mr_bytes_text(m->total, text));
	if (m->on_disk)
		mr_strbuf_printf(out, "  %-24s %10s\n", "read from files meanwhile", mr_bytes_text(m->on_disk, text));
}

mr_status mr_memory_plan_fits(const mr_memory_plan *m, const mr_session *s)
{
	exceeded e = limit_of(m, s);
	char need[16], have[16];
	mr_strbuf table = {0};

	if (!e.bytes)
		return MR_OK;
	mr_memory_plan_print(m, &table);
	if (table.len) /* the last line's end */
		table.data[--table.len] = 0;
	mr_fail(MR_ERESOURCE, "the process needs %s of memory, and %s is the limit (%s):\n%s",
		mr_bytes_text(e.asked, need), mr_bytes_text(e.bytes, have), e.name, mr_strbuf_text(&table));
	mr_strbuf_fini(&table);
	return MR_ERESOURCE;
}

/* Is there still memory for what a started session of @bytes has not touched yet? Other programs, too, have taken some
 * since it was planned. */
static mr_status started_is_free(const mr_session *s, uint64_t bytes)
{
	uint64_t resident = mr_memory_resident_bytes(), still = bytes > resident ? bytes - resident : 0;
	char need[16], have[16];
	mr_limits now;

	mr_limits_read("", &now);
	if (!s->place.bindable || still <= now.available_bytes)
		return MR_OK;
	return mr_fail(MR_ERESOURCE, "the process needs %s of memory more, and %s is free now",
		       mr_bytes_text(still, need), mr_bytes_text(now.available_bytes, have));
}

mr_status mr_memory_started_fits(const mr_session *s)
{
	uint64_t bytes = mr_session_predicted_bytes(s), limit;
	char need[16], have[16];
	const char *name;

	limit = limit_below(s, bytes, &name);
	if (!limit)
		return started_is_free(s, bytes);
	return mr_fail(MR_ERESOURCE,
		       "with what the kernels allocate the process needs %s of memory, and %s is the limit (%s)",
		       mr_bytes_text(bytes, need), mr_bytes_text(limit, have), name);
}

mr_status mr_memory_more_fits(mr_session *s, uint64_t bytes, const char *what)
{
	uint64_t planned = s->planned_bytes + s->more_bytes - s->copy_bytes, limit;
	char need[16], have[16], most[16], more[16];
	const char *name;

	limit = limit_below(s, planned + bytes, &name);
	if (limit)
		return mr_fail(MR_ERESOURCE, "the process needs %s of memory, %s as planned and %s for %s, and %s is "
			       "the limit (%s)", mr_bytes_text(planned + bytes, need), mr_bytes_text(planned, have),
			       mr_bytes_text(bytes, more), what, mr_bytes_text(limit, most), name);
	s->more_bytes += bytes;
	return MR_OK;
}
