#include "nn/kernels/fused/blocks/block_gemm.h"

#include <stdlib.h>
#include <string.h>

#include "nn/kernels/fused/vec/team.h"

/* Pairs of k in a round: two panels of B, of 128 bytes a pair, fill half of an L2 of 1 MiB. The bits of results depend
 * on this number, so it does not depend on the L2 of the CPU. */
#define ROUND_PAIRS 2048

/* Pairs of a block that the engine processes at a time. Its panel of B may come from L2: with shorter ones, which L1
 * holds, loading and storing sums took 2 % longer. */
#define CHUNK_PAIRS 512

/* Padding in pairs between parts of packed operands: with a power of two as their distance, the parts would share few
 * sets of L1. */
#define PAD_PAIRS 16

/* Adjacent blocks that are finished together, so that rows of C are written in longer pieces than one block's. */
#define GROUP_BLOCKS 16

/* For gradients whole rows of C, of at most this many blocks, are finished together: then a step reads and writes
 * weights and state from beginning to end, and the hardware prefetches them. It does not when the step goes block by
 * block, and prefetch instructions did not help, however they were spread. With AdamW and 1024 rows 375 GFLOP/s instead
 * of 330; 128 rows: 230 instead of 175; 32 rows: 95 instead of 55 (768 and 1024 columns). Meanwhile the sums are
 * buffered: as many as fill L2, or those of one row of blocks. */
#define BAND_BLOCKS 128

/* Rows of A up to which B is not packed. Its rows of pairs must be interleaved anew for each 11 rows of A. */
#define STORED_ROWS 32

/* Pairs of B as stored that are multiplied at a time. */
#define STORED_PAIRS 256

enum { BLOCK_SUMS = MR_BLOCK * MR_BLOCK };

/* Units per thread: several, so that the threads finish at about the same time. */
#define UNITS 4

typedef struct work {
	const mr_block_gemm *g;
	mr_block_scratch *s;
	int64_t piece_pairs, pairs;       /* pairs of one piece and of all pieces */
	int64_t round_pairs, rounds, chunk;
	bool by_rows;                     /* units are rows of C */
	bool in_place;                    /* B is not packed; units are columns of C */
	bool swapped;                     /* so too, with rows of B in the place of A, and A packed as panels */
	int64_t unit;                     /* blocks of one unit */
	int64_t blocks, units, others;    /* blocks along the side that is cut into units; number of units; blocks along
					     the other side */
	int64_t group, band;              /* adjacent blocks in units of rows: group, whose part of B stays in L2; band,
					     that are finished together */
	uint32_t n_share;
	int64_t round, first, now;        /* the current round, its first pair and its number of pairs */
} work;

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t up(int64_t n, int64_t step)
{
	return (n + step - 1) / step * step;
}

static int64_t blocks_of(int64_t n)
{
	return (n + MR_BLOCK - 1) / MR_BLOCK;
}

/* The distance from one row of A, or one panel of B, to the next. */
static int64_t a_pitch(const work *w)
{
	return w->round_pairs + PAD_PAIRS;
}

static int64_t b_pitch(const work *w)
{
	return (w->round_pairs + 1) * MR_BLOCK;
}

static bool as_panels(const work *w, bool a)
{
	return !a || w->swapped;
}

/* Words of @blocks blocks of an operand in one round. */
static size_t operand_words(const work *w, bool a, int64_t blocks)
{
	return (size_t)(blocks * (as_panels(w, a) ? b_pitch(w) : MR_BLOCK * a_pitch(w)));
}

/* --- packing ------------------------------------------------------------------------------------------------------ */

/* Rows whose addresses are looked up at a time. */
enum { GATHERED = 128 };

/* @p of piece @piece of @n rows of A from @at on, from pair @in of the piece on. */
static void pack_gathered(const work *w, int64_t piece, int64_t in, int64_t at, mr_block_pack p)
{
	const uint16_t *row[GATHERED];
	int64_t n = p.n;

	p.row = row;
	for (int64_t done = 0; done < n; done += p.n, p.dst += p.n * p.dst_pitch) {
		p.n = least(GATHERED, n - done);
		mr_gather_rows(w->g->gather, w->g->gather->images[0], piece, at + done, p.n, 2 * in, row);
		w->g->vec->rows(&p);
	}
}

/* The same of the stored A^T of product @product: rows @at to @at + @n of A are channels of one piece or several, its
 * pairs points. */
