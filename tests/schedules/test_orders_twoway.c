/* Recorded orders of the systems with several pipes, or one that is folded. */
#include "check.h"
#include "golden.h"

static void orders_of_naive_and_gems(void)
{
	golden_compare("naive", NULL, "naive_mp_D4_T8.json");
	golden_compare("gems", NULL, "gems_D2_T4.json");
	golden_compare("gems", NULL, "gems_D4_T4.json");
}

static void orders_of_dapple(void)
{
	golden_compare("dapple", NULL, "1f1b_D2_T4.json");
	golden_compare("dapple", NULL, "1f1b_D3_T5.json");
	golden_compare("dapple", NULL, "1f1b_D4_T2.json");
	golden_compare("dapple", "policy=pa memory=4 replicas=[1,1,1,1]", "1f1b_D4_T8.json");
}

static void orders_of_chimera(void)
{
	golden_compare("chimera", NULL, "chimera_D2_T2.json");
	golden_compare("chimera", NULL, "chimera_D4_T4.json");
	golden_compare("chimera", NULL, "chimera_D4_T8.json");
	golden_compare("chimera", NULL, "chimera_D8_T8.json");
	golden_compare("chimera", NULL, "chimera_concat_own_D2_T4.json");
	golden_compare("chimera", "variant=doubling", "chimera_doubling_D4_T8.json");
	golden_compare("chimera", "variant=halving", "chimera_doubling_D4_T8.json");
	golden_compare("chimera", "pipes=4", "chimera_multi_D4_T8_q2.json");
}

static void orders_of_dualpipe(void)
{
	golden_compare("dualpipe", NULL, "dualpipe_D2_T6.json");
	golden_compare("dualpipe", NULL, "dualpipe_D4_T8.json");
	golden_compare("dualpipe_v", NULL, "dualpipev_D2_T4_v2.json");
	golden_compare("dualpipe_v", NULL, "dualpipev_D4_T8_v2.json");
	golden_compare("dualpipe_v", NULL, "dualpipev_D4_T10_v2.json");
}

static void orders_of_weipipe(void)
{
	golden_compare("weipipe", NULL, "weipipe_D2_T4.json");
	golden_compare("weipipe", NULL, "weipipe_D3_T6.json");
	golden_compare("weipipe", NULL, "weipipe_D4_T12.json");
	golden_compare("weipipe", "ring=false", "weipipe_D3_T6.json"); /* the same lists */
}

static void orders_of_helixpipe(void)
{
	golden_compare("helixpipe", NULL, "helixpipe_D2_T2_L2.json");
	golden_compare("helixpipe", NULL, "helixpipe_D4_T4_L4.json");
	golden_compare("helixpipe", "blocks=4", "helixpipe_D2_T4_L4.json"); /* two rounds */
}

void mr_suite_orders_twoway(void); /* the runner declares it too */

void mr_suite_orders_twoway(void)
{
	MR_SUITE("orders_twoway");
	MR_TEST(orders_of_naive_and_gems);
	MR_TEST(orders_of_dapple);
	MR_TEST(orders_of_chimera);
	MR_TEST(orders_of_dualpipe);
	MR_TEST(orders_of_weipipe);
	MR_TEST(orders_of_helixpipe);
}
