#include "cli/open_config.h"

#include <stdio.h>

#include "cli/clean_env.h"

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

mr_status mr_with_session(const mr_args *args, mr_status (*work)(const mr_args *args, mr_session *s))
{
	mr_config *config;
	mr_session s;
	mr_status st;

	MR_TRY(mr_open_config(args, &config));
	st = mr_clean_env(args, config);
	if (st == MR_OK)
		st = mr_session_open(config, &s);
	if (st == MR_OK) {
		st = work(args, &s);
		if (st != MR_ESTALLED)
			mr_session_close(&s);
	}
	mr_config_destroy(config);
	return st;
}
