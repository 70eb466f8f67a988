/* Products of one B that is packed for many of them (mr_gemm.packed) have the bits of products that read it where it
 * lies: random shapes, backends, types and numbers of threads. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "nn/bf16.h"
#include "nn/kernels.h"

enum { CASES = 150, PRODUCTS = 3 };

static uint64_t seed, drawn;

static int64_t draw(int64_t n)
{
	return mr_rng_u32(seed, MR_RNG_TEST, 0, 0, drawn++) % (uint32_t)n;
}

static void *numbers(int64_t n, mr_dtype type)
{
	char *p = malloc((size_t)n * mr_dtype_bytes(type));

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	for (int64_t i = 0; i < n; i++) {
		float x = (float)(draw(2001) - 1000) / 512;

		if (type == MR_BF16)
			((uint16_t *)(void *)p)[i] = mr_bf16_round(x);
		else
			((float *)(void *)p)[i] = x;
	}
	return p;
}

/* Small and large ones, most of them no multiple of anything. */
static int64_t length(int64_t most)
{
	return 1 + draw(draw(2) ? most : most / 8);
}

/* The first product packs B, the next ones go backward and forward; every A is another one. */
static void compare(const mr_kernels *k, mr_kctx *kc, mr_gemm *g, size_t packed_bytes)
{
	mr_dtype type = k->types.weights;
	size_t bytes = (size_t)(g->m * g->n) * mr_dtype_bytes(type);
	void *b = numbers(g->k * g->n, type), *bias = numbers(g->n, type), *packed = malloc(packed_bytes);
	void *plain = malloc(bytes), *c = malloc(bytes), *aux = malloc(bytes), *plain_aux = malloc(bytes);
	bool keeps_input = g->act == MR_ACT_GELU;

	CU_ASSERT_FATAL(packed && plain && c && aux && plain_aux);
	memset(packed, 0xff, packed_bytes);
	for (int i = 0; i < PRODUCTS; i++) {
		void *a = numbers(g->m * g->k, type);
		mr_gemm_args o = {.g = g, .a = a, .b = b, .bias = g->bias ? bias : NULL, .c = plain,
				  .aux = keeps_input ? plain_aux : NULL};

		g->packed = NULL;
		MR_CHECK_OK(k->gemm(kc, &o));
		g->packed = packed;
		g->packs = i == 0;
		g->backward = i == 1;
		o.c = c;
		o.aux = keeps_input ? aux : NULL;
		memset(c, 0xff, bytes);
		memset(aux, 0xff, bytes);
		MR_CHECK_OK(k->gemm(kc, &o));
		if (memcmp(c, plain, bytes))
			fprintf(stderr, "\n%s in %s, [%lld, %lld] x [%lld, %lld]%s%s%s: product %d differs\n", k->name,
				mr_dtype_name(type), (long long)g->m, (long long)g->k, (long long)g->k,
				(long long)g->n, g->tb ? " transposed" : "", g->act ? " with act" : "",
				g->addend ? " and addend" : "", i);
		CU_ASSERT_FATAL(!memcmp(c, plain, bytes));
		CU_ASSERT_FATAL(!keeps_input || !memcmp(aux, plain_aux, bytes));
		free(a);
	}
	free(b), free(bias), free(packed), free(plain), free(c), free(aux), free(plain_aux);
}

/* Draws an epilogue for @g: none, an activation (GELU also writes aux), or an addend, allocated into *@addend. */
static void finish(mr_gemm *g, const mr_kernels *k, void **addend)
{
	static const mr_act act[] = {MR_ACT_NONE, MR_ACT_RELU, MR_ACT_GELU, MR_ACT_NONE};
	int64_t which = draw(4);

	g->act = k ? act[which] : MR_ACT_NONE;
	*addend = k && which == 3 ? numbers(g->m * g->n, k->types.activations) : NULL;
	g->addend = *addend;
}

static void have_the_bits_of_plain_ones(void)
{
	static const char *const backend[] = {"fused", "auto", "onednn", "reference"};
	static const mr_precision precision[] = {MR_AS_f32, MR_AS_bf16, MR_AS_bf16_pure};
	int n[3] = {0}, finished = 0;

	for (seed = 1; seed <= CASES; seed++) {
		const mr_kernels *k;
		int64_t type;
		size_t bytes;
		mr_kctx *kc;
		void *addend = NULL;
		mr_gemm g;

		drawn = 0;
		type = draw(3);
		k = mr_kernels_of(backend[draw(8) ? draw(2) : 2 + draw(2)], precision[type]);
		g = (mr_gemm){.m = length(64), .n = length(900), .k = length(4000), .tb = draw(2)};
		g.bias = !g.tb && draw(2);
		if (type && !g.tb) /* in f32 there is bias alone */
			finish(&g, k, &addend);
		bytes = k && k->packed_bytes ? k->packed_bytes(k, &g) : 0;
		if (bytes) {
			MR_CHECK_OK(k->ctx_create(k, 1 + (uint32_t)draw(3), &kc));
			compare(k, kc, &g, bytes);
			k->ctx_destroy(kc);
			n[type]++;
			finished += g.act || g.addend;
		}
		free(addend);
	}
	if (mr_kernels_find("fused", MR_BF16))
		CU_ASSERT(n[1] >= CASES / 10 && n[2] >= CASES / 10 && finished >= CASES / 10);
	if (mr_kernels_find("fused", MR_F32) && !strcmp(mr_kernels_isa(MR_F32), "avx512"))
		CU_ASSERT(n[0] >= CASES / 20);
}

void mr_suite_packed(void);

void mr_suite_packed(void)
{
	MR_SUITE("packed");
	MR_TEST(have_the_bits_of_plain_ones);
}
