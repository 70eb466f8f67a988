/*
 * choices.h - the backend that executes each operation under the backend `auto`: a table of measured choices, as data.
 *
 * A choice belongs to an instruction set, a type, one thread or a team of several, a kind of operation and a class of
 * shape. The table in the tree, nn/kernels/choices.def, was written by `./mill bench kernels --choices FILE`;
 * `millrace tune` writes one for the machine at hand, which the key machine.choices names. One line is
 *
 *	MR_CHOICE(avx512, f32, one, gemm_nn, 64, 16384, fused)
 *
 * up to 64 rows and weights of up to 16384 elements; 0 in place of either means any number. The first line that fits
 * counts; without one `fused` executes. Lines that begin with "/", "*" or "#" are comments, and a line
 *
 *	MR_CHOICES_MADE("AMD EPYC 9654, 2 cores, oneDNN 2.6.3")
 *
 * names a machine on which the table was measured. The last column is `fused`, `onednn` or, for products of bf16
 * numbers, `f32`: our kernels of f32 on numbers that are widened (nn/kernels/fused/blocks/f32_inside.h; in bf16_pure
 * `fused` executes these). In bf16 `fused` executes everything else.
 *
 *	kind           what                                                rows      size
 *	gemm_nn        A B, with a bias: a layer forward                   m         n k
 *	gemm_nn_relu   the same, then ReLU                                 m         n k
 *	gemm_nn_gelu   the same, then GELU                                 m         n k
 *	gemm_nt        A B^T: gradient of an input                         m         n k
 *	gemm_tn        A^T B: gradient of a weight, and its step           k         m n
 *	sum            a + b                                               1         elements
 *	norm           layer norm                                          rows      elements
 *	norm_backward  its gradients                                       rows      elements
 *	xent           softmax cross-entropy                               rows      elements
 *	batch_norm     batch normalisation and its gradients               rows      elements
 *	pool           average pools and their gradients                   pixels in elements in
 *	lrn            local response normalisation and its gradient       pixels    elements
 *	conv           convolution                                         pixels    weights
 *	conv_input     gradient of its input                               pixels    weights
 *	conv_weight    gradient of its weights, and its step               pixels    weights
 *	lstm, gru      all rows at once, forward and backward              rows      elements of both weights
 *
 * Pixels of a convolution are those of its output, of all images. `fused` gives all convolutions to oneDNN that
 * nn/kernels/fused/images/winograd.h does not take.
 *
 * Operations that must have the same bits share one line, so all laws of mr_kernels hold whatever a
 * table contains: gemm_tn also decides gemm_step, gemm_sum and gemm_step_rows, norm_backward its halves, and
 * conv_weight conv_step and conv_sum. `fused`
 * executes every operation without a kind. What lstm and gru save from forward to backward depends on who executes
 * them, so their lines of `one` hold for teams, too. They are for f32: in bf16 oneDNN takes 6 to 44 % longer before it
 * has copied anything (perf/README.md), so that its primitive is none of the alternatives.
 */
#ifndef MR_NN_CHOICES_H
#define MR_NN_CHOICES_H

#include "base/str.h"
#include "nn/kernels.h"

#define MR_CHOICE_KINDS(X) \
	X(gemm_nn) X(gemm_nn_relu) X(gemm_nn_gelu) X(gemm_nt) X(gemm_tn) X(sum) X(norm) X(norm_backward) X(xent) \
	X(batch_norm) X(pool) X(lrn) X(conv) X(conv_input) X(conv_weight) X(lstm) X(gru)

typedef enum mr_choice_kind {
#define MR_CHOICE_KIND(id) MR_CHOICE_##id,
	MR_CHOICE_KINDS(MR_CHOICE_KIND)
#undef MR_CHOICE_KIND
	MR_N_CHOICES
} mr_choice_kind;

/* Classes of shape: up to 16, 32, ... 1024 rows, and more; up to 2^12, 2^14, ... 2^24 elements, and more. */
#define MR_CHOICE_ROWS 8
#define MR_CHOICE_SIZES 8

typedef struct mr_choice_line {
	char isa[16], dtype[8], threads[8], kind[16]; /* together without padding: hashed as they are */
	int64_t rows, size; /* up to; 0: any */
	char backend[8];
} mr_choice_line;

typedef struct mr_choices {
	const char *source; /* a file, or "built in" */
	const mr_choice_line *line;
	size_t n;
	const char *made;   /* the machines on which it was measured: "a; b"; empty or NULL: unknown */
} mr_choices;

