/*
 * mpi_link.c - the kind of link between ranks: a pair of persistent requests for each (edge, number modulo n).
 *
 * All ranks open all channels in the same order, so each has the same tags everywhere; the ranks of its two ends make
 * requests, and for the others it stays empty. A message is a header and the bytes in place, one derived type made once
 * for each request; receives are posted ahead (on demand: when the consumer arms the channel), so no message is ever
 * unexpected, and the library's memory is bounded by the plan.
 *
 *	boundary   sent from the producer's buffer, which stays as it is until the number comes back
 *	stays      (mr_channel) sent from its place, too
 *	others     sent from a copy, since the producer may go on: two for each number modulo n, one of them under way
 *
 *	varies     one request a message, as its length is known only then
 *
 * A number that is posted while one of the same modulo is under way is kept, and replaces one that was kept before:
 * only channels of counts, versions and commits do that, and their consumer needs the highest alone. The sequence in
 * the header counts messages as they leave, so the consumer gets them in that order. A reset begins a new epoch: what
 * comes of an older one is dropped.
 */
#include "mpi/mpi_world.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/size.h"
#include "host/clock.h"
#include "mpi/mpi_times.h"

typedef struct header {
	uint64_t number, sent_ns, length;
	uint32_t sequence, epoch;
} header;

/* A message of one number modulo n: at the receiver's end `copy[0]` alone is used. */
typedef struct message {
	header head[2];
	uint8_t *copy[2];    /* [bytes] at the sender's end, unless it is sent from its place: NULL */
	size_t request[2];   /* in the table */
	int tag;
	bool under_way;      /* the sender's; `side` is the one */
	bool kept;           /* the sender's: the other side waits */
	bool armed;          /* the receiver's: it may come */
	bool held;           /* the receiver's: it has come, and a test holds it back */
	uint8_t side;
	_Atomic bool arrived; /* the receiver's */
	uint64_t arrived_ns;
} message;

typedef struct link_state {
	mr_channel *c;
	message *m;          /* [n] */
	bool sends, receives, stages; /* this rank has the producer; the consumer; sends copies */
	uint32_t epoch, next; /* sequence of the next message that leaves, or that is delivered */
	uint64_t wanted_ns;   /* since when the consumer has looked for the next one; 0: it does not */
	_Atomic(mr_parker *) sleeper; /* the consumer's, which has slept since the last reset; NULL: it has not */
} link_state;

/* Every request of all channels, and whose it is. Inactive ones are skipped by the library. */
static struct {
	MPI_Request *request;
	struct owner {
		link_state *s;
		uint32_t at;
	} *owner;
	int *done;           /* [room] room for MPI_Testsome */
	size_t n, room;
} table;

/* Messages that have come and that MR_LATE=link:us holds back (base/fault.h), in the order in which they came. */
static struct {
	uint64_t ns; /* for so long */
	struct late {
		link_state *s; /* NULL: its link is closed */
		uint32_t at;
		uint64_t until_ns;
	} *at;       /* [room] a ring */
	size_t first, n, room;
	uint64_t looked_ns; /* when the library was last asked what has come */
} late;

static size_t n_leaving, n_large; /* messages that are to leave; large ones that may come */
static link_state **opened; /* [n_opened] of this rank's ends, in the order of opening: for settling */
static size_t n_opened, room_opened;
static uint32_t next_tag;

static uint32_t rank_from(const mr_channel *c)
{
	return mr_mpi.of_worker[c->kind->first + c->edge.from];
}

static uint32_t rank_to(const mr_channel *c)
{
	return mr_mpi.of_worker[c->kind->first + c->edge.to];
}

/* --- moving messages --- */

/* The type of a message: @head, then @bytes at @data. */
static int make_type(const header *head, const uint8_t *data, size_t bytes, MPI_Datatype *out)
{
	size_t most = mr_mpi_block();
	int n = 1 + (int)((bytes + most - 1) / most), *length = calloc((size_t)n, sizeof(*length));
	MPI_Aint *at = calloc((size_t)n, sizeof(*at));
	int code = length && at ? MPI_SUCCESS : MPI_ERR_NO_MEM;

	if (code == MPI_SUCCESS)
		code = MPI_Get_address(head, &at[0]);
	for (int i = 1; code == MPI_SUCCESS && i < n; i++) {
		size_t from = (size_t)(i - 1) * most;

		if (from)
			MR_FAULT_POINT("mpi.block.link");
		code = MPI_Get_address(data + from, &at[i]);
		length[i] = (int)(bytes - from < most ? bytes - from : most);
	}
	if (code == MPI_SUCCESS) {
		length[0] = sizeof(*head);
		code = MPI_Type_create_hindexed(n, length, at, MPI_BYTE, out);
	}
	if (code == MPI_SUCCESS)
		code = MPI_Type_commit(out);
	free(length);
	free(at);
	return code;
}

