/* What carries boundaries and events between workers: rings, and a kind whose ends share no memory. */
#include "bounded_link.h"
#include "check.h"
#include "link/counter.h"
#include "link/link.h"

enum { BUFFERS = 3, BYTES = 448 };

static const mr_link_kind *const bounded_only[] = {&bounded_link, NULL};

/* A link of BUFFERS buffers of BYTES bytes. */
typedef struct made {
	mr_link h;
	_Alignas(64) uint8_t memory[BUFFERS * BYTES];
	uint8_t state[BUFFERS], arrived[BUFFERS];
	uint32_t slots[2 * 4];
	mr_parker parker[2]; /* the producer's, the consumer's */
} made;

static made *make(const mr_link_kind *kind, bool fifo)
{
	made *m = aligned_alloc(64, sizeof(*m));
	mr_edge e = {.kind = MR_EDGE_FORWARD, .from = 0, .to = 1, .stage = 1};

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	memset(m, 0, sizeof(*m));
	m->h = (mr_link){.n = BUFFERS, .bytes = BYTES, .every = 1, .kind = kind};
	m->h.buffer = m->memory;
	m->h.state = m->state;
	m->h.slots = m->slots;
	m->h.arrived = fifo && mr_link_kind_shares(kind) ? NULL : m->arrived;
	mr_parker_init(&m->parker[0]);
	mr_parker_init(&m->parker[1]);
	MR_CHECK_OK(mr_link_open(&m->h, &e));
	MR_CHECK_OK(mr_link_reset(&m->h, &m->parker[0], &m->parker[1]));
	return m;
}

static void unmake(made *m)
{
	mr_link_close(&m->h);
	free(m);
}

static const mr_link_kind *kind_at(int i)
{
	return i ? &bounded_link : mr_link_kind_at(0);
}

static uint8_t byte_of(uint32_t message, uint32_t i)
{
	return (uint8_t)(message * 31 + i * 7 + message / 256);
}

static void fill(uint8_t *buffer, uint32_t message)
{
	for (uint32_t i = 0; i < BYTES; i++)
		buffer[i] = byte_of(message, i);
}

static bool holds(const uint8_t *buffer, uint32_t message)
{
	for (uint32_t i = 0; i < BYTES; i++)
		if (buffer[i] != byte_of(message, i))
			return false;
	return true;
}

static bool never(const mr_link_kind *k, const mr_edge *e)
{
	(void)k;
	(void)e;
	return false;
}

static bool weights_only(const mr_link_kind *k, const mr_edge *e)
{
	(void)k;
	return e->kind == MR_EDGE_WEIGHTS;
}

static void a_kind_for_each_edge(void)
{
	mr_edge e = {.kind = MR_EDGE_WEIGHTS, .from = 2, .to = 5, .stage = 7};
	mr_link_kind for_weights = {.carries = weights_only}, for_none = {.carries = never};
	const mr_link_kind *kinds[] = {&for_none, &for_weights, &bounded_link, NULL}, *got;

	CU_ASSERT_STRING_EQUAL(mr_link_kind_at(0)->name, "ring");
	CU_ASSERT_PTR_NULL(mr_link_kind_at(1));
	for (int k = 0; k < MR_N_EDGE_KINDS; k++) {
		e.kind = (mr_edge_kind)k;
		MR_CHECK_OK(mr_link_kind_of(NULL, &e, &got));
		CU_ASSERT_PTR_EQUAL(got, mr_link_kind_at(0));
		MR_CHECK_OK(mr_link_kind_of(kinds, &e, &got));
		CU_ASSERT_PTR_EQUAL(got, k == MR_EDGE_WEIGHTS ? &for_weights : &bounded_link);
	}
	kinds[2] = NULL;
	e.kind = MR_EDGE_GRADIENTS;
	MR_CHECK_FAIL(mr_link_kind_of(kinds, &e, &got), MR_ECONFIG,
		      "no kind of link carries the gradients of stage 7 from worker 2 to worker 5");
}

/* Poll until @want is there, as a consumer that spins. */
static uint32_t get(mr_link *h, uint32_t want)
{
	uint32_t got = UINT32_MAX;

	for (int looks = 0; looks < 1000; looks++)
		if (mr_link_get(h, want, &got))
			return got;
	return UINT32_MAX;
}

static bool take(mr_link *h, uint32_t i)
{
	for (int looks = 0; looks < 1000; looks++)
		if (mr_link_take(h, i))
			return true;
	return false;
}

