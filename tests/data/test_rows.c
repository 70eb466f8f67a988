/* test_rows.c - data of the theory's objectives: the families of matrices, the integer formula, files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "data_help.h"

#define MOST 64

static char dir[512];

static mr_data_want numbers(mr_dtype dtype)
{
	return (mr_data_want){.dtype = dtype, .seed = 1, .base_dir = dir};
}

/* All rows of @d (f64, at most MOST x MOST) and targets. */
static void rows_of(const mr_dataset *d, double x[MOST][MOST], double y[MOST])
{
	CU_ASSERT_FATAL(d->n_train <= MOST && d->input.cols <= MOST);
	for (uint64_t i = 0; i < d->n_train; i++)
		d->ops->train(d, i, x[i], &y[i]);
}

static double gram(const mr_dataset *d, double x[MOST][MOST], int64_t a, int64_t b)
{
	double s = 0;

	for (uint64_t i = 0; i < d->n_train; i++)
		s += x[i][a] * x[i][b];
	return s / (double)d->n_train;
}

static double x[MOST][MOST], y[MOST];

static void in_order_and_none_validates(void)
{
	mr_data_want want = numbers(MR_F64), other = want;
	double again[MOST], t;
	mr_dataset *d, *e;

	MR_CHECK_OK(data_help_open("generated", "rows=20 features=7", &want, &d));
	CU_ASSERT(d->n_train == 20 && d->n_valid == 20 && d->trains_only && d->classes == 0 && d->input.cols == 7 &&
		  d->target.cols == 1);
	CU_ASSERT_STRING_EQUAL(d->describe, "generated (random): 20 rows of 7 numbers, in order");
	rows_of(d, x, y);
	for (uint64_t g = 0; g < 60; g++) {
		d->ops->train(d, g, again, &t);
		CU_ASSERT(memcmp(again, x[g % 20], 7 * sizeof(double)) == 0 && t == y[g % 20]);
	}
	d->ops->valid(d, 19, again, &t);
	CU_ASSERT(memcmp(again, x[19], 7 * sizeof(double)) == 0);
	other.seed = 2; /* the run's seed is not the data's */
	MR_CHECK_OK(data_help_open("generated", "rows=20 features=7", &other, &e));
	CU_ASSERT_EQUAL(e->fingerprint, d->fingerprint);
	mr_dataset_close(e);
	MR_CHECK_OK(data_help_open("generated", "rows=20 features=7 seed=3", &want, &e));
	CU_ASSERT_NOT_EQUAL(e->fingerprint, d->fingerprint);
	mr_dataset_close(e);
	mr_dataset_close(d);
	want.context = 4;
	MR_CHECK_FAIL(data_help_open("generated", "", &want, &d), MR_ECONFIG, "no token sequences");
}

/* Solve the normal equations by elimination: the targets are those of some w*, so the residual vanishes. */
static double residual(const mr_dataset *d, int64_t n_cols)
{
	double a[MOST][MOST + 1], worst = 0;

	for (int64_t i = 0; i < n_cols; i++) {
		for (int64_t j = 0; j < n_cols; j++)
			a[i][j] = gram(d, x, i, j);
		a[i][n_cols] = 0;
		for (uint64_t r = 0; r < d->n_train; r++)
			a[i][n_cols] += x[r][i] * y[r] / (double)d->n_train;
	}
	for (int64_t p = 0; p < n_cols; p++)
		for (int64_t i = 0; i < n_cols; i++) {
			double f = i == p ? 0 : a[i][p] / a[p][p];

			for (int64_t j = 0; j <= n_cols; j++)
				a[i][j] -= f * a[p][j];
		}
	for (uint64_t r = 0; r < d->n_train; r++) {
		double m = -y[r];

		for (int64_t j = 0; j < n_cols; j++)
			m += x[r][j] * a[j][n_cols] / a[j][j];
		worst = fmax(worst, fabs(m));
	}
	return worst;
}

static void tridiagonal(void)
{
	mr_data_want want = numbers(MR_F64);
	mr_dataset *d;

	MR_CHECK_OK(data_help_open("generated", "kind=tridiagonal rows=40 features=30", &want, &d));
	rows_of(d, x, y);
	for (int64_t i = 0; i < 30; i++)
		for (int64_t j = 0; j < 30; j++)
			CU_ASSERT_DOUBLE_EQUAL(gram(d, x, i, j), i == j ? 2.01 : llabs(i - j) == 1 ? -1 : 0, 1e-12);
	CU_ASSERT(residual(d, 30) < 1e-9);
	mr_dataset_close(d);
	MR_CHECK_OK(data_help_open("generated", "kind=tridiagonal rows=8 features=2 condition=2", &want, &d));
	rows_of(d, x, y); /* eigenvalues 1 and 3 become 2 and 4 */
	CU_ASSERT_DOUBLE_EQUAL(gram(d, x, 0, 0), 3, 1e-12);
	mr_dataset_close(d);
	MR_CHECK_FAIL(data_help_open("generated", "kind=tridiagonal rows=8 features=2 condition=4", &want, &d),
		      MR_EDATA, "condition number of 4");
	MR_CHECK_FAIL(data_help_open("generated", "kind=tridiagonal rows=8 features=2 condition=0.5", &want, &d),
		      MR_ECONFIG, "above 1, got 0.5");
	MR_CHECK_FAIL(data_help_open("generated", "kind=tridiagonal rows=8 features=9", &want, &d), MR_EDATA,
		      "8 and 9");
}

