#include "session/probed_links.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stats.h"
#include "host/clock.h"
#include "host/futex.h"
#include "host/pause.h"
#include "host/pin.h"

enum {
	SMALL = 8,           /* bytes */
	LARGE = 4 << 20,     /* bytes */
	MANY = 64,           /* small messages sent one after the other */
	TURNS = 100,         /* of small messages a round */
	ROUNDS = 5,
	MOST_ROUNDS = 15,    /* where they differ */
	BEHIND = 8,          /* turns from one in which a message is sent to that in which it is got */
	BLOCK = 32,          /* turns that are timed together */
	RECORD = 8,          /* losses of a step */
	CHECK_NS = 20000000, /* between two looks for lost ranks */
	WORK = 5000,         /* turns of a loop of some cycles: a unit of work */
	WORKS = 1000,
};
#define SPARE 0.02       /* s of work behind messages */
#define MOST_LOOK 0.5    /* beyond that somebody else has the core */
#define DISTURBED 0.1    /* distance of the quartiles from the median beyond which rounds differ */
#define IDLE_RATE 1e15   /* bandwidth inside a host with one rank: nothing goes there */

/* Two channels between a pair of ranks, of as many messages and bytes. */
typedef struct lane {
	mr_ranks *r;
	mr_channel there, back;
	uint64_t number[2]; /* of the next message that this rank sends, or gets */
	uint32_t peer;
	bool first, plays;  /* this rank begins; it is one of the two */
	uint8_t *memory;    /* of both */
	mr_parker parker;   /* of this rank's end */
} lane;

/* --- a pair of channels --- */

static mr_status open_one(lane *l, uint16_t from, uint16_t to, uint32_t n, size_t bytes, uint8_t *at, mr_channel *c)
{
	mr_status st;

	*c = (mr_channel){.kind = l->r->by->kind,
			  .edge = {.kind = MR_EDGE_FORWARD, .from = from, .to = to, .stage = 1},
			  .n = n,
			  .bytes = bytes,
			  .from_stride = bytes,
			  .to_stride = bytes,
			  .from = at,
			  .to = at};
	st = mr_channel_open(c);
	c->consumer = &l->parker;
	return st;
}

static void put(mr_channel *c, uint64_t *number)
{
	mr_channel_post(c, (*number)++);
}

/* As a worker waits: as many looks as of one that has a core to itself, which take longer where each asks the library,
 * then it sleeps until the thread that moves messages wakes it. */
static mr_status get(lane *l, mr_channel *c)
{
	mr_waiter w;
	uint64_t number;

	mr_waiter_init(&w, NULL, NULL, mr_pause_spins(MR_PAUSE_OWN_NS));
	while (!mr_channel_poll(c, &number)) {
		if (w.n_spun < w.spin) {
			MR_TRY(mr_waiter_step(&w));
			continue;
		}
		atomic_store(&l->parker.asleep, 1);
		if (mr_channel_poll(c, &number))
			break;
		mr_futex_wait_for(&l->parker.asleep, 1, CHECK_NS);
		MR_TRY(mr_ranks_check(l->r));
		w.n_spun = 0;
	}
	atomic_store(&l->parker.asleep, 0);
	return MR_OK;
}

/* Both ranks have got all that was sent: only then may the memory of messages go. */
static mr_status finish(const lane *l)
{
	uint8_t byte = 0;

	if (l->first)
		MR_TRY(l->r->by->send(l->peer, &byte, 1));
	MR_TRY(l->r->by->receive(l->peer, &byte, 1));
	return l->first ? MR_OK : l->r->by->send(l->peer, &byte, 1);
}

/* --- what is timed --- */

/* @n messages there, and one back. */
static mr_status turn(lane *l, uint32_t n)
{
	if (!l->first)
		for (uint32_t i = 0; i < n; i++)
			MR_TRY(get(l, &l->there));
	if (!l->first)
		put(&l->back, &l->number[1]);
	if (l->first)
		for (uint32_t i = 0; i < n; i++)
			put(&l->there, &l->number[0]);
	return l->first ? get(l, &l->back) : MR_OK;
}

