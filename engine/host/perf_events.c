#include "host/perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef MR_OPENMP
#include <omp.h>
#endif

#define MR_PERF_NODE(result) (PERF_COUNT_HW_CACHE_NODE | PERF_COUNT_HW_CACHE_OP_READ << 8 | (result) << 16)

typedef struct description {
	const char *name;
	uint32_t type;
	uint64_t config;
	int group;
} description;

static const description events[MR_N_PERF_EVENTS] = {
#define MR_PERF_EVENT(member, name, type, config, group) {name, type, config, group},
#include "host/perf_events.def"
#undef MR_PERF_EVENT
};

/* --- the kernel's --- */

static int open_event(mr_perf_event event, int leader)
{
	struct perf_event_attr a = {
		.type = events[event].type,
		.size = sizeof(a),
		.config = events[event].config,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_hv = 1,
		/* What the program itself does; of software events that is often the kernel's side. */
		.exclude_kernel = events[event].type != PERF_TYPE_SOFTWARE,
	};
	int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && (errno == EACCES || errno == EPERM) && !a.exclude_kernel) {
		a.exclude_kernel = 1;
		fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static bool read_events(int leader, uint64_t *to, uint32_t n)
{
	ssize_t bytes = (ssize_t)((3 + n) * sizeof(*to));

	return read(leader, to, (size_t)bytes) == bytes && to[0] == n;
}

static void close_event(int event)
{
	close(event);
}

const mr_perf_source mr_perf_kernel = {open_event, read_events, close_event};

/* --- a team's --- */

/* Those of the calling thread. */
static void open_thread(const mr_perf_source *source, int fd[MR_N_PERF_EVENTS], int error[MR_N_PERF_EVENTS])
{
	for (int i = 0, leader = -1; i < MR_N_PERF_EVENTS; i++) {
		if (i == 0 || events[i].group != events[i - 1].group)
			leader = -1;
		fd[i] = source->open((mr_perf_event)i, leader);
		error[i] = fd[i] < 0 ? -fd[i] : 0;
		leader = leader < 0 && fd[i] >= 0 ? fd[i] : leader;
	}
}

static void open_all(mr_perf_events *e, int (*error)[MR_N_PERF_EVENTS])
{
#ifdef MR_OPENMP
	if (e->n_threads > 1) {
#pragma omp parallel num_threads(e->n_threads)
		open_thread(e->source, e->fd[omp_get_thread_num()], error[omp_get_thread_num()]);
		return;
	}
#endif
	open_thread(e->source, e->fd[0], error[0]);
}

void mr_perf_events_open(mr_perf_events *e, const mr_perf_source *source, uint32_t n_threads)
{
	int (*error)[MR_N_PERF_EVENTS];

#ifndef MR_OPENMP
	n_threads = 1;
#endif
	*e = (mr_perf_events){.source = source, .n_threads = n_threads, .fd = calloc(n_threads, sizeof(*e->fd))};
	error = calloc(n_threads, sizeof(*error));
	for (int i = 0; i < MR_N_PERF_EVENTS; i++)
		e->error[i] = ENOMEM;
	if (!e->fd || !error) {
		free(e->fd);
		free(error);
		e->fd = NULL;
		return;
	}
	for (uint32_t t = 0; t < n_threads; t++) /* a team may come out smaller */
		for (int i = 0; i < MR_N_PERF_EVENTS; i++) {
			e->fd[t][i] = -1;
			error[t][i] = ESRCH;
		}
	open_all(e, error);
	for (int i = 0; i < MR_N_PERF_EVENTS; i++) {
		e->error[i] = 0;
		for (uint32_t t = 0; t < n_threads; t++)
			e->error[i] = e->error[i] ? e->error[i] : error[t][i];
		e->known[i] = !e->error[i];
	}
	free(error);
}

void mr_perf_events_close(mr_perf_events *e)
{
	for (uint32_t t = 0; e->fd && t < e->n_threads; t++)
		for (int i = MR_N_PERF_EVENTS; i-- > 0;) /* leaders last */
			if (e->fd[t][i] >= 0)
				e->source->close(e->fd[t][i]);
	free(e->fd);
	*e = (mr_perf_events){0};
}

/* Add the counts of the group that begins at event @first, of one thread; returns the first event beyond it. */
static int add_group(const mr_perf_events *e, const int *fd, int first, mr_perf_counts *out)
{
	uint64_t data[3 + MR_N_PERF_EVENTS] = {0};
	uint32_t n = 0, k = 3;
	int end = first, leader = -1;
	bool read;

	for (; end < MR_N_PERF_EVENTS && events[end].group == events[first].group; end++) {
		leader = leader < 0 ? fd[end] : leader;
		n += fd[end] >= 0;
	}
	/* Never on a core so far: no count, rather than 0. */
	read = n && e->source->read(leader, data, n) && data[2] > 0;
	for (int i = first; i < end; i++) {
		if (fd[i] < 0)
			continue;
		out->at[i] += read ? (double)data[k] * ((double)data[1] / (double)data[2]) : (double)NAN;
		k++;
	}
	return end;
}

void mr_perf_events_read(const mr_perf_events *e, mr_perf_counts *out)
{
	*out = (mr_perf_counts){{0}};
	for (uint32_t t = 0; e->fd && t < e->n_threads; t++)
		for (int i = 0; i < MR_N_PERF_EVENTS;)
			i = add_group(e, e->fd[t], i, out);
	for (int i = 0; i < MR_N_PERF_EVENTS; i++)
		if (!e->known[i])
			out->at[i] = NAN;
}

void mr_perf_counts_add(mr_perf_counts *sum, const mr_perf_counts *before, const mr_perf_counts *after)
{
	for (int i = 0; i < MR_N_PERF_EVENTS; i++)
		sum->at[i] += after->at[i] - before->at[i];
}

/* --- words --- */

const char *mr_perf_event_name(mr_perf_event event)
{
	return events[event].name;
}

static const char *reason(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return "the kernel does not allow it: as root, sysctl kernel.perf_event_paranoid=1, or give the "
		       "program CAP_PERFMON";
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return "this machine has no such counters, or its hypervisor hides them";
	case ENOSYS:
		return "this kernel has no perf events";
	default:
		return strerror(error);
	}
}

char *mr_perf_events_missing(const mr_perf_events *e, char *text, uint32_t size)
{
	int n = 0, error = 0;

	text[0] = 0;
	for (int i = 0; i < MR_N_PERF_EVENTS && n < (int)size; i++) {
		if (e->known[i])
			continue;
		n += snprintf(text + n, size - (size_t)n, "%s%s", n ? ", " : "", events[i].name);
		error = error ? error : e->error[i];
	}
	if (n && n < (int)size)
		snprintf(text + n, size - (size_t)n, " are not counted: %s", reason(error));
	return text;
}
