/*
 * sim_options.h - the options of commands for a simulation (timing/walk.h), as text and as parameters.
 *
 *	--jitter lognormal:0.1            or uniform:0.5
 *	--straggler 2:1.5                 worker 2 takes 1.5 times as long; 2:3:10-20 from time 10 to time 20 only;
 *	                                  several with commas between them
 *	--seed 7                          of the jitter
 */
#ifndef MR_TIMING_SIM_OPTIONS_H
#define MR_TIMING_SIM_OPTIONS_H

#include "base/json.h"
#include "base/option.h"
#include "timing/walk.h"

/* Rows for a command's table of options. */
#define MR_SIM_OPTIONS \
	{"jitter", MR_OPT_STRING, "", 0, 0, NULL, NULL, \
	 "vary every time at random: lognormal:A (spread about A) or uniform:A (1 - A to 1 + A times as long)"}, \
	{"straggler", MR_OPT_STRING, "", 0, 0, NULL, NULL, \
	 "W:FACTOR or W:FACTOR:FROM-TO: worker W takes FACTOR times as long, always or between two times; " \
	 "more after commas"}, \
	{"seed", MR_OPT_INT, "0", 0, 1e15, NULL, NULL, "of the jitter"}

typedef struct mr_sim_options {
	mr_walk_opts params;      /* jitter, amount, seed, stragglers, steals; the caller fills in the rest */
	mr_straggler *straggler;  /* owned; params borrows it */
	const char *jitter_text;  /* as given; borrowed from the values */
} mr_sim_options;

/** Read them from the values of a command's options. The caller calls fini, also after an error. Errors: MR_EUSAGE,
 * MR_ERESOURCE. */
mr_status mr_sim_options_read(const mr_values *values, mr_sim_options *out) MR_MUST_USE;
void mr_sim_options_fini(mr_sim_options *o);

/** One line for people: "jitter lognormal:0.1 (seed 7), worker 2 takes 1.5 times as long"; "" for the defaults. */
const char *mr_sim_options_text(const mr_sim_options *o, char *text, size_t size);

/** The same as a JSON object. */
void mr_sim_options_put(const mr_sim_options *o, mr_json_writer *w);

#endif
