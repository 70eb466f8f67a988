#include "report/chrome.h"

#include <stdlib.h>

#include "base/json.h"
#include "report/figures.h"
#include "report/records.h"

#define PID 1

/* The kind of output that a record sends to its neighbour stage; instructions without output have no arrows. */
enum flow { FLOW_FORWARD, FLOW_BACKWARD, FLOW_NONE };

static enum flow flow_of(const mr_trace_rec *r)
{
	if (r->op == MR_OP_F)
		return FLOW_FORWARD;
	return r->op == MR_OP_B || r->op == MR_OP_I ? FLOW_BACKWARD : FLOW_NONE;
}

static int order_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_worker_and_time(const void *pa, const void *pb)
{
	const mr_trace_rec *a = *(const mr_trace_rec *const *)pa, *b = *(const mr_trace_rec *const *)pb;
	int d = order_u64(a->worker, b->worker);

	d = d ? d : order_u64(a->begin_ns, b->begin_ns);
	return d ? d : order_u64(a->end_ns, b->end_ns);
}

/* Neighbour stages of one micro-batch and direction stand side by side; a micro-batch number that returns, by time. */
static int by_flow(const void *pa, const void *pb)
{
	const mr_trace_rec *a = *(const mr_trace_rec *const *)pa, *b = *(const mr_trace_rec *const *)pb;
	int d = order_u64(flow_of(a), flow_of(b));

	d = d ? d : order_u64(a->share, b->share);
	d = d ? d : order_u64(a->pipe, b->pipe);
	d = d ? d : order_u64(a->micro, b->micro);
	d = d ? d : order_u64(a->stage, b->stage);
	return d ? d : order_u64(a->begin_ns, b->begin_ns);
}

static void put_us(mr_json_writer *w, const char *key, uint64_t ns)
{
	mr_json_key(w, key);
	mr_json_put_double(w, (double)ns / 1000);
}

static void begin_event(mr_json_writer *w, const char *phase, const char *name, uint16_t worker)
{
	mr_json_begin_object(w);
	mr_json_field_string(w, "ph", phase);
	mr_json_field_string(w, "name", name);
	mr_json_field_uint(w, "pid", PID);
	mr_json_field_uint(w, "tid", worker);
}

static void put_names(mr_json_writer *w, const mr_chrome *c)
{
	begin_event(w, "M", "process_name", 0);
	mr_json_field_object(w, "args");
	mr_json_field_string(w, "name", c->title ? c->title : "millrace");
	mr_json_end_object(w);
	mr_json_end_object(w);
	for (unsigned i = 0; i < c->n_workers; i++) {
		char name[24];

		mr_report_row_name(i, c->n_shares, name);
		begin_event(w, "M", "thread_name", (uint16_t)i);
		mr_json_field_object(w, "args");
		mr_json_field_string(w, "name", c->tracks ? c->tracks[i] : name);
		mr_json_end_object(w);
		mr_json_end_object(w);
		begin_event(w, "M", "thread_sort_index", (uint16_t)i);
		mr_json_field_object(w, "args");
		mr_json_field_uint(w, "sort_index", i);
		mr_json_end_object(w);
		mr_json_end_object(w);
	}
}

/* Write the waits of @r, which end where it begins and never begin before @free_ns, the end of the instruction before.
 */
static void put_waits(mr_json_writer *w, const mr_trace_rec *r, uint64_t free_ns)
{
	uint64_t total = 0, at;

	for (int cause = MR_WAIT_UPSTREAM; cause < MR_N_WAITS; cause++)
		total += r->wait_ns[cause];
	at = total <= r->begin_ns && r->begin_ns - total >= free_ns ? r->begin_ns - total : free_ns;
	for (int cause = MR_WAIT_UPSTREAM; cause < MR_N_WAITS && at < r->begin_ns; cause++) {
		uint64_t ns = r->wait_ns[cause];
		char name[32];

		if (!ns)
			continue;
		ns = ns < r->begin_ns - at ? ns : r->begin_ns - at;
		snprintf(name, sizeof(name), "wait %s", mr_report_wait_name((mr_wait_cause)cause));
		begin_event(w, "X", name, r->worker);
		mr_json_field_string(w, "cat", "wait");
		put_us(w, "ts", at);
		put_us(w, "dur", ns);
		mr_json_end_object(w);
		at += ns;
	}
}