/* Send message @m, of a channel whose messages vary. */
static int send_varying(const link_state *s, const message *m, uint8_t side)
{
	const mr_channel *c = s->c;
	size_t at = m->head[side].number % c->n;
	const uint8_t *from = c->from + at * c->from_stride + c->begin[at % 2];
	MPI_Datatype type;
	int code = make_type(&m->head[side], from, m->head[side].length, &type);

	if (code != MPI_SUCCESS)
		return code;
	code = MPI_Isend(MPI_BOTTOM, 1, type, (int)rank_to(c), m->tag, mr_mpi.links, &table.request[m->request[side]]);
	MPI_Type_free(&type);
	return code;
}

/* With the lock: message @m leaves from @side. */
static void leave(link_state *s, message *m, uint8_t side)
{
	int code;

	m->head[side].sequence = s->next++;
	m->head[side].epoch = s->epoch;
	m->under_way = true;
	m->side = side;
	n_leaving++;
	code = s->c->varies ? send_varying(s, m, side) : MPI_Start(&table.request[m->request[side]]);
	if (code != MPI_SUCCESS)
		atomic_store(&mr_mpi.lost, rank_to(s->c));
	atomic_fetch_add_explicit(&mr_mpi.sent, m->head[side].length, memory_order_relaxed);
}

/* With the lock: let the next one come. */
static void await(link_state *s, message *m)
{
	m->armed = true;
	n_large += s->c->bytes >= MR_MESSAGE_LARGE;
	if (MPI_Start(&table.request[m->request[0]]) != MPI_SUCCESS)
		atomic_store(&mr_mpi.lost, rank_from(s->c));
}

static void has_left(link_state *s, message *m)
{
	m->under_way = false;
	n_leaving--;
	if (!m->kept)
		return;
	m->kept = false;
	leave(s, m, !m->side);
}

static void deliver(link_state *s, message *m)
{
	if ((int32_t)(m->head[0].epoch - s->epoch) < 0) {
		await(s, m);
		return;
	}
	m->arrived_ns = mr_mpi_now();
	atomic_store_explicit(&m->arrived, true, memory_order_seq_cst); /* before the look at the sleeper: pause.h */
	mr_channel_wake(s->c);
}

/* With the lock: message @at of @s is held back. It came after the last look, and after it was sent: a wire does not
 * wait for anybody to look. There is room for one of each receive. */
static void hold(link_state *s, uint32_t at)
{
	int64_t on_way = (int64_t)(mr_mpi_now() - s->m[at].head[0].sent_ns);
	uint64_t now = mr_clock_ns(), since = now - (on_way > 0 ? (uint64_t)on_way : 0);

	since = since > late.looked_ns ? since : late.looked_ns;
	late.at[(late.first + late.n++) % late.room] = (struct late){s, at, since + late.ns};
	s->m[at].held = true;
}

/* With the lock. */
static void let_go(void)
{
	uint64_t now = late.n ? mr_clock_ns() : 0;

	for (; late.n && late.at[late.first].until_ns <= now; late.n--) {
		struct late *l = &late.at[late.first];

		late.first = (late.first + 1) % late.room;
		if (!l->s)
			continue;
		l->s->m[l->at].held = false;
		deliver(l->s, &l->s->m[l->at]);
	}
}

static void has_come(link_state *s, uint32_t at)
{
	s->m[at].armed = false;
	n_large -= s->c->bytes >= MR_MESSAGE_LARGE;
	mr_mpi_heard(rank_from(s->c));
	if (late.room)
		hold(s, at);
	else
		deliver(s, &s->m[at]);
}

bool mr_mpi_drive(void)
{
	uint64_t begin = late.room ? mr_clock_ns() : 0;
	int n = 0;

	mr_mpi_look_back();
	let_go();
	if (!table.n || MPI_Testsome((int)table.n, table.request, &n, table.done, MPI_STATUSES_IGNORE) != MPI_SUCCESS ||
	    n == MPI_UNDEFINED)
		return false;
	for (int i = 0; i < n; i++) {
		struct owner *o = &table.owner[table.done[i]];

		if (o->s->sends)
			has_left(o->s, &o->s->m[o->at]);
		else
			has_come(o->s, o->at);
	}
	late.looked_ns = late.room ? begin : 0;
	return n > 0;
}

