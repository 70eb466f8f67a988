/* Pipelines and data parallel training over hosts, against closed forms; and laws on recorded plans. */
#include <math.h>

#include "check.h"
#include "golden_files.h"
#include "ir/plan_json.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "sched_help.h"
#include "timing/stream.h"
#include "timing/walk.h"

enum { MOST = 64 };

/* Each worker a rank on a host of its own, all links alike; stages alike. */
typedef struct cluster {
	uint16_t rank[MOST];
	mr_link_cost link[MOST * MOST];
	mr_stage_sends sends[MOST];
	mr_stage_cost time[MOST], none[MOST];
	uint16_t node[MOST];
	mr_hosts hosts;
	mr_sharing sharing;
	mr_cost cost;
} cluster;

static void fill(cluster *c, const mr_plan *p, mr_link_cost link, mr_stage_sends sends, mr_stage_cost time)
{
	uint16_t n = p->n_workers;

	CU_ASSERT_FATAL(n <= MOST && p->n_stages <= MOST);
	*c = (cluster){.hosts = {.n_ranks = n, .n_hosts = n}};
	for (uint16_t i = 0; i < n; i++)
		c->rank[i] = i;
	for (uint32_t i = 0; i < (uint32_t)n * n; i++)
		c->link[i] = link;
	for (uint16_t s = 0; s < p->n_stages; s++) {
		c->sends[s] = sends;
		c->time[s] = time;
	}
	c->hosts.rank = c->hosts.host = c->rank;
	c->hosts.link = c->link;
	c->hosts.sends = c->sends;
	c->cost = (mr_cost){p->n_stages, c->time};
	c->sharing = (mr_sharing){.node = c->node, .n_nodes = 1, .memory = {p->n_stages, c->none},
				  .link = {p->n_stages, c->none}, .hosts = &c->hosts};
}

static mr_walk *walk(const mr_plan *p, const cluster *c, uint32_t n_bodies)
{
	mr_walk_opts opts = {.sharing = &c->sharing, .unlimited = true};
	mr_walk *k = NULL;

	MR_CHECK_OK(mr_plan_walk(p, &c->cost, n_bodies, &opts, &k));
	return k;
}

static double makespan(const mr_plan *p, const cluster *c, uint32_t n_bodies)
{
	mr_walk *k = walk(p, c, n_bodies);
	double t = k->makespan;

	mr_walk_destroy(k);
	return t;
}

static mr_plan *plan_of(const char *system, uint16_t d, uint32_t t, const char *sets)
{
	return sched_lowered(
		&(sched_case){.ops = mr_schedule_find(system), .n_workers = d, .n_micro = t, .sets = sets});
}

/* A link alone: F that enter a stage come max(f, x) apart where each takes the link for x; the first comes x + L late.
 * Backward likewise. */
static void gpipe_fills_a_link(void)
{
	for (uint32_t t = 1; t <= 5; t += 2)
		for (int i = 0; i < 4; i++) {
			double x = 0.5 * i, f = 1, b = 2, latency = 0.25 * i;
			mr_plan *p = plan_of("gpipe", 2, t, NULL);
			cluster c;

			fill(&c, p, (mr_link_cost){.latency = latency, .byte_s = 0.1},
			     (mr_stage_sends){.forward = 10 * x, .backward = 10 * x},
			     (mr_stage_cost){.f = f, .i = b, .w = 0});
			CU_ASSERT_DOUBLE_EQUAL(makespan(p, &c, 1),
					       2 * (f + b) + 2 * (x + latency) +
						       (t - 1) * (fmax(f, x) + fmax(b, x)),
					       1e-9);
			mr_plan_destroy(p);
		}
}

/* gpipe over D hosts: each latency once on the way down and once on the way back. 1f1b has D in flight: on two hosts
 * the last worker waits for two latencies after every second micro-batch. */
