#include "timing/hosts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grown.h"
#include "base/message_time.h"
#include "timing/unroll_time.h"

#define MOST_STOLEN 0.9 /* of a core while a message takes time of it */
#define ANY UINT16_MAX  /* stage */

typedef enum message_kind { BOUNDARY, RANGE, EVENT, N_KINDS } message_kind;

/* A port into a host: when it is taken. Messages come in another order than they are sent in. */
typedef struct port {
	struct taken {
		double from, to;
	} *at;       /* [n] in order of time */
	uint32_t n;
} port;

struct mr_messages {
	const mr_unroll *g;
	const mr_hosts *hosts;
	double *out, *inside;      /* [n_hosts] from when on each port out, and within a host, is free */
	port *in, *sent;           /* [n_hosts] into each host; when those out of it are taken */
	mr_theft *theft;           /* [n_thefts] */
	uint32_t n_thefts;
	bool *part;                /* [n_workers * n_stages] has the worker the stage's weights? */
	uint32_t *stamp;           /* [N_KINDS * n_workers] the node whose message `arrived` is about */
	double *arrived;           /* [N_KINDS * n_workers] */
	double *join;              /* [joins * n_workers] when each worker has what a join gathers */
};

void mr_messages_destroy(mr_messages *m)
{
	if (!m)
		return;
	for (uint32_t h = 0; m->in && h < 2u * m->hosts->n_hosts; h++)
		free(m->in[h].at);
	free(m->theft);
	free(m->in);
	free(m->out);
	free(m->part);
	free(m->stamp);
	free(m->arrived);
	free(m->join);
	free(m);
}

mr_status mr_messages_create(const mr_unroll *g, const mr_hosts *hosts, mr_messages **out)
{
	const mr_plan *p = g->plan;
	size_t workers = p->n_workers, joins = g->n_all - g->n_nodes;
	mr_messages *m = calloc(1, sizeof(*m));

	*out = m;
	if (m) {
		m->hosts = hosts;
		m->out = calloc(2 * (size_t)hosts->n_hosts, sizeof(*m->out));
		m->in = calloc(2 * (size_t)hosts->n_hosts, sizeof(*m->in));
		m->part = calloc(workers * p->n_stages, sizeof(*m->part));
		m->stamp = malloc(N_KINDS * workers * sizeof(*m->stamp));
		m->arrived = calloc(N_KINDS * workers, sizeof(*m->arrived));
		m->join = calloc(joins * workers + 1, sizeof(*m->join));
	}
	if (!m || !m->out || !m->in || !m->part || !m->stamp || !m->arrived || !m->join)
		return mr_fail(MR_ERESOURCE, "no memory for the messages of %u instructions", g->n_nodes);
	m->g = g;
	m->inside = m->out + hosts->n_hosts;
	m->sent = m->in + hosts->n_hosts;
	for (size_t i = 0; i < N_KINDS * workers; i++)
		m->stamp[i] = MR_NO_NODE;
	for (unsigned pipe = 0; pipe < p->n_pipes; pipe++)
		for (uint16_t s = 0; s < p->n_stages; s++)
			m->part[(size_t)mr_plan_worker(p, (uint8_t)pipe, s) * p->n_stages + s] = true;
	return MR_OK;
}

/* --- what is sent --- */

static bool has_parts(const mr_unroll *g, uint16_t stage)
{
	return mr_plan_partial_sums(g->plan, stage) > 1;
}

/* What a worker of @stage, @w, gets of the range of pipe @i. */
static double range_for(const mr_messages *m, uint16_t stage, uint8_t i, uint16_t w)
{
	const mr_stage_sends *b = &m->hosts->sends[stage];
	uint8_t j = 0;

	if (!m->g->plan->contract.weight_groups)
		return b->weights;
	while (mr_plan_worker(m->g->plan, j, stage) != w)
		j++;
	switch (mr_plan_weights_go(m->g->plan, i, j)) {
	case MR_GO_FETCHED:
		return b->weights;
	case MR_GO_COPIED:
		return b->copies;
	default:
		return 0;
	}
}