static void pack_gathered_turned(const work *w, int64_t product, int64_t in, int64_t at, mr_block_pack p)
{
	const uint16_t *row[GATHERED];
	int64_t c = w->g->gather->c, k = p.k, pairs = p.pairs, n = p.n;
	uint32_t *dst = p.dst;

	p.row = row;
	for (int64_t done = 0; done < n; done += p.n) {
		p.n = least(c - (at + done) % c, n - done);
		for (int64_t l = 0; l < pairs; l += p.pairs) {
			p.pairs = least(GATHERED / 2, pairs - l);
			p.k = k < 2 * l ? 0 : least(k - 2 * l, 2 * p.pairs);
			p.dst = dst + done * p.dst_pitch + l;
			mr_gather_rows(w->g->gather, w->g->gather->images[product], (at + done) / c, 2 * (in + l), p.k,
				       (at + done) % c, row);
			w->g->vec->rows_turned(&p);
		}
	}
}

/* Packs this round's pairs of @n rows of A, or columns of B, from @at on. */
static void pack(const work *w, bool a, int64_t at, int64_t n, uint32_t *dst)
{
	const mr_block_gemm *g = w->g;
	bool along_k = a ? !g->ta : g->tb; /* are elements along k adjacent in memory? */
	bool panels = as_panels(w, a);
	mr_block_pack_fn *fn = panels ? (along_k ? g->vec->panels_turned : g->vec->panels)
				      : (along_k ? g->vec->rows : g->vec->rows_turned);
	mr_block_pack p = {.pitch = along_k ? g->k : a ? g->m : g->n, .n = n,
			   .dst_pitch = panels ? b_pitch(w) : a_pitch(w)};

	for (int64_t done = 0; done < w->now; done += p.pairs) {
		int64_t pair = w->first + done, piece = pair / w->piece_pairs, in = pair % w->piece_pairs, left;
		bool gathered = a && g->gather;
		const uint16_t *src = gathered ? NULL : (a ? g->as : g->bs)[piece];

		p.pairs = least(w->now - done, w->piece_pairs - in);
		left = g->k - 2 * in;
		p.k = left < 0 ? 0 : least(left, 2 * p.pairs);
		p.dst = dst + (panels ? done * MR_BLOCK : done);
		if (gathered && g->ta) {
			pack_gathered_turned(w, piece, in, at, p);
		} else if (gathered) {
			pack_gathered(w, piece, in, at, p);
		} else {
			p.src = p.k ? src + (along_k ? at * g->k + 2 * in : 2 * in * p.pitch + at) : src;
			fn(&p);
		}
	}
}

/* Where block @at of B lies in this round, in what was packed for many products. */
static uint32_t *kept(const work *w, int64_t at)
{
	return w->g->packed + operand_words(w, false, w->round * blocks_of(w->g->n) + at);
}

static void pack_kept(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const work *w = args;

	(void)worker;
	pack(w, false, lo * MR_BLOCK, least(hi * MR_BLOCK, w->g->n) - lo * MR_BLOCK, kept(w, lo));
}