static void put_instruction(mr_json_writer *w, const mr_trace_rec *r)
{
	const char *op = mr_op_name((mr_op)r->op);
	char name[32];

	snprintf(name, sizeof(name), "%s m%u", op, r->micro);
	begin_event(w, "X", name, r->worker);
	mr_json_field_string(w, "cat", op);
	put_us(w, "ts", r->begin_ns);
	put_us(w, "dur", r->end_ns - r->begin_ns);
	mr_json_field_object(w, "args");
	mr_json_field_uint(w, "micro", r->micro);
	mr_json_field_uint(w, "stage", r->stage);
	mr_json_field_uint(w, "version", r->version);
	mr_json_field_uint(w, "pipe", r->pipe);
	for (int cause = MR_WAIT_UPSTREAM; cause < MR_N_WAITS; cause++) {
		char key[32];

		if (!r->wait_ns[cause])
			continue;
		snprintf(key, sizeof(key), "wait_%s_us", mr_report_wait_name((mr_wait_cause)cause));
		put_us(w, key, r->wait_ns[cause]);
	}
	if (r->lost_ns)
		put_us(w, "descheduled_us", r->lost_ns);
	mr_json_end_object(w);
	mr_json_end_object(w);
}

static void put_arrow(mr_json_writer *w, const mr_trace_rec *from, const mr_trace_rec *to, uint64_t id)
{
	const char *name = flow_of(from) == FLOW_FORWARD ? "activation" : "gradient";

	begin_event(w, "s", name, from->worker);
	mr_json_field_string(w, "cat", "flow");
	mr_json_field_uint(w, "id", id);
	put_us(w, "ts", from->end_ns > from->begin_ns ? from->end_ns - 1 : from->begin_ns);
	mr_json_end_object(w);
	begin_event(w, "f", name, to->worker);
	mr_json_field_string(w, "bp", "e");
	mr_json_field_string(w, "cat", "flow");
	mr_json_field_uint(w, "id", id);
	put_us(w, "ts", to->begin_ns);
	mr_json_end_object(w);
}

static bool same_flow(const mr_trace_rec *a, const mr_trace_rec *b)
{
	return flow_of(a) == flow_of(b) && a->share == b->share && a->pipe == b->pipe && a->micro == b->micro;
}

/* End of the run of records of @sorted[@i]'s stage. */
static size_t stage_end(const mr_trace_rec *const *sorted, size_t n, size_t i)
{
	size_t end = i + 1;

	while (end < n && same_flow(sorted[i], sorted[end]) && sorted[i]->stage == sorted[end]->stage)
		end++;
	return end;
}

static void put_arrows(mr_json_writer *w, const mr_trace_rec *const *sorted, size_t n)
{
	uint64_t id = 1;

	for (size_t i = 0, end; i < n && flow_of(sorted[i]) != FLOW_NONE; i = end) {
		size_t next;

		end = stage_end(sorted, n, i);
		if (end == n || !same_flow(sorted[i], sorted[end]) || sorted[end]->stage != sorted[i]->stage + 1)
			continue;
		next = stage_end(sorted, n, end);
		for (size_t k = 0; i + k < end && end + k < next; k++) {
			bool forward = flow_of(sorted[i]) == FLOW_FORWARD;
			const mr_trace_rec *low = sorted[i + k], *high = sorted[end + k];

			put_arrow(w, forward ? low : high, forward ? high : low, id++);
		}
	}
}

