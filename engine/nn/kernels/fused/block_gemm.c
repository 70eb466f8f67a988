#include "nn/kernels/fused/block_gemm.h"

#include <stdlib.h>
#include <string.h>

#include "nn/kernels/fused/team.h"
#include "nn/kernels/touched.h"

/* Pairs of k in a round: two panels of B, of 128 bytes a pair, fill half of an L2 of 1 MiB. */
#define ROUND_PAIRS 2048
#define UNIT_BYTES ((int64_t)512 * 1024)

/* Pairs of a block that the engine does at a time: its panel of B then stays in L1. What a step reads and writes comes
 * from memory, four times as much as the rest needs, and is fetched in as many parts as there are chunks. */
#define CHUNK_PAIRS 256
#define STEP_CHUNK_PAIRS 128

/* Lines, in pairs, between parts of packed operands: powers of two from one to the next would share few sets of L1. */
#define PAD_PAIRS 16

/* Blocks side by side that are stepped together, where pairs are few: 64 KiB of sums. */
#define STEPPED_BLOCKS 16

/* Units a thread: so that the last ones end about together. */
#define UNITS 4

typedef struct work {
	const mr_block_gemm *g;
	mr_block_scratch *s;
	int64_t piece_pairs, pairs;       /* of one piece, of all */
	int64_t round_pairs, rounds, chunk;
	bool by_rows;                     /* units are rows of C */
	int64_t unit;                     /* blocks of one */
	int64_t blocks, units, others;    /* blocks along units; units; blocks along the other side */
	uint32_t n_share;
	int64_t round, first, now;        /* of this round: the first pair, and how many */
} work;

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t up(int64_t n, int64_t step)
{
	return (n + step - 1) / step * step;
}

/* From one row of A, or one panel of B, to the next. */
static int64_t a_pitch(const work *w)
{
	return w->round_pairs + PAD_PAIRS;
}

static int64_t b_pitch(const work *w)
{
	return (w->round_pairs + 1) * MR_BLOCK;
}

/* Words of @blocks blocks of an operand in one round. */
static size_t operand_words(const work *w, bool a, int64_t blocks)
{
	return (size_t)(blocks * (a ? MR_BLOCK * a_pitch(w) : b_pitch(w)));
}

/* --- packing ------------------------------------------------------------------------------------------------------ */

/* This round's pairs of @n rows of A, or columns of B, from @at on. */
static void pack(const work *w, bool a, int64_t at, int64_t n, uint32_t *dst)
{
	const mr_block_gemm *g = w->g;
	bool along_k = a ? !g->ta : g->tb; /* is k what lies side by side? */
	mr_block_pack_fn *fn = a ? (g->ta ? g->vec->rows_turned : g->vec->rows)
				 : (g->tb ? g->vec->panels_turned : g->vec->panels);
	mr_block_pack p = {.pitch = along_k ? g->k : a ? g->m : g->n, .n = n,
			   .dst_pitch = a ? a_pitch(w) : b_pitch(w)};

	for (int64_t done = 0; done < w->now; done += p.pairs) {
		int64_t pair = w->first + done, piece = pair / w->piece_pairs, in = pair % w->piece_pairs, left;
		const uint16_t *src = (a ? g->as : g->bs)[piece];

		p.pairs = least(w->now - done, w->piece_pairs - in);
		left = g->k - 2 * in;
		p.k = left < 0 ? 0 : least(left, 2 * p.pairs);
		p.src = p.k ? src + (along_k ? at * g->k + 2 * in : 2 * in * p.pitch + at) : src;
		p.dst = dst + (a ? done : done * MR_BLOCK);
		fn(&p);
	}
}