/* What worker @w gets of the weights that @in commits. */
static double weights_for(const mr_messages *m, const mr_instr *in, uint16_t w)
{
	uint16_t stages = m->g->plan->n_stages;
	const bool *part = m->part + (size_t)w * stages;
	const mr_stage_sends *b = &m->hosts->sends[in->stage];

	if (part[in->stage])
		return has_parts(m->g, in->stage) ? range_for(m, in->stage, in->pipe, w) : 0;
	return in->stage == 0 && part[stages - 1] ? b->tied : 0;
}

/* The same with whole steps, within a stage: the sum of the gradients, of a step or in a ring so far. */
static double whole_bytes_of(const mr_messages *m, uint32_t from, uint32_t to)
{
	const mr_instr *a = m->g->at[from].in, *b = m->g->at[to].in;
	bool sums = a->op == MR_OP_B && b->op == MR_OP_B && mr_unroll_micro(m->g, to) % m->g->plan->contract.need;

	return a->stage == b->stage && (a->op == MR_OP_U || sums) ? m->hosts->sends[a->stage].gradients : 0;
}

/* The bytes that instruction @to needs of @from. */
static double bytes_of(const mr_messages *m, uint32_t from, uint32_t to, message_kind *kind)
{
	const mr_instr *a = m->g->at[from].in, *b = m->g->at[to].in;
	const mr_stage_sends *s = &m->hosts->sends[a->stage];
	double bytes = 0;

	*kind = RANGE;
	if (m->g->plan->contract.whole_steps) {
		bytes = whole_bytes_of(m, from, to);
		*kind = bytes > 0 ? RANGE : EVENT;
		return bytes;
	}
	switch (b->op) {
	case MR_OP_F:
		if (a->op == MR_OP_F && a->stage + 1 == b->stage) {
			*kind = BOUNDARY;
			bytes = m->hosts->sends[b->stage].forward;
		} else if (a->op == MR_OP_U || a->op == MR_OP_AVG || a->flags & MR_INSTR_UPDATE) {
			bytes = weights_for(m, a, m->g->at[to].worker);
		}
		break;
	case MR_OP_B:
	case MR_OP_I:
		if ((a->op == MR_OP_B || a->op == MR_OP_I) && a->stage == b->stage + 1) {
			*kind = BOUNDARY;
			bytes = s->backward;
		} else if (a->op == MR_OP_U && m->g->plan->contract.release_sums &&
			   !m->g->plan->contract.weight_rooms) { /* they come behind its sums */
			bytes = weights_for(m, a, m->g->at[to].worker);
		}
		break;
	case MR_OP_AR:
	case MR_OP_N:
	case MR_OP_U:
		if (a->op == MR_OP_B || a->op == MR_OP_W)
			bytes = a->stage != b->stage         ? m->hosts->sends[0].tied
				: has_parts(m->g, a->stage) ? s->gradients
							    : 0;
		else if (a->op == MR_OP_AR && b->op == MR_OP_N)
			bytes = s->gradients;
		break;
	case MR_OP_AVG:
		bytes = s->gradients;
		break;
	default:
		break;
	}
	if (!(bytes > 0))
		*kind = EVENT;
	return bytes;
}

/* --- when it arrives --- */

static void forget(port *p, double now)
{
	uint32_t past = 0;

	while (past < p->n && p->at[past].to <= now)
		past++;
	p->n -= past;
	if (past)
		memmove(p->at, p->at + past, p->n * sizeof(*p->at));
}

/* Take @p for @length, not before @ready: in the first gap that is long enough. What ends before @now is forgotten. The
 * time at which it is free again; without memory nothing is noted, and later messages may meet this one. */
static double take_port(port *p, double now, double ready, double length)
{
	struct taken *more;
	uint32_t at;

	forget(p, now);
	for (at = 0; at < p->n && p->at[at].from < ready + length; at++)
		ready = fmax(ready, p->at[at].to);
	more = mr_grown(p->at, p->n, sizeof(*more));
	if (!more)
		return ready + length;
	p->at = more;
	memmove(p->at + at + 1, p->at + at, (p->n++ - at) * sizeof(*p->at));
	p->at[at] = (struct taken){ready, ready + length};
	return ready + length;
}

/* How long a message that takes @length alone takes from @from on, while those of the other direction, whose port is
 * @p, keep their time: in what both are under way it goes at 2 r - 1 of its speed, where each of two goes at r. */
