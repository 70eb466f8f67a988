/*
 * flame.c - draws folded stacks as a flame graph.
 *
 *	flame TITLE <stacks.folded >flame.svg
 *	flame --tiny                            a picture of three stacks that were made up
 *
 * perf/flame.sh makes the folded stacks of a recording (perf/flamegraph/flame.h says what they are).
 */
#include <stdio.h>
#include <string.h>

#include "perf/flamegraph/flame.h"

#define LEAST 0.0005 /* narrower boxes could not be seen */

static const char tiny[] = "mr-w0;mr_exec_run;mr_exec_forward;linear_forward;avx512_gemm 70\n"
			   "mr-w0;mr_exec_run;mr_exec_backward;linear_backward_weight;avx512_gemm 25\n"
			   "mr-w0;mr_exec_run;mr_exec_wait 5\n";

int main(int argc, char **argv)
{
	bool is_tiny = argc > 1 && !strcmp(argv[1], "--tiny");
	FILE *in = argc != 2 ? NULL
		   : is_tiny ? fmemopen((char *)(void *)tiny, sizeof(tiny) - 1, "r")
			     : stdin;
	mr_svg v = mr_svg_file(stdout);
	mr_flame *f = NULL;
	mr_status st = in ? mr_flame_read(in, &f) : mr_fail(MR_EUSAGE, "usage: flame TITLE <stacks.folded >flame.svg");

	if (st == MR_OK)
		st = mr_flame_svg(f, is_tiny ? "three stacks that were made up" : argv[1], LEAST, &v);
	if (st != MR_OK)
		fprintf(stderr, "flame: %s\n", mr_error_text());
	mr_flame_destroy(f);
	return mr_status_exit_code(st);
}