static void buffers_go_round(void)
{
	for (int k = 0; k < 4; k++) {
		made *m = make(kind_at(k / 2), k % 2);

		for (uint32_t message = 0; message < 100; message++) {
			uint32_t i = message % BUFFERS;

			CU_ASSERT_FATAL(take(&m->h, i));
			CU_ASSERT_FALSE(mr_link_take(&m->h, i));
			fill(mr_link_out(&m->h, i), message);
			mr_link_put(&m->h, i);
			CU_ASSERT_EQUAL_FATAL(get(&m->h, i), i);
			CU_ASSERT_TRUE_FATAL(holds(mr_link_buffer(&m->h, i), message));
			mr_link_give_back(&m->h, i);
		}
		CU_ASSERT_EQUAL(m->h.n_used, BUFFERS);
		CU_ASSERT_EQUAL(mr_link_bytes(&m->h), (k / 2 ? 2 : 1) * BUFFERS * BYTES);
		unmake(m);
	}
}

/* Sent 0 1 2, taken 2 0 1, given back 1 2 0. */
static void orders_of_their_own(void)
{
	static const uint32_t taken[] = {2, 0, 1}, back[] = {1, 2, 0};

	for (int k = 0; k < 2; k++) {
		made *m = make(kind_at(k), false);
		uint32_t got;

		for (uint32_t i = 0; i < BUFFERS; i++) {
			CU_ASSERT_TRUE(take(&m->h, i));
			fill(mr_link_out(&m->h, i), 10 + i);
			mr_link_put(&m->h, i);
		}
		for (uint32_t i = 0; i < BUFFERS; i++) {
			CU_ASSERT_EQUAL(get(&m->h, taken[i]), taken[i]);
			CU_ASSERT_FALSE(mr_link_get(&m->h, taken[i], &got));
			CU_ASSERT_TRUE(holds(mr_link_buffer(&m->h, taken[i]), 10 + taken[i]));
		}
		for (uint32_t i = 0; i < BUFFERS; i++) {
			mr_link_give_back(&m->h, back[i]);
			CU_ASSERT_TRUE(take(&m->h, back[i]));
		}
		unmake(m);
	}
}

/* A producer may write what it likes into a buffer of its own: nothing of it shows before it is sent. */
static void nothing_before_it_is_sent(void)
{
	made *m = make(&bounded_link, true);
	uint32_t got;

	CU_ASSERT_TRUE(take(&m->h, 0));
	fill(mr_link_out(&m->h, 0), 1);
	CU_ASSERT_PTR_NOT_EQUAL(mr_link_out(&m->h, 0), mr_link_buffer(&m->h, 0));
	CU_ASSERT_FALSE(holds(mr_link_buffer(&m->h, 0), 1));
	mr_link_put(&m->h, 0);
	CU_ASSERT_FALSE(mr_link_get(&m->h, 0, &got)); /* more bytes than one look moves */
	unmake(m);
}

static void pauses(void)
{
	for (int k = 0; k < 2; k++) {
		made *m = make(kind_at(k), false);

		for (uint32_t i = 0; i < BUFFERS; i++) {
			CU_ASSERT_TRUE(take(&m->h, i));
			fill(mr_link_out(&m->h, i), i);
			mr_link_put(&m->h, i);
		}
		CU_ASSERT_EQUAL(get(&m->h, 1), 1);
		mr_link_give_back(&m->h, 1);
		mr_link_settle(&m->h);
		CU_ASSERT_EQUAL(m->h.state[0], MR_BUFFER_TAKEN);
		CU_ASSERT_EQUAL(m->h.state[1], MR_BUFFER_IDLE);
		if (k)
			CU_ASSERT_TRUE(holds(mr_link_buffer(&m->h, 0), 0) && holds(mr_link_buffer(&m->h, 2), 2));
		CU_ASSERT_EQUAL(get(&m->h, 2), 2);
		MR_CHECK_OK(mr_link_reset(&m->h, &m->parker[0], &m->parker[1]));
		CU_ASSERT_TRUE(m->h.state[0] == MR_BUFFER_IDLE && m->h.n_used == 0);
		mr_link_restore(&m->h, 2);
		CU_ASSERT_EQUAL(m->h.state[2], MR_BUFFER_TAKEN);
		CU_ASSERT_EQUAL(get(&m->h, 2), 2);
		mr_link_give_back(&m->h, 2);
		CU_ASSERT_TRUE(take(&m->h, 2));
		unmake(m);
	}
}

/* --- two threads that sleep --- */

enum { MESSAGES = 3000 };