bool mr_mpi_is_busy(void)
{
	bool busy = n_leaving || n_large || late.n;

	for (size_t i = 0; i < n_opened && !busy; i++) {
		mr_parker *p = opened[i] ? atomic_load(&opened[i]->sleeper) : NULL;

		busy = p && mr_channel_sleeps(opened[i]->c, p);
	}
	return busy;
}

static void post(mr_channel *c, uint64_t number)
{
	link_state *s = c->state;
	uint32_t at = (uint32_t)(number % c->n);
	message *m = &s->m[at];
	uint64_t begin;
	uint8_t side = 0;

	if (!s->sends)
		return;
	begin = mr_mpi_now();
	pthread_mutex_lock(&mr_mpi.lock);
	if (m->under_way)
		mr_mpi_drive();
	if (m->under_way)
		side = !m->side;
	m->head[side].number = number;
	m->head[side].sent_ns = begin;
	m->head[side].length = c->varies ? number >> 32 : c->bytes;
	if (s->stages && c->bytes)
		memcpy(m->copy[side], c->from + at * c->from_stride, c->bytes);
	if (m->under_way)
		m->kept = true;
	else
		leave(s, m, side);
	mr_mpi_times_sent(rank_to(c), m->head[side].length, mr_mpi_now() - begin);
	pthread_mutex_unlock(&mr_mpi.lock);
	if (c->bytes >= MR_MESSAGE_LARGE)
		mr_parker_wake(&mr_mpi.napper);
}

/* With the lock: @m has been taken. Only messages with data are waited for themselves. */
static void note_times(const mr_channel *c, link_state *s, const message *m)
{
	mr_message_time t = {
		.sent_ns = m->head[0].sent_ns,
		.arrived_ns = m->arrived_ns,
		.wanted_ns = c->bytes && c->edge.kind != MR_EDGE_EVENT ? s->wanted_ns : 0,
		.number = m->head[0].number,
		.bytes = m->head[0].length,
		.from = (uint16_t)(c->kind->first + c->edge.from),
		.to = (uint16_t)(c->kind->first + c->edge.to),
		.stage = c->edge.stage,
		.pipe = c->edge.pipe,
		.kind = (uint8_t)c->edge.kind,
	};

	mr_mpi_times_came(rank_from(c), &t);
	s->wanted_ns = 0;
}

/* Message @m, if it is the next one. */
static bool take(mr_channel *c, link_state *s, message *m, uint64_t *number)
{
	if (!atomic_load_explicit(&m->arrived, memory_order_seq_cst) || m->head[0].epoch != s->epoch ||
	    m->head[0].sequence != s->next)
		return false;
	*number = m->head[0].number;
	s->next++;
	atomic_store_explicit(&m->arrived, false, memory_order_relaxed);
	pthread_mutex_lock(&mr_mpi.lock);
	note_times(c, s, m);
	if (!c->on_demand)
		await(s, m); /* nothing is sent before the consumer is done with what came */
	pthread_mutex_unlock(&mr_mpi.lock);
	return true;
}

static bool take_any(mr_channel *c, link_state *s, uint64_t *number)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (take(c, s, &s->m[i], number))
			return true;
	return false;
}

static bool poll_next(mr_channel *c, uint64_t *number)
{
	link_state *s = c->state;

	if (!s->receives)
		return false;
	if (take_any(c, s, number))
		return true;
	if (mr_channel_sleeps(c, c->consumer)) {
		atomic_store(&s->sleeper, c->consumer);
		mr_parker_wake(&mr_mpi.napper);
	}
	if (!s->wanted_ns)
		s->wanted_ns = mr_mpi_now();
	if (atomic_load_explicit(&mr_mpi.thread_waits, memory_order_relaxed) || pthread_mutex_trylock(&mr_mpi.lock))
		return false; /* who has it drives */
	mr_mpi_drive();
	pthread_mutex_unlock(&mr_mpi.lock);
	return take_any(c, s, number);
}

/* --- opening --- */

static bool carries(const mr_link_kind *k, const mr_edge *e)
{
	return mr_mpi.of_worker[k->first + e->from] != mr_mpi.of_worker[k->first + e->to];
}

/* Room for @room messages that are held back, where any is. */
static bool widen_late(size_t room)
{
	struct late *at;

	late.ns = mr_fault_late_ns("link");
	if (!late.ns)
		return true;
	at = calloc(room, sizeof(*at));
	if (!at)
		return false;
	for (size_t i = 0; i < late.n; i++)
		at[i] = late.at[(late.first + i) % late.room];
	free(late.at);
	late.at = at;
	late.first = 0;
	late.room = room;
	return true;
}