/* Packs blocks @lo to @hi of the operand that all threads share. */
static void pack_shared(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const work *w = args;
	bool a = !w->by_rows;
	int64_t end = least(hi * MR_BLOCK, a ? w->g->m : w->g->n), at = lo * MR_BLOCK;

	(void)worker;
	pack(w, a, at, end - at, (uint32_t *)w->s->shared.at + operand_words(w, a, lo));
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* A part of C: adjacent blocks of one row of blocks. */
typedef struct strip {
	int64_t i, j, rows, cols;
} strip;

/* Row block @row of C, column blocks @col to @end. */
static strip strip_of(const work *w, int64_t row, int64_t col, int64_t end)
{
	return (strip){.i = row * MR_BLOCK,
		       .j = col * MR_BLOCK,
		       .rows = least(MR_BLOCK, w->g->m - row * MR_BLOCK),
		       .cols = least(end * MR_BLOCK, w->g->n) - col * MR_BLOCK};
}

/* Loads the previous values of a gradient's block. */
static void load_gradient(const mr_block_gemm *g, int64_t i, int64_t j, int64_t rows, int64_t cols, float *c)
{
	const float *from = (const float *)g->out.c + i * g->n + j;

	for (int64_t r = 0; r < rows; r++)
		memcpy(c + r * MR_BLOCK, from + r * g->n, (size_t)cols * sizeof(float));
}

/* Computes the sums of the blocks at @at, one after the other in @c, from their rows of A and columns of B. */
static void sum_up(const work *w, strip at, const uint32_t *a, const uint32_t *b, float *c)
{
	const mr_block_gemm *g = w->g;
	bool begun = g->out.gradient && (g->out.add || w->round > 0);

	for (int64_t j = 0; j < at.cols; j += MR_BLOCK, b += b_pitch(w), c += BLOCK_SUMS) {
		bool go_on = begun;

		if (at.rows < MR_BLOCK || !w->now)
			memset(c, 0, BLOCK_SUMS * sizeof(float)); /* missing rows and columns are summed as well */
		if (begun)
			load_gradient(g, at.i, at.j + j, at.rows, least(MR_BLOCK, at.cols - j), c);
		for (int64_t p = 0; p < w->now; p += w->chunk, go_on = true)
			g->engine->block(a + p, a_pitch(w), at.rows, b + p * MR_BLOCK, least(w->chunk, w->now - p),
					 go_on, c);
	}
}

static void finish(const work *w, strip at, float *c)
{
	int64_t row_blocks = blocks_of(w->g->n), n = blocks_of(at.cols) * BLOCK_SUMS;
	bool last = w->round + 1 == w->rounds;
	mr_block_out out = w->g->out;

	if (!last)
		out.step = NULL;
	if (!out.gradient && w->rounds > 1) {
		float *sum = (float *)w->s->carry.at + (at.i / MR_BLOCK * row_blocks + at.j / MR_BLOCK) * BLOCK_SUMS;

		if (w->round > 0)
			w->g->vec->add(n, c, sum);
		else
			memcpy(sum, c, (size_t)n * sizeof(float));
		c = sum;
	}
	if (out.gradient || last)
		w->g->vec->finish(&out, c, MR_BLOCK, BLOCK_SUMS, at.i, at.j, at.rows, at.cols);
}

/* The distance from the sums of one row of blocks to those of the next; 0 if a row's sums are finished at once, so that
 * all rows use the same place. */
static int64_t sums_pitch(const work *w)
{
	return w->band > w->group ? w->band * BLOCK_SUMS : 0;
}

/* The floats of a unit's sums. */
static size_t sum_floats(const work *w)
{
	return (size_t)(w->by_rows ? w->band * BLOCK_SUMS + (w->unit - 1) * sums_pitch(w) : w->unit * BLOCK_SUMS);
}

/* Computes row blocks @first to @end: all of them with some columns of B, which stay in L2, before the next columns. */
static void unit_of_rows(const work *w, int64_t first, int64_t end, const uint32_t *own, float *sums)
{
	for (int64_t band = 0, next; band < w->others; band = next) {
		next = least(w->others, band + w->band);
		for (int64_t x = band; x < next; x += w->group)
			for (int64_t u = first; u < end; u++) {
				float *c = sums + (u - first) * sums_pitch(w);

				sum_up(w, strip_of(w, u, x, least(next, x + w->group)),
				       own + operand_words(w, true, u - first),
				       (uint32_t *)w->s->shared.at + operand_words(w, false, x),
				       c + (x - band) * BLOCK_SUMS);
				if (x + w->group >= next)
					finish(w, strip_of(w, u, band, next), c);
			}
	}
}

/* Computes column blocks @first to @end with all rows of A. */
static void unit_of_columns(const work *w, int64_t first, int64_t end, const uint32_t *own, float *sums)
{
	for (int64_t o = 0; o < w->others; o++) {
		strip at = strip_of(w, o, first, end);

		sum_up(w, at, (uint32_t *)w->s->shared.at + operand_words(w, true, o), own, sums);
		finish(w, at, sums);
	}
}

/* The sums of one block of C, with the columns @at.j.. of B as it is stored. */
static void sum_stored(const work *w, strip at, const uint32_t *a, float *turned, float *c)
{
	const mr_block_gemm *g = w->g;
	const uint16_t *b = g->bs[0] + 2 * w->first * (g->tb ? 1 : g->n) + at.j * (g->tb ? g->k : 1);
	mr_block_fn *swapped = at.rows > MR_BLOCK / 2 ? g->engine->turned : g->engine->turned_half;
	mr_block_pack turn = {.src = (const uint16_t *)(const void *)turned, .pitch = 2 * MR_BLOCK, .k = 2 * MR_BLOCK,
			      .n = MR_BLOCK, .pairs = MR_BLOCK, .dst = (uint32_t *)(void *)c};

	if (at.rows < MR_BLOCK)
		memset(w->swapped ? turned : c, 0, BLOCK_SUMS * sizeof(float));
	for (int64_t p = 0, n; p < w->now; p += n) {
		n = least(STORED_PAIRS, w->now - p);
		if (w->swapped)
			swapped((const uint32_t *)(const void *)b + p, g->k / 2, at.cols, a + p * MR_BLOCK, n, p > 0,
				turned);
		else
			g->engine->stored(a + p, a_pitch(w), at.rows, b + 2 * p * g->n, g->n, n, p > 0, c);
	}
	if (w->swapped)
		g->vec->panels_turned(&turn);
}

/* Computes column blocks @first to @end with all rows of A. */
static void unit_in_place(const work *w, int64_t first, int64_t end, float *turned, float *sums)
{
	for (int64_t o = 0; o < w->others; o++) {
		const uint32_t *a = (uint32_t *)w->s->shared.at + operand_words(w, true, o);

		for (int64_t x = first; x < end; x++)
			sum_stored(w, strip_of(w, o, x, x + 1), a, turned, sums + (x - first) * BLOCK_SUMS);
		finish(w, strip_of(w, o, first, end), sums);
	}
}

/* Words of a unit's part of the operand that units pack by themselves, or of a block that is turned. */
static size_t unit_words(const work *w)
{
	return w->in_place ? BLOCK_SUMS : w->g->packed ? 0 : operand_words(w, w->by_rows, w->unit);
}

static void one_unit(const work *w, int64_t unit, uint32_t *own)
{
	const mr_block_gemm *g = w->g;
	int64_t first = unit * w->unit, end = least(w->blocks, first + w->unit), at = first * MR_BLOCK;
	float *sums = (float *)(void *)(own + unit_words(w));

	if (w->in_place) {
		unit_in_place(w, first, end, (float *)(void *)own, sums);
		return;
	}
	if (!g->packed)
		pack(w, w->by_rows, at, least(end * MR_BLOCK, w->by_rows ? g->m : g->n) - at, own);
	if (w->by_rows)
		unit_of_rows(w, first, end, own, sums);
	else
		unit_of_columns(w, first, end, g->packed ? kept(w, first) : own, sums);
}

/* The unit that is computed in the place of @unit, of the same thread: all backward where the product goes so. */
static int64_t turned_unit(const work *w, int64_t unit)
{
	int64_t part = ((unit + 1) * w->n_share - 1) / w->units, from = w->units * part / w->n_share;

	return w->g->backward ? from + w->units * (part + 1) / w->n_share - 1 - unit : unit;
}

static void all_units(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const work *w = args;
	int64_t unit, end;

	(void)lo, (void)hi;
	while ((unit = mr_share_take(w->s->share.at, w->n_share, worker, 1, &end)) >= 0)
		one_unit(w, turned_unit(w, unit), (uint32_t *)w->s->own.at + worker * w->s->own_words);
	if (w->g->engine->release)
		w->g->engine->release();
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void plan_rounds(work *w, const mr_block_gemm *g)
{
	int64_t step = g->engine->pairs, chunks;

	w->piece_pairs = up((g->k + 1) / 2, step);
	w->pairs = w->piece_pairs * g->pieces;
	w->rounds = w->pairs > ROUND_PAIRS ? (w->pairs + ROUND_PAIRS - 1) / ROUND_PAIRS : 1;
	w->round_pairs = up((w->pairs + w->rounds - 1) / w->rounds, step);
	w->rounds = w->pairs ? (w->pairs + w->round_pairs - 1) / w->round_pairs : 1;
	chunks = (w->round_pairs + CHUNK_PAIRS - 1) / CHUNK_PAIRS;
	w->chunk = chunks ? up((w->round_pairs + chunks - 1) / chunks, step) : 1;
}

/* Pairs and columns that are not there would have to be 0. */
static bool reads_in_place(const mr_block_gemm *g)
{
	const mr_block_engine *e = g->engine;

	if (g->k % (2 * e->pairs) || g->pieces > 1 || g->gather || g->out.gradient || g->out.step)
		return false;
	if (!g->tb)
		return e->stored && g->m <= STORED_ROWS && g->n % MR_BLOCK == 0;
	return e->turned && g->m >= e->turned_least && g->m <= e->turned_most;
}

size_t mr_block_packed_bytes(const mr_block_gemm *g)
{
	work w = {.g = g};

	plan_rounds(&w, g);
	return g->m >= g->n || (g->m > STORED_ROWS && g->engine->stored && reads_in_place(g))
		       ? 0 : operand_words(&w, false, w.rounds * blocks_of(g->n)) * sizeof(uint32_t);
}

/* Half of L2 is reserved for the part of B that stays there. Gradients use units of rows where there are enough rows
 * for all threads. The parts follow L2 whatever L3 delivers: on a core with 1 MiB of L2 that reads its 32 MiB of L3
 * half as fast as L2, parts for 2 to 8 MiB made most products 0 to 10 % slower, gradients of 16 rows up to 80 %. */
static void plan_units(work *w, const mr_block_gemm *g, uint32_t n_threads)
{
	int64_t row_blocks = blocks_of(g->m), col_blocks = blocks_of(g->n), most;
	int64_t panels = w->s->l2_bytes / 2 / ((w->round_pairs + 1) * MR_BLOCK * (int64_t)sizeof(uint32_t));
	bool whole = g->out.gradient || g->out.step;

	panels = panels < 1 ? 1 : panels;
	w->by_rows = g->m >= g->n || (whole && row_blocks >= UNITS * (int64_t)n_threads);
	w->in_place = !w->by_rows && !g->packed && reads_in_place(g);
	w->swapped = w->in_place && g->tb;
	w->blocks = w->by_rows ? row_blocks : col_blocks;
	w->others = w->by_rows ? col_blocks : row_blocks;
	w->group = least(GROUP_BLOCKS, panels);
	w->band = least(whole ? BAND_BLOCKS : w->group, col_blocks);
	most = panels;
	if (w->by_rows && w->band > w->group)
		most = least(most, w->s->l2_bytes / (w->band * BLOCK_SUMS * (int64_t)sizeof(float)));
	w->n_share = (uint32_t)mr_team_pieces(n_threads, w->blocks, 1,
					      MR_BLOCK * MR_BLOCK * w->others * w->pairs / 32);
	w->unit = w->n_share > 1 ? w->blocks / (UNITS * w->n_share) : w->blocks;
	w->unit = w->unit > most ? most : w->unit;
	w->unit = w->unit < 1 ? 1 : w->unit;
	w->units = (w->blocks + w->unit - 1) / w->unit;
}

static mr_status reserve(const work *w, uint32_t n_threads, mr_block_scratch *s)
{
	size_t carry = w->rounds > 1 && !w->g->out.gradient ? (size_t)(w->blocks * w->others * MR_BLOCK * MR_BLOCK) : 0;

	s->own_words = (unit_words(w) + sum_floats(w) + 1023) & ~(size_t)1023;
	MR_TRY(mr_scratch_grow(&s->share, n_threads * sizeof(mr_share)));
	MR_TRY(mr_scratch_grow(&s->shared, operand_words(w, !w->by_rows, w->others) * sizeof(uint32_t)));
	MR_TRY(mr_scratch_grow(&s->own, n_threads * s->own_words * sizeof(uint32_t)));
	return carry ? mr_scratch_grow(&s->carry, carry * sizeof(float)) : MR_OK;
}

mr_status mr_block_gemm_run(const mr_block_gemm *g, uint32_t n_threads, mr_block_scratch *s)
{
	work w = {.g = g, .s = s};

	plan_rounds(&w, g);
	plan_units(&w, g, n_threads);
	MR_TRY(reserve(&w, n_threads, s));
	for (; w.round < w.rounds; w.round++) {
		w.first = w.round * w.round_pairs;
		w.now = least(w.round_pairs, w.pairs - w.first);
		mr_team_run(n_threads, pack_shared, &w, w.others, 1, MR_BLOCK * w.now);
		if (g->packed && g->packs)
			mr_team_run(n_threads, pack_kept, &w, w.blocks, 1, MR_BLOCK * w.now);
		mr_share_init(s->share.at, w.n_share, w.units);
		mr_team_run_pieces(w.n_share, all_units, &w, w.units, 1);
	}
	return MR_OK;
}

void mr_block_scratch_fini(mr_block_scratch *s)
{
	free(s->shared.at);
	free(s->own.at);
	free(s->carry.at);
	free(s->share.at);
}

size_t mr_block_scratch_bytes(const mr_block_scratch *s)
{
	return mr_scratch_touched(&s->shared) + mr_scratch_touched(&s->own) + mr_scratch_touched(&s->carry);
}