static void latency_of_flushing_pipelines(void)
{
	for (uint16_t d = 1; d <= 5; d++)
		for (uint32_t t = 1; t <= 7; t++) {
			double f = 1, b = 2, latency = 0.75;
			mr_plan *g = plan_of("gpipe", d, t, NULL), *p = plan_of("1f1b", d, t, NULL);
			cluster c;

			fill(&c, g, (mr_link_cost){.latency = latency}, (mr_stage_sends){.forward = 1, .backward = 1},
			     (mr_stage_cost){.f = f, .i = 1, .w = 1});
			CU_ASSERT_DOUBLE_EQUAL(makespan(g, &c, 1), (t + d - 1) * (f + b) + 2 * (d - 1) * latency, 1e-9);
			fill(&c, p, (mr_link_cost){.latency = latency}, (mr_stage_sends){.forward = 1, .backward = 1},
			     (mr_stage_cost){.f = f, .i = 1, .w = 1});
			if (t <= 2 || d == 2)
				CU_ASSERT_DOUBLE_EQUAL(makespan(p, &c, 1),
						       (t + d - 1) * (f + b) +
							       2 * latency * (d == 2 ? (t + 1) / 2 : d - 1u),
						       1e-9);
			mr_plan_destroy(g);
			mr_plan_destroy(p);
		}
}

/* K micro-batches in flight at stage 0 take D (f + b) + 2 (D - 1) L to the last stage and back, where no stage lets one
 * wait: with one a worker in flight, K = D, each latency costs. On two hosts order = greedy with K = 4 hides it: a
 * micro-batch takes f + b where no latency is above f + b. */
static void pipedream_hides_latency(void)
{
	static const double latency[] = {0, 0.5, 1, 1.5, 2, 5};

	for (uint32_t n = 0; n < 3; n++)
		for (int i = 0; i < 6; i++) {
			uint16_t d = n < 2 ? 2 : 4;
			uint32_t k = n ? 4 : 2;
			double one = 3, want = fmax(one, (d * one + 2 * (d - 1) * latency[i]) / k);
			char sets[32];
			mr_plan *p;
			mr_walk *w;
			cluster c;

			snprintf(sets, sizeof(sets), "order=%s noam=%u", n < 2 ? "greedy" : "static", k);
			p = plan_of("pipedream", d, 1, sets);
			fill(&c, p, (mr_link_cost){.latency = latency[i]},
			     (mr_stage_sends){.forward = 1, .backward = 1}, (mr_stage_cost){.f = 1, .i = 1, .w = 1});
			w = walk(p, &c, 4);
			if (fabs(w->period - want) > 1e-9)
				fprintf(stderr, "\nD=%u K=%u L=%g: period %g, expected %g\n", d, k, latency[i],
					w->period, want);
			CU_ASSERT_DOUBLE_EQUAL(w->period, want, 1e-9);
			if (latency[i] <= (k - d) * one / 2 && d == 2)
				CU_ASSERT_DOUBLE_EQUAL(w->period, one, 1e-9);
			mr_walk_destroy(w);
			mr_plan_destroy(p);
		}
}

/* @c lowered for workers on hosts of their own, or on one. */
static mr_plan *lowered_for(const sched_case *c, bool apart)
{
	mr_plan *p = sched_emit(c);
	uint16_t host[MOST];

	for (uint16_t w = 0; w < MOST; w++)
		host[w] = w;
	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.host = apart ? host : NULL}));
	MR_CHECK_OK(mr_plan_check(p));
	return p;
}

/* @n iterations of @p over links of @latency, with its boundary buffers or as if they were without limit. */
static double with_buffers(const mr_plan *p, double latency, uint32_t n, bool unlimited)
{
	mr_walk_opts opts = {.unlimited = unlimited, .no_period = true};
	mr_walk *k;
	cluster c;
	double t;

	fill(&c, p, (mr_link_cost){.latency = latency}, (mr_stage_sends){.forward = 1, .backward = 1},
	     (mr_stage_cost){.f = 1, .i = 1, .w = 0.5});
	opts.sharing = &c.sharing;
	MR_CHECK_OK(mr_plan_walk(p, &c.cost, n, &opts, &k));
	t = k->makespan;
	mr_walk_destroy(k);
	return t;
}

