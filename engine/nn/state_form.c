#include "nn/state_form.h"

#include <string.h>

#include "nn/element.h"
#include "nn/kernels/step_rules.h"
#include "nn/lazy_rows.h"

#define MR_STATE_FORM(id) extern const mr_state_form mr_state_##id;
#include "nn/states/states.def"

static const mr_state_form *const forms[] = {
#define MR_STATE_FORM(id) &mr_state_##id,
#include "nn/states/states.def"
};

const mr_state_form *mr_state_form_find(const char *name)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (!strcmp(forms[i]->name, name))
			return forms[i];
	return NULL;
}

static int64_t blocks_of(int64_t n)
{
	return (n + MR_STATE_BLOCK - 1) / MR_STATE_BLOCK;
}

int64_t mr_state_blocks(int64_t n, int64_t cols)
{
	return cols ? n / cols * blocks_of(cols) + blocks_of(n % cols) : blocks_of(n);
}

/* Elements of a piece: whole blocks. */
static int64_t in_piece(int64_t n)
{
	return blocks_of(n) * MR_STATE_BLOCK;
}

static size_t state_room(int64_t n, const mr_types *t)
{
	return (size_t)in_piece(n) * mr_dtype_bytes(t->state);
}

size_t mr_stored_room(int64_t n, const mr_types *t)
{
	return 2 * state_room(n, t);
}

/* Elements [begin, end) of a step, whose state is in @room. */
typedef struct piece {
	const mr_step *s;
	mr_dtype type;
	int64_t begin, end;
	int states;
	void *room[2];
} piece;

/* A block, or its part in a piece. */
typedef struct block {
	int64_t at, n; /* elements */
	int64_t scale; /* its number in the step */
} block;

/* The first block of @p that begins at element @from or later. */
static block block_from(const piece *p, int64_t from)
{
	int64_t cols = p->s->stored.cols, row = cols ? from / cols : 0, in = from - row * cols;
	int64_t b = blocks_of(in), at = row * cols + b * MR_STATE_BLOCK, end;

	if (cols && b * MR_STATE_BLOCK >= cols) {
		row++;
		b = 0;
		at = row * cols;
	}
	end = at + MR_STATE_BLOCK < p->end ? at + MR_STATE_BLOCK : p->end;
	if (cols && end > (row + 1) * cols)
		end = (row + 1) * cols;
	return (block){at, end - at, row * blocks_of(cols) + b};
}

/* State @i of the step, where element @at is stored. */
static void *stored_at(const piece *p, int i, int64_t at)
{
	const mr_step *s = p->s;

	return (uint8_t *)(i ? s->v : s->m) + (size_t)at * mr_dtype_bytes(s->stored.form->type);
}

static float *scale_at(const piece *p, int i, const block *b)
{
	return p->s->stored.form->scaled ? p->s->stored.scale[i] + b->scale : NULL;
}

static void *room_at(const piece *p, int i, const block *b)
{
	return (uint8_t *)p->room[i] + (size_t)(b->at - p->begin) * mr_dtype_bytes(p->type);
}

static void widen_blocks(const void *args, int64_t lo, int64_t hi)
{
	const piece *p = args;
	float wide[MR_STATE_BLOCK];

	for (block b = block_from(p, p->begin + lo); b.at < p->begin + hi; b = block_from(p, b.at + b.n))
		for (int i = 0; i < p->states; i++) {
			void *room = room_at(p, i, &b);
			float *to = p->type == MR_F32 ? room : wide;

			p->s->stored.form->widen(stored_at(p, i, b.at), scale_at(p, i, &b), i > 0, b.n, to);
			for (int64_t j = 0; to == wide && j < b.n; j++)
				((uint16_t *)room)[j] = mr_bf16_round(wide[j]);
		}
}

_Static_assert(MR_STATE_BLOCK <= MR_RNG_MANY, "random words of a block are found in one call");

