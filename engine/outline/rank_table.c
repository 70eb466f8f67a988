#include "outline/rank_table.h"

#include "base/str.h"
#include "report/table.h"
#include "session/host_map.h"
#include "session/rank_memory.h"

/* What of a rank's memory is for what, in the order of the columns. */
static const struct use {
	mr_memory_use use;
	const char *title, *key;
} uses[] = {
	{MR_MEMORY_PROGRAM, "program", "program"},
	{MR_MEMORY_PLAN, "plan", "plan"},
	{MR_MEMORY_DATA, "data", "data"},
	{MR_MEMORY_WORKERS, "of workers", "workers"},
	{MR_MEMORY_KERNELS, "kernels", "kernels"},
	{MR_MEMORY_MESSAGES, "messages", "messages"},
	{MR_MEMORY_THREADS, "threads", "threads"},
	{MR_MEMORY_CHECKPOINT, "checkpoints", "checkpoints"},
};
enum { N_USES = sizeof(uses) / sizeof(uses[0]) };

static uint32_t workers_of(const mr_session *s, uint16_t rank)
{
	uint32_t n = 0, all = s->plan->n_workers * (s->n_shares ? s->n_shares : 1u);

	for (uint32_t w = 0; w < all; w++)
		n += s->hosts->hosts.rank[w] == rank;
	return n;
}

static mr_status put_row(const mr_session *s, uint16_t rank, mr_table *t)
{
	mr_memory_plan m;
	char text[16];

	MR_TRY(mr_memory_plan_of_rank(s, rank, &m));
	mr_table_cells(t, "%u\t%u\t%u", rank, s->hosts->hosts.host[rank], workers_of(s, rank));
	for (int i = 0; i < N_USES; i++)
		mr_table_put(t, "%s", mr_bytes_text(m.bytes[uses[i].use], text));
	mr_table_put(t, "%s", mr_bytes_text(m.total, text));
	return MR_OK;
}

mr_status mr_rank_table_print(const mr_session *s, FILE *out)
{
	mr_table_column columns[N_USES + 4] = {{"rank", true}, {"host", true}, {"workers", true}};
	mr_table *t;

	for (int i = 0; i < N_USES; i++)
		columns[3 + i] = (mr_table_column){uses[i].title, true};
	columns[3 + N_USES] = (mr_table_column){"at most at once", true};
	MR_TRY(mr_table_create(columns, N_USES + 4, &t));
	for (uint16_t r = 0; r < s->hosts->hosts.n_ranks; r++) {
		mr_status st = put_row(s, r, t);

		if (st != MR_OK) {
			mr_table_destroy(t);
			return st;
		}
	}
	fprintf(out, "\nmemory of each rank\n");
	return mr_table_finish(t, out);
}

mr_status mr_rank_table_put(mr_json_writer *w, const mr_session *s)
{
	mr_json_field_array(w, "ranks");
	for (uint16_t r = 0; r < s->hosts->hosts.n_ranks; r++) {
		mr_memory_plan m;

		MR_TRY(mr_memory_plan_of_rank(s, r, &m));
		mr_json_begin_object(w);
		mr_json_field_int(w, "rank", r);
		mr_json_field_int(w, "host", s->hosts->hosts.host[r]);
		mr_json_field_int(w, "workers", workers_of(s, r));
		mr_json_field_object(w, "bytes");
		for (int i = 0; i < N_USES; i++)
			mr_json_field_int(w, uses[i].key, (int64_t)m.bytes[uses[i].use]);
		mr_json_field_int(w, "most", (int64_t)m.total);
		mr_json_end_object(w);
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
	return MR_OK;
}
