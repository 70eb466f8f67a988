#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/size.h"
#include "store/crc_blocks.h"
#include "store/safetensors.h"

#define ALIGN 4096u

static void put_tensor(mr_json_writer *w, const mr_saved_tensor *t, uint64_t begin)
{
	mr_json_field_object(w, t->name);
	mr_json_field_string(w, "dtype", mr_dtype_saved_name(t->dtype));
	mr_json_field_array(w, "shape");
	for (uint32_t d = 0; d < t->n_dims; d++)
		mr_json_put_int(w, t->shape[d]);
	mr_json_end_array(w);
	mr_json_field_array(w, "data_offsets");
	mr_json_put_uint(w, begin);
	mr_json_put_uint(w, begin + t->bytes);
	mr_json_end_array(w);
	mr_json_end_object(w);
}

/* Room for a header: at most six bytes for each of a text, and for a tensor 22 for each number and 80 for the rest. A
 * stream that grows would copy the header, and there may be hundreds of thousands of tensors. */
static size_t room_for(const mr_saved_tensor *tensors, size_t n, const mr_saved_text *metadata, size_t n_metadata)
{
	size_t room = ALIGN;

	for (size_t i = 0; i < n_metadata; i++)
		room += 16 + 6 * (strlen(metadata[i].key) + strlen(metadata[i].value));
	for (size_t i = 0; i < n; i++)
		room += 80 + 6 * strlen(tensors[i].name) + 22 * (size_t)(tensors[i].n_dims + 2);
	return mr_align_up(room, ALIGN);
}

char *mr_safetensors_header(const mr_saved_tensor *tensors, size_t n, const mr_saved_text *metadata, size_t n_metadata,
			    size_t *len)
{
	static const char length[8];
	size_t used, room = room_for(tensors, n, metadata, n_metadata);
	char *text = malloc(room), *whole;
	uint64_t offset = 0, json_bytes;
	mr_json_writer w;
	bool good;
	long end;
	FILE *f = text ? fmemopen(text, room, "w") : NULL;

	if (!f) {
		free(text);
		return NULL;
	}
	fwrite(length, 1, sizeof(length), f);
	w = mr_json_begin(f, false);
	if (n_metadata) {
		mr_json_field_object(&w, "__metadata__");
		for (size_t i = 0; i < n_metadata; i++)
			mr_json_field_string(&w, metadata[i].key, metadata[i].value);
		mr_json_end_object(&w);
	}
	for (size_t i = 0; i < n; i++) {
		put_tensor(&w, &tensors[i], offset);
		offset += tensors[i].bytes;
	}
	good = mr_json_finish(&w) == MR_OK && fflush(f) == 0;
	end = ftell(f);
	good = fclose(f) == 0 && good && end > 0;
	used = good ? (size_t)end : 0;
	*len = mr_align_up(used, ALIGN);
	whole = good ? realloc(text, *len) : NULL;
	if (!whole) {
		free(text);
		return NULL;
	}
	memset(whole + used - 1, ' ', *len - used + 1); /* the final newline, too, becomes a blank */
	json_bytes = *len - 8;
	for (int i = 0; i < 8; i++)
		whole[i] = (char)(json_bytes >> (8 * i));
	return whole;
}

uint64_t mr_safetensors_header_bytes(const mr_saved_tensor *tensors, size_t n, const mr_saved_text *metadata,
				     size_t n_metadata)
{
	size_t len = 0;
	char *header = mr_safetensors_header(tensors, n, metadata, n_metadata, &len);

	free(header);
	return header ? len : 0;
}

static mr_status check(const mr_crc_file *f, const mr_saved_tensor *t)
{
	size_t bytes = (unsigned)t->dtype < MR_N_DTYPES ? mr_dtype_bytes(t->dtype) : 0;
	bool fits = bytes && t->n_dims <= MR_SAVED_MAX_DIMS;

	for (uint32_t d = 0; fits && d < t->n_dims; d++)
		fits = t->shape[d] >= 0 && mr_size_mul(bytes, (size_t)t->shape[d], &bytes);
	if (!fits || bytes != t->bytes)
		return mr_fail(MR_EINVAL, "%s: tensor \"%s\" has %llu bytes, its shape and dtype say otherwise",
			       f->name, t->name, (unsigned long long)t->bytes);
	return MR_OK;
}

/* Tensors that lie one behind the other are one piece. */
static size_t append(mr_crc_piece *p, size_t n, const mr_saved_tensor *t)
{
	if (n > 1 && p[n - 1].data && (const uint8_t *)p[n - 1].data + p[n - 1].bytes == (const uint8_t *)t->data)
		p[n - 1].bytes += t->bytes;
	else
		p[n++] = (mr_crc_piece){.data = t->data, .bytes = t->bytes};
	return n;
}

mr_status mr_safetensors_write(mr_crc_file *f, const mr_saved_tensor *tensors, size_t n, const mr_saved_text *metadata,
			       size_t n_metadata)
{
	mr_crc_piece *piece = malloc((n + 1) * sizeof(*piece));
	char *header = NULL;
	size_t len, n_pieces = 0;
	mr_status st = MR_OK;

	for (size_t i = 0; i < n && st == MR_OK; i++)
		st = check(f, &tensors[i]);
	if (st == MR_OK && (!piece || !(header = mr_safetensors_header(tensors, n, metadata, n_metadata, &len))))
		st = mr_fail(MR_ERESOURCE, "%s: no memory for the header of %zu tensors", f->name, n);
	if (st == MR_OK) {
		piece[n_pieces++] = (mr_crc_piece){.data = header, .bytes = len};
		for (size_t i = 0; i < n; i++)
			n_pieces = append(piece, n_pieces, &tensors[i]);
		st = mr_crc_blocks_write(f, piece, n_pieces);
	}
	free(header);
	free(piece);
	return st;
}