static double meet(const port *p, double from, double length, const mr_link_cost *c)
{
	double speed = c->both_s > c->byte_s ? 2 * c->byte_s / c->both_s - 1 : 1, t = from, left = length;

	for (uint32_t i = 0; i < p->n && speed < 1 && left > 0; i++) {
		double begin = fmax(t, p->at[i].from), end = p->at[i].to, done;

		if (end <= t)
			continue;
		if (t + left <= begin)
			break;
		left -= begin - t;
		done = fmin(left, (end - begin) * fmax(speed, 0));
		t = done < left ? end : begin + done / speed;
		left -= done;
	}
	return t + left - from;
}

/* A message takes @cpu of the core of @worker, within @length from @from on if it can. */
static void steal(mr_messages *m, uint16_t worker, double from, double length, double cpu)
{
	mr_theft *more;

	if (!m->hosts->crowded || !(cpu > 0))
		return;
	more = mr_grown(m->theft, m->n_thefts, sizeof(*more));
	if (!more)
		return; /* a shorter step is predicted */
	m->theft = more;
	length = fmax(length, cpu / MOST_STOLEN);
	m->theft[m->n_thefts++] = (mr_theft){from, from + length, cpu / length, worker};
}

/* The first worker of @rank, whose core its messages take; of the stage @part if that is one. */
static uint16_t first_of(const mr_messages *m, uint16_t rank, uint16_t part)
{
	uint16_t w = 0, n = m->g->plan->n_workers;

	while (w < n && (m->hosts->rank[w] != rank ||
			 (part != ANY && !m->part[(size_t)w * m->g->plan->n_stages + part])))
		w++;
	return w;
}

void mr_message_tell(mr_messages *m, uint32_t node, double now)
{
	const mr_hosts *h = m->hosts;
	const mr_instr *in = m->g->at[node].in;
	uint16_t from = m->g->at[node].worker, last = (uint16_t)(m->g->plan->n_stages - 1), to;
	const mr_link_cost *c = &h->link[h->host[h->rank[from]] * h->n_hosts + h->host[0]];

	if (in->stage != last || !h->rank[from] || !(in->op == MR_OP_U || in->flags & MR_INSTR_UPDATE) ||
	    (mr_unroll_micro(m->g, node) + 1) % m->g->plan->contract.need || first_of(m, h->rank[from], last) != from)
		return;
	to = first_of(m, 0, ANY);
	steal(m, from, now, 0, c->tell);
	if (to < m->g->plan->n_workers)
		steal(m, to, now + c->message + c->latency, 0, c->hear);
}

bool mr_message_theft(mr_messages *m, mr_theft *out)
{
	if (!m->n_thefts)
		return false;
	*out = m->theft[--m->n_thefts];
	return true;
}

/* Does @plan send messages that are large? */
static bool sends_large(const mr_hosts *h, const mr_plan *plan)
{
	double most = 0;

	for (uint16_t s = 0; s < plan->n_stages; s++) {
		const mr_stage_sends *b = &h->sends[s];

		most = fmax(fmax(most, b->tied), fmax(b->forward, b->backward));
		if (mr_plan_partial_sums(plan, s) > 1)
			most = fmax(most, fmax(b->gradients, b->weights));
		if (plan->contract.whole_steps)
			most = fmax(most, b->gradients);
	}
	return most >= MR_MESSAGE_LARGE;
}

double mr_message_look(const mr_hosts *h, const mr_plan *plan, uint16_t w)
{
	uint16_t host = h->host[h->rank[w]], beside = 0;
	double most = 0;
	bool large;

	if (!h->crowded)
		return 0;
	large = sends_large(h, plan);
	for (uint16_t i = 0; i < plan->n_workers; i++)
		beside = (uint16_t)(beside + (h->rank[i] == h->rank[w]));
	for (uint16_t i = 0; i < h->n_hosts; i++) {
		const mr_link_cost *c = &h->link[host * h->n_hosts + i];

		most = fmax(most, large ? c->watch : c->look);
	}
	return most / beside;
}

