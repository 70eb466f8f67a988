/* launched.h - is this process one of several that a launcher started? */
#ifndef MR_HOST_LAUNCHED_H
#define MR_HOST_LAUNCHED_H

/** How many processes mpirun or srun says that it started, and in *@name the variable that says so; 1 where none does.
 * The variables of MPIs go before that of Slurm, which is also there where a batch job starts their mpirun. */
long mr_launched(const char **name);

#endif