/* Random bits for both states of the elements of @b. */
static void find_random(const mr_rounding *r, const block *b, uint16_t random[2][MR_STATE_BLOCK])
{
	uint64_t first = r->first + (uint64_t)b->at, word[MR_RNG_MANY / 2 + 2];
	int64_t odd = (int64_t)(first & 3);
	uint32_t last[4];

	mr_rng_pairs(r->seed, MR_RNG_STATE, r->step, r->param, first >> 2, word);
	if (odd + b->n > MR_RNG_MANY) {
		mr_rng_block(r->seed, MR_RNG_STATE, r->step, r->param, (first >> 2) + MR_RNG_MANY / 4, last);
		word[MR_RNG_MANY / 2] = last[0] | (uint64_t)last[1] << 32;
		word[MR_RNG_MANY / 2 + 1] = last[2] | (uint64_t)last[3] << 32;
	}
	for (int64_t i = 0; i < b->n; i++) {
		uint32_t w = (uint32_t)(word[(odd + i) / 2] >> 32 * ((odd + i) & 1));

		random[0][i] = (uint16_t)w;
		random[1][i] = (uint16_t)(w >> 16);
	}
}

static void store_blocks(const void *args, int64_t lo, int64_t hi)
{
	const piece *p = args;
	uint16_t random[2][MR_STATE_BLOCK];
	float wide[MR_STATE_BLOCK];

	for (block b = block_from(p, p->begin + lo); b.at < p->begin + hi; b = block_from(p, b.at + b.n)) {
		find_random(&p->s->rounding, &b, random);
		for (int i = 0; i < p->states; i++) {
			const void *room = room_at(p, i, &b);

			for (int64_t j = 0; p->type != MR_F32 && j < b.n; j++)
				wide[j] = mr_bf16_widen(((const uint16_t *)room)[j]);
			p->s->stored.form->store(p->type == MR_F32 ? room : wide, i > 0, random[i], b.n,
						 stored_at(p, i, b.at), scale_at(p, i, &b));
		}
	}
}

/* The elements from @at on that are stepped at a time: whole rows where there are rows, or blocks of one. */
static int64_t piece_of(const mr_stored *f, int64_t at)
{
	int64_t cols = f->cols, room = in_piece(f->room_n);

	if (cols && cols <= room)
		return room / cols * cols;
	return cols && cols - at % cols < room ? cols - at % cols : room;
}

static mr_status step_stored(const mr_kernels *k, mr_kctx *kc, int64_t n, const mr_step *s, const void *g, bool stores)
{
	const mr_stored *f = &s->stored;
	size_t each = mr_dtype_bytes(k->types.gradients);
	piece p = {.s = s, .type = k->types.state, .states = g ? mr_step_states(s->kind) : 1};
	mr_step one;

	p.room[0] = f->room;
	p.room[1] = (uint8_t *)f->room + state_room(f->room_n, &k->types);
	for (; p.begin < n; p.begin = p.end) {
		int64_t len = piece_of(f, p.begin);

		len = len < n - p.begin ? len : n - p.begin;
		p.end = p.begin + len;
		one = mr_step_shifted(s, &k->types, p.begin);
		one.stored = (mr_stored){0};
		one.m = p.room[0];
		one.v = p.room[1];
		MR_TRY(k->ranges(kc, &(mr_ranges_args){.n = len, .fn = widen_blocks, .args = &p}));
		MR_TRY(k->step(kc, &(mr_step_args){.n = len, .s = &one,
						   .g = g ? (const uint8_t *)g + (size_t)p.begin * each : p.room[0]}));
		if (stores)
			MR_TRY(k->ranges(kc, &(mr_ranges_args){.n = len, .fn = store_blocks, .args = &p}));
	}
	return MR_OK;
}

mr_status mr_stored_step(const mr_kernels *k, mr_kctx *kc, int64_t n, const mr_step *s, const void *g)
{
	if (!s->stored.form || k->recorded)
		return k->step(kc, &(mr_step_args){.n = n, .s = s, .g = g});
	return step_stored(k, kc, n, s, g, true);
}

mr_status mr_stored_look(const mr_kernels *k, mr_kctx *kc, int64_t n, const mr_step *s, const void *g)
{
	if (!s->stored.form || k->recorded)
		return k->step(kc, &(mr_step_args){.n = n, .s = s, .g = g ? g : s->m});
	return step_stored(k, kc, n, s, g, false);
}
