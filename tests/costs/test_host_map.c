/* Hosts of a planned training: by keys, by a file of links, and what does not go together. */
#include "session/host_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "config/config_help.h"
#include "session/rank_memory.h"
#include "session/session_forecast.h"

#define CONF                                                                                                           \
	"model = { name = \"mlp\"; hidden = [24, 24, 24, 24]; };\n"                                                    \
	"data = { name = \"synthetic\"; features = 8; classes = 4; samples = 100; };\n"                                \
	"optimizer = { name = \"momentum\"; lr = 0.01; }; system = { name = \"%s\"; };\n"                              \
	"train = { steps = 2; batch = 16; microbatches = 4; };\n"                                                      \
	"machine = { workers = 4; threads = 1; topology = \"%s\"; %s }; %s backend = \"reference\";\n"

static mr_config *config;
static const char *topology = "numa:4 core:1";

static mr_status try_open(const char *system, const char *machine, const char *more, mr_session *s)
{
	char text[1500];
	mr_strbuf report = {0};
	mr_status st;

	snprintf(text, sizeof(text), CONF, system, topology, machine, more);
	MR_CHECK_OK(mr_test_load(text, strlen(text), NULL, 0, &report, &config));
	mr_strbuf_fini(&report);
	st = mr_session_open(mr_config_job(config), s);
	if (st != MR_OK) {
		mr_config_destroy(config);
		mr_test_files_remove();
	}
	return st;
}

static void close_all(mr_session *s)
{
	mr_session_close(s);
	mr_config_destroy(config);
	mr_test_files_remove();
}

/* The rank of each worker, the host of each rank, and their numbers. */
static void expect_map(const char *machine, const char *ranks, const char *hosts)
{
	mr_session s;

	MR_CHECK_OK(try_open("1f1b", machine, "", &s));
	CU_ASSERT_PTR_NOT_NULL_FATAL(s.hosts);
	for (int w = 0; w < 4; w++)
		CU_ASSERT_EQUAL(s.hosts->hosts.rank[w], ranks[w] - '0');
	CU_ASSERT_EQUAL(s.hosts->hosts.n_ranks, strlen(hosts));
	for (size_t r = 0; r < strlen(hosts); r++)
		CU_ASSERT_EQUAL(s.hosts->hosts.host[r], hosts[r] - '0');
	CU_ASSERT_DOUBLE_EQUAL(s.hosts->hosts.link[0].latency, 1e-4, 0);
	CU_ASSERT_DOUBLE_EQUAL(s.hosts->hosts.link[0].byte_s, 1e-8, 1e-20);
	close_all(&s);
}

static void keys_say_where_workers_are(void)
{
	mr_session s;

	expect_map("hosts = 2; links = \"1e-4,1e8\";", "0011", "01");
	expect_map("hosts = 4; links = \"1e-4,1e8,1e-5\";", "0123", "0123");
	expect_map("hosts = 4; links = \"1e-4,1e8,1e-5,5e7,1e-5,1e-9\";", "0123", "0123");
	expect_map("ranks = \"0 1 1 0\"; links = \"1e-4,1e8\";", "0110", "01");
	expect_map("ranks = \"0 1 2 3\"; hosts = 2; links = \"1e-4,1e8\";", "0123", "0011");
	MR_CHECK_OK(try_open("1f1b", "", "", &s));
	CU_ASSERT_PTR_NULL(s.hosts);
	close_all(&s);
}

static void mistakes_are_named(void)
{
	mr_session s;

	MR_CHECK_FAIL(try_open("1f1b", "hosts = 2;", "", &s), MR_ECONFIG, "machine.hosts: what takes a message");
	MR_CHECK_FAIL(try_open("1f1b", "links = \"1e-4,1e8\";", "", &s), MR_ECONFIG, "machine.links: links between");
	MR_CHECK_FAIL(try_open("1f1b", "hosts = 2; links = \"1e-4\";", "", &s), MR_ECONFIG, "expected seconds and");
	MR_CHECK_FAIL(try_open("1f1b", "hosts = 2; links = \"1e-4,1e8,0,0\";", "", &s), MR_ECONFIG,
		      "expected seconds and");
	MR_CHECK_FAIL(try_open("1f1b", "hosts = 2; links = \"1e-4,0\";", "", &s), MR_ECONFIG, "expected seconds and");
	MR_CHECK_FAIL(try_open("1f1b", "ranks = \"0 1\"; links = \"1e-4,1e8\";", "", &s), MR_ECONFIG,
		      "machine.ranks: it names the ranks of 2 workers, and there are 4");
}