/* One message each way at once. */
static mr_status turn_both(lane *l)
{
	put(l->first ? &l->there : &l->back, &l->number[!l->first]);
	return get(l, l->first ? &l->back : &l->there);
}

/* The median time of @turns turns of @n messages; 0: of one each way at once. */
static mr_status round_of(lane *l, uint32_t turns, uint32_t n, double *out)
{
	double t[TURNS];

	for (uint32_t i = 0; i < turns; i++) {
		uint64_t begin = mr_clock_ns();

		MR_TRY(n ? turn(l, n) : turn_both(l));
		t[i] = (double)(mr_clock_ns() - begin) / 1e9;
	}
	*out = mr_median(t, turns);
	return MR_OK;
}

/* The median of rounds; more of them where they differ, which the first rank decides and tells the other. */
static mr_status rounds_of(lane *l, uint32_t turns, uint32_t n, double *out, double *spread)
{
	double all[MOST_ROUNDS], sorted[MOST_ROUNDS];
	uint32_t k = 0;
	uint8_t more = 1;

	while (more) {
		MR_TRY(round_of(l, turns, n, &all[k++]));
		memcpy(sorted, all, k * sizeof(*all));
		mr_sort_f64(sorted, k);
		*out = mr_quantile(sorted, k, 0.5);
		*spread = (*out - mr_quantile(sorted, k, 0.25)) / *out;
		more = k < ROUNDS || (k < MOST_ROUNDS && *spread > DISTURBED);
		MR_TRY(l->first ? l->r->by->send(l->peer, &more, 1) : l->r->by->receive(l->peer, &more, 1));
	}
	return MR_OK;
}

/* Open a lane of @n messages of @bytes from @a to @b, and as many back. All ranks open the channels. */
static mr_status open_lane(lane *l, mr_ranks *r, uint16_t a, uint16_t b, size_t bytes, uint32_t n)
{
	*l = (lane){.r = r, .first = r->self == a, .plays = r->self == a || r->self == b};
	l->peer = l->first ? b : a;
	l->memory = calloc(2 * n, bytes);
	if (!l->memory)
		return mr_fail(MR_ERESOURCE, "no memory for messages of %zu bytes", bytes);
	MR_TRY(open_one(l, a, b, n, bytes, l->memory, &l->there));
	return open_one(l, b, a, n, bytes, l->memory + n * bytes, &l->back);
}

static void close_lane(lane *l)
{
	mr_channel_close(&l->there);
	mr_channel_close(&l->back);
	free(l->memory);
}

/* Time turns of as many messages of @bytes between @a and @b; @n is 0: of one each way at once. */
static mr_status play(mr_ranks *r, uint16_t a, uint16_t b, size_t bytes, uint32_t n, double *out, double *spread)
{
	double own = 0;
	mr_status st;
	lane l;

	*out = 0;
	st = open_lane(&l, r, a, b, bytes, n ? n : 1);
	if (st == MR_OK && l.plays)
		st = rounds_of(&l, bytes > SMALL ? ROUNDS : TURNS, n, out, &own);
	if (st == MR_OK && l.plays)
		st = finish(&l);
	*spread = fmax(*spread, own);
	close_lane(&l);
	return st;
}

/* --- what messages take of a core --- */

/* Some work of about ten microseconds, for a core alone: each turn needs the one before it. */
static void work(void)
{
	volatile uint64_t x = 88172645463325252u;

	for (int i = 0; i < WORK; i++)
		x ^= x << 13;
}

/* What `work` takes undisturbed. */
static double time_work(void)
{
	static double t[WORKS];

	for (int i = 0; i < WORKS; i++) {
		uint64_t begin = mr_clock_ns();

		work();
		t[i] = (double)(mr_clock_ns() - begin) / 1e9;
	}
	mr_sort_f64(t, WORKS);
	return mr_quantile(t, WORKS, 0.05);
}