static bool grow_table(void)
{
	size_t room = table.room ? 2 * table.room : 256;
	MPI_Request *request = realloc(table.request, room * sizeof(*request));
	struct owner *owner;
	int *done;

	table.request = request ? request : table.request;
	owner = request ? realloc(table.owner, room * sizeof(*owner)) : NULL;
	table.owner = owner ? owner : table.owner;
	done = owner ? realloc(table.done, room * sizeof(*done)) : NULL;
	table.done = done ? done : table.done;
	table.room = done ? room : table.room;
	return done && widen_late(room);
}

/* The request of side @side of the message for number @at modulo n. */
static mr_status make_request(link_state *s, uint32_t at, uint8_t side, int tag)
{
	mr_channel *c = s->c;
	message *m = &s->m[at];
	const uint8_t *data = m->copy[side];
	int peer = (int)(s->sends ? rank_to(c) : rank_from(c)), code;
	MPI_Datatype type;

	if (table.n == table.room && !grow_table())
		return mr_fail(MR_ERESOURCE, "no memory for the messages of a link");
	m->tag = tag;
	m->request[side] = table.n;
	table.owner[table.n] = (struct owner){.s = s, .at = at};
	table.request[table.n++] = MPI_REQUEST_NULL;
	if (s->sends && c->varies)
		return MR_OK;
	if (!data && c->bytes)
		data = s->receives ? c->to + at * c->to_stride : c->from + at * c->from_stride;
	MR_TRY(mr_mpi_check(make_type(&m->head[side], data, c->bytes, &type), "a link cannot be opened"));
	code = s->sends ? MPI_Send_init(MPI_BOTTOM, 1, type, peer, tag, mr_mpi.links, &table.request[m->request[side]])
			: MPI_Recv_init(MPI_BOTTOM, 1, type, peer, tag, mr_mpi.links, &table.request[m->request[side]]);
	MPI_Type_free(&type);
	return mr_mpi_check(code, "a link cannot be opened");
}

static bool sends_copies(const mr_channel *c)
{
	return rank_from(c) == (uint32_t)mr_mpi.self && mr_channel_sends_copies(c);
}

static uint64_t kept(const mr_channel *c)
{
	return sends_copies(c) ? mr_channel_copies_bytes(c) : 0;
}

static mr_status make_copies(link_state *s)
{
	mr_channel *c = s->c;

	for (uint32_t i = 0; s->stages && c->bytes && i < c->n; i++)
		for (int side = 0; side < 2; side++) {
			s->m[i].copy[side] = aligned_alloc(MR_CACHE_LINE, mr_align_up(c->bytes, MR_CACHE_LINE));
			if (!s->m[i].copy[side])
				return mr_fail(MR_ERESOURCE, "no memory for copies of %zu bytes that a link sends",
					       c->bytes);
		}
	return MR_OK;
}

static mr_status make_requests(link_state *s, uint32_t tag)
{
	for (uint32_t i = 0; i < s->c->n; i++)
		for (uint8_t side = 0; side < (s->sends ? 2 : 1); side++)
			MR_TRY(make_request(s, i, side, (int)(tag + i)));
	for (uint32_t i = 0; s->receives && !s->c->on_demand && i < s->c->n; i++)
		await(s, &s->m[i]);
	return MR_OK;
}

/* With the lock. */
static mr_status note_opened(link_state *s)
{
	if (n_opened == room_opened) {
		size_t room = room_opened ? 2 * room_opened : 64;
		link_state **grown = realloc(opened, room * sizeof(*grown));

		if (!grown)
			return mr_fail(MR_ERESOURCE, "no memory for the links of a run");
		opened = grown;
		room_opened = room;
	}
	opened[n_opened++] = s;
	return MR_OK;
}

static mr_status open_link(mr_channel *c)
{
	link_state *s = calloc(1, sizeof(*s));
	uint32_t tag = next_tag;
	mr_status st;

	next_tag += c->n;
	c->state = s;
	if (!s || !(s->m = calloc(c->n, sizeof(*s->m))))
		return mr_fail(MR_ERESOURCE, "no memory for a link");
	if ((uint64_t)tag + c->n > (uint64_t)mr_mpi.most_tag)
		return mr_fail(MR_ERESOURCE, "this MPI has %d tags, and the links of this plan need more",
			       mr_mpi.most_tag);
	s->c = c;
	s->sends = rank_from(c) == (uint32_t)mr_mpi.self;
	s->receives = rank_to(c) == (uint32_t)mr_mpi.self;
	s->stages = sends_copies(c);
	if (!s->sends && !s->receives)
		return MR_OK;
	MR_TRY(make_copies(s));
	pthread_mutex_lock(&mr_mpi.lock);
	st = note_opened(s);
	if (st == MR_OK)
		st = make_requests(s, tag);
	pthread_mutex_unlock(&mr_mpi.lock);
	return st;
}