/* Blocks lo to hi of the operand that all share. */
static void pack_shared(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const work *w = args;
	bool a = !w->by_rows;
	int64_t end = least(hi * MR_BLOCK, a ? w->g->m : w->g->n), at = lo * MR_BLOCK;

	(void)worker;
	pack(w, a, at, end - at, w->s->shared + operand_words(w, a, lo));
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* A gradient's block as it is so far. */
static void load_gradient(const mr_block_gemm *g, int64_t i, int64_t j, int64_t rows, int64_t cols, float *c)
{
	const float *from = (const float *)g->out.c + i * g->n + j;

	for (int64_t r = 0; r < rows; r++)
		memcpy(c + r * MR_BLOCK, from + r * g->n, (size_t)cols * sizeof(float));
}

static void finish_gradient(const work *w, const float *c, int64_t i, int64_t j, int64_t rows, int64_t cols)
{
	mr_block_out out = w->g->out;

	if (w->round + 1 < w->rounds)
		out.step = NULL;
	w->g->vec->finish(&out, c, MR_BLOCK, MR_BLOCK * MR_BLOCK, i, j, rows, cols);
}

static void finish_activations(const work *w, float *c, int64_t i, int64_t j, int64_t rows, int64_t cols)
{
	int64_t row_blocks = (w->g->n + MR_BLOCK - 1) / MR_BLOCK, n = MR_BLOCK * MR_BLOCK;
	float *sum = w->rounds > 1 ? w->s->carry + (i / MR_BLOCK * row_blocks + j / MR_BLOCK) * n : c;

	if (w->rounds > 1 && w->round == 0)
		memcpy(sum, c, (size_t)n * sizeof(float));
	else if (w->rounds > 1)
		w->g->vec->add(n, c, sum);
	if (w->round + 1 == w->rounds)
		w->g->vec->finish(&w->g->out, sum, MR_BLOCK, MR_BLOCK * MR_BLOCK, i, j, rows, cols);
}

/* A block of C: its first row and column. */
typedef struct place {
	int64_t i, j;
} place;

static place place_of(const work *w, int64_t unit_block, int64_t other)
{
	place at = {MR_BLOCK * (w->by_rows ? unit_block : other), MR_BLOCK * (w->by_rows ? other : unit_block)};

	return at;
}

/* Rows @r to r + n of a block, of those that are there. */
static void fetch(const work *w, place at, int64_t r, int64_t n)
{
	n = least(n, least(MR_BLOCK, w->g->m - at.i) - r);
	if (n > 0 && at.j < w->g->n)
		w->g->vec->fetch(&w->g->out, at.i + r, at.j, n);
}

/* The block at @at; @next comes after it. In one chunk there is little time: then what is fetched is for that one. */
static void one_block(const work *w, const uint32_t *a, const uint32_t *b, place at, place next)
{
	const mr_block_gemm *g = w->g;
	int64_t i = at.i, j = at.j, rows = least(MR_BLOCK, g->m - i), cols = least(MR_BLOCK, g->n - j);
	int64_t chunks = (w->now + w->chunk - 1) / w->chunk, each = chunks ? (MR_BLOCK + chunks - 1) / chunks : 0;
	bool go_on = g->out.gradient && (g->out.add || w->round > 0), last = w->round + 1 == w->rounds;
	_Alignas(64) float c[MR_BLOCK * MR_BLOCK];

	if (go_on || rows < MR_BLOCK || !w->now)
		memset(c, 0, sizeof(c)); /* what is not there is added up all the same */
	if (go_on)
		load_gradient(g, i, j, rows, cols, c);
	for (int64_t p = 0, r = 0; p < w->now; p += w->chunk, r += each, go_on = true) {
		if (last)
			fetch(w, chunks > 1 ? at : next, r, each);
		g->engine->block(a + p, a_pitch(w), rows, b + p * MR_BLOCK, least(w->chunk, w->now - p), go_on, c);
	}
	if (g->out.gradient)
		finish_gradient(w, c, i, j, rows, cols);
	else
		finish_activations(w, c, i, j, rows, cols);
}

/* The sums of one block of a step of few pairs, which one chunk has. */
static void step_sums(const work *w, const uint32_t *a, const uint32_t *b, place at, float *c)
{
	const mr_block_gemm *g = w->g;
	int64_t rows = least(MR_BLOCK, g->m - at.i);
	bool go_on = g->out.gradient && (g->out.add || w->round > 0);

	if (go_on)
		load_gradient(g, at.i, at.j, rows, least(MR_BLOCK, g->n - at.j), c);
	g->engine->block(a, a_pitch(w), rows, b, w->now, go_on, c);
}

/* Row block @row of C, column blocks @col to @end of it. Of few pairs a step takes longer than the product, and waits
 * for memory, which comes fastest in long rows: so several blocks are stepped together. */
static void stepped_blocks(const work *w, const uint32_t *a, const uint32_t *b, int64_t row, int64_t col, int64_t end)
{
	const mr_block_gemm *g = w->g;
	_Alignas(64) float c[STEPPED_BLOCKS][MR_BLOCK * MR_BLOCK];

	for (int64_t x = col, n; x < end; x += n) {
		place at = {row * MR_BLOCK, x * MR_BLOCK};

		n = least(STEPPED_BLOCKS, end - x);
		for (int64_t p = 0; p < n; p++)
			step_sums(w, a, b + (x - col + p) * b_pitch(w), (place){at.i, (x + p) * MR_BLOCK}, c[p]);
		finish_gradient(w, c[0], at.i, at.j, least(MR_BLOCK, g->m - at.i), least(n * MR_BLOCK, g->n - at.j));
	}
}

static void stepped_unit(const work *w, int64_t first, int64_t end, const uint32_t *own)
{
	const uint32_t *shared = w->s->shared;

	for (int64_t u = first; w->by_rows && u < end; u++)
		stepped_blocks(w, own + operand_words(w, true, u - first), shared, u, 0, w->others);
	for (int64_t o = 0; !w->by_rows && o < w->others; o++)
		stepped_blocks(w, shared + operand_words(w, true, o), own, o, first, end);
}

static void one_unit(const work *w, int64_t unit, uint32_t *own)
{
	const mr_block_gemm *g = w->g;
	int64_t first = unit * w->unit, end = least(w->blocks, first + w->unit), at = first * MR_BLOCK;

	pack(w, w->by_rows, at, least(end * MR_BLOCK, w->by_rows ? g->m : g->n) - at, own);
	if (g->out.step && w->now && w->now <= w->chunk && (g->out.gradient || w->rounds == 1)) {
		stepped_unit(w, first, end, own);
		return;
	}
	for (int64_t o = 0; o < w->others; o++) {
		const uint32_t *other = w->s->shared + operand_words(w, !w->by_rows, o);

		for (int64_t u = first; u < end; u++) {
			const uint32_t *mine = own + operand_words(w, w->by_rows, u - first);

			one_block(w, w->by_rows ? mine : other, w->by_rows ? other : mine, place_of(w, u, o),
				  u + 1 < end ? place_of(w, u + 1, o) : place_of(w, first, o + 1));
		}
	}
}

static void all_units(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const work *w = args;
	int64_t unit, end;

	(void)lo, (void)hi;
	while ((unit = mr_share_take(w->s->share, w->n_share, worker, 1, &end)) >= 0)
		one_unit(w, unit, w->s->own + worker * w->s->own_words);
	if (w->g->engine->release)
		w->g->engine->release();
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void plan(work *w, const mr_block_gemm *g, uint32_t n_threads)
{
	int64_t step = g->engine->pairs, most, row_blocks = (g->m + MR_BLOCK - 1) / MR_BLOCK,
		col_blocks = (g->n + MR_BLOCK - 1) / MR_BLOCK, chunks;

	w->piece_pairs = up((g->k + 1) / 2, step);
	w->pairs = w->piece_pairs * g->pieces;
	w->rounds = w->pairs > ROUND_PAIRS ? (w->pairs + ROUND_PAIRS - 1) / ROUND_PAIRS : 1;
	w->round_pairs = up((w->pairs + w->rounds - 1) / w->rounds, step);
	w->rounds = w->pairs ? (w->pairs + w->round_pairs - 1) / w->round_pairs : 1;
	most = g->out.step ? STEP_CHUNK_PAIRS : CHUNK_PAIRS;
	chunks = (w->round_pairs + most - 1) / most;
	w->chunk = chunks ? up((w->round_pairs + chunks - 1) / chunks, step) : 1;
	w->by_rows = g->m >= g->n;
	w->blocks = w->by_rows ? row_blocks : col_blocks;
	w->others = w->by_rows ? col_blocks : row_blocks;
	most = UNIT_BYTES / ((w->round_pairs + 1) * MR_BLOCK * (int64_t)sizeof(uint32_t));
	w->n_share = (uint32_t)mr_team_pieces(n_threads, w->blocks, 1,
					      MR_BLOCK * MR_BLOCK * w->others * w->pairs / 32);
	w->unit = w->n_share > 1 ? w->blocks / (UNITS * w->n_share) : w->blocks;
	w->unit = w->unit > most ? most : w->unit;
	w->unit = w->unit < 1 ? 1 : w->unit;
	w->units = (w->blocks + w->unit - 1) / w->unit;
}

/* At least @want of @bytes each at @old, of which *@has are there; what they held is lost. NULL: no memory. */
static void *grown(void *old, size_t *has, size_t want, size_t bytes)
{
	void *more;

	if (want <= *has)
		return old;
	free(old);
	more = aligned_alloc(4096, (want * bytes + 4095) & ~(size_t)4095);
	*has = more ? want : 0;
	return more;
}

static mr_status reserve(const work *w, uint32_t n_threads, mr_block_scratch *s)
{
	size_t own = (operand_words(w, w->by_rows, w->unit) + 1023) & ~(size_t)1023;
	size_t shared = operand_words(w, !w->by_rows, w->others), all = n_threads * s->own_words,
	       shares = s->share ? n_threads : 0;
	size_t carry = w->rounds > 1 && !w->g->out.gradient ? (size_t)(w->blocks * w->others * MR_BLOCK * MR_BLOCK) : 0;

	s->share = grown(s->share, &shares, n_threads, sizeof(mr_share));
	s->shared = grown(s->shared, &s->shared_words, shared, sizeof(uint32_t));
	s->own = grown(s->own, &all, n_threads * own, sizeof(uint32_t));
	s->own_words = all / n_threads;
	s->carry = grown(s->carry, &s->carry_floats, carry, sizeof(float));
	if (s->share && s->shared && s->own && (s->carry || !carry))
		return MR_OK;
	return mr_fail(MR_ERESOURCE, "no memory for %zu bytes of scratch for matrix products",
		       (shared + n_threads * own + carry) * sizeof(float));
}

mr_status mr_block_gemm_run(const mr_block_gemm *g, uint32_t n_threads, mr_block_scratch *s)
{
	work w = {.g = g, .s = s};

	plan(&w, g, n_threads);
	MR_TRY(reserve(&w, n_threads, s));
	for (; w.round < w.rounds; w.round++) {
		w.first = w.round * w.round_pairs;
		w.now = least(w.round_pairs, w.pairs - w.first);
		mr_team_run(n_threads, pack_shared, &w, w.others, 1, MR_BLOCK * w.now);
		mr_share_init(s->share, w.n_share, w.units);
		mr_team_run_pieces(w.n_share, all_units, &w, w.units, 1);
	}
	return MR_OK;
}

void mr_block_scratch_fini(mr_block_scratch *s)
{
	free(s->shared);
	free(s->own);
	free(s->carry);
	free(s->share);
}

size_t mr_block_scratch_bytes(const mr_block_scratch *s, uint32_t n_threads)
{
	return mr_touched_bytes(s->shared, s->shared_words * sizeof(uint32_t)) +
	       mr_touched_bytes(s->own, n_threads * s->own_words * sizeof(uint32_t)) +
	       mr_touched_bytes(s->carry, s->carry_floats * sizeof(float));
}