static double send(mr_messages *m, uint16_t from, uint16_t to, double bytes, double now)
{
	const mr_hosts *h = m->hosts;
	uint16_t a = h->host[h->rank[from]], b = h->host[h->rank[to]];
	const mr_link_cost *c = &h->link[a * h->n_hosts + b];
	double *out = a == b ? &m->inside[a] : &m->out[a], leaves, length = bytes * c->byte_s, there;

	if (!(bytes > 0)) {
		steal(m, from, now, 0, c->send);
		steal(m, to, now + c->message + c->latency, 0, c->get);
		return now + c->message + c->latency;
	}
	leaves = fmax(now, *out) + c->message;
	if (a != b) {
		forget(&m->in[a], now);
		length = fmax(meet(&m->in[a], leaves, length, c), meet(&m->sent[b], leaves + c->latency, length, c));
		take_port(&m->sent[a], now, leaves, length);
	}
	*out = leaves + length;
	there = a == b ? *out + c->latency : take_port(&m->in[b], now, leaves + c->latency, length);
	steal(m, from, leaves, length, c->send + bytes * c->send_s);
	steal(m, to, there - length, length, c->get + bytes * c->get_s);
	return there;
}

/* A message goes once, whatever number of instructions wait for it. */
static double send_once(mr_messages *m, uint32_t from, uint16_t to, double bytes, message_kind kind, double now)
{
	size_t at = (size_t)kind * m->g->plan->n_workers + to;

	if (m->stamp[at] != from) {
		m->stamp[at] = from;
		m->arrived[at] = send(m, m->g->at[from].worker, to, bytes, now);
	}
	return m->arrived[at];
}

/* What worker @w waits for at a join, from @from. */
static double to_join(mr_messages *m, uint32_t from, uint16_t w, double now)
{
	const mr_unroll_node *a = &m->g->at[from];
	double bytes;

	if (m->hosts->rank[a->worker] == m->hosts->rank[w])
		return now;
	bytes = a->op == MR_OP_N ? 0 : weights_for(m, a->in, w);
	return send_once(m, from, w, bytes, bytes > 0 ? RANGE : EVENT, now);
}

static double join_arrival(mr_messages *m, uint32_t from, uint32_t join, double now)
{
	uint16_t workers = m->g->plan->n_workers;
	double *at = m->join + (size_t)(join - m->g->n_nodes) * workers, last = now;

	for (uint32_t k = 1; k <= workers; k++) { /* as sharing.c, from the worker behind this one */
		uint16_t w = (uint16_t)((m->g->at[from].worker + k) % workers);

		at[w] = fmax(at[w], to_join(m, from, w, now));
		last = fmax(last, at[w]);
	}
	return last;
}

bool mr_message_goes(const mr_messages *m, uint32_t from, uint32_t to)
{
	const mr_unroll *g = m->g;

	if (from >= g->n_nodes || to >= g->n_nodes)
		return true;
	return m->hosts->rank[g->at[from].worker] != m->hosts->rank[g->at[to].worker];
}

double mr_message_arrival(mr_messages *m, uint32_t from, uint32_t to, double now)
{
	const mr_unroll *g = m->g;
	message_kind kind;
	uint16_t w;
	double bytes;

	if (to >= g->n_nodes)
		return from < g->n_nodes ? join_arrival(m, from, to, now) : now;
	if (from >= g->n_nodes)
		return m->join[(size_t)(from - g->n_nodes) * g->plan->n_workers + g->at[to].worker];
	bytes = bytes_of(m, from, to, &kind);
	w = g->at[to].worker;
	if (g->plan->contract.whole_steps) /* workers of a rank have one copy, to which it comes */
		w = first_of(m, m->hosts->rank[w], ANY);
	return send_once(m, from, w, bytes, kind, now);
}

void mr_messages_move(mr_messages *m, uint32_t by)
{
	size_t workers = m->g->plan->n_workers, versions = (size_t)m->g->n_versions;
	size_t commits = (size_t)by * m->g->plan->commits;

	for (size_t i = 0; i < N_KINDS * workers; i++)
		m->stamp[i] = mr_unroll_moved(m->g, m->stamp[i], by);
	for (size_t k = 0; k < 2; k++) {
		double *at = m->join + k * versions * workers;

		memmove(at, at + commits * workers, (versions - commits) * workers * sizeof(*at));
		memset(at + (versions - commits) * workers, 0, commits * workers * sizeof(*at));
	}
}