typedef enum mr_choice_by { MR_CHOICE_FUSED, MR_CHOICE_ONEDNN, MR_CHOICE_F32, MR_N_CHOICE_BY } mr_choice_by;

/* What they say for one instruction set, type and number of threads: a mr_choice_by for each class. */
typedef struct mr_chosen {
	uint8_t by[MR_N_CHOICES][MR_CHOICE_ROWS][MR_CHOICE_SIZES];
} mr_chosen;

/** nn/kernels/choices.def. */
extern const mr_choices mr_choices_built_in;

/** The table in the file @path; the caller destroys *@out. Errors: MR_ECONFIG "path:line: message"; MR_ERESOURCE. */
mr_status mr_choices_read(const char *path, mr_choices **out) MR_MUST_USE;
void mr_choices_destroy(mr_choices *c); /* accepts NULL; not for the built-in ones */

/** A hash of the choices: a part of a run's identity. */
uint64_t mr_choices_hash(const mr_choices *c);

/** Print them as a file that mr_choices_read reads and C includes. */
void mr_choices_print(const mr_choices *c, mr_strbuf *out);

/** Make a copy; the caller destroys *@out. Errors: MR_ERESOURCE. */
mr_status mr_choices_copy(const mr_choices *c, mr_choices **out) MR_MUST_USE;
/** Add a machine to made, unless it is there or empty. @c: not the built-in one. Errors: MR_ERESOURCE. */
mr_status mr_choices_made_add(mr_choices *c, const char *machine) MR_MUST_USE;

/** Look up everything at once. @isa: mr_kernels_isa(@dtype). */
void mr_choices_select(const mr_choices *c, const char *isa, mr_dtype dtype, uint32_t n_threads, mr_chosen *out);

/** Make a copy of @c with @chosen for this instruction set, type and number of threads; the caller destroys *@out.
 * Errors: MR_ERESOURCE. */
mr_status mr_choices_with(const mr_choices *c, const char *isa, mr_dtype dtype, uint32_t n_threads,
			  const mr_chosen *chosen, mr_choices **out) MR_MUST_USE;

const char *mr_choice_name(mr_choice_kind kind);
/** Is it a product? The others have no "f32". */
static inline bool mr_choice_is_gemm(mr_choice_kind kind)
{
	return kind <= MR_CHOICE_gemm_tn;
}

/** Do its lines of one thread hold for any number of threads? */
static inline bool mr_choice_is_for_any_threads(mr_choice_kind kind)
{
	return kind == MR_CHOICE_lstm || kind == MR_CHOICE_gru;
}

/** Largest number of a class; 0: there is none. */
int64_t mr_choice_most_rows(uint32_t class);
int64_t mr_choice_most_size(uint32_t class);

/* The base-two logarithm of @n, rounded up; 0 for @n below 2. */
static inline uint32_t mr_choice_bits(int64_t n)
{
	return n > 1 ? 64u - (uint32_t)__builtin_clzll((unsigned long long)n - 1) : 0;
}

static inline mr_choice_by mr_chosen_by(const mr_chosen *c, mr_choice_kind kind, int64_t rows, int64_t size)
{
	uint32_t r = mr_choice_bits(rows), s = mr_choice_bits(size);

	r = r > 4 ? r - 4 : 0;
	s = s > 12 ? (s - 11) / 2 : 0;
	return (mr_choice_by)c->by[kind][r < MR_CHOICE_ROWS ? r : MR_CHOICE_ROWS - 1]
				  [s < MR_CHOICE_SIZES ? s : MR_CHOICE_SIZES - 1];
}

static inline bool mr_chosen_onednn(const mr_chosen *c, mr_choice_kind kind, int64_t rows, int64_t size)
{
	return mr_chosen_by(c, kind, rows, size) == MR_CHOICE_ONEDNN;
}

/** By which line a product goes. */
static inline mr_choice_by mr_chosen_gemm_by(const mr_chosen *c, const mr_gemm *g)
{
	if (g->ta)
		return mr_chosen_by(c, MR_CHOICE_gemm_tn, g->k, g->m * g->n);
	return mr_chosen_by(c, g->tb ? MR_CHOICE_gemm_nt
			       : g->act == MR_ACT_GELU ? MR_CHOICE_gemm_nn_gelu
			       : g->act == MR_ACT_RELU ? MR_CHOICE_gemm_nn_relu : MR_CHOICE_gemm_nn,
			    g->m, g->n * g->k);
}

/** Is it oneDNN? */
static inline bool mr_chosen_gemm(const mr_chosen *c, const mr_gemm *g)
{
	return mr_chosen_gemm_by(c, g) == MR_CHOICE_ONEDNN;
}

#endif
