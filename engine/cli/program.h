/* program.h - the program behind main: of one process (cli/main.c), or of one that others run beside (mpi/main.c). */
#ifndef MR_CLI_PROGRAM_H
#define MR_CLI_PROGRAM_H

#include "link/ranks.h"

/* How a program of several processes begins and ends. */
typedef struct mr_launcher {
	/** *@out: the ranks, if a launcher started several; else NULL. Errors: MR_ERESOURCE, MR_EIO. */
	mr_status (*begin)(mr_ranks **out) MR_MUST_USE;
	/** All ranks end together; where @code is not 0 this one ends alone, at once, and with it all others. @r may be
	 * NULL. */
	void (*end)(mr_ranks *r, int code);
} mr_launcher;

/** Parse @argv, run the command, and return the exit code. @launcher: NULL in a program of one process. */
int mr_program_run(int argc, char **argv, const mr_launcher *launcher);

#endif
