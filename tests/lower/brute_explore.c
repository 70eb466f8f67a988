#include "lower/brute_state.h"

#include <stdlib.h>
#include <string.h>

#define MAX_EXPLORED 4     /* workers of plans of which all interleavings are tried */
#define MAX_STATES (1u << 10)

/* The state after some instructions, and whose turn is tried next. */
typedef struct brute_frame {
	uint32_t pc[MAX_EXPLORED], next;
	bool moved; /* a worker could go on from here */
	brute_stage stage[MAX_STAGES * MAX_PIPES];
	int pipe_of[MAX_MICRO];
	brute_place place[];
} brute_frame;

typedef struct brute_search {
	brute *b;
	uint8_t *frames; /* [room] of frame_bytes */
	size_t frame_bytes;
	uint32_t depth, room, n_seen;
	uint64_t *seen; /* [2 * MAX_STATES] hashes of states, 0: free */
} brute_search;

static brute_frame *frame_at(const brute_search *s, uint32_t i)
{
	return (brute_frame *)(void *)(s->frames + i * s->frame_bytes);
}

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
	for (size_t i = 0; i + 4 <= n; i += 4) {
		uint32_t x;

		memcpy(&x, (const uint8_t *)data + i, 4);
		h = (h ^ x) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h;
}

/*
 * Whether the state of @s->b at @pc is met for the first time. Slots, buffers and messages are written in the order of
 * one list or under its eyes, so @pc says what is in them; only versions and sums are touched by several workers.
 */
static bool is_new(brute_search *s, const uint32_t *pc)
{
	uint64_t h = hash_bytes(1, pc, MAX_EXPLORED * sizeof(*pc));
	size_t at;

	h = hash_bytes(h, s->b->stage, s->b->p->n_stages * sizeof(*s->b->stage));
	for (size_t i = 0; i < s->b->n_places; i++) {
		const brute_place *x = &s->b->place[i];

		h = hash_bytes(hash_bytes(h, &x->n_sum, sizeof(x->n_sum)), x->sum, (size_t)x->n_sum * sizeof(*x->sum));
	}
	h |= 1;
	for (at = h % (2 * MAX_STATES); s->seen[at]; at = (at + 1) % (2 * MAX_STATES))
		if (s->seen[at] == h)
			return false;
	s->seen[at] = h;
	s->n_seen++;
	return true;
}

static void push_state(brute_search *s, const uint32_t *pc)
{
	const brute *b = s->b;
	brute_frame *f = frame_at(s, s->depth++);

	memcpy(f->pc, pc, sizeof(f->pc));
	f->next = 0;
	f->moved = false;
	memcpy(f->stage, b->stage, sizeof(f->stage));
	memcpy(f->pipe_of, b->pipe_of, sizeof(f->pipe_of));
	memcpy(f->place, b->place, b->n_places * sizeof(*f->place));
}

static void load_state(brute *b, const brute_frame *f)
{
	memcpy(b->stage, f->stage, sizeof(f->stage));
	memcpy(b->pipe_of, f->pipe_of, sizeof(f->pipe_of));
	memcpy(b->place, f->place, b->n_places * sizeof(*f->place));
}

/* Depth first through all states; false when they are too many. A step that cannot be taken leaves the state alone. */
static bool search(brute_search *s)
{
	uint32_t pc[MAX_EXPLORED] = {0};
	bool loaded = true;
	brute *b = s->b;

	push_state(s, pc);
	while (s->depth && s->n_seen < MAX_STATES) {
		brute_frame *f = frame_at(s, s->depth - 1);
		uint16_t w = (uint16_t)f->next++;
		const mr_instr *in;
		uint64_t n;

		if (w == b->p->n_workers) {
			if (!f->moved) {
				load_state(b, f);
				brute_judge(b, f->pc);
			}
			s->depth--;
			loaded = false;
			continue;
		}
		if (!loaded)
			load_state(b, f);
		loaded = true;
		in = brute_fetch(b, w, f->pc[w], &n);
		if (!in || !brute_step(b, in, n, w))
			continue;
		f->moved = true;
		memcpy(pc, f->pc, sizeof(pc));
		pc[w]++;
		loaded = is_new(s, pc); /* then it is the state of the frame on top */
		if (loaded)
			push_state(s, pc);
	}
	return s->depth == 0;
}

static uint32_t n_instrs(const brute *b)
{
	uint32_t n = 0;
	uint64_t iteration;

	for (uint16_t w = 0; w < b->p->n_workers; w++)
		for (uint32_t k = 0; brute_fetch(b, w, k, &iteration); k++)
			n++;
	return n;
}

brute_verdict brute_explore(const mr_plan *plan, uint32_t n_bodies, char why[80])
{
	brute *b = plan->n_workers <= MAX_EXPLORED ? brute_open(plan, n_bodies, why) : NULL;
	brute_search s = {.b = b};
	volatile brute_verdict v = BRUTE_TOO_LARGE;

	if (!b)
		return v;
	s.room = n_instrs(b) + 2;
	s.frame_bytes = (sizeof(brute_frame) + b->n_places * sizeof(brute_place) + 63) / 64 * 64;
	s.frames = malloc(s.room * s.frame_bytes);
	s.seen = calloc(2 * MAX_STATES, sizeof(*s.seen));
	if (s.frames && s.seen) {
		if (setjmp(b->out))
			v = BRUTE_WRONG;
		else if (search(&s))
			v = BRUTE_RIGHT;
	}
	free(s.frames);
	free(s.seen);
	brute_close(b);
	return v;
}
