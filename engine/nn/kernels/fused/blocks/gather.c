#include "nn/kernels/fused/blocks/gather.h"

void mr_gather_rows(const mr_gather *g, const uint16_t *images, int64_t piece, int64_t first, int64_t n,
		    int64_t channel, const uint16_t **rows)
{
	static const uint16_t zeros[MR_GATHER_CHANNELS];
	int64_t x = first % g->grid_w, y = first / g->grid_w % g->grid_h, sample = first / g->grid_w / g->grid_h;

	for (int64_t i = 0; i < n; i++) {
		int64_t h = y * g->step_h + g->at[piece].h, w = x * g->step_w + g->at[piece].w;

		rows[i] = h < 0 || h >= g->h || w < 0 || w >= g->w
				  ? zeros
				  : images + ((sample * g->h + h) * g->w + w) * g->c + channel;
		if (++x < g->grid_w)
			continue;
		x = 0;
		if (++y == g->grid_h)
			y = 0, sample++;
	}
}
