/* The zero-bubble family that is searched for or built from a pattern emits the orders of the published
 * implementations. */
#include "check.h"
#include "golden.h"

static void orders_of_zb_auto(void)
{
	golden_compare("zb_auto", NULL, "zb_auto_1p_D2_T4_f1_i1_w1_c0_capD.json");
	golden_compare("zb_auto", "cap=D", "zb_auto_1p_D4_T8_f1_i1_w1_c0_capD.json");
	golden_compare("zb_auto", "cap=2D", "zb_auto_2p_D2_T4_f1_i1_w1_c0_cap2D.json");
	golden_compare("zb_auto", "cap=2D", "zb_auto_2p_D4_T8_f1_i1_w1_c0_cap2D.json");
	golden_compare("zb_auto", "cap=6 costs=10,11,7,1", "zb_auto_D4_T12_f10_i11_w7_c1_cap6.json");
	golden_compare("zb_auto", "cap=none costs=2,1,2", "zb_auto_D4_T6_f2_i1_w2_c0_capnone.json");
	golden_compare("zb_auto", "cap=4 costs=3,4,2", "zb_auto_D4_T8_f3_i4_w2_c0_cap4.json");
	golden_compare("zb_auto", "cap=8 costs=3,4,2,0", "zb_auto_D4_T8_f3_i4_w2_c0_cap8.json");
}

static void orders_of_zb_v(void)
{
	golden_compare("zb_v", NULL, "zbv_hand_D2_T4_v2.json");
	golden_compare("zb_v", "order=hand", "zbv_hand_D4_T8_v2.json");
	golden_compare("zb_v", "order=greedy", "zbv_greedy_D4_T8_v2_f1_i1_w1_c0.json");
	golden_compare("zb_v", "order=greedy costs=3,4,2,0", "zbv_greedy_D4_T12_v2_f3_i4_w2_c0.json");
}

static void orders_of_v_half_and_v_min(void)
{
	golden_compare("v_half", NULL, "v_half_D3_T6_v2.json");
	golden_compare("v_half", NULL, "v_half_D4_T8_v2.json");
	golden_compare("v_min", NULL, "v_min_D3_T6_v2.json");
	golden_compare("v_min", NULL, "v_min_D4_T8_v2.json");
}

static void orders_of_1f1b_v(void)
{
	golden_compare("1f1b_v", NULL, "1f1b_v_D4_T8_v2.json");
}

void mr_suite_orders_zb(void); /* the runner declares it too */

void mr_suite_orders_zb(void)
{
	MR_SUITE("orders_zb");
	MR_TEST(orders_of_zb_auto);
	MR_TEST(orders_of_zb_v);
	MR_TEST(orders_of_v_half_and_v_min);
	MR_TEST(orders_of_1f1b_v);
}