/* What a message carries, by mr_edge_kind (link/channel.h); a boundary's without bytes is a buffer that comes back. */
static const char *message_name(const mr_message_time *m)
{
	static const char *const names[] = {"activation", "gradient", "sum", "weights", "event", "meeting"};

	if (m->kind <= 1 && !m->bytes)
		return "free buffer";
	return m->kind < sizeof(names) / sizeof(names[0]) ? names[m->kind] : "message";
}

static uint16_t track_of(const mr_chrome *c, uint16_t worker)
{
	uint32_t shares = c->n_shares > 1 ? c->n_shares : 1, workers = c->n_workers / shares;

	return (uint16_t)(worker % workers * shares + worker / workers);
}

/* The begin ("b") or the end ("e") of message @m. */
static void put_message_end(mr_json_writer *w, const mr_chrome *c, const mr_message_time *m, const char *phase,
			    uint64_t id)
{
	uint16_t from = track_of(c, m->from), to = track_of(c, m->to);
	char name[96], sender[24], receiver[24];

	snprintf(name, sizeof(name), "%s to %s: %s", mr_report_row_name(from, c->n_shares, sender),
		 mr_report_row_name(to, c->n_shares, receiver), message_name(m));
	begin_event(w, phase, name, *phase == 'b' ? from : to);
	mr_json_field_string(w, "cat", "message");
	mr_json_field_uint(w, "id", id);
	put_us(w, "ts", *phase == 'b' || m->arrived_ns < m->sent_ns ? m->sent_ns : m->arrived_ns);
	if (*phase == 'b') {
		mr_json_field_object(w, "args");
		mr_json_field_uint(w, "stage", m->stage);
		mr_json_field_uint(w, "pipe", m->pipe);
		mr_json_field_uint(w, "number", m->number);
		mr_json_field_uint(w, "bytes", m->bytes);
		put_us(w, "waited_us", mr_message_waited(m));
		mr_json_end_object(w);
	}
	mr_json_end_object(w);
}

mr_status mr_chrome_write(const mr_chrome *c, FILE *out)
{
	const mr_trace_rec **sorted;
	uint64_t free_ns = 0;
	mr_json_writer w;

	for (size_t i = 0; i < c->n_rec; i++)
		if (c->rec[i].worker >= c->n_workers || c->rec[i].end_ns < c->rec[i].begin_ns ||
		    c->rec[i].op >= MR_N_OPS)
			return mr_fail(MR_EINVAL,
				       "trace record %zu (worker %u of %u, op %u, %llu to %llu ns) makes no sense", i,
				       c->rec[i].worker, c->n_workers, c->rec[i].op,
				       (unsigned long long)c->rec[i].begin_ns, (unsigned long long)c->rec[i].end_ns);
	sorted = malloc((c->n_rec + 1) * sizeof(*sorted));
	if (!sorted)
		return mr_fail(MR_ERESOURCE, "no memory for a trace of %zu records", c->n_rec);
	for (size_t i = 0; i < c->n_rec; i++)
		sorted[i] = &c->rec[i];
	w = mr_json_begin(out, false);
	mr_json_field_string(&w, "displayTimeUnit", "ns");
	mr_json_field_array(&w, "traceEvents");
	put_names(&w, c);
	qsort(sorted, c->n_rec, sizeof(*sorted), by_worker_and_time);
	for (size_t i = 0; i < c->n_rec; i++) {
		free_ns = i && sorted[i - 1]->worker == sorted[i]->worker ? sorted[i - 1]->end_ns : 0;
		put_waits(&w, sorted[i], free_ns);
		put_instruction(&w, sorted[i]);
		fputc('\n', out);
	}
	qsort(sorted, c->n_rec, sizeof(*sorted), by_flow);
	put_arrows(&w, sorted, c->n_rec);
	free(sorted);
	for (size_t i = 0; i < c->n_messages; i++) {
		put_message_end(&w, c, c->messages[i], "b", i + 1);
		put_message_end(&w, c, c->messages[i], "e", i + 1);
	}
	mr_json_end_array(&w);
	return mr_json_finish(&w);
}
