/*
 * vec_gemm_groups.h - x^T dz: few k, a big C. A group is one tile's rows of C; C, or weights and optimizer state, stream by. See
 * vec_gemm.h.
 */
#define GROUP_DEPTH 256  /* k of a block in groups */
#define GROUP_COLS 1024  /* columns of a block in groups: its packed part of B fits L2 */

/* All tiles of one group: @rows rows of C from @i, columns j0 .. j1. Sums that are not finished wait in C itself. */
static void group_tiles(const mr_vec_gemm *g, int64_t i, int64_t rows, int64_t j0, int64_t j1, int64_t k0, int64_t k,
			const float *sliver, const float *panels)
{
	int64_t n = (j1 - j0 + NR - 1) / NR, row_lines = (j1 - j0 + LINE - 1) / LINE, each = (rows * row_lines + n - 1) / n;
	bool last = k0 + k == g->k;
	/* the next group's rows, in the order of memory */
	ahead next = {.row = i + rows, .row_lines = row_lines, .lines = i + 2 * rows <= g->m ? rows * row_lines : 0};
	tile t = {.g = g, .i = i, .k = k, .a = sliver, .in_pitch = g->n, .out_pitch = g->n,
		  .skip = g->n - row_lines * LINE, .row_lines = row_lines};

	for (int64_t q = 0; q < n; q++) {
		int64_t j = j0 + q * NR;
		float *c = g->c + i * g->n + j;

		t.j = j;
		t.cols = least(NR, j1 - j);
		t.b = panels + q * NR * k;
		t.in = k0 > 0 || g->add ? c : NULL;
		t.out = last ? NULL : c;
		t.step_next = j0 + ahead_take(&next, each, g->n, &t);
		t.next = g->c + t.step_next;
		tile_any(&t, rows);
	}
}

/* Columns of a block: as few blocks as do, all alike. */
static int64_t group_width(int64_t cols)
{
	int64_t blocks = (cols + GROUP_COLS - 1) / GROUP_COLS;

	return ((cols + blocks - 1) / blocks + NR - 1) / NR * NR;
}

static void groups_run(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch)
{
	int64_t rows = r1 - r0, tiles = tiles_of(rows), width = group_width(c1 - c0);
	float *sliver = scratch, *panels = scratch + GROUP_DEPTH * LANES;

	for (int64_t j0 = c0; j0 < c1; j0 += width) {
		int64_t j1 = least(c1, j0 + width), k;

		for (int64_t k0 = 0; k0 < g->k; k0 += k) {
			k = least(GROUP_DEPTH, g->k - k0);
			for (int64_t j = j0; j < j1; j += NR)
				pack_panel_rows(g, k0, k, j, least(NR, j1 - j), panels + (j - j0) * k);
			for (int64_t q = 0; q < tiles; q++) {
				int64_t i = tile_row(rows, q, tiles), n = tile_row(rows, q + 1, tiles) - i;

				pack_sliver(g, r0 + i, n, k0, k, sliver);
				group_tiles(g, r0 + i, n, j0, j1, k0, k, sliver, panels);
			}
		}
	}
}

/* A unit is one group in one block of columns. A thread packs a block's part of B when it takes the first unit of it. */
static void groups_shared(const mr_vec_gemm *g, uint32_t worker, float *scratch)
{
	int64_t tiles = tiles_of(g->m), width = group_width(g->n), packed = -1, at, end;
	float *sliver = scratch, *panels = scratch + GROUP_DEPTH * LANES;

	while ((at = mr_share_take(g->share, g->n_share, worker, 1, &end)) >= 0) {
		int64_t j0 = at / tiles * width, j1 = least(g->n, j0 + width), q = at % tiles;
		int64_t i = tile_row(g->m, q, tiles), rows = tile_row(g->m, q + 1, tiles) - i;

		for (int64_t j = j0; j < j1 && packed != j0; j += NR)
			pack_panel_rows(g, 0, g->k, j, least(NR, j1 - j), panels + (j - j0) * g->k);
		packed = j0;
		pack_sliver(g, i, rows, 0, g->k, sliver);
		group_tiles(g, i, rows, j0, j1, 0, g->k, sliver, panels);
	}
}

static void gemm_groups(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_gemm *g = args;

	if (stepped_takes(g))
		gemm_range(g, lo, hi, worker, stepped_range, stepped_shared);
	else
		gemm_range(g, lo, hi, worker, groups_run, groups_shared);
}

static int64_t group_units(const mr_vec_gemm *g)
{
	int64_t width = group_width(g->n);

	if (stepped_takes(g))
		return stepped_units(g);
	return g->k <= GROUP_DEPTH ? (g->n + width - 1) / width * tiles_of(g->m) : 0;
}

static bool group_sums(const mr_vec_gemm *g)
{
	return stepped_takes(g) && !g->bs;
}

static size_t group_floats(int64_t k)
{
	(void)k;
	return largest(GROUP_DEPTH * LANES + GROUP_DEPTH * (GROUP_COLS + NR), STEPPED_FLOATS);
}
