#include "nn/lazy_rows.h"

#include <string.h>

#include "nn/state_form.h"

mr_step mr_step_shifted(const mr_step *s, const mr_types *t, int64_t n)
{
	const mr_state_form *form = s->stored.form;
	size_t bytes = (size_t)n * mr_dtype_bytes(t->weights);
	size_t state = (size_t)n * mr_dtype_bytes(form ? form->type : t->state);
	mr_step to = *s;

	to.src_rest = s->src_rest ? s->src_rest + n : NULL;
	to.dst_rest = s->dst_rest ? s->dst_rest + n : NULL;
	to.rounding = mr_rounding_shifted(s->rounding, n);
	to.src = (const uint8_t *)s->src + bytes;
	to.dst = (uint8_t *)s->dst + bytes;
	to.m = s->m ? (uint8_t *)s->m + state : NULL;
	to.v = s->v ? (uint8_t *)s->v + state : NULL;
	for (int i = 0; i < 2; i++)
		to.stored.scale[i] = s->stored.scale[i] ? s->stored.scale[i] + mr_state_blocks(n, s->stored.cols)
							: NULL;
	return to;
}

/* Is one of the @cols numbers of @g, of @bytes each, not 0? A 0 has no bit but its sign. */
static bool is_met(size_t bytes, const void *g, int64_t cols)
{
	uint64_t any = 0;

	if (bytes == sizeof(uint64_t))
		for (int64_t j = 0; j < cols; j++)
			any |= ((const uint64_t *)g)[j] << 1;
	else if (bytes == sizeof(uint16_t))
		for (int64_t j = 0; j < cols; j++)
			any |= (uint16_t)(((const uint16_t *)g)[j] << 1);
	else
		for (int64_t j = 0; j < cols; j++)
			any |= ((const uint32_t *)g)[j] << 1;
	return any != 0;
}

static void keep(const mr_types *t, const mr_step *s, int64_t n)
{
	if (s->dst != s->src)
		memcpy(s->dst, s->src, (size_t)n * mr_dtype_bytes(t->weights));
	if (s->dst_rest && s->dst_rest != s->src_rest)
		memcpy(s->dst_rest, s->src_rest, (size_t)n * sizeof(*s->dst_rest));
}

mr_status mr_lazy_step(const mr_kernels *k, mr_kctx *kc, int64_t cols, int64_t n, const mr_step *s, const void *g,
		       mr_old_rows *old)
{
	size_t bytes = mr_dtype_bytes(k->types.gradients);
	int64_t end;

	if (k->recorded)
		return MR_OK;
	/* Rows that follow each other are one call. */
	for (int64_t at = 0; at < n; at = end) {
		bool met = is_met(bytes, (const uint8_t *)g + (size_t)at * bytes, cols);
		mr_step part = mr_step_shifted(s, &k->types, at);

		for (end = at + cols; end < n; end += cols)
			if (is_met(bytes, (const uint8_t *)g + (size_t)end * bytes, cols) != met)
				break;
		for (int64_t i = at; met && old && i < end; i += cols)
			mr_old_rows_save(old, (int32_t)(i / cols),
					 (const uint8_t *)s->src + (size_t)i * mr_dtype_bytes(k->types.weights));
		if (met)
			MR_TRY(mr_stored_step(k, kc, end - at, &part, (const uint8_t *)g + (size_t)at * bytes));
		else
			keep(&k->types, &part, end - at);
	}
	return MR_OK;
}

mr_status mr_lazy_step_rows(const mr_kernels *k, mr_kctx *kc, int64_t n, const mr_step *s, mr_row_sum *g,
			    mr_old_rows *old)
{
	size_t bytes = mr_dtype_bytes(k->types.weights);

	if (k->recorded)
		return MR_OK;
	keep(&k->types, s, n);
	mr_row_sum_sort(g);
	for (int32_t i = 0; i < *g->n; i++) {
		int32_t row = g->order[i];
		const uint8_t *value = g->value + (size_t)mr_row_sum_find(g, row) * g->row_bytes;
		mr_step one = mr_step_shifted(s, &k->types, row * g->cols);

		if (!is_met(mr_dtype_bytes(k->types.gradients), value, g->cols))
			continue;
		if (old)
			mr_old_rows_save(old, row, (const uint8_t *)s->src + (size_t)(row * g->cols) * bytes);
		MR_TRY(mr_stored_step(k, kc, g->cols, &one, value));
	}
	return MR_OK;
}
