/* Golden orders of the systems that lay several stages on a worker, and of those with split backwards. */
#include "check.h"
#include "golden.h"

static void orders_of_interleaved(void)
{
	golden_compare("interleaved", NULL, "interleaved1f1b_D2_T4_v2.json");
	golden_compare("interleaved", NULL, "interleaved1f1b_D4_T8_v2.json");
	golden_compare("interleaved", NULL, "interleaved1f1b_D4_T8_v4.json");
}

/* Neither 10 nor 9 micro-batches come out even in groups of 4, nor 5 in groups of 2: the nearest group that does is
 * taken. */
static void orders_of_interleaved_in_other_groups(void)
{
	golden_compare("interleaved", "group=5", "interleaved1f1b_flex_D4_T10_v2_G5.json");
	golden_compare("interleaved", NULL, "interleaved1f1b_flex_D4_T10_v2_G5.json");
	golden_compare("interleaved", "group=3", "interleaved1f1b_megatron_partial_D2_T5_v2_G3.json");
	golden_compare("interleaved", NULL, "interleaved1f1b_megatron_partial_D2_T5_v2_G3.json");
	golden_compare("interleaved", "group=5", "interleaved1f1b_megatron_partial_D4_T9_v2_G5.json");
	golden_compare("interleaved", "group=2", "interleaved1f1b_megatron_partial_D4_T9_v2_G5.json");
}

static void orders_of_looped_bfs(void)
{
	golden_compare("looped_bfs", NULL, "looped_bfs_D2_T4_v2.json");
	golden_compare("looped_bfs", NULL, "looped_bfs_D4_T8_v2.json");
}

static void orders_of_zb_h1(void)
{
	golden_compare("zb_h1", NULL, "zbh1_hand_D2_T4.json");
	golden_compare("zb_h1", NULL, "zbh1_hand_D3_T5.json");
	golden_compare("zb_h1", NULL, "zbh1_hand_D4_T8.json");
	golden_compare("interleaved_zb", NULL, "zbh1_hand_D4_T8.json"); /* with one stage a worker */
}

static void orders_of_zb_h2(void)
{
	golden_compare("zb_h2", NULL, "zbh2_hand_D4_T8.json");
}

static void orders_of_interleaved_zb(void)
{
	golden_compare("interleaved_zb", NULL, "interleaved_zb_D2_T4_v2.json");
	golden_compare("interleaved_zb", NULL, "interleaved_zb_D4_T8_v2.json");
}

void mr_suite_orders_looped(void); /* the runner declares it too */

void mr_suite_orders_looped(void)
{
	MR_SUITE("orders_looped");
	MR_TEST(orders_of_interleaved);
	MR_TEST(orders_of_interleaved_in_other_groups);
	MR_TEST(orders_of_looped_bfs);
	MR_TEST(orders_of_zb_h1);
	MR_TEST(orders_of_zb_h2);
	MR_TEST(orders_of_interleaved_zb);
}