/* A buffer comes back a latency after it was read. Between hosts there are enough of them that no worker waits for one,
 * whatever the latency; on one host there are not. */
static void buffers_come_back_in_time(void)
{
	static const struct {
		const char *name, *sets;
	} systems[] = {
		{"gpipe", NULL}, {"1f1b", NULL}, {"dapple", NULL}, {"interleaved", NULL}, {"chimera", NULL},
		{"pipedream_2bw", NULL}, {"pipedream", NULL}, {"pipedream", "noam=9"},
		{"pipedream", "vertical_sync=true"}, {"pipedream", "order=greedy noam=8"},
	};
	uint32_t n_waits = 0;

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		for (uint16_t d = 2; d <= 4; d += 2)
			for (int l = 0; l < 4; l++) {
				const mr_sched_ops *ops = mr_schedule_find(systems[i].name);
				sched_case c = {.ops = ops, .n_workers = d, .n_micro = ops->asynchronous ? 1 : 8,
						.sets = systems[i].sets};
				double latency = l * l * 1.5, want;
				mr_plan *p;

				c.n_micro = !strcmp(systems[i].name, "pipedream_2bw") ? d : c.n_micro;
				p = lowered_for(&c, true);
				want = with_buffers(p, latency, 24, true);
				CU_ASSERT_DOUBLE_EQUAL(with_buffers(p, latency, 24, false), want, 1e-9 * want);
				mr_plan_destroy(p);
				p = lowered_for(&c, false);
				n_waits += with_buffers(p, latency, 24, false) > want * 1.01;
				mr_plan_destroy(p);
			}
	CU_ASSERT(n_waits > 10);
}

/* pipedream with K in flight, of D workers on hosts in equal stretches, whose links have @latency: its period. */
static double period_of(uint16_t d, uint16_t n_hosts, uint32_t k, double latency)
{
	mr_values *v = sched_values(&(sched_case){.ops = mr_schedule_find("pipedream"), .sets = ""});
	mr_sched_args args = {.n_workers = d, .n_micro = 1, .options = v};
	uint16_t host[MOST];
	mr_walk *w;
	mr_plan *p;
	cluster c;
	double t;

	for (uint16_t i = 0; i < d; i++)
		host[i] = (uint16_t)(i * n_hosts / d);
	args.host = host;
	MR_CHECK_OK(mr_values_set_int(v, "noam", k));
	MR_CHECK_OK(mr_schedule_emit(mr_schedule_find("pipedream"), &args, &p));
	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.host = host}));
	MR_CHECK_OK(mr_plan_check(p));
	CU_ASSERT_EQUAL(p->n_slots[0], k);
	CU_ASSERT_EQUAL(p->n_slots[d - 1], 1);
	fill(&c, p, (mr_link_cost){.latency = latency}, (mr_stage_sends){.forward = 1, .backward = 1},
	     (mr_stage_cost){.f = 1, .i = 1, .w = 1});
	memcpy(c.rank, host, sizeof(host));
	c.hosts.n_ranks = c.hosts.n_hosts = n_hosts;
	MR_CHECK_OK(mr_plan_walk(p, &c.cost, 4, &(mr_walk_opts){.sharing = &c.sharing}, &w));
	t = w->period;
	mr_walk_destroy(w);
	mr_plan_destroy(p);
	mr_values_destroy(v);
	return t;
}

/* Way that a micro-batch makes from stage @j to stage @k and back, by those in flight on it: the longest of all, of
 * stages of 3, for run-aheads @ahead and @cross boundaries between hosts behind each stage. */
static double slowest_way(uint16_t d, const uint32_t *ahead, const uint32_t *cross, double latency)
{
	double most = 3;

	for (uint16_t j = 0; j < d; j++)
		for (uint16_t k = (uint16_t)(j + 1); k < d; k++)
			most = fmax(most, (3 * (k - j + 1) + 2 * latency * (cross[j] - cross[k])) /
						  (ahead[j] - ahead[k] + 1));
	return most;
}