/* With the lock: take back what is posted of @s; its places in the table stay, empty. */
static void free_requests(link_state *s)
{
	for (size_t i = 0; i < table.n; i++) {
		if (table.owner[i].s != s || table.request[i] == MPI_REQUEST_NULL)
			continue;
		if (s->receives && s->m[table.owner[i].at].armed) {
			n_large -= s->c->bytes >= MR_MESSAGE_LARGE;
			MPI_Cancel(&table.request[i]);
		}
		MPI_Request_free(&table.request[i]);
	}
	for (size_t i = 0; i < late.n; i++) {
		struct late *l = &late.at[(late.first + i) % late.room];

		l->s = l->s == s ? NULL : l->s;
	}
}

static void close_link(mr_channel *c)
{
	link_state *s = c->state;

	if (!s)
		return;
	pthread_mutex_lock(&mr_mpi.lock);
	free_requests(s);
	for (size_t i = 0; i < n_opened; i++)
		if (opened[i] == s)
			opened[i] = NULL;
	for (uint32_t i = 0; s->m && i < c->n; i++)
		n_leaving -= s->m[i].under_way;
	pthread_mutex_unlock(&mr_mpi.lock);
	for (uint32_t i = 0; s->m && i < c->n; i++) {
		free(s->m[i].copy[0]);
		free(s->m[i].copy[1]);
	}
	free(s->m);
	free(s);
	c->state = NULL;
}

static void reset(mr_channel *c)
{
	link_state *s = c->state;

	pthread_mutex_lock(&mr_mpi.lock);
	s->epoch++;
	s->next = 0;
	s->wanted_ns = 0;
	atomic_store(&s->sleeper, NULL);
	for (uint32_t i = 0; s->sends && i < c->n; i++)
		s->m[i].kept = false;
	for (uint32_t i = 0; s->receives && i < c->n; i++) {
		message *m = &s->m[i];

		if (!atomic_load(&m->arrived) || (int32_t)(m->head[0].epoch - s->epoch) >= 0)
			continue;
		atomic_store(&m->arrived, false);
		await(s, m);
	}
	pthread_mutex_unlock(&mr_mpi.lock);
}

static void arm(mr_channel *c)
{
	link_state *s = c->state;

	if (!s->receives)
		return;
	pthread_mutex_lock(&mr_mpi.lock);
	for (uint32_t i = 0; i < c->n; i++)
		if (!s->m[i].armed)
			await(s, &s->m[i]);
	pthread_mutex_unlock(&mr_mpi.lock);
}

const mr_link_kind mr_mpi_kind = {
	.name = "mpi",
	.carries = carries,
	.open = open_link,
	.close = close_link,
	.reset = reset,
	.post = post,
	.poll = poll_next,
	.arm = arm,
	.kept = kept,
};

/* --- settling --- */

/* One after the other, in the order of opening, which all ranks have: a sender never waits for a receiver that waits
 * for another sender, as both come to each channel at the same place of that order. */
mr_status mr_mpi_settle(void)
{
	for (size_t i = 0; i < n_opened; i++) {
		link_state *s = opened[i];
		MPI_Request request;
		uint64_t n;
		int code;

		if (!s)
			continue;
		n = s->c->n_posted;
		pthread_mutex_lock(&mr_mpi.lock);
		code = s->sends ? MPI_Isend(&n, 1, MPI_UINT64_T, (int)rank_to(s->c), 1, mr_mpi.data,
					    &request)
				: MPI_Irecv(&n, 1, MPI_UINT64_T, (int)rank_from(s->c), 1,
					    mr_mpi.data, &request);
		pthread_mutex_unlock(&mr_mpi.lock);
		MR_TRY(mr_mpi_check(code, "links cannot settle"));
		MR_TRY(mr_mpi_wait_for(&request, "links cannot settle"));
		if (s->receives)
			s->c->n_posted = n;
		else
			s->c->n_polled = n; /* nothing comes here */
	}
	return MR_OK;
}

void mr_mpi_links_fini(void)
{
	free(table.request);
	free(table.owner);
	free(table.done);
	free(opened);
	free(late.at);
	memset(&late, 0, sizeof(late));
	memset(&table, 0, sizeof(table));
	opened = NULL;
	n_opened = room_opened = n_leaving = n_large = 0;
	next_tag = 0;
}
