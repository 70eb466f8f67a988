/* experiments.h - one function for each published experiment: it writes <name>.csv and <name>.svg into a folder. */
#ifndef MR_PERF_RPD_EXPERIMENTS_H
#define MR_PERF_RPD_EXPERIMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct settings {
	const char *out;      /* folder */
	bool tiny;            /* smallest sizes, for a test that the experiments run */
	uint32_t seeds;       /* number of seeds of the scaling experiment */
	uint32_t stages;      /* largest number of stages of the scaling experiment */
	double seconds;       /* duration of each method in the experiment in wall-clock time (wall.c) */
	const char *data;     /* folder of the published figures' arrays; NULL: none */
	const char *text;     /* text file of the language model; NULL: none */
} settings;

void experiment_delays(const settings *s);
void experiment_measured(const settings *s);
void experiment_order(const settings *s);
void experiment_local(const settings *s);
void experiment_scaling(const settings *s);
void experiment_window(const settings *s);
void experiment_bound(const settings *s);
void experiment_law(const settings *s);
void experiment_stable(const settings *s);
void experiment_lm(const settings *s);
void experiment_live(const settings *s);
void experiment_wall(const settings *s);
void experiment_ways(const settings *s);
void experiment_published(const settings *s);

/** Open @out/@name for writing; ends the program when it cannot. */
FILE *table_open(const settings *s, const char *name);
void table_close(FILE *f);
/** @out/@name in a buffer that lasts until the next call. */
const char *out_path(const settings *s, const char *name);

/** A step size as a power of two: "2^-4". @text has 16 bytes. */
const char *power_text(int power, char *text);

#endif