static double step_of(const char *system, const char *machine, const char *more, double *sent)
{
	mr_session s;
	mr_forecast f;
	double step;

	MR_CHECK_OK(try_open(system, machine, more, &s));
	MR_CHECK_OK(mr_session_forecast(&s, &f));
	step = f.step_s;
	*sent = 0;
	for (int i = 0; s.hosts && i < s.hosts->hosts.n_ranks * s.hosts->hosts.n_ranks; i++)
		*sent += f.sent[i];
	mr_forecast_fini(&f);
	close_all(&s);
	return step;
}

/* A boundary of 24 numbers: 16 samples go over it and back; of data parallel training 2 (g - 1) times all weights, and
 * of replicas with a boundary between all workers the same with a state, once in two steps. */
static void forecasts_count_messages(void)
{
	const char *averaged = "local_sgd\"; placement = \"rotated\"; every = 2; state = \"averaged";
	double n = 8 * 24 + 24 + 3 * (24 * 24 + 24) + 24 * 4 + 4;
	double sent, free_step = step_of("1f1b", "hosts = 2; links = \"0,1e15\";", "", &sent);

	CU_ASSERT_DOUBLE_EQUAL(sent, 2.0 * 16 * 24 * 4, 0);
	CU_ASSERT(step_of("1f1b", "hosts = 2; links = \"1e-3,1e15\";", "", &sent) >= free_step + 2e-3 * (1 - 1e-6));
	CU_ASSERT(step_of("1f1b", "hosts = 2; links = \"0,1e4\";", "", &sent) >= free_step + sent / 1e4 / 2);
	step_of("data_parallel", "hosts = 4; links = \"0,1e8\";", "", &sent);
	CU_ASSERT_DOUBLE_EQUAL(sent, 2 * 3 * n * 4, 1e-6);
	free_step = step_of(averaged, "hosts = 4; links = \"0,1e15\";", "", &sent);
	CU_ASSERT_DOUBLE_EQUAL(sent, 2.0 * 3 * 16 * 24 * 4 + 2 * 3 * n * 8 / 2, 1e-6);
	CU_ASSERT(step_of(averaged, "hosts = 4; links = \"0,1e4\";", "", &sent) >= free_step + sent / 4 / 1e4);
}

/* The weights of worker 2, the first of the second host: where all share one memory they are those of worker 0. */
static uint64_t weights_of_worker_2(const char *machine, uint64_t *all)
{
	mr_session s;
	mr_forecast f;
	mr_run_memory m;

	MR_CHECK_OK(try_open("data_parallel", machine, "", &s));
	MR_CHECK_OK(mr_session_forecast(&s, &f));
	mr_run_memory_of_stage(f.run, 2, 0, &m);
	*all = f.bytes;
	mr_forecast_fini(&f);
	close_all(&s);
	return m.weights;
}

static void hosts_share_no_weights(void)
{
	uint64_t one, two;

	topology = "numa:1 core:4";
	CU_ASSERT_EQUAL(weights_of_worker_2("", &one), 0);
	CU_ASSERT(weights_of_worker_2("hosts = 2; links = \"1e-4,1e8\";", &two) >= (8 * 24 + 24) * sizeof(float));
	CU_ASSERT(two > one);
	topology = "numa:4 core:1";
}

/* Each rank has the memory of its own workers: together that of all, beside the program, of which each has a copy. */
static void each_rank_has_its_own_memory(void)
{
	static const char *const systems[] = {"1f1b", "data_parallel", "zb_h1", "chimera"};
	mr_memory_plan m;
	mr_session s;
	mr_forecast f;

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		uint64_t sum = 0, program = 0;

		MR_CHECK_OK(try_open(systems[i], "hosts = 2; links = \"1e-4,1e8\";", "", &s));
		MR_CHECK_OK(mr_session_forecast(&s, &f));
		CU_ASSERT(mr_session_plans_ranks(&s));
		for (uint16_t r = 0; r < 2; r++) {
			MR_CHECK_OK(mr_memory_plan_of_rank(&s, r, &m));
			CU_ASSERT(m.bytes[MR_MEMORY_WORKERS] > 0 && m.bytes[MR_MEMORY_WORKERS] < f.bytes);
			CU_ASSERT(!program || m.bytes[MR_MEMORY_PROGRAM] == program);
			program = m.bytes[MR_MEMORY_PROGRAM];
			sum += m.bytes[MR_MEMORY_WORKERS];
		}
		CU_ASSERT_EQUAL(sum, f.bytes);
		mr_forecast_fini(&f);
		close_all(&s);
	}
}