/* Work for @seconds, where a unit takes @each; the seconds that it was longer. */
static double lost_in(double seconds, double each, uint64_t begin)
{
	double n = ceil(seconds / each);

	for (double i = 0; i < n; i++)
		work();
	return (double)(mr_clock_ns() - begin) / 1e9 - n * each;
}

/* Seconds of a core that threads of this process have had beside the calling one. */
static double cpu_beside(void)
{
	struct timespec all = {0}, own = {0};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
	return (double)(all.tv_sec - own.tv_sec) + (double)(all.tv_nsec - own.tv_nsec) / 1e9;
}

/* Both ranks of @l compute for @seconds, while no message goes, and if @message while one does. *@none: the share of
 * its core that each loses to looking for messages, by CPU clocks: the time of work would also tell whether the other
 * rank computes, where both share a core. *@more: the seconds that it loses to the message. Medians. */
static mr_status lost_to(lane *l, double seconds, bool message, double *none, double *more)
{
	double extra[MOST_ROUNDS], share[MOST_ROUNDS], lost[2] = {0}, each = time_work();
	uint8_t byte = 0;

	for (int k = 0; k < MOST_ROUNDS; k++) {
		for (int n = 0; n < 1 + message; n++) {
			double beside;
			uint64_t begin;

			MR_TRY(l->first ? l->r->by->receive(l->peer, &byte, 1) : l->r->by->send(l->peer, &byte, 1));
			begin = mr_clock_ns();
			beside = cpu_beside();
			if (l->first && n)
				put(&l->there, &l->number[0]);
			lost[n] = lost_in(seconds, each, begin);
			if (!n)
				share[k] = (cpu_beside() - beside) * 1e9 / (double)(mr_clock_ns() - begin);
			if (!l->first && n)
				MR_TRY(get(l, &l->there));
		}
		extra[k] = lost[1] - lost[0];
	}
	*none = fmin(fmax(0, mr_median(share, MOST_ROUNDS)), MOST_LOOK);
	*more = fmax(0, mr_median(extra, MOST_ROUNDS));
	return MR_OK;
}

/* What a worker's instruction leaves of the caches: weights have gone through them. */
static void compute_coldly(uint8_t *weights)
{
	for (size_t i = 0; i < LARGE; i += 64)
		weights[i]++;
}

/* The losses of this rank: the share of a core that looking for messages takes, and where large ones may come; to a
 * large message from the first rank to the other, to a small one each way, and of these to the call that sends; to a
 * record of a step that the other tells. */
typedef struct losses {
	double look, watch, large, both, send, record;
} losses;

/* The thread of a training beside its workers, which looks for notes and moves the records of steps. */
typedef struct teller {
	const mr_ranks *r;
	uint32_t peer;
	_Atomic uint32_t due, heard; /* records that the worker has made; that have come */
	_Atomic bool ends, has_failed;
	pthread_t thread;
} teller;

static mr_status move_records(teller *t, uint32_t *told)
{
	double losses_of_step[RECORD] = {0};
	bool is_there = true;
	mr_note n = {0};

	for (; *told < atomic_load(&t->due); ++*told) {
		MR_TRY(t->r->by->tell(t->peer, &n));
		MR_TRY(t->r->by->send(t->peer, losses_of_step, sizeof(losses_of_step)));
	}
	while (is_there) {
		MR_TRY(t->r->by->hear(t->peer, &n, &is_there));
		if (!is_there)
			return MR_OK;
		MR_TRY(t->r->by->receive(t->peer, losses_of_step, sizeof(losses_of_step)));
		atomic_fetch_add(&t->heard, 1);
	}
	return MR_OK;
}

