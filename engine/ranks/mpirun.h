/* mpirun.h - starts millrace-mpi on several hosts by the mpirun of an MPI. */
#ifndef MR_RANKS_MPIRUN_H
#define MR_RANKS_MPIRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mr_mpirun {
	const char *mpirun;      /* the launcher */
	const char *agent;       /* in place of ssh; "": ssh */
	const char *options;     /* more words for the launcher, with blanks between */
	const char *hosts;       /* "a,b" */
	int64_t each;            /* ranks on each host */
	const char *const *word; /* [n_words] of millrace-mpi, which lies beside this program */
	uint32_t n_words;
} mr_mpirun;

/** Run it; *@code is the exit code that rank 0 says, or else the launcher's. @again: with --continue. A signal that
 * ends this process reaches the launcher too, which ends all. Errors: MR_EIO it cannot be started; MR_ERESOURCE. */
mr_status mr_mpirun_run(const mr_mpirun *m, bool again, int *code) MR_MUST_USE;

#endif
