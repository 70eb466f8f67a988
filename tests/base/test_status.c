#include <string.h>

#include "base/status.h"
#include "check.h"

static mr_status fails(int n)
{
	return mr_fail(MR_EDATA, "expected 1, got %d", n);
}

static mr_status tries(int n, int *reached)
{
	MR_TRY(n == 1 ? MR_OK : fails(n));
	*reached = 1;
	return MR_OK;
}

static void test_text(void)
{
	MR_CHECK_FAIL(fails(7), MR_EDATA, "expected 1, got 7");
	CU_ASSERT_EQUAL(mr_fail_in(MR_ECONFIG, "file %s", "a.cfg"), MR_ECONFIG);
	CU_ASSERT_STRING_EQUAL(mr_error_text(), "file a.cfg: expected 1, got 7");
	/* the old text may be an argument of the new one */
	CU_ASSERT_EQUAL(mr_fail(MR_EIO, "<%s>", mr_error_text()), MR_EIO);
	CU_ASSERT_STRING_EQUAL(mr_error_text(), "<file a.cfg: expected 1, got 7>");
}

static void test_long_text_is_cut(void)
{
	char big[3000];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	CU_ASSERT_EQUAL(mr_fail(MR_EIO, "%s", big), MR_EIO);
	CU_ASSERT_EQUAL(strlen(mr_error_text()), 1023);
	CU_ASSERT_EQUAL(mr_fail_in(MR_EIO, "%s", big), MR_EIO);
	CU_ASSERT_EQUAL(strlen(mr_error_text()), 1023);
}

static void test_try(void)
{
	int reached = 0;

	CU_ASSERT_EQUAL(tries(2, &reached), MR_EDATA);
	CU_ASSERT_EQUAL(reached, 0);
	CU_ASSERT_EQUAL(tries(1, &reached), MR_OK);
	CU_ASSERT_EQUAL(reached, 1);
}

static void test_codes(void)
{
	static const struct {
		mr_status code;
		int exit;
	} contract[] = {{MR_OK, 0},   {MR_EUSAGE, 2},	 {MR_ECONFIG, 3},   {MR_EDATA, 4},
			{MR_ECKPT, 5}, {MR_ERESOURCE, 6}, {MR_EDIVERGED, 7}, {MR_ESTALLED, 8}};

	for (size_t i = 0; i < sizeof(contract) / sizeof(contract[0]); i++)
		CU_ASSERT_EQUAL(mr_status_exit_code(contract[i].code), contract[i].exit);
	for (int a = 0; a < MR_N_STATUS; a++)
		for (int b = 0; b < a; b++)
			CU_ASSERT_STRING_NOT_EQUAL(mr_status_name((mr_status)a), mr_status_name((mr_status)b));
	CU_ASSERT_STRING_EQUAL(mr_status_name((mr_status)99), "unknown");
	CU_ASSERT_EQUAL(mr_status_exit_code((mr_status)99), 1);
}

void mr_suite_status(void); /* the runner declares it too */

void mr_suite_status(void)
{
	MR_SUITE("status");

	MR_TEST(test_text);
	MR_TEST(test_long_text_is_cut);
	MR_TEST(test_try);
	MR_TEST(test_codes);
}
