/* main.c - millrace, the program of one process. */
#include "cli/program.h"

int main(int argc, char **argv)
{
	return mr_program_run(argc, argv, NULL);
}
