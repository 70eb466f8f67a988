/* Where a report goes, and how wide a picture in it may be. */
#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/output.h"

/* A terminal of @columns columns; *@master keeps it. */
static FILE *terminal(unsigned short columns, int *master)
{
	struct winsize size = {.ws_col = columns, .ws_row = 24};
	FILE *f;

	*master = posix_openpt(O_RDWR | O_NOCTTY);
	CU_ASSERT_FATAL(*master >= 0 && !grantpt(*master) && !unlockpt(*master));
	CU_ASSERT_EQUAL_FATAL(ioctl(*master, TIOCSWINSZ, &size), 0);
	f = fopen(ptsname(*master), "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	return f;
}

static void check(unsigned short has, const char *says, unsigned want)
{
	int master;
	FILE *f = terminal(has, &master);

	if (says)
		setenv("COLUMNS", says, 1);
	else
		unsetenv("COLUMNS");
	CU_ASSERT_EQUAL(mr_output_columns(f), want);
	unsetenv("COLUMNS");
	fclose(f);
	close(master);
}

static void columns_are_those_of_the_terminal(void)
{
	check(80, NULL, 80);
	check(203, NULL, 203);
	check(12, NULL, 40);
	check(5000, NULL, 1000);
	check(0, NULL, 118); /* it does not know */
	check(80, "132", 132);
	check(80, "7", 40);
	check(80, "wide", 80);
	check(80, "", 80);
}

static void a_file_has_118_columns(void)
{
	FILE *f = tmpfile();

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	setenv("COLUMNS", "80", 1);
	CU_ASSERT_EQUAL(mr_output_columns(f), 118);
	unsetenv("COLUMNS");
	fclose(f);
}

void mr_suite_output(void);
void mr_suite_output(void)
{
	MR_SUITE("output");
	MR_TEST(columns_are_those_of_the_terminal);
	MR_TEST(a_file_has_118_columns);
}
