/*
 * speed.h - what a piece of work reached, in the terms of the roofline model: the rate of its arithmetic can be at most
 * min(peak, FLOPs a byte x bandwidth), where the bytes are those that memory has to deliver.
 */
#ifndef MR_OBSERVE_SPEED_H
#define MR_OBSERVE_SPEED_H

#include <stdint.h>

#include "host/bandwidth.h"
#include "host/perf_events.h"
#include "report/roofline.h"

#define MR_SPEED_LINE 64.0 /* bytes of a cache line */

/* Of the threads that did the work. */
typedef struct mr_speed_limits {
	double peak;                          /* FLOP/s */
	double bandwidth[MR_N_BANDWIDTH_LEVELS]; /* bytes/s; 0: unknown */
	double bytes[MR_N_BANDWIDTH_LEVELS];  /* that fit into the level; 0: unknown */
} mr_speed_limits;

/** The limits of @threads cores of a machine where one core has @peak FLOP/s and the caches have the rates @b (NULL:
 * unknown). */
mr_speed_limits mr_speed_limits_of(uint32_t threads, double peak, const mr_bandwidth *b);

/** Of @flops in @seconds during which @counts were counted (NULL: none). */
mr_speed mr_speed_of(double flops, double seconds, const mr_perf_counts *counts, const mr_speed_limits *limits);

/** FLOP/s that @flops reach at most which move @bytes from or to @level. */
double mr_speed_roof(double flops, double bytes, mr_bandwidth_level level, const mr_speed_limits *limits);

/** The level that holds @bytes which are used again and again; memory where sizes are unknown. */
mr_bandwidth_level mr_speed_level(double bytes, const mr_speed_limits *limits);
/** "L2". */
const char *mr_speed_level_name(mr_bandwidth_level level);

/** The least time for @flops that move @bytes from the level that holds them; NAN: its bandwidth is unknown. */
double mr_speed_least(double flops, double bytes, const mr_speed_limits *limits);

/** The lines of @limits, those of @cores, without points. */
mr_roofline mr_speed_roofline(const mr_speed_limits *limits, uint32_t cores);

#endif
