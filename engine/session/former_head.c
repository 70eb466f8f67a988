#include "session/former_head.h"

#include <stdlib.h>
#include <string.h>

#define HEAD "lm_head.weight"

bool mr_former_head(const char *format, const mr_saved_tensor *to, const mr_saved_tensor *from)
{
	bool turned = to->n_dims == 2 && from->n_dims == 2 && to->shape[0] == from->shape[1] &&
		      to->shape[1] == from->shape[0];

	if (strcmp(to->name, HEAD) != 0 || strcmp(from->name, HEAD) != 0 || !turned)
		return false;
	return to->shape[0] != to->shape[1] || (format && !strcmp(format, "millrace"));
}

/* @to [rows, cols] from @from [cols, rows], elements of @bytes. */
static void transpose(char *to, const char *from, int64_t rows, int64_t cols, size_t bytes)
{
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++)
			memcpy(to + (size_t)(i * cols + j) * bytes, from + (size_t)(j * rows + i) * bytes, bytes);
}

mr_status mr_former_head_load(const mr_safetensors *f, const mr_saved_tensor *want)
{
	const mr_saved_tensor *from = mr_safetensors_find(f, want->name);
	mr_status st;
	void *raw;

	if (!from || from->dtype != want->dtype || !mr_former_head(mr_safetensors_metadata(f, "format"), want, from))
		return mr_safetensors_load(f, want);
	raw = malloc(from->bytes + 1);
	if (!raw)
		return mr_fail(MR_ERESOURCE, "no memory for the %llu bytes of %s", (unsigned long long)from->bytes,
			       from->name);
	st = mr_safetensors_read(f, from, raw);
	if (st == MR_OK)
		transpose(want->data, raw, want->shape[0], want->shape[1], mr_saved_dtype_bytes(want->dtype));
	free(raw);
	return st;
}

uint32_t mr_former_head_param(const mr_session *s)
{
	uint32_t p = strcmp(s->job->model.name, "gpt") ? UINT32_MAX : mr_graph_find_param(s->graph, HEAD);

	return p != UINT32_MAX && s->graph->params[p].tied_to < 0 ? p : UINT32_MAX;
}