/* Those beyond one a worker are on the way between hosts: each boundary there has e more, and hides 2 L <= e (f + b),
 * where buffers are enough. With long latencies they come in bursts, and a period is that of whole ones. */
static void more_in_flight_hide_latency(void)
{
	for (uint16_t d = 2; d <= 6; d++)
		for (uint16_t hosts = 2; hosts <= d; hosts++)
			for (uint32_t k = d; k <= d + 7u; k++)
				for (int l = 0; l <= 40; l += l < 8 ? 1 : 32) {
					uint32_t e = (k - d) / (hosts - 1u), ahead[MOST], cross[MOST];
					double want, got = period_of(d, hosts, k, l);

					for (uint16_t s = 0; s < d; s++) {
						cross[s] = hosts - 1u - s * hosts / d;
						ahead[s] = d - 1u - s +
							   ((k - d) * cross[s] + hosts - 2) / (hosts - 1u);
					}
					want = slowest_way(d, ahead, cross, l);
					CU_ASSERT(2 * l > 3 * (int)e || want == 3);
					if (fabs(got - want) > 1e-9)
						fprintf(stderr, "\nD=%u hosts=%u K=%u L=%d: %g, not %g\n", d, hosts,
							k, l, got, want);
					CU_ASSERT_DOUBLE_EQUAL_FATAL(got, want, 1e-9);
				}
}

/* g workers: gradients go to the owners of ranges, new weights back: 2 (g - 1) / g of all bytes through each port. */
static void data_parallel_sends_its_weights(void)
{
	for (uint16_t g = 2; g <= 5; g++) {
		double all = 60, byte_s = 0.05, latency = 0.5;
		mr_plan *p = plan_of("data_parallel", g, g, NULL);
		cluster c;

		fill(&c, p, (mr_link_cost){.latency = latency, .byte_s = byte_s},
		     (mr_stage_sends){.gradients = all / g, .weights = all / g},
		     (mr_stage_cost){.f = 1, .i = 1, .w = 1, .u = 0.5 * g, .r = 0.25 * g});
		CU_ASSERT_DOUBLE_EQUAL(makespan(p, &c, 3) - makespan(p, &c, 2),
				       3 + 0.5 + 0.25 + 2 * latency + 2 * (g - 1.0) / g * all * byte_s, 1e-9);
		mr_plan_destroy(p);
	}
}

/* Where bandwidth is that of one direction, messages both ways go one after the other: gradients and weights of two
 * workers take the link for 2 (g - 1) / g of all bytes each way, and no step is shorter than all of them. */
static void directions_share_a_link(void)
{
	double all = 60, byte_s = 0.05, one = all / 2 * byte_s, free_step, step, part;
	mr_plan *p = plan_of("data_parallel", 2, 2, NULL);
	cluster c;

	fill(&c, p, (mr_link_cost){.byte_s = byte_s, .both_s = byte_s},
	     (mr_stage_sends){.gradients = all / 2, .weights = all / 2}, (mr_stage_cost){.f = 1, .i = 1, .w = 1});
	free_step = (makespan(p, &c, 7) - makespan(p, &c, 3)) / 4;
	CU_ASSERT_DOUBLE_EQUAL(free_step, 3 + 2 * one, 1e-9);
	for (uint32_t i = 0; i < 4; i++)
		c.link[i].both_s = 2 * byte_s;
	step = (makespan(p, &c, 7) - makespan(p, &c, 3)) / 4;
	CU_ASSERT(step >= 4 * one - 1e-9 && step <= 4 * one + 3 + 1e-9);
	for (uint32_t i = 0; i < 4; i++)
		c.link[i].both_s = 1.5 * byte_s;
	part = (makespan(p, &c, 7) - makespan(p, &c, 3)) / 4;
	CU_ASSERT(part > free_step && part < step + 1e-9);
	mr_plan_destroy(p);
}