static void *tell(void *arg)
{
	uint32_t told = 0;
	teller *t = arg;

	while (!atomic_load(&t->ends) && !atomic_load(&t->has_failed)) {
		nanosleep(&(struct timespec){.tv_nsec = MR_RANKS_LOOK_NS}, NULL);
		if (move_records(t, &told) != MR_OK)
			atomic_store(&t->has_failed, true);
	}
	return NULL;
}

/* All records of the other rank are here, and it knows. */
static mr_status hear_all(const lane *l, teller *t, uint32_t n)
{
	uint8_t byte = 0;

	if (!l->first)
		return l->r->by->receive(l->peer, &byte, 1);
	while (atomic_load(&t->heard) < n) {
		nanosleep(&(struct timespec){.tv_nsec = MR_RANKS_LOOK_NS}, NULL);
		MR_TRY(mr_ranks_check(l->r));
		if (atomic_load(&t->has_failed))
			return mr_fail(MR_EIO, "records of steps do not come");
	}
	return l->r->by->send(l->peer, &byte, 1);
}

typedef enum sort { NOTHING, MESSAGES, RECORDS, N_SORTS } sort;

/* How a worker's turns are: @n times it computes on @weights. */
typedef struct turns {
	uint8_t *weights;
	uint32_t n;
	teller *teller;
} turns;

/* Seconds of a turn of BLOCK, in each of which a worker sends a message, computes and gets the one that its peer sent
 * BEHIND turns before; or tells a record; or computes alone. *@call: those of sending alone. */
static mr_status time_block(lane *l, const turns *t, sort of, double *each, double *call)
{
	uint64_t begin = 0, end = 0, sends = 0;

	for (uint32_t i = 0; i < BLOCK + 2 * BEHIND; i++) {
		uint64_t now = mr_clock_ns();

		begin = i == BEHIND ? now : begin;
		end = i == BEHIND + BLOCK ? now : end;
		if (of == MESSAGES && i < BLOCK + BEHIND) {
			put(l->first ? &l->there : &l->back, &l->number[!l->first]);
			sends += mr_clock_ns() - now;
		}
		for (uint32_t k = 0; k < t->n; k++)
			compute_coldly(t->weights);
		if (of == MESSAGES && i >= BEHIND)
			MR_TRY(get(l, l->first ? &l->back : &l->there));
		if (of == RECORDS && i < BLOCK + BEHIND && !l->first)
			atomic_fetch_add(&t->teller->due, 1);
	}
	*each = (double)(end - begin) / 1e9 / BLOCK;
	*call = (double)sends / 1e9 / (BLOCK + BEHIND);
	return MR_OK;
}

/* What messages and records take of a worker, between instructions that leave nothing of the library in the caches. */
static mr_status time_turns(lane *l, const turns *t, losses *out)
{
	double both[MOST_ROUNDS], record[MOST_ROUNDS], send[MOST_ROUNDS], each[N_SORTS], call[N_SORTS];

	for (uint32_t k = 0; k < MOST_ROUNDS; k++) {
		for (sort i = NOTHING; i < N_SORTS; i++)
			MR_TRY(time_block(l, t, i, &each[i], &call[i]));
		MR_TRY(hear_all(l, t->teller, (k + 1) * (BLOCK + BEHIND)));
		both[k] = each[MESSAGES] - each[NOTHING];
		record[k] = each[RECORDS] - each[NOTHING];
		send[k] = call[MESSAGES];
	}
	out->both = fmax(0, mr_median(both, MOST_ROUNDS));
	out->record = fmax(0, mr_median(record, MOST_ROUNDS));
	out->send = mr_median(send, MOST_ROUNDS);
	return MR_OK;
}

