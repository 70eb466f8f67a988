/* millrace top: shows what a training does at present. */
#include <stdio.h>
#include <time.h>

#include "cli/args.h"
#include "observe/run_status.h"
#include "report/screen.h"

static const mr_option options[] = {
	{"once", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "print one screen and end"},
	{"json", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "print the status once, as JSON"},
	{"every", MR_OPT_FLOAT, "1", 0.1, 3600, NULL, "seconds", "time between two screens"},
	{0},
};

#define LEAST_COLUMNS 20

static void sleep_seconds(double seconds)
{
	struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	nanosleep(&t, NULL);
}

static mr_status show(const mr_args *args, bool json, bool live, bool *over)
{
	unsigned columns = mr_screen_columns(stdout), rows = mr_screen_rows(stdout);
	mr_run_status s;
	mr_status st;

	MR_TRY(mr_run_status_read(args->operand[0], &s));
	*over = mr_run_status_over(&s);
	if (live)
		fputs("\033[H\033[2J", stdout); /* the cursor to the corner; an empty screen */
	if (columns && columns < LEAST_COLUMNS)
		columns = LEAST_COLUMNS;
	st = json ? mr_run_status_json(&s, true, stdout)
		  : mr_run_status_screen(&s, columns ? columns : 80, rows > 1 ? rows - 1 : 23, stdout);
	if (st == MR_OK && fflush(stdout))
		st = mr_fail(MR_EIO, "cannot write to standard output");
	mr_run_status_fini(&s);
	return st;
}

static mr_status run(mr_args *args)
{
	bool json = mr_values_bool(args->values, "json"), over = false;
	bool live = !json && !mr_values_bool(args->values, "once") && mr_screen_rows(stdout) > 0;
	mr_status st = show(args, json, live, &over);

	while (st == MR_OK && live && !over) {
		sleep_seconds(mr_values_float(args->values, "every"));
		st = show(args, json, live, &over);
	}
	return st;
}

const mr_command mr_command_top = {
	.name = "top",
	.operands = "RUN",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "show what a training does at present: steps, workers, waits, versions, memory",
	.help = "RUN is the folder of a run. On a terminal the screen is drawn anew every second until the run ends\n"
		"(Ctrl-C leaves it alone); elsewhere it is printed once. Shares are of the last second: the time in\n"
		"which a worker computed, and its largest wait by cause. What is read is status.json in the folder,\n"
		"which the training replaces once a second; exit code 4 when there is none.\n",
	.options = options,
	.run = run,
};