/* Of a rank without a core to spare messages take time of its worker: looking for them all along, and handing one over
 * from what is computed meanwhile. */
static void messages_take_cores(void)
{
	mr_plan *p = plan_of("gpipe", 2, 2, NULL);
	cluster c;

	fill(&c, p, (mr_link_cost){.look = 0.25}, (mr_stage_sends){.forward = 1, .backward = 1},
	     (mr_stage_cost){.f = 1, .i = 2});
	CU_ASSERT_DOUBLE_EQUAL(makespan(p, &c, 1), 9, 1e-9);
	c.hosts.crowded = true;
	CU_ASSERT_DOUBLE_EQUAL(makespan(p, &c, 1), 9 / 0.75, 1e-9);
	fill(&c, p, (mr_link_cost){.send = 0.1}, (mr_stage_sends){.forward = 1, .backward = 1},
	     (mr_stage_cost){.f = 1, .i = 2});
	c.hosts.crowded = true;
	CU_ASSERT_DOUBLE_EQUAL(makespan(p, &c, 1), 9.2, 1e-9);
	/* where large messages may come, looking for them takes more */
	fill(&c, p, (mr_link_cost){.look = 0.25, .watch = 0.5}, (mr_stage_sends){.forward = 1, .backward = 2 << 20},
	     (mr_stage_cost){.f = 1, .i = 2});
	c.hosts.crowded = true;
	CU_ASSERT_DOUBLE_EQUAL(makespan(p, &c, 1), 9 / 0.5, 1e-9);
	mr_plan_destroy(p);
}

/* The record of a step is told by the rank of the last stage, behind its step, and rank 0 hears of it while it
 * computes: once a step, however many micro-batches there are. */
static void records_take_cores(void)
{
	mr_plan *p = plan_of("1f1b", 2, 4, NULL);
	cluster c;
	double free_of_cost;

	fill(&c, p, (mr_link_cost){0}, (mr_stage_sends){.forward = 1, .backward = 1},
	     (mr_stage_cost){.f = 1, .i = 2, .u = 1});
	c.hosts.crowded = true;
	free_of_cost = makespan(p, &c, 9);
	for (uint32_t i = 0; i < 4; i++)
		c.link[i].hear = 0.1;
	CU_ASSERT_DOUBLE_EQUAL(makespan(p, &c, 9) - makespan(p, &c, 8), free_of_cost / 9 + 0.1, 1e-9);
	c.hosts.crowded = false;
	CU_ASSERT_DOUBLE_EQUAL(makespan(p, &c, 9), free_of_cost, 1e-9);
	mr_plan_destroy(p);
}

/* The first @bodies iterations of a stream with @opts are those of a walk of some more, to the last bit and with the
 * same causes, whatever the window. */