/* Turns as long as messages need, which take @until until they are there. */
static mr_status lose_small(lane *l, teller *beside, double until, losses *out)
{
	turns t = {.weights = calloc(1, LARGE), .teller = beside};
	mr_status st = MR_OK;
	uint64_t begin;

	if (!t.weights)
		return mr_fail(MR_ERESOURCE, "no memory for %d bytes", LARGE);
	compute_coldly(t.weights); /* its pages come */
	begin = mr_clock_ns();
	compute_coldly(t.weights);
	t.n = 1 + (uint32_t)(2e9 * until / BEHIND / (double)(mr_clock_ns() - begin));
	if (l->first) /* as many for both */
		st = l->r->by->send(l->peer, &t.n, sizeof(t.n));
	else
		st = l->r->by->receive(l->peer, &t.n, sizeof(t.n));
	if (st == MR_OK)
		st = time_turns(l, &t, out);
	free(t.weights);
	return st;
}

static mr_status lose(mr_ranks *r, uint16_t a, uint16_t b, double small, double large, losses *out)
{
	teller t = {.r = r, .peer = r->self == a ? b : a};
	bool plays = r->self == a || r->self == b;
	mr_status st = MR_OK;
	lane l;

	*out = (losses){0};
	if (plays && pthread_create(&t.thread, NULL, tell, &t))
		return mr_fail(MR_ERESOURCE, "a thread for records cannot be started");
	for (int k = 0; k < 2 && st == MR_OK; k++) {
		st = open_lane(&l, r, a, b, k ? LARGE : SMALL, k ? 2 : 2 * BEHIND + 2); /* a peer may be ahead */
		if (st == MR_OK && l.plays)
			st = lost_to(&l, SPARE + k * 1.5 * large, k, k ? &out->watch : &out->look, &out->large);
		if (st == MR_OK && l.plays && !k)
			st = lose_small(&l, &t, small, out);
		if (st == MR_OK && l.plays)
			st = finish(&l);
		close_lane(&l);
	}
	atomic_store(&t.ends, true);
	if (plays)
		pthread_join(t.thread, NULL);
	return st;
}

/* --- all pairs --- */

/* Nobody goes on before all are here. */
static mr_status meet(mr_ranks *r)
{
	uint8_t byte = 0;

	for (uint32_t i = 1; i < r->n && !r->self; i++)
		MR_TRY(r->by->receive(i, &byte, 1));
	for (uint32_t i = 1; i < r->n && !r->self; i++)
		MR_TRY(r->by->send(i, &byte, 1));
	if (r->self)
		MR_TRY(r->by->send(0, &byte, 1));
	return r->self ? r->by->receive(0, &byte, 1) : MR_OK;
}

typedef struct figures {
	mr_link_cost cost;
	double spread;
} figures;

/* A core for this rank and the thread that moves its messages, until the process ends. */
static void share_core(const mr_ranks *r)
{
	uint32_t cpu = (uint32_t)strtoul(r->at[r->self].cpus, NULL, 10);

	(void)mr_pin(&cpu, 1);
	r->by->keep_to(cpu);
}

/* What messages from @a to @b take of cores, into @f of rank @a, which has what they take of the link. */
static mr_status measure_cores(mr_ranks *r, uint16_t a, uint16_t b, figures *f)
{
	const mr_link_cost *c = &f->cost;
	double until[2] = {c->message + c->latency, c->byte_s * LARGE + c->latency};
	losses own, other = {0};

	if (r->self == a)
		MR_TRY(r->by->send(b, until, sizeof(until)));
	if (r->self == b)
		MR_TRY(r->by->receive(a, until, sizeof(until)));
	MR_TRY(lose(r, a, b, until[0], until[1], &own));
	if (r->self == b)
		MR_TRY(r->by->send(a, &own, sizeof(own)));
	if (r->self == a)
		MR_TRY(r->by->receive(b, &other, sizeof(other)));
	f->cost.send = (own.send + other.send) / 2;
	f->cost.send_s = fmax(0, own.large - f->cost.send) / LARGE;
	f->cost.get = fmax(0, (own.both + other.both) / 2 - f->cost.send);
	f->cost.get_s = fmax(0, other.large - f->cost.get) / LARGE;
	f->cost.hear = own.record;
	f->cost.tell = other.record;
	f->cost.look = fmax(own.look, other.look);
	f->cost.watch = fmax(own.watch, other.watch);
	return MR_OK;
}