/* Eigenvalues 1 .. r: the first three moments say so for a small matrix. */
static void simple(void)
{
	static const char *const shapes[] = {"kind=simple rows=12 features=6", "kind=simple rows=5 features=9"};

	for (int k = 0; k < 2; k++) {
		mr_data_want want = numbers(MR_F64);
		int64_t r = k ? 5 : 6, n_cols = k ? 9 : 6;
		double one = 0, two = 0, want_one = 0, want_two = 0;
		mr_dataset *d;

		MR_CHECK_OK(data_help_open("generated", shapes[k], &want, &d));
		rows_of(d, x, y);
		for (int64_t i = 0; i < n_cols; i++) {
			one += gram(d, x, i, i);
			for (int64_t j = 0; j < n_cols; j++)
				two += gram(d, x, i, j) * gram(d, x, i, j);
		}
		for (int64_t i = 1; i <= r; i++) {
			want_one += (double)i;
			want_two += (double)(i * i);
		}
		CU_ASSERT_DOUBLE_EQUAL(one, want_one, 1e-11);
		CU_ASSERT_DOUBLE_EQUAL(two, want_two, 1e-10);
		mr_dataset_close(d);
	}
}

static void classes(void)
{
	mr_data_want want = numbers(MR_F64);
	mr_dataset *d, *same;
	double ones = 0;

	MR_CHECK_OK(data_help_open("generated", "kind=classes rows=60 features=10", &want, &d));
	rows_of(d, x, y);
	for (int i = 0; i < 60; i++) {
		CU_ASSERT(y[i] == 0 || y[i] == 1);
		ones += y[i];
	}
	CU_ASSERT(ones > 15 && ones < 45);
	want.dtype = MR_F32;
	MR_CHECK_OK(data_help_open("generated", "kind=classes rows=60 features=10", &want, &same));
	for (uint64_t i = 0; i < 60; i++) {
		float xf[10], yf;

		same->ops->train(same, i, xf, &yf);
		CU_ASSERT(xf[9] == (float)x[i][9] && (double)yf == y[i]);
	}
	mr_dataset_close(same);
	mr_dataset_close(d);
}

/* The first two rows and w* as they are recorded (tests/golden/rpd). */
static void formula(void)
{
	static const double first[] = {-1.125, 0.5, -0.25, -1,    0.625, -0.125, -0.875,
				       0.75,   0,   -0.75, 0.875, 0.125, -0.625};
	static const double w[] = {-0.75, 0.5, 0, -0.5, 0.75, 0.25, -0.25};
	mr_data_want want = numbers(MR_F64);
	mr_dataset *d;

	MR_CHECK_OK(data_help_open("formula", "", &want, &d));
	CU_ASSERT_EQUAL_FATAL(d->n_train, 32);
	rows_of(d, x, y);
	CU_ASSERT(memcmp(x[0], first, sizeof(first)) == 0);
	CU_ASSERT(x[1][0] == -0.25 && x[1][1] == -0.625);
	for (int i = 0; i < 32; i++) {
		double m = 0;

		for (int j = 0; j < 13; j++)
			m += x[i][j] * w[j % 7];
		CU_ASSERT_EQUAL(y[i], m);
	}
	mr_dataset_close(d);
	MR_CHECK_OK(data_help_open("formula", "target=classes", &want, &d));
	rows_of(d, x, y);
	CU_ASSERT(y[0] == 1 && y[1] == 1 && y[2] == 0 && y[3] == 0);
	mr_dataset_close(d);
}