/* MPI's copies of what rank 0 of two, with two workers each, sends and gets. @system lacks its last quote. */
static uint64_t copies(const char *system)
{
	mr_memory_plan m;
	mr_session s;
	char name[100];

	snprintf(name, sizeof(name), "data_parallel\"; chunks = 5; %s", system);
	MR_CHECK_OK(try_open(name, "hosts = 2; links = \"1e-4,1e8\";", "", &s));
	MR_CHECK_OK(mr_memory_plan_of_rank(&s, 0, &m));
	close_all(&s);
	return m.bytes[MR_MEMORY_MESSAGES];
}

/* Of five stages two sums and two new weights are under way at a time, or as many fetched ones as there are rooms: each
 * a quarter of a layer of 24 x 24 in f32, between two workers and two others, both ways. */
static void copies_take_turns(void)
{
	uint64_t one = copies("rooms = 3; parameters = \"sharded") - copies("rooms = 2; parameters = \"sharded");

	CU_ASSERT(one >= 8 * (24 * 24 + 24) && one < 9 * (24 * 24 + 24));
	CU_ASSERT_EQUAL(copies("rooms = 2; parameters = \"sharded"), 4 * one);
	CU_ASSERT_EQUAL(copies("gradients = \"released"), 4 * one);
	CU_ASSERT(copies("gradients = \"summed") > 6 * one);
}

/* The ranks of a host have its memory together: a half of that of a machine with the cores of both. */
static void ranks_of_a_host_fit(void)
{
	mr_session s;
	mr_forecast f;

	MR_CHECK_OK(try_open("1f1b", "hosts = 2; links = \"1e-4,1e8\";", "", &s));
	MR_CHECK_OK(mr_session_forecast(&s, &f));
	MR_CHECK_OK(mr_session_forecast_fits(&s, &f));
	s.topo.memory_bytes = 2000000;
	MR_CHECK_FAIL(mr_session_forecast_fits(&s, &f), MR_ERESOURCE, "the ranks of host 0 need");
	mr_forecast_fini(&f);
	close_all(&s);
}

/* --- the file --- */

static const char block[] = "# links=2; ranks=0 0 1; hosts=a b; spread=0.02\n"
			    "from,to,latency_s,bandwidth,message_s\n"
			    "0,0,1e-06,5e+09,2e-07\n0,1,5e-05,1.2e+08,1e-06\n1,0,5e-05,1.2e+08,1e-06\n1,1,0,1e+15,0\n";

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static void files_come_back(void)
{
	char path[] = "/tmp/mr_links_XXXXXX", *text;
	mr_link_costs l, again;
	bool found;
	size_t n;

	close(mkstemp(path));
	write_file(path, block);
	MR_CHECK_OK(mr_link_costs_read(path, &l, &found));
	CU_ASSERT_TRUE_FATAL(found);
	CU_ASSERT(l.n_hosts == 2 && l.n_ranks == 3 && l.host[1] == 0 && l.host[2] == 1);
	CU_ASSERT_STRING_EQUAL(l.names, "a b");
	CU_ASSERT_DOUBLE_EQUAL(l.link[1].byte_s, 1 / 1.2e8, 1e-20);
	/* behind layers, in place of an older block */
	write_file(path, "# millrace costs 1; some layers\nrows\n# links=1; an older one\n");
	MR_CHECK_OK(mr_link_costs_write(path, &l));
	MR_CHECK_OK(mr_file_read(path, 1 << 20, &text, &n));
	CU_ASSERT_PTR_EQUAL(strstr(text, "# millrace costs 1; some layers\nrows\n# links=2; ranks=0 0 1;"), text);
	free(text);
	MR_CHECK_OK(mr_link_costs_read(path, &again, &found));
	CU_ASSERT(found && again.spread == l.spread && !memcmp(again.link, l.link, 4 * sizeof(*l.link)));
	write_file(path, "my notes\n");
	MR_CHECK_FAIL(mr_link_costs_write(path, &l), MR_EUSAGE, "no file of costs");
	mr_link_costs_fini(&again);
	l.link[1] = (mr_link_cost){1e-5, 1e-8, 1e-6, 2e-8, 1e-5, 3e-10, 2e-5, 4e-10, 0.125, 0.25, 3e-5, 5e-5};
	write_file(path, "# links=1; an older one\n");
	MR_CHECK_OK(mr_link_costs_write(path, &l));
	MR_CHECK_OK(mr_link_costs_read(path, &again, &found));
	CU_ASSERT(found && !memcmp(again.link, l.link, 4 * sizeof(*l.link)));
	mr_link_costs_fini(&l);
	mr_link_costs_fini(&again);
	write_file(path, "# millrace costs 1; some layers\nrows\n");
	MR_CHECK_OK(mr_link_costs_read(path, &l, &found));
	CU_ASSERT_FALSE(found);
	unlink(path);
}

