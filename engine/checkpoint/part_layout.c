#include "checkpoint/part_layout.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/size.h"
#include "ranks/rank_state.h"
#include "store/crc_blocks.h"

mr_status mr_part_layout_begin(mr_part_layout *l, const mr_session *s, const mr_state *st)
{
	static const char *const names[] = MR_CHECKPOINT_FILES;
	const mr_state_list *lists[] = {&st->model, &st->optimizer, &st->inflight};

	*l = (mr_part_layout){.run = mr_executor_run_of(&s->executor), .self = s->ranks->self};
	for (int i = 0; i < 3; i++) {
		if (!lists[i]->n)
			continue;
		l->list[l->n_files] = lists[i];
		l->file[l->n_files++].name = names[i];
	}
	return MR_OK;
}

void mr_part_layout_fini(mr_part_layout *l)
{
	for (size_t i = 0; i < l->n_files; i++) {
		free(l->file[i].piece);
		free(l->file[i].header);
	}
}

mr_status mr_part_layout_headers(mr_part_layout *l, const mr_saved_text *metadata, uint64_t bytes[3])
{
	for (size_t i = 0; i < l->n_files; i++) {
		mr_part_file *f = &l->file[i];

		f->header = mr_safetensors_header(l->list[i]->at, l->list[i]->n, metadata, i ? 1 : 2, &f->header_bytes);
		if (!f->header)
			return mr_fail(MR_ERESOURCE, "%s: no memory for a header", f->name);
		bytes[i] = f->header_bytes;
	}
	return MR_OK;
}

/* The next @bytes of the file are @owner's, and lie at @data there. */
static mr_status add(mr_part_layout *l, uint32_t owner, const uint8_t *data, uint64_t bytes)
{
	const uint8_t *own = owner == l->self ? data : NULL;
	mr_part_file *f = l->at;
	mr_crc_piece *last = f->n ? &f->piece[f->n - 1] : NULL;

	if (!bytes)
		return MR_OK;
	f->bytes += bytes;
	if (last && (own ? last->data && (const uint8_t *)last->data + last->bytes == own : !last->data)) {
		last->bytes += bytes;
		return MR_OK;
	}
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		mr_crc_piece *grown = realloc(f->piece, room * sizeof(*grown));

		if (!grown)
			return mr_fail(MR_ERESOURCE, "%s: no memory for a list of %zu pieces", f->name, room);
		f->piece = grown;
		f->room = room;
	}
	f->piece[f->n++] = (mr_crc_piece){.data = own, .bytes = bytes};
	return MR_OK;
}

static mr_status bring(mr_part_layout *l, uint32_t rank, uint8_t *data, uint64_t bytes)
{
	MR_TRY(mr_rank_state_bring(l->run, rank, data, bytes));
	return add(l, 0, data, bytes);
}

static mr_status take(void *arg, const mr_saved_tensor *t, uint64_t at, uint64_t bytes, uint32_t rank)
{
	mr_part_layout *l = arg;
	uint8_t *data = (uint8_t *)t->data + at;
	uint64_t begin = l->at->bytes, end = begin + bytes;
	uint64_t from = mr_align_up(begin, MR_CRC_PAGE), to = end / MR_CRC_PAGE * MR_CRC_PAGE;

	if (rank == 0)
		return add(l, 0, data, bytes);
	if (to <= from)
		from = to = end;
	MR_TRY(bring(l, rank, data, from - begin));
	MR_TRY(add(l, rank, data + (from - begin), to - from));
	return bring(l, rank, data + (to - begin), end - to);
}

mr_status mr_part_layout_make(mr_part_layout *l, const uint64_t bytes[3])
{
	for (size_t i = 0; i < l->n_files; i++) {
		l->at = &l->file[i];
		MR_TRY(add(l, 0, (const uint8_t *)l->at->header, bytes[i]));
		for (size_t t = 0; t < l->list[i]->n; t++)
			MR_TRY(mr_rank_state_cut(l->run, &l->list[i]->at[t], take, l));
	}
	return MR_OK;
}

size_t mr_part_layout_files(const mr_part_layout *l, mr_checkpoint_shard file[3])
{
	for (size_t i = 0; i < l->n_files; i++)
		file[i] = (mr_checkpoint_shard){
			.name = l->file[i].name, .pieces = l->file[i].piece, .n_pieces = l->file[i].n};
	return l->n_files;
}

mr_status mr_part_layout_stretches(const mr_part_layout *l, mr_state_list *out)
{
	for (size_t i = 0; i < l->n_files; i++) {
		const mr_part_file *f = &l->file[i];
		uint64_t at = 0;

		for (size_t k = 0; k < f->n; k++) {
			mr_saved_tensor t = mr_state_bytes((void *)(uintptr_t)f->piece[k].data, f->piece[k].bytes);

			if (t.data)
				MR_TRY(mr_state_add(out, &t, "%s:%" PRIu64, f->name, at));
			at += t.bytes;
		}
	}
	return MR_OK;
}
