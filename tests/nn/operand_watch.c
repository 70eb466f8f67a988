#include "operand_watch.h"

#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "nn/recorder.h"

#define PAGE ((size_t)4096)
#define MARK 0xff
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
		      : x->class == MR_TOKENS	  ? sizeof(int32_t)
		      : x->class == MR_NUMBER	  ? sizeof(double)
						  : 1;

	return (size_t)x->count * each;
}

static copy copy_of(const mr_operand *x)
{
	copy c = {.bytes = bytes_of(x)};

	c.pages = (c.bytes + PAGE - 1) / PAGE * PAGE;
	c.map = mmap(NULL, c.pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(c.map != MAP_FAILED);
	memset(c.map, MARK, c.pages);
	c.at = c.map + c.pages - c.bytes;
	/* What attention does not write of what it saves is kept as well. */
	if (x->read || x->class == MR_SAVED)
		memcpy(c.at, x->tensor, c.bytes);
	CU_ASSERT_FATAL(mprotect(c.map + c.pages, PAGE, PROT_NONE) == 0);
	CU_ASSERT_FATAL(x->written || !c.pages || mprotect(c.map, c.pages, PROT_READ) == 0);
	return c;
}

/* Bring back what the call wrote. */
static void settle(const mr_operand *x, copy *c)
{
	bool whole = true;

	for (const char *p = c->map; p < c->at; p++)
		whole = whole && *(const unsigned char *)p == MARK;
	CU_ASSERT(whole);
	if (x->written)
		memcpy(x->tensor, c->at, c->bytes);
	munmap(c->map, c->pages + PAGE);
}

/* Let the arguments name copies. */
static void begin(const mr_operand *x, uint32_t n, copy c[MR_OPERANDS])
{
	for (uint32_t i = 0; i < n; i++) {
		if (!x[i].field)
			continue;
		if (x[i].used)
			c[i] = copy_of(&x[i]);
		mr_operand_set(&x[i], x[i].used ? c[i].at : x[i].tensor ? UNREAD : NULL);
	}
}

static void end(const mr_operand *x, uint32_t n, copy c[MR_OPERANDS])
{
	for (uint32_t i = 0; i < n; i++)
		if (x[i].field && x[i].used)
			settle(&x[i], &c[i]);
}

/* An operation of each row: a call without an operand that it uses is refused, and the call itself is watched. */
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) \
	static mr_status id(mr_kctx *kc, const mr_##id##_args *o) \
	{ \
		mr_##id##_args a = *o; \
		mr_operand x[MR_OPERANDS], lacking[MR_OPERANDS]; \
		copy c[MR_OPERANDS]; \
		uint32_t n = mr_operands_of_##id(real, &a, x); \
		mr_status st; \
\
		for (uint32_t i = 0; i < n; i++) { \
			if (!x[i].field) \
				continue; \
			mr_operand_set(&x[i], NULL); \
			mr_operands_of_##id(real, &a, lacking); \
			if (lacking[i].used) \
				MR_CHECK_FAIL(mr_recorder_kernels(recorder)->id(mr_recorder_context(recorder), &a), \
					      MR_EINVAL, x[i].name); \
			mr_operand_set(&x[i], x[i].tensor); \
		} \
		MR_CHECK_OK(mr_recorder_kernels(recorder)->id(mr_recorder_context(recorder), &a)); \
		calls[MR_KERNEL_##id]++; \
		begin(x, n, c); \
		st = real->id(kc, &a); \
		end(x, n, c); \
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
