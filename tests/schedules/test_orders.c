/* The orders that the systems emit equal the recorded orders of the published implementations, instruction by
 * instruction. */
#include "check.h"
#include "golden.h"

static void orders_of_gpipe(void)
{
	golden_compare("gpipe", NULL, "gpipe_fifo_D2_T4.json");
	golden_compare("gpipe", "backward=fifo", "gpipe_fifo_D3_T5.json");
	golden_compare("gpipe", "backward=fifo", "gpipe_fifo_D4_T8.json");
	golden_compare("gpipe", "backward=lifo", "gpipe_lifo_D2_T4.json");
	golden_compare("gpipe", "backward=lifo", "gpipe_lifo_D3_T5.json");
	golden_compare("gpipe", "backward=lifo", "gpipe_lifo_D4_T8.json");
}

static void orders_of_1f1b(void)
{
	golden_compare("1f1b", NULL, "1f1b_D2_T4.json");
	golden_compare("1f1b", NULL, "1f1b_D3_T5.json");
	golden_compare("1f1b", NULL, "1f1b_D4_T2.json");
	golden_compare("1f1b", NULL, "1f1b_D4_T8.json");
}

void mr_suite_orders(void); /* the runner declares it too */

void mr_suite_orders(void)
{
	MR_SUITE("orders");
	MR_TEST(orders_of_gpipe);
	MR_TEST(orders_of_1f1b);
}
