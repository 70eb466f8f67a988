#include "observe/speed.h"

#include <math.h>

mr_speed_limits mr_speed_limits_of(uint32_t threads, double peak, const mr_bandwidth *b)
{
	mr_speed_limits l = {.peak = threads * peak};

	for (int i = 0; b && i < MR_N_BANDWIDTH_LEVELS; i++) {
		const mr_bandwidth_at *at = &b->at[i];

		l.bandwidth[i] = fmin(threads * at->one.read, fmax(at->all.read, at->one.read));
		/* A measurement uses half of the level (host/bandwidth.h). */
		l.bytes[i] = i == MR_BANDWIDTH_L2 ? 2.0 * threads * (double)at->one_bytes : 2.0 * (double)at->one_bytes;
	}
	return l;
}

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : (double)NAN;
}

double mr_speed_roof(double flops, double bytes, mr_bandwidth_level level, const mr_speed_limits *limits)
{
	double rate = limits->bandwidth[level];

	if (!(flops > 0) || !(bytes > 0) || !(rate > 0))
		return limits->peak;
	return fmin(limits->peak, flops / bytes * rate);
}

mr_bandwidth_level mr_speed_level(double bytes, const mr_speed_limits *limits)
{
	for (int i = 0; i < MR_BANDWIDTH_MEMORY; i++)
		if (limits->bandwidth[i] > 0 && bytes <= limits->bytes[i])
			return (mr_bandwidth_level)i;
	return MR_BANDWIDTH_MEMORY;
}

const char *mr_speed_level_name(mr_bandwidth_level level)
{
	static const char *const names[MR_N_BANDWIDTH_LEVELS] = {"L2", "L3", "memory"};

	return names[level];
}

double mr_speed_least(double flops, double bytes, const mr_speed_limits *limits)
{
	double rate = limits->bandwidth[mr_speed_level(bytes, limits)];

	return rate > 0 ? fmax(flops / limits->peak, bytes / rate) : (double)NAN;
}

mr_roofline mr_speed_roofline(const mr_speed_limits *limits, uint32_t cores)
{
	mr_roofline r = {.of = {.cores = cores, .peak = limits->peak}};

	_Static_assert((int)MR_N_BANDWIDTH_LEVELS == (int)MR_ROOFLINE_LEVELS, "a line for each level");
	for (int i = 0; i < MR_N_BANDWIDTH_LEVELS; i++) {
		snprintf(r.level[i].level, sizeof(r.level[i].level), "%s", mr_speed_level_name((mr_bandwidth_level)i));
		r.level[i].rate = limits->bandwidth[i];
	}
	return r;
}

mr_speed mr_speed_of(double flops, double seconds, const mr_perf_counts *counts, const mr_speed_limits *limits)
{
	mr_speed s = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	double busy, moved, loads;

	if (!(seconds > 0))
		return s;
	if (flops > 0) {
		s.flops = flops / seconds;
		s.peak = ratio(s.flops, limits->peak);
	}
	if (!counts)
		return s;
	busy = counts->at[MR_PERF_TASK_CLOCK] * 1e-9;
	s.cores = busy / seconds;
	s.hz = ratio(counts->at[MR_PERF_CYCLES], busy);
	s.ipc = ratio(counts->at[MR_PERF_INSTRUCTIONS], counts->at[MR_PERF_CYCLES]);
	s.stalled = ratio(counts->at[MR_PERF_STALLED], counts->at[MR_PERF_CYCLES]);
	moved = counts->at[MR_PERF_LLC_MISSES] * MR_SPEED_LINE;
	s.bytes = moved / seconds;
	loads = counts->at[MR_PERF_LOCAL] + counts->at[MR_PERF_REMOTE];
	s.remote = ratio(counts->at[MR_PERF_REMOTE], loads);
	if (flops > 0 && moved > 0) {
		s.intensity = flops / moved;
		if (limits->bandwidth[MR_BANDWIDTH_MEMORY] > 0)
			s.roof = s.flops / mr_speed_roof(flops, moved, MR_BANDWIDTH_MEMORY, limits);
	}
	return s;
}