static void *produce(void *arg)
{
	made *m = arg;
	mr_waiter w;

	mr_waiter_init(&w, &m->parker[0], NULL, 1);
	for (uint32_t message = 0; message < MESSAGES; message++) {
		while (!mr_link_take(&m->h, message % BUFFERS))
			if (mr_waiter_step(&w) != MR_OK)
				return NULL;
		mr_waiter_done(&w);
		fill(mr_link_out(&m->h, message % BUFFERS), message);
		mr_link_put(&m->h, message % BUFFERS);
	}
	return m;
}

static void threads_that_sleep(void)
{
	for (int k = 0; k < 2; k++) {
		made *m = make(kind_at(k), false);
		uint32_t got, n_wrong = 0;
		pthread_t thread;
		void *result;
		mr_waiter w;

		mr_waiter_init(&w, &m->parker[1], NULL, 1);
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, produce, m), 0);
		for (uint32_t message = 0; message < MESSAGES; message++) {
			while (!mr_link_get(&m->h, message % BUFFERS, &got))
				MR_CHECK_OK(mr_waiter_step(&w));
			mr_waiter_done(&w);
			n_wrong += !holds(mr_link_buffer(&m->h, got), message);
			mr_link_give_back(&m->h, got);
		}
		CU_ASSERT_EQUAL(pthread_join(thread, &result), 0);
		CU_ASSERT_PTR_NOT_NULL(result);
		CU_ASSERT_EQUAL(n_wrong, 0);
		unmake(m);
	}
}

/* --- events --- */

static bool across_two(const mr_link_kind *k, const mr_edge *e)
{
	(void)k;
	return e->from / 2 != e->to / 2;
}

/* Looks until @n is seen, a hundred times at most. */
static bool sees(mr_counter *c, uint16_t worker, uint32_t n)
{
	bool seen = false;

	for (int looks = 0; looks < 100 && !seen; looks++)
		seen = mr_counter_reached(c, worker, n);
	return seen;
}

static void counts(void)
{
	mr_link_kind across = bounded_link;
	const mr_link_kind *halves[] = {&across, mr_link_kind_at(0), NULL};
	const mr_link_kind *const *choices[] = {NULL, bounded_only, halves};
	mr_parker parker[4], *parkers[4];

	across.carries = across_two;
	for (int i = 0; i < 4; i++) {
		mr_parker_init(&parker[i]);
		parkers[i] = &parker[i];
	}
	for (int k = 0; k < 3; k++) {
		mr_counter c = {0};
		uint32_t start = UINT32_MAX - 1; /* it wraps */

		MR_CHECK_OK(mr_counter_choose(&c, 3, 4, choices[k]));
		MR_CHECK_OK(mr_counter_open(&c));
		CU_ASSERT_EQUAL(c.end != NULL, k > 0);
		mr_counter_reset(&c, start, parkers, 4, parkers);
		for (uint32_t n = 0; n < 40; n++) {
			uint16_t by = (uint16_t)(n % 4);

			for (uint16_t w = 0; w < 4; w++) {
				CU_ASSERT_TRUE(sees(&c, w, start + n));
				CU_ASSERT_FALSE(sees(&c, w, start + n + 1));
			}
			mr_counter_raise(&c, by, start + n + 1);
			CU_ASSERT_TRUE(mr_counter_reached(&c, by, start + n + 1));
		}
		/* Only the highest count matters: a channel keeps one. */
		for (uint32_t n = 41; n < 60; n++)
			mr_counter_raise(&c, 0, start + n);
		CU_ASSERT_TRUE(sees(&c, 3, start + 59));
		/* A worker told some of the others, and the next one has gone on before it tells the rest. */
		if (c.end) {
			mr_counter_raise(&c, 3, start + 61);
			mr_counter_raise(&c, 2, start + 60);
			for (uint16_t w = 0; w < 4; w++)
				CU_ASSERT_TRUE(sees(&c, w, start + 61));
		}
		mr_counter_reset(&c, 5, parkers, 4, parkers);
		for (uint16_t w = 0; w < 4; w++)
			CU_ASSERT_TRUE(sees(&c, w, 5) && !sees(&c, w, 6));
		mr_counter_close(&c);
	}
}

void mr_suite_link(void)
{
	MR_SUITE("link");
	MR_TEST(a_kind_for_each_edge);
	MR_TEST(buffers_go_round);
	MR_TEST(orders_of_their_own);
	MR_TEST(nothing_before_it_is_sent);
	MR_TEST(pauses);
	MR_TEST(threads_that_sleep);
	MR_TEST(counts);
}
