/* train_status.c - the status of a training, also in status.json; what was counted, at its end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/result.h"
#include "training/train.h"
#include "host/clock.h"
#include "host/memory.h"
#include "host/signals.h"
#include "observe/counted_report.h"
#include "observe/run_roofline.h"

#define EVERY_NS 1000000000u
#define RATE_MIN_NS 200000000u /* a shorter time does not measure rates */
#define LONG_NS 30000000000u /* measuring bandwidths then takes about a hundredth of the time */

/* @over: of the whole session. */
static mr_status take(mr_train *t, const char *state, bool over, mr_run_status *out)
{
	bool first = t->shares.n_rows && isnan(t->shares.row[0].row.busy);
	mr_figures now;

	if (over) {
		now = mr_train_result(t);
	} else {
		now = mr_train_progress(t, RATE_MIN_NS);
		mr_worker_window_take(&t->shares, &t->s.executor, mr_clock_ns(), first, &now);
		now.seconds = t->seconds_before + (double)(mr_clock_ns() - t->begun_ns) / 1e9;
		now.peak_bytes = (double)mr_memory_peak_bytes();
		now.predicted_bytes = (double)t->predicted_bytes;
	}
	now.resident_bytes = (double)mr_memory_resident_bytes();
	MR_TRY(mr_run_status_take(&t->s, &now, &t->shares, out));
	snprintf(out->row.state, sizeof(out->row.state), "%s", state);
	return MR_OK;
}

void mr_train_tell_status(mr_train *t, const char *state, const char *error)
{
	uint64_t now = mr_clock_ns();
	bool due = !t->status_ns || now - t->status_ns >= EVERY_NS || strcmp(state, t->state);
	bool over = !strcmp(state, "ended") || !strcmp(state, "stopped"); /* the workers are at rest */
	mr_run_status s;

	if (!due || t->clock || t->opts.no_folder)
		return;
	t->status_ns = now;
	t->state = state;
	mr_train_look_at_cpus(t);
	/* A status that cannot be written is no reason to end a training, nor to say so every second. */
	if (take(t, state, over, &s) != MR_OK)
		return;
	snprintf(s.row.error, sizeof(s.row.error), "%s", error ? error : "");
	if (mr_run_status_write(&s, t->dir.status) != MR_OK)
		t->status_ns = now + 60 * (uint64_t)EVERY_NS;
	mr_run_status_fini(&s);
}

mr_status mr_train_status(mr_train *t, mr_run_status *out)
{
	return take(t, t->state ? t->state : "trains", false, out);
}

/* --- what the workers reached --- */

static const mr_bandwidth *bandwidth(const mr_train *t)
{
	return t->measured ? &t->here.bandwidth : NULL;
}

/* The peak measured at the start, unless the kept figures are taken. */
static double peak_of_core(const mr_train *t)
{
	if (t->isa && t->measured && t->here.recalled)
		return t->here.f32 * 1e9;
	return t->peak_gflops * 1e9 / t->s.place.n_cores_used;
}

mr_roofline mr_train_roofline(mr_train *t)
{
	bool is_long = t->train_ns >= LONG_NS && !mr_signals_end();
	mr_roofline r;

	if (t->clock)
		return (mr_roofline){0};
	if (is_long || mr_counted_any(&t->s))
		t->measured = mr_measured_machine_rates(&t->here, &t->s.topo) == MR_OK;
	r = mr_run_roofline(&t->s, peak_of_core(t), bandwidth(t));
	snprintf(r.of.note, sizeof(r.of.note), "%s", t->here.busy);
	return r;
}

mr_status mr_train_counts(const mr_train *t, mr_counted_row **rows, uint32_t *n, const char **missing)
{
	const mr_counted *first = mr_counted_any(&t->s);

	*rows = NULL;
	*n = 0;
	*missing = first ? first->missing : "";
	return first ? mr_counted_rows(&t->s, peak_of_core(t), bandwidth(t), rows, n) : MR_OK;
}

static mr_status write_counts(const mr_train *t, const mr_counted_row *rows, uint32_t n, const char *missing)
{
	mr_result r;

	MR_TRY(mr_result_begin(&r, t->dir.counters, MR_RESULT_OWN));
	return mr_result_end(&r, mr_counted_json(rows, n, missing, r.file));
}

mr_status mr_train_write_counts(const mr_train *t)
{
	mr_counted_row *rows;
	const char *missing;
	uint32_t n;
	mr_status st = mr_train_counts(t, &rows, &n, &missing);

	mr_activity_begin("writes counters.json");
	if (st == MR_OK && rows)
		st = write_counts(t, rows, n, missing);
	mr_activity_end();
	free(rows);
	return st;
}
