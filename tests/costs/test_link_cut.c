/* test_link_cut.c - hosts in the cut and in the orders of a planned training: what crosses a slow link is small, and
 * orders that are made by costs know how long it takes. */
#include "session/link_cut.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "config/config_help.h"
#include "session/host_map.h"
#include "session/session_forecast.h"

/* The output of fc.3 has 16 numbers, all others have 256. */
#define CONF                                                                                                           \
	"model = { name = \"mlp\"; hidden = [256, 256, 256, 16, 256, 256]; };\n"                                       \
	"data = { name = \"synthetic\"; features = 256; classes = 8; samples = 1000; };\n"                             \
	"optimizer = { name = \"momentum\"; lr = 0.01; }; system = { %s };\n"                                          \
	"train = { steps = 2; batch = 256; microbatches = 8; };\n"                                                     \
	"machine = { workers = %d; threads = 1; topology = \"numa:4 core:1\"; %s }; backend = \"reference\"; %s\n"

typedef struct verdict {
	double step, sent;
	uint32_t first[8];
} verdict;

static verdict plan(int workers, const char *system, const char *machine, const char *more)
{
	char text[1500];
	mr_strbuf report = {0};
	mr_config *config;
	mr_session s;
	mr_forecast f;
	verdict v = {0};

	snprintf(text, sizeof(text), CONF, system, workers, machine, more);
	MR_CHECK_OK(mr_test_load(text, strlen(text), NULL, 0, &report, &config));
	mr_strbuf_fini(&report);
	MR_CHECK_OK(mr_session_open(mr_config_job(config), &s));
	MR_CHECK_OK(mr_session_forecast(&s, &f));
	v.step = f.step_s;
	for (int i = 0; s.hosts && i < s.hosts->hosts.n_ranks * s.hosts->hosts.n_ranks; i++)
		v.sent += f.sent[i];
	CU_ASSERT_FATAL(s.partition.n_stages < 8);
	memcpy(v.first, s.partition.first, (s.partition.n_stages + 1u) * sizeof(*v.first));
	mr_forecast_fini(&f);
	mr_session_close(&s);
	mr_config_destroy(config);
	mr_test_files_remove();
	return v;
}

#define FAST "hosts = 2; links = \"1e-6,1e12\";"
#define SLOW "hosts = 2; links = \"1e-5,2e7\";"

/* 256 samples of 16 numbers, there and back. */
#define NARROW (2.0 * 256 * 16 * 4)

static void what_crosses_a_slow_link_is_small(void)
{
	static const char *const systems[] = {"name = \"1f1b\";", "name = \"gpipe\";", "name = \"zb_h1\";",
					      "name = \"search\"; tries = 50;"};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		verdict ring = plan(2, systems[i], "", ""), fast = plan(2, systems[i], FAST, "");
		verdict slow = plan(2, systems[i], SLOW, "");

		CU_ASSERT_EQUAL(fast.first[1], ring.first[1]);
		CU_ASSERT(fast.sent > 4 * NARROW);
		CU_ASSERT_DOUBLE_EQUAL(slow.sent, NARROW, 0);
		CU_ASSERT_EQUAL(slow.first[1], 4);
	}
	/* and the step is shorter than with the cut that suits a ring */
	CU_ASSERT(plan(2, systems[0], SLOW, "").step <
		  0.9 * plan(2, systems[0], SLOW, "partition = [\"fc.3\"];").step);
}

/* Of four workers on two hosts only the boundary between the second and the third is over the link. */
static void only_the_boundary_over_the_link_moves(void)
{
	verdict ring = plan(4, "name = \"1f1b\";", "", ""), slow = plan(4, "name = \"1f1b\";", SLOW, "");

	CU_ASSERT_DOUBLE_EQUAL(slow.sent, NARROW, 0);
	CU_ASSERT_EQUAL(slow.first[2], 4);
	CU_ASSERT_NOT_EQUAL(ring.first[2], 4);
	/* where the workers take turns on the hosts, three boundaries are */
	CU_ASSERT(plan(4, "name = \"1f1b\";", SLOW " ranks = \"0 1 0 1\";", "").sent > 2 * NARROW);
}

static void orders_know_links(void)
{
	static const struct {
		const char *with, *without;
	} of[] = {{"name = \"zb_auto\"; cap = \"6\";", "name = \"zb_auto\"; cap = \"6\"; costs = \"1,1,1\";"},
		  {"name = \"search\"; tries = 50;",
		   "name = \"search\"; tries = 50; costs = \"1,1,1\";"}};
	const char *late = "hosts = 2; links = \"2e-3,1e9\";";

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		double with = plan(2, of[i].with, late, "").step, without = plan(2, of[i].without, late, "").step;


		CU_ASSERT(with < 0.95 * without);
	}
}

void mr_suite_link_cut(void);
void mr_suite_link_cut(void)
{
	MR_SUITE("link_cut");
	MR_TEST(what_crosses_a_slow_link_is_small);
	MR_TEST(only_the_boundary_over_the_link_moves);
	MR_TEST(orders_know_links);
}
