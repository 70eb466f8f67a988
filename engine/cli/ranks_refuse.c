#include "cli/ranks_refuse.h"

#include <stdlib.h>

mr_status mr_ranks_refuse(void)
{
	/* Open MPI, MPICH and what follows it, Slurm */
	static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const char *text = getenv(sizes[i]);

		if (text && atol(text) > 1)
			return mr_fail(MR_EUSAGE,
				       "this is one of %.20s processes that a launcher started (%s), and millrace is "
				       "one process: the program for several is millrace-mpi", text, sizes[i]);
	}
	return MR_OK;
}