static void bare_arrays(void)
{
	static const double m[] = {1, 2, 3, 4, 5, 6}, t[] = {-1, 1};
	static const double big[] = {1, 2, 3, 4, 1e39, 6}, bigt[] = {1, -1e39};
	static const float mf[] = {1, 2, 3, 4, 5, 6}, tf[] = {-1, 1}, nan_f[] = {0, NAN};
	mr_data_want want = numbers(MR_F64);
	mr_dataset *d;

	data_help_folder(dir);
	data_help_write(dir, "m", m, sizeof(m));
	data_help_write(dir, "t", t, sizeof(t));
	data_help_write(dir, "mf", mf, sizeof(mf));
	data_help_write(dir, "tf", tf, sizeof(tf));
	data_help_write(dir, "nan", nan_f, sizeof(nan_f));
	for (int wide = 0; wide < 2; wide++) {
		MR_CHECK_OK(data_help_open("arrays", wide ? "matrix=m targets=t rows=2 features=3"
							  : "matrix=mf targets=tf rows=2 features=3 numbers=f32",
					   &want, &d));
		rows_of(d, x, y);
		CU_ASSERT(x[1][0] == 4 && x[0][2] == 3 && y[0] == -1 && y[1] == 1);
		mr_dataset_close(d);
	}
	MR_CHECK_FAIL(data_help_open("arrays", "matrix=m targets=t rows=2 features=4", &want, &d), MR_EDATA,
		      "has 48 bytes where 8 numbers of 8 bytes are 64");
	MR_CHECK_FAIL(data_help_open("arrays", "matrix=m targets=m rows=2 features=3", &want, &d), MR_EDATA,
		      "2 numbers");
	MR_CHECK_FAIL(data_help_open("arrays", "matrix=mf targets=nan rows=2 features=3 numbers=f32", &want, &d),
		      MR_EDATA, "nan: number 1 (row 1, column 0, from 0) is not finite");
	want.dtype = MR_F32;
	data_help_write(dir, "big", big, sizeof(big));
	data_help_write(dir, "bigt", bigt, sizeof(bigt));
	MR_CHECK_FAIL(data_help_open("arrays", "matrix=big targets=t rows=2 features=3", &want, &d), MR_EDATA,
		      "big: number 4 (row 1, column 1, from 0), 1e+39, is too large for f32");
	MR_CHECK_FAIL(data_help_open("arrays", "matrix=m targets=bigt rows=2 features=3", &want, &d), MR_EDATA,
		      "bigt: number 1 (row 1, column 0, from 0), -1e+39, is too large for f32");
	want.dtype = MR_F64;
	MR_CHECK_FAIL(data_help_open("arrays", "matrix=none targets=t rows=2 features=3", &want, &d), MR_EDATA,
		      "none: ");
	data_help_remove(dir);
}

/* An array of NumPy with the head @head, filled up by blanks, and the @bytes bytes at @from behind it. */
static void write_array(const char *name, const char *head, const void *from, size_t bytes)
{
	char all[512];

	memcpy(all, "\x93NUMPY\x01\x00\x76\x00", 10);
	memset(all + 10, ' ', 118);
	memcpy(all + 10, head, strlen(head));
	memcpy(all + 128, from, bytes);
	data_help_write(dir, name, all, 128 + bytes);
}

#define HEAD(descr, shape) "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }"

static void arrays_of_numpy(void)
{
	static const float m[] = {1, 2, 3, 4, 5, 6};
	static const int64_t t[] = {-1, 1};
	mr_data_want want = numbers(MR_F64);
	mr_dataset *d;

	data_help_folder(dir);
	write_array("m.npy", HEAD("<f4", "(2, 3)"), m, sizeof(m));
	write_array("m3.npy", HEAD("<f4", "(2, 1, 3)"), m, sizeof(m));
	write_array("t.npy", HEAD("<i8", "(2,)"), t, sizeof(t));
	data_help_write(dir, "bare", m, sizeof(m));
	for (int k = 0; k < 3; k++) {
		MR_CHECK_OK(data_help_open("arrays", k == 0   ? "matrix=m.npy targets=t.npy"
						     : k == 1 ? "matrix=m3.npy targets=t.npy rows=2 features=3"
							      : "matrix=m.npy targets=t.npy validation_matrix=m3.npy "
								"validation_targets=t.npy",
					   &want, &d));
		CU_ASSERT(d->n_train == 2 && d->input.cols == 3 && d->trains_only == (k < 2));
		rows_of(d, x, y);
		CU_ASSERT(x[1][0] == 4 && x[0][2] == 3 && y[0] == -1 && y[1] == 1);
		mr_dataset_close(d);
	}
	MR_CHECK_FAIL(data_help_open("arrays", "matrix=bare targets=t.npy", &want, &d), MR_ECONFIG,
		      "holds bare numbers: give rows and features, or an array of NumPy");
	MR_CHECK_FAIL(data_help_open("arrays", "matrix=m.npy targets=t.npy rows=3", &want, &d), MR_EDATA,
		      "m.npy: has 2 rows of 3 numbers where 3 rows of 3 are expected");
	MR_CHECK_FAIL(data_help_open("arrays", "matrix=m.npy targets=m.npy", &want, &d), MR_EDATA,
		      "m.npy: has 2 rows of 3 numbers where 2 rows of 1 are expected");
	data_help_remove(dir);
}

