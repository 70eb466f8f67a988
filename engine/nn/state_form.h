/*
 * state_form.h - how an optimizer's state is stored from step to step, where that is not in the type in which kernels
 * step it: one file in nn/states, one line in states.def each.
 *
 * A step then goes piece by piece: state is widened into work memory, the backend's kernel steps the piece, and the new
 * state is stored. What a form does with a number depends on the numbers of its block alone, and on random bits that
 * are a function of the run's seed, the step, the parameter and the element (MR_RNG_STATE), so the result depends on no
 * cut into pieces, ranges, stages or threads.
 *
 * A block is MR_STATE_BLOCK numbers of a parameter from a multiple of it on; in a table whose rows are stepped by
 * themselves (nn/lazy_rows.h) of a row. Ranges that are stepped begin with a block.
 */
#ifndef MR_NN_STATE_FORM_H
#define MR_NN_STATE_FORM_H

#include "nn/kernels.h"

#define MR_STATE_BLOCK 256

struct mr_state_form {
	const char *name;
	mr_dtype type; /* of a number as it is stored */
	bool scaled;   /* a block has a scale beside its numbers */
	/** The @n numbers at @from, of one block, to @to. @squares: they are means of squares, of a rule's second
	 * state, which is never negative. */
	void (*widen)(const void *from, const float *scale, bool squares, int64_t n, float *to);
	/** And back; @random has 16 bits for each. */
	void (*store)(const float *from, bool squares, const uint16_t *random, int64_t n, void *to, float *scale);
};

/** The form of this name; NULL: that of f32, the precision's own type. */
const mr_state_form *mr_state_form_find(const char *name);

/** Blocks of the first @n numbers of a parameter; @cols: of a row that is stepped by itself, 0: there is none. */
int64_t mr_state_blocks(int64_t n, int64_t cols);

/** Bytes of work memory for steps of @n elements at a time, or a few more. */
size_t mr_stored_room(int64_t n, const mr_types *t);

/** One step of @n elements with the gradient @g, by k->step; with s->stored.form on a state that is stored in it. */
mr_status mr_stored_step(const mr_kernels *k, mr_kctx *kc, int64_t n, const mr_step *s, const void *g) MR_MUST_USE;

/** The same, but the state stays as it is; @g NULL: along the first state in place of a gradient. */
mr_status mr_stored_look(const mr_kernels *k, mr_kctx *kc, int64_t n, const mr_step *s, const void *g) MR_MUST_USE;

#endif
