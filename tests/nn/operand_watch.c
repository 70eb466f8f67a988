#include "operand_watch.h"

#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "nn/recorder.h"

#define PAGE ((size_t)4096)
#define MARK 0xff
#define MOST_EACH 64
#define UNREAD ((void *)(uintptr_t)64) /* an address that no program has */

static const mr_kernels *real;
static mr_kernels watched;
static mr_recorder *recorder;
static uint32_t calls[MR_N_KERNELS];

/* Pages of an operand, and behind them one without access. */
typedef struct copy {
	char *map, *at;
	size_t bytes, pages;
} copy;

static size_t bytes_of(const mr_operand *x)
{
	const mr_types *t = &real->types;
	size_t each = x->class == MR_ACTIVATIONS  ? mr_dtype_bytes(t->activations)
		      : x->class == MR_WEIGHTS	  ? mr_dtype_bytes(t->weights)
		      : x->class == MR_GRADIENTS  ? mr_dtype_bytes(t->gradients)
		      : x->class == MR_STATE	  ? mr_dtype_bytes(t->state)
		      : x->class == MR_COMPUTED	  ? mr_dtype_bytes(t->compute)
		      : x->class == MR_REST	  ? sizeof(int16_t)
		      : x->class == MR_TOKENS	  ? sizeof(int32_t)
		      : x->class == MR_NUMBER	  ? sizeof(double)
						  : 1;

	return (size_t)x->count * each;
}

static copy copy_of(const mr_operand *x, const void *tensor)
{
	copy c = {.bytes = bytes_of(x)};

	c.pages = (c.bytes + PAGE - 1) / PAGE * PAGE;
	c.map = mmap(NULL, c.pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(c.map != MAP_FAILED);
	memset(c.map, MARK, c.pages);
	c.at = c.map + c.pages - c.bytes;
	/* What attention does not write of what it saves is kept as well. */
	if (x->read || x->class == MR_SAVED)
		memcpy(c.at, tensor, c.bytes);
	CU_ASSERT_FATAL(mprotect(c.map + c.pages, PAGE, PROT_NONE) == 0);
	CU_ASSERT_FATAL(x->written || !c.pages || mprotect(c.map, c.pages, PROT_READ) == 0);
	return c;
}

/* Bring back what the call wrote. */
static void settle(const mr_operand *x, copy *c, void *tensor)
{
	bool whole = true;

	for (const char *p = c->map; p < c->at; p++)
		whole = whole && *(const unsigned char *)p == MARK;
	CU_ASSERT(whole);
	if (x->written)
		memcpy(tensor, c->at, c->bytes);
	munmap(c->map, c->pages + PAGE);
}

/* The copies of a call, and the lists that name them. */
typedef struct copies {
	copy of[MR_OPERANDS], each[MR_OPERANDS][MOST_EACH];
	void *list[MR_OPERANDS][MOST_EACH];
} copies;

/* Let the arguments name copies. */
static void begin(const mr_operand *x, uint32_t n, copies *c)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!x[i].field)
			continue;
		CU_ASSERT_FATAL(x[i].n_each <= MOST_EACH);
		for (uint32_t j = 0; j < x[i].n_each; j++) {
			c->each[i][j] = copy_of(&x[i], x[i].each[j]);
			c->list[i][j] = c->each[i][j].at;
		}
		if (x[i].used && !x[i].each)
			c->of[i] = copy_of(&x[i], x[i].tensor);
		mr_operand_set(&x[i], x[i].each ? (void *)c->list[i] : x[i].used ? c->of[i].at
				      : x[i].tensor ? UNREAD : NULL);
	}
}

/* Parameters are the caller's: they name its tensors again. */
static void end(const mr_operand *x, uint32_t n, copies *c)
{
	for (uint32_t i = 0; i < n; i++) {
		if (x[i].field)
			mr_operand_set(&x[i], x[i].tensor);
		for (uint32_t j = 0; x[i].field && j < x[i].n_each; j++)
			settle(&x[i], &c->each[i][j], (void *)(uintptr_t)x[i].each[j]);
		if (x[i].field && x[i].used && !x[i].each)
			settle(&x[i], &c->of[i], x[i].tensor);
	}
}

/* An operation of each row: a call without an operand that it uses is refused, and the call itself is watched. */
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) \
	static mr_status id(mr_kctx *kc, const mr_##id##_args *o) \
	{ \
		mr_##id##_args a = *o; \
		mr_operand x[MR_OPERANDS], lacking[MR_OPERANDS]; \
		static copies c; \
		uint32_t n = mr_operands_of_##id(real, &a, x); \
		mr_status st; \
\
		for (uint32_t i = 0; i < n; i++) { \
			if (!x[i].field) \
				continue; \
			mr_operand_set(&x[i], NULL); \
			if (x[i].each || (mr_operands_of_##id(real, &a, lacking), lacking[i].used)) \
				MR_CHECK_FAIL(mr_recorder_kernels(recorder)->id(mr_recorder_context(recorder), &a), \
					      MR_EINVAL, x[i].name); \
			mr_operand_set(&x[i], x[i].tensor); \
		} \
		MR_CHECK_OK(mr_recorder_kernels(recorder)->id(mr_recorder_context(recorder), &a)); \
		calls[MR_KERNEL_##id]++; \
		begin(x, n, &c); \
		st = real->id(kc, &a); \
		end(x, n, &c); \
		return st; \
	}
#include "nn/kernels.def"

const mr_kernels *watch_operands(const mr_kernels *k)
{
	mr_recorder_destroy(recorder);
	recorder = NULL;
	real = k;
	if (!k)
		return NULL;
	MR_CHECK_OK(mr_recorder_create(k, 1, &recorder));
	watched = *k;
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) watched.id = id;
#include "nn/kernels.def"
	return &watched;
}

uint32_t watched_calls(mr_kernel_id id)
{
	return calls[id];
}
