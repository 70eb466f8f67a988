/*
 * program.c - parses argv, runs a command, and returns its exit code.
 *
 * Commands report on standard output; a failure is one message on standard error, and its kind is the exit code
 * (base/status.h). Writing into a pipe that is no longer read (| head) is not an error: training goes on
 * unwatched, and a report that is cut short has been read as far as wanted.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pipes.h"
#include "cli/args.h"
#include "cli/program.h"
#include "host/env.h"
#include "host/launch_file.h"
#include "manual/help.h"

/* If a standard stream was closed (>&-), the next file opened would get its number, and output would go into that
 * file: the lock, the metrics or a checkpoint. A stream that cannot be written to takes the number. */
static void occupy_standard_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) != fd)
			_exit(1); /* no /dev/null: there is no place for a message */
}

static int finish(int code)
{
	errno = 0;
	if ((fflush(stdout) || ferror(stdout)) && errno && errno != EPIPE && code == 0) {
		fprintf(stderr, "millrace: cannot write to standard output: %s\n", strerror(errno));
		return 1;
	}
	return code;
}

static int run_command(int argc, char **argv, const mr_launcher *launcher)
{
	const mr_command *command;
	mr_ranks *ranks = NULL;
	mr_args args;
	mr_status st = mr_command_get(argv[1], &command);
	bool help;
	int code;

	if (st == MR_OK)
		st = mr_args_parse(command, argc, argv, &args, &help);
	if (st == MR_OK && help) {
		mr_command_help_print(command, stdout);
		return finish(0);
	}
	code = 0;
	if (st == MR_OK) {
		args.launcher = launcher;
		st = command->run(&args);
		code = args.signal ? 128 + args.signal : args.code;
		ranks = args.ranks;
		mr_args_fini(&args);
	}
	if (st != MR_OK) {
		fflush(stdout);
		fprintf(stderr, "millrace: %s\n", mr_error_text());
		code = code ? code : mr_status_exit_code(st);
	}
	code = finish(code);
	if (ranks && !ranks->self)
		mr_launch_end(code);
	if (launcher)
		launcher->end(ranks, code);
	return code;
}

/* Help for the program, or for the command called @name. */
static int help(const char *name)
{
	const mr_command *command;

	if (!name) {
		mr_help_print(mr_commands(), stdout);
	} else if (mr_command_get(name, &command) == MR_OK) {
		mr_command_help_print(command, stdout);
	} else {
		fprintf(stderr, "millrace: %s\n", mr_error_text());
		return 2;
	}
	return finish(0);
}

int mr_program_run(int argc, char **argv, const mr_launcher *launcher)
{
	occupy_standard_streams();
	mr_pipes_begin();
	mr_env_unbind();
	mr_log_warn_unknown();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* beyond the limit on file sizes, write() then fails with a reason */
	if (argc < 2) {
		mr_help_print(mr_commands(), stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help(argc > 2 ? argv[2] : NULL);
	if (!strcmp(argv[1], "--version")) {
		mr_version_print(stdout);
		return finish(0);
	}
	return run_command(argc, argv, launcher);
}
