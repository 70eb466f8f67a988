/* test_number_file.c - files of numbers: bare ones, and arrays of NumPy of every kind, with damaged heads. Seeded. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "formats/number_file.h"
#include "scratch.h"

static char path[512];

/* A file of version @version with the head @head, filled up to a multiple of 64 bytes, and @bytes bytes of @x. */
static void write_array(int version, const char *head, const void *x, size_t bytes)
{
	size_t begin = version > 1 ? 12 : 10, len = (begin + strlen(head) + 63) / 64 * 64 - begin;
	FILE *f = fopen(path, "wb");

	CU_ASSERT_FATAL(f != NULL);
	fprintf(f, "\x93NUMPY%c%c%c%c", version, 0, (int)(len & 255), (int)(len >> 8));
	if (version > 1)
		fprintf(f, "%c%c", 0, 0);
	fprintf(f, "%-*s", (int)len, head);
	fwrite(x, 1, bytes, f);
	fclose(f);
}

static void check_values(const double *want, size_t n)
{
	char room[128];
	mr_number_file f = {0};

	MR_CHECK_OK(mr_number_file_open(path, MR_NUMBER_F32, &f));
	CU_ASSERT(f.n == n);
	for (size_t i = 0; i < n && i < f.n; i++)
		CU_ASSERT(mr_number_file_value(&f, mr_number_file_at(&f, i, 1, room), 0) == want[i]);
	mr_number_file_close(&f);
}

#define CASE(name, type)                                                                                         \
	do {                                                                                                     \
		static const type v[] = {(type)-1, 0, 100, 7, 2, 3};                                             \
		double want[6];                                                                                  \
		for (int i = 0; i < 6; i++)                                                                      \
			want[i] = (double)v[i];                                                                  \
		write_array(1 + (int)sizeof(type) % 3, "{'descr': '" name "', 'fortran_order': False, 'shape': " \
						       "(3, 2), }", v, sizeof(v));                               \
		check_values(want, 6);                                                                           \
	} while (0)

static void kinds(void)
{
	CASE("<f8", double);
	CASE("<f4", float);
	CASE("|i1", int8_t);
	CASE("|u1", uint8_t);
	CASE("|b1", uint8_t);
	CASE("<i2", int16_t);
	CASE("<u2", uint16_t);
	CASE("<i4", int32_t);
	CASE("<u4", uint32_t);
	CASE("<i8", int64_t);
	CASE("<u8", uint64_t);
}

static void shapes(void)
{
	static const struct {
		const char *shape;
		uint64_t rows, cols;
	} cases[] = {{"(6,)", 6, 1}, {"(1, 6)", 1, 6}, {"(3, 1, 2)", 3, 2}, {"(2,3)", 2, 3}};
	static const double v[6] = {1, 2, 3, 4, 5, 6};
	mr_number_file f = {0};
	char head[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(head, sizeof(head), "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", cases[i].shape);
		write_array(1, head, v, sizeof(v));
		CU_ASSERT(mr_number_file_is_array(path));
		MR_CHECK_OK(mr_number_file_open(path, MR_NUMBER_F64, &f));
		CU_ASSERT(f.rows == cases[i].rows && f.cols == cases[i].cols && f.n == 6);
		mr_number_file_close(&f);
	}
}

static void bare(void)
{
	static const double v[3] = {0.5, -2, 8};
	FILE *out = fopen(path, "wb");
	mr_number_file f = {0};
	double room[3];

	CU_ASSERT_FATAL(out != NULL);
	fwrite(v, sizeof(v[0]), 3, out);
	fclose(out);
	CU_ASSERT(!mr_number_file_is_array(path) && !mr_number_file_is_array("/nowhere/none"));
	MR_CHECK_OK(mr_number_file_open(path, MR_NUMBER_F64, &f));
	CU_ASSERT(f.n == 3 && f.rows == 0 && f.bytes == 8);
	CU_ASSERT(mr_number_file_value(&f, mr_number_file_at(&f, 1, 2, room), 1) == 8);
	mr_number_file_close(&f);
}

static void refuses(void)
{
	static const struct {
		const char *head, *says;
	} cases[] = {
		{"{'descr': '<f8', 'fortran_order': True, 'shape': (6,), }", "column by column"},
		{"{'descr': '>f8', 'fortran_order': False, 'shape': (6,), }", "'>f8'"},
		{"{'descr': '|O', 'fortran_order': False, 'shape': (6,), }", "none that can be read"},
		{"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,), }", "none that can be read"},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "without dimensions"},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 6), }", "without numbers"},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (7,), }", "48 bytes behind its head"},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "too many"},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (-6,), }", "damaged shape"},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': 6, }", "damaged head"},
		{"{'descr': '<f8', 'fortran_order': False, }", "damaged head"},
	};
	static const double v[6] = {1, 2, 3, 4, 5, 6};
	mr_number_file f = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_array(1, cases[i].head, v, sizeof(v));
		MR_CHECK_FAIL(mr_number_file_open(path, MR_NUMBER_F64, &f), MR_EDATA, cases[i].says);
		mr_number_file_close(&f);
	}
}

/* Bytes of the head changed, and the file cut: an answer every time. */
static void random_damage(void)
{
	static const double v[6] = {1, 2, 3, 4, 5, 6};
	unsigned n_good = 0, n_bad = 0;
	char all[256];

	for (uint32_t seed = 1, x = 1; seed <= 2000; seed++) {
		size_t len, cut;
		FILE *file;
		mr_number_file f = {0};
		mr_status st;

		write_array(1 + (int)(seed % 3), "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", v,
			    sizeof(v));
		file = fopen(path, "rb");
		CU_ASSERT_FATAL(file != NULL);
		len = fread(all, 1, sizeof(all), file);
		fclose(file);
		for (unsigned k = 0; k < seed % 4; k++) {
			x = x * 1664525u + 1013904223u;
			all[(x >> 8) % (len - sizeof(v))] = (char)(x >> 24);
		}
		cut = seed % 5 == 0 ? (x >> 4) % len + 1 : len;
		file = fopen(path, "wb");
		CU_ASSERT_FATAL(file != NULL);
		fwrite(all, 1, cut, file);
		fclose(file);
		st = mr_number_file_open(path, MR_NUMBER_F32, &f);
		CU_ASSERT(st == MR_OK || (st == MR_EDATA && strstr(mr_error_text(), path)));
		n_good += st == MR_OK;
		n_bad += st != MR_OK;
		mr_number_file_close(&f);
	}
	CU_ASSERT(n_good > 100 && n_bad > 100);
}

/* In a file that is gone afterwards. */
static void with_file(void (*test)(void))
{
	int fd = mkstemp(mr_scratch(path, sizeof(path), "numbers"));

	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	test();
	unlink(path);
}

static void every_kind(void)
{
	with_file(kinds);
}

static void every_shape(void)
{
	with_file(shapes);
}

static void bare_numbers(void)
{
	with_file(bare);
}

static void damage(void)
{
	with_file(refuses);
	with_file(random_damage);
}

void mr_suite_number_file(void);

void mr_suite_number_file(void)
{
	MR_SUITE("number_file");
	MR_TEST(every_kind);
	MR_TEST(every_shape);
	MR_TEST(bare_numbers);
	MR_TEST(damage);
}
