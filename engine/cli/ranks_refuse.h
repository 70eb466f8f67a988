/* ranks_refuse.h - a program of one process that a launcher started several times. */
#ifndef MR_CLI_RANKS_REFUSE_H
#define MR_CLI_RANKS_REFUSE_H

#include "base/status.h"

/** MR_EUSAGE if mpirun or srun has started this process as one of several: they would fight for one folder. */
mr_status mr_ranks_refuse(void) MR_MUST_USE;

#endif