static void save(const char *text)
{
	data_help_write(dir, "s", text, strlen(text));
}

static void refuse(const char *text, const char *settings, const char *message)
{
	mr_data_want want = numbers(MR_F64);
	mr_dataset *d;

	save(text);
	MR_CHECK_FAIL(data_help_open("libsvm", settings, &want, &d), MR_EDATA, message);
}

static void libsvm_files(void)
{
	mr_data_want want = numbers(MR_F64);
	mr_dataset *d;

	data_help_folder(dir);
	save("# a comment\n-1 1:0.5 3:-2e1\r\n\n+1\t2:4 # behind\n-1 \n1 4:1");
	MR_CHECK_OK(data_help_open("libsvm", "path=s", &want, &d));
	CU_ASSERT(d->n_train == 4 && d->input.cols == 4);
	rows_of(d, x, y);
	CU_ASSERT(x[0][0] == 0.5 && x[0][1] == 0 && x[0][2] == -20 && x[1][1] == 4 && x[2][0] == 0 && x[3][3] == 1);
	CU_ASSERT(y[0] == -1 && y[1] == 1 && y[2] == -1 && y[3] == 1);
	mr_dataset_close(d);
	MR_CHECK_OK(data_help_open("libsvm", "path=s features=6 labels=two", &want, &d));
	CU_ASSERT_EQUAL(d->input.cols, 6);
	rows_of(d, x, y);
	CU_ASSERT(y[0] == 0 && y[1] == 1 && y[2] == 0 && y[3] == 1 && x[0][0] == 0.5);
	mr_dataset_close(d);
	save("-1 1:0.5 3:-20\n1 0:4\n"); /* indices from 0, as the second line shows */
	MR_CHECK_OK(data_help_open("libsvm", "path=s", &want, &d));
	CU_ASSERT(d->n_train == 2 && d->input.cols == 4);
	rows_of(d, x, y);
	CU_ASSERT(x[0][0] == 0 && x[0][1] == 0.5 && x[0][3] == -20 && x[1][0] == 4);
	mr_dataset_close(d);
	refuse("1 1:1\nx 1:1\n", "path=s", "s:2: expected a number as label");
	refuse("1 -3:1\n", "path=s", "s:1: expected index:value");
	refuse("1 2:1 2:1\n", "path=s", "s:1: indices must rise");
	refuse("1 1048577:1\n", "path=s", "s:1: expected index:value with an index from 0 to 1048576");
	refuse("1 0:1 0:1\n", "path=s", "s:1: indices must rise");
	refuse("1 0:1 6:1\n", "path=s features=6", "index 6 is beyond features = 6");
	refuse("1 2:\n", "path=s", "finite number behind the colon");
	refuse("1 2:inf\n", "path=s", "finite number behind the colon");
	refuse("1 2:1:3\n", "path=s", "expected index:value");
	refuse("1 2:1x\n", "path=s", "expected index:value");
	refuse("# nothing\n", "path=s", "no samples in it");
	refuse("1 7:1\n", "path=s features=6", "index 7 is beyond features = 6");
	refuse("1 1:1\n2 1:1\n3 1:1\n", "path=s labels=two", "exactly two labels, the file has more");
	refuse("1 1:1\n1 1:1\n", "path=s labels=two", "exactly two labels, the file has one");
	data_help_write(dir, "s", "1 1:1\0\n", 7);
	MR_CHECK_FAIL(data_help_open("libsvm", "path=s", &want, &d), MR_EDATA, "byte 5 is a NUL");
	want.dtype = MR_F32;
	save("1 1:1\n2 2:-1e39\n");
	MR_CHECK_FAIL(data_help_open("libsvm", "path=s", &want, &d), MR_EDATA,
		      "s:2: the value of index 2, -1e+39, is too large for f32");
	save("1 1:1\n1e39 2:1\n0 1:1\n");
	MR_CHECK_FAIL(data_help_open("libsvm", "path=s labels=numbers", &want, &d), MR_EDATA,
		      "s:2: the label, 1e+39, is too large for f32");
	data_help_remove(dir);
}

void mr_suite_rows(void);
void mr_suite_rows(void)
{
	MR_SUITE("rows");
	MR_TEST(in_order_and_none_validates);
	MR_TEST(tridiagonal);
	MR_TEST(simple);
	MR_TEST(classes);
	MR_TEST(formula);
	MR_TEST(bare_arrays);
	MR_TEST(arrays_of_numpy);
	MR_TEST(libsvm_files);
}
