#include "cli/open_config.h"

#include <stdio.h>

mr_status mr_open_config(const mr_args *args, mr_config **out)
{
	mr_strbuf mistakes;
	mr_status st;

	mr_strbuf_init(&mistakes);
	st = mr_config_load(args->operand[0], args->set, args->n_sets, &mistakes, out);
	if (st != MR_OK)
		fputs(mr_strbuf_text(&mistakes), stderr);
	mr_strbuf_fini(&mistakes);
	return st;
}