/* Of the pair of ranks @a and @b; @cores: what its messages take of these, too. */
static mr_status measure(mr_ranks *r, uint16_t a, uint16_t b, bool cores, figures *f)
{
	double small, many, large, both;

	if (cores) {
		MR_TRY(measure_cores(r, a, b, f));
	} else {
		*f = (figures){0};
		MR_TRY(play(r, a, b, SMALL, 1, &small, &f->spread));
		MR_TRY(play(r, a, b, SMALL, MANY, &many, &f->spread));
		MR_TRY(play(r, a, b, LARGE, 1, &large, &f->spread));
		MR_TRY(play(r, a, b, LARGE, 0, &both, &f->spread));
		f->cost.message = fmin(fmax((many - small) / (MANY - 1), 0), small / 2);
		f->cost.latency = small / 2 - f->cost.message;
		f->cost.byte_s = fmax((large - small) / 2 / LARGE, 1 / IDLE_RATE);
		f->cost.both_s = fmax((both - small / 2) / LARGE, f->cost.byte_s);
	}
	MR_TRY(meet(r));
	if (a && r->self == a)
		MR_TRY(r->by->send(0, f, sizeof(*f)));
	return a && !r->self ? r->by->receive(a, f, sizeof(*f)) : MR_OK;
}

/* The @nth rank of @host, from 0; MR_LINKS_MOST: it has fewer ranks. */
static uint16_t rank_on(const mr_link_costs *l, uint16_t host, uint16_t nth)
{
	for (uint16_t i = 0; i < l->n_ranks; i++)
		if (l->host[i] == host && !nth--)
			return i;
	return MR_LINKS_MOST;
}

static mr_status find_hosts(const mr_ranks *r, mr_link_costs *out)
{
	uint16_t host[MR_LINKS_MOST], n = 0;
	mr_strbuf names = {0};

	if (r->n > MR_LINKS_MOST)
		return mr_fail(MR_EUSAGE, "links between at most %d ranks are measured, and there are %u",
			       MR_LINKS_MOST, r->n);
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t k = 0;

		while (strcmp(r->at[k].host, r->at[i].host) != 0)
			k++;
		host[i] = k < i ? host[k] : n++;
		if (k == i)
			mr_strbuf_printf(&names, "%s%s", i ? " " : "", r->at[i].host);
	}
	MR_TRY(mr_link_costs_alloc(n, (uint16_t)r->n, out));
	memcpy(out->host, host, r->n * sizeof(*host));
	free(out->names);
	out->names = mr_strbuf_take(&names);
	return out->names ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the names of hosts");
}

/* Of all pairs of hosts; @cores: between hosts, what their messages take of cores, too. */
static mr_status measure_all(mr_ranks *r, bool cores, mr_link_costs *out)
{
	for (uint16_t i = 0; i < out->n_hosts; i++)
		for (uint16_t j = cores ? (uint16_t)(i + 1) : i; j < out->n_hosts; j++) {
			uint16_t a = rank_on(out, i, 0), b = rank_on(out, j, i == j);
			mr_link_cost *c = &out->link[i * out->n_hosts + j];
			figures f = {.cost = {.byte_s = 1 / IDLE_RATE}};

			if (cores)
				f.cost = *c;
			if (b != MR_LINKS_MOST)
				MR_TRY(measure(r, a, b, cores, &f));
			*c = out->link[j * out->n_hosts + i] = f.cost;
			out->spread = fmax(out->spread, f.spread);
		}
	return MR_OK;
}

mr_status mr_links_probe(mr_ranks *r, mr_link_costs *out)
{
	*out = (mr_link_costs){0};
	MR_TRY(mr_ranks_own(r, (uint16_t)r->n, ""));
	MR_TRY(find_hosts(r, out));
	MR_TRY(measure_all(r, false, out));
	share_core(r);
	return measure_all(r, true, out);
}