#define COLUMNS \
	"from,to,latency_s,bandwidth,message_s,both,send_s,send_byte_s,get_s,get_byte_s,look,watch,tell_s,hear_s"

static void bad_files_are_refused(void)
{
	static const char *const bad[][2] = {
		{"# links=0; ranks=0\n", "from 1 to 1024"},
		{"# links=2\n", "does not say on which host"},
		{"# links=2; ranks=0 2\n", "rank 1 is on host 2"},
		{"# links=1; ranks=0\nfrom,to\n", "line 2 is not"},
		{"# links=1; ranks=0\nfrom,to,latency_s,bandwidth,message_s\n", "line 3"},
		{"# links=1; ranks=0\nfrom,to,latency_s,bandwidth,message_s\n0,1,0,1,0\n", "of hosts 0 and 0"},
		{"# links=1; ranks=0\nfrom,to,latency_s,bandwidth,message_s\n0,0,0,0,0\n", "a bandwidth is bytes"},
		{"# links=1; ranks=0\nfrom,to,latency_s,bandwidth,message_s\n0,0,-1,5,0\n", "times are seconds"},
		{"# links=1; ranks=0\nfrom,to,latency_s,bandwidth,message_s\n0,0,0,5,0\nmore\n", "it goes on"},
		{"# links=1; ranks=0\n" COLUMNS "\n0,0,0,5,0\n", "of hosts 0 and 0"},
		{"# links=1; ranks=0\n" COLUMNS "\n0,0,0,5,0,0,0,0,0,0,0,0,0,0\n", "a bandwidth is bytes"},
		{"# links=1; ranks=0\n" COLUMNS "\n0,0,0,5,0,5,0,0,0,0,1,0,0,0\n", "parts of a core"},
		{"# links=1; ranks=0\n" COLUMNS "\n0,0,0,5,0,5,0,0,0,0,0\n", "of hosts 0 and 0"},
		{"# links=1; ranks=0\n" COLUMNS "\n0,0,0,5,0,5,0,0,0,0,0,0,0,-1\n", "times are seconds"},
	};
	char path[] = "/tmp/mr_links_XXXXXX";
	mr_link_costs l;
	bool found;

	close(mkstemp(path));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_file(path, bad[i][0]);
		MR_CHECK_FAIL(mr_link_costs_read(path, &l, &found), MR_ECONFIG, bad[i][1]);
	}
	unlink(path);
}

/* A file of links alone: layers are modelled, and the workers lie on its ranks. */
static void a_file_of_links_places_workers(void)
{
	char path[] = "/tmp/mr_links_XXXXXX", more[80];
	mr_session s;

	close(mkstemp(path));
	write_file(path, block);
	snprintf(more, sizeof(more), "costs = \"%s\";", path);
	MR_CHECK_OK(try_open("1f1b", "", more, &s));
	CU_ASSERT_PTR_NOT_NULL_FATAL(s.hosts);
	CU_ASSERT_PTR_NULL(s.costs);
	CU_ASSERT(s.hosts->hosts.n_ranks == 3 && s.hosts->hosts.rank[1] == 0 && s.hosts->hosts.rank[3] == 2);
	close_all(&s);
	MR_CHECK_FAIL(try_open("1f1b", "hosts = 3;", more, &s), MR_ECONFIG, "machine.hosts: 3 hosts, and the links of");
	MR_CHECK_FAIL(try_open("1f1b", "ranks = \"0 0 1 1\";", more, &s), MR_ECONFIG,
		      "machine.ranks: it names 2 ranks");
	unlink(path);
}

void mr_suite_host_map(void);
void mr_suite_host_map(void)
{
	MR_SUITE("host_map");
	MR_TEST(keys_say_where_workers_are);
	MR_TEST(mistakes_are_named);
	MR_TEST(forecasts_count_messages);
	MR_TEST(hosts_share_no_weights);
	MR_TEST(each_rank_has_its_own_memory);
	MR_TEST(copies_take_turns);
	MR_TEST(ranks_of_a_host_fit);
	MR_TEST(files_come_back);
	MR_TEST(bad_files_are_refused);
	MR_TEST(a_file_of_links_places_workers);
}