static void same_as_walk(const mr_plan *p, const cluster *c, mr_walk_opts opts, uint32_t bodies)
{
	size_t next[MOST] = {0}, wrong = 0;
	double last = 0;
	mr_walk_stream *s;
	mr_walk *k;

	opts.sharing = &c->sharing;
	opts.no_period = true;
	opts.window = 1;
	MR_CHECK_OK(mr_plan_walk(p, &c->cost, bodies + 40, &opts, &k));
	MR_CHECK_OK(mr_walk_stream_create(p, &c->cost, &opts, &s));
	for (;;) {
		const mr_walk_rec *r;
		mr_walk_event e;
		bool more;

		MR_CHECK_OK(mr_walk_stream_next(s, bodies, &e, &more));
		if (!more)
			break;
		r = &k->at[k->first[e.worker] + next[e.worker]++];
		wrong += r->in != e.in || r->n != e.n || r->begin != e.begin || r->end != e.end || r->cause != e.cause;
		wrong += e.begin < last;
		last = e.begin;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	for (uint16_t w = 0; w < p->n_workers; w++)
		CU_ASSERT(next[w] > 0);
	mr_walk_stream_destroy(s);
	mr_walk_destroy(k);
}

static void streams_have_messages(void)
{
	static const char *const systems[] = {"gpipe", "1f1b", "zb_h1", "pipedream", "data_parallel", "interleaved",
					      "chimera", "pipedream_2bw"};
	mr_stage_sends sends = {.forward = 2, .backward = 3, .gradients = 4, .weights = 1};
	mr_link_cost link = {.latency = 0.7, .byte_s = 0.3, .message = 0.05, .both_s = 0.5, .send = 0.02,
			     .get_s = 0.01, .look = 0.1, .tell = 0.03, .hear = 0.04};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		mr_plan *p = plan_of(systems[i], 4, 4, NULL);
		mr_walk *free_of_cost, *k;
		cluster c;

		fill(&c, p, link, sends, (mr_stage_cost){.f = 1, .i = 1.1, .w = 1, .u = 0.5, .r = 0.2});
		for (int crowded = 0; crowded < 2; crowded++) {
			c.hosts.crowded = crowded;
			same_as_walk(p, &c, (mr_walk_opts){0}, 400);
			same_as_walk(p, &c, (mr_walk_opts){.jitter = MR_JITTER_LOGNORMAL, .amount = 0.4}, 40);
		}
		/* and these are longer than without messages */
		c.hosts.crowded = false;
		k = walk(p, &c, 4);
		MR_CHECK_OK(mr_plan_walk(p, &c.cost, 4, &(mr_walk_opts){.unlimited = true}, &free_of_cost));
		CU_ASSERT(k->makespan > 1.2 * free_of_cost->makespan);
		mr_walk_destroy(free_of_cost);
		mr_walk_destroy(k);
		mr_plan_destroy(p);
	}
}

/* Messages that cost nothing change nothing; those of the same rank neither; latency makes nothing faster. */
static void laws_of(void *arg, const char *path, uint32_t number)
{
	mr_stage_sends sends = {.forward = 1, .backward = 1, .gradients = 1, .weights = 1};
	mr_stage_cost time = {.f = 1 + number % 3, .i = 1, .w = 0.5, .u = 0.5};
	double alone, last = 0;
	mr_walk *k;
	mr_plan *p;
	cluster c;

	(void)arg;
	MR_CHECK_OK(mr_plan_json_read(path, &p));
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	fill(&c, p, (mr_link_cost){0}, sends, time);
	MR_CHECK_OK(mr_plan_walk(p, &c.cost, 2, &(mr_walk_opts){.unlimited = true}, &k));
	alone = k->makespan;
	mr_walk_destroy(k);
	CU_ASSERT_DOUBLE_EQUAL(makespan(p, &c, 2), alone, 1e-9 * alone);
	for (int i = 0; i < 4; i++) {
		double t;

		fill(&c, p, (mr_link_cost){.latency = i, .message = 0.1 * i}, (mr_stage_sends){0}, time);
		t = makespan(p, &c, 2);
		CU_ASSERT(t >= last * (1 - 1e-9));
		last = t;
	}
	for (uint16_t w = 0; w < p->n_workers; w++)
		c.rank[w] = 0;
	CU_ASSERT_DOUBLE_EQUAL(makespan(p, &c, 2), alone, 1e-9 * alone);
	mr_plan_destroy(p);
}

static void laws_hold_on_recorded_plans(void)
{
	CU_ASSERT(mr_golden_each("sync", laws_of, NULL) >= 50);
}

void mr_suite_over_hosts(void);
void mr_suite_over_hosts(void)
{
	MR_SUITE("over_hosts");
	MR_TEST(gpipe_fills_a_link);
	MR_TEST(latency_of_flushing_pipelines);
	MR_TEST(pipedream_hides_latency);
	MR_TEST(buffers_come_back_in_time);
	MR_TEST(more_in_flight_hide_latency);
	MR_TEST(data_parallel_sends_its_weights);
	MR_TEST(directions_share_a_link);
	MR_TEST(messages_take_cores);
	MR_TEST(records_take_cores);
	MR_TEST(streams_have_messages);
	MR_TEST(laws_hold_on_recorded_plans);
}
