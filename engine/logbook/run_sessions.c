#include "logbook/run_sessions.h"

#include "base/log.h"

#define MOST_BYTES (64u << 20)

void mr_run_sessions_open(mr_run_sessions *r, const char *path, uint64_t from)
{
	*r = (mr_run_sessions){.from = from};
	if (from && mr_json_read_file(path, MOST_BYTES, &r->earlier) != MR_OK) {
		r->earlier = NULL;
		mr_log(MR_LOG_INFO, "report", "nothing is kept of earlier sessions: %s", mr_error_text());
	}
}

void mr_run_sessions_fini(mr_run_sessions *r)
{
	mr_json_destroy(r->earlier);
	r->earlier = NULL;
}

void mr_run_sessions_add_times(const mr_run_sessions *r, uint32_t n, uint32_t w, mr_times *to)
{
	const mr_json *workers = mr_json_get(r->earlier, "workers");
	mr_times before;

	if (mr_json_size(workers) != n)
		return;
	mr_record_get(MR_RECORD_TIMES, mr_json_at(workers, w), &before);
	mr_record_add(MR_RECORD_TIMES, &before, to);
}

uint64_t mr_run_sessions_stale(const mr_run_sessions *r, uint32_t n, uint32_t s, uint32_t k, uint32_t *bins)
{
	const mr_json *stages = mr_json_get(r->earlier, "staleness");
	mr_staleness_row row;

	mr_record_get(MR_RECORD_STALENESS, mr_json_at(stages, s), &row);
	*bins = mr_json_size(stages) == n ? (uint32_t)row.gradients.n : 0;
	return k < *bins ? mr_counts_at(&row.gradients, k) : 0;
}

bool mr_run_sessions_traced(const mr_run_sessions *r)
{
	mr_timeline_row timeline;

	mr_record_get(MR_RECORD_TIMELINE, mr_json_get(r->earlier, "timeline"), &timeline);
	return timeline.measured;
}

void mr_run_sessions_keep(const mr_run_sessions *r, const char *key, mr_json_writer *w)
{
	const mr_json *j = mr_json_get(r->earlier, key);

	if (!j)
		return;
	mr_json_key(w, key);
	mr_json_put_tree(w, j);
}

void mr_run_sessions_put(const mr_run_sessions *r, const mr_session_row *now, mr_json_writer *w)
{
	const mr_json *sessions = mr_json_get(r->earlier, "sessions");

	mr_json_field_array(w, "sessions");
	for (size_t i = 0; i < mr_json_size(sessions); i++)
		mr_json_put_tree(w, mr_json_at(sessions, i));
	mr_record_put_object(MR_RECORD_SESSION, now, w);
	mr_json_end_array(w);
}
