#include "tiles.h"

#if defined(MR_DNNL) && defined(__x86_64__)
#include <string.h>
#include <xmmintrin.h>

#include "check.h"

enum { N_TILES = 8, ROWS = 16, ROW_BYTES = 64 };

typedef struct tile {
	unsigned rows, colsb;
	uint8_t row[ROWS][ROW_BYTES];
} tile;

_Thread_local tiles_counts tiles_counted;

static _Thread_local tile tmm[N_TILES];
static _Thread_local int configured;

static tile *used(int t)
{
	CU_ASSERT_FATAL(configured && t >= 0 && t < N_TILES && tmm[t].rows > 0);
	return &tmm[t];
}

static void clear(tile *t)
{
	memset(t->row, 0, sizeof(t->row));
}

/* LDTILECFG: palette, start row, 14 bytes, 16 numbers of bytes a row, 16 numbers of rows. */
void tiles_loadconfig(const void *config)
{
	const uint8_t *byte = config;

	CU_ASSERT_FATAL(byte[0] == 1 && byte[1] == 0);
	for (int i = 2; i < 16; i++)
		CU_ASSERT_EQUAL_FATAL(byte[i], 0);
	for (int t = 0; t < 16; t++) {
		unsigned colsb = byte[16 + 2 * t] | (unsigned)byte[17 + 2 * t] << 8, rows = byte[48 + t];

		CU_ASSERT_FATAL(colsb <= ROW_BYTES && rows <= ROWS && (colsb == 0) == (rows == 0));
		CU_ASSERT_FATAL(t < N_TILES || rows == 0);
		if (t < N_TILES) {
			tmm[t].rows = rows;
			tmm[t].colsb = colsb;
			clear(&tmm[t]);
		}
	}
	configured = 1;
	tiles_counted.configs++;
}

void tiles_release(void)
{
	memset(tmm, 0, sizeof(tmm));
	configured = 0;
	tiles_counted.releases++;
}

void tiles_zero(int t)
{
	clear(used(t));
}

void tiles_loadd(int t, const void *base, int64_t stride)
{
	tile *to = used(t);

	clear(to);
	for (unsigned i = 0; i < to->rows; i++)
		memcpy(to->row[i], (const char *)base + (int64_t)i * stride, to->colsb);
}

void tiles_stored(int t, void *base, int64_t stride)
{
	const tile *from = used(t);

	for (unsigned i = 0; i < from->rows; i++)
		memcpy((char *)base + (int64_t)i * stride, from->row[i], from->colsb);
}

/* --- TDPBF16PS ---------------------------------------------------------------------------------------------------- */

/* These two and what reads and sets MXCSR stay in their order. */
static float fma32(float sum, float a, float b)
{
	__asm__ volatile("vfmadd231ss %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
	return sum;
}

static float add32(float a, float b)
{
	__asm__ volatile("addss %1, %0" : "+x"(a) : "x"(b));
	return a;
}

static unsigned set_mxcsr(unsigned to)
{
	unsigned before;

	__asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=&m"(before) : "m"(to) : "memory");
	return before;
}

static float make_fp32(const tile *t, unsigned row, unsigned bfloat16)
{
	uint16_t x;
	uint32_t dword;
	float out;

	memcpy(&x, &t->row[row][2 * bfloat16], sizeof(x));
	dword = (uint32_t)x << 16;
	memcpy(&out, &dword, sizeof(out));
	return out;
}

static void one_row(tile *dst, const tile *src1, const tile *src2, unsigned m)
{
	float temp1[2 * ROWS] = {0}, c;

	for (unsigned k = 0; k < src1->colsb / 4; k++)
		for (unsigned n = 0; n < dst->colsb / 4; n++) {
			temp1[2 * n] = fma32(temp1[2 * n], make_fp32(src1, m, 2 * k), make_fp32(src2, k, 2 * n));
			temp1[2 * n + 1] = fma32(temp1[2 * n + 1], make_fp32(src1, m, 2 * k + 1),
						 make_fp32(src2, k, 2 * n + 1));
		}
	for (unsigned n = 0; n < dst->colsb / 4; n++) {
		memcpy(&c, &dst->row[m][4 * n], sizeof(c));
		c = add32(c, add32(temp1[2 * n], temp1[2 * n + 1]));
		memcpy(&dst->row[m][4 * n], &c, sizeof(c));
	}
}

void tiles_dpbf16ps(int dst, int src1, int src2)
{
	tile *c = used(dst);
	const tile *a = used(src1), *b = used(src2);
	unsigned before = set_mxcsr(0x9fc0); /* nearest even, FTZ, DAZ, no traps */

	CU_ASSERT_FATAL(dst != src1 && dst != src2 && src1 != src2);
	CU_ASSERT_FATAL(c->rows == a->rows && c->colsb == b->colsb && a->colsb / 4 == b->rows);
	for (unsigned m = 0; m < c->rows; m++)
		one_row(c, a, b, m);
	(void)set_mxcsr(before);
	tiles_counted.products++;
}
#endif
