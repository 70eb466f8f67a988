/* main.c - millrace-mpi, which trains over the processes that mpirun or srun starts. */
#include "cli/program.h"
#include "mpi/mpi_world.h"

int main(int argc, char **argv)
{
	static const mr_launcher launcher = {.begin = mr_mpi_begin, .end = mr_mpi_end};

	return mr_program_run(argc, argv, &launcher);
}
