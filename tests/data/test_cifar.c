/* CIFAR's records, and the random changes of training images that all sources of images share. */
#include <string.h>

#include "check.h"
#include "data_help.h"

static char dir[512];

#define PLANE 1024
#define PIXELS 3072
#define MAX 12

static const mr_data_want *want(uint64_t seed)
{
	static mr_data_want w;

	w = (mr_data_want){.dtype = MR_F32, .seed = seed, .base_dir = dir};
	return &w;
}

/* The byte of record @i at row @y, column @x of channel @c; all shifts of an image differ. */
static unsigned char pixel(int i, int c, int y, int x)
{
	return (unsigned char)(1 + (i * 89 + c * 57 + y * 41 + x * x * 3 + x * 7) % 255);
}

/* Write records @first to @first + @n - 1. @labels bytes precede the pixels of record i: 2 i and, if two, then i. */
static void save(const char *name, int first, int n, int labels)
{
	static unsigned char bytes[MAX * (2 + PIXELS)];
	size_t at = 0;

	for (int i = first; i < first + n; i++) {
		if (labels == 2)
			bytes[at++] = (unsigned char)(2 * i);
		bytes[at++] = (unsigned char)i;
		for (int p = 0; p < PIXELS; p++)
			bytes[at++] = pixel(i, p / PLANE, p % PLANE / 32, p % 32);
	}
	data_help_write(dir, name, bytes, at);
}

/* Is sample @x the image @i, normalised by @mean and @std, shifted and mirrored? */
static bool is_image(const float *x, int i, const double *mean, const double *std, int down, int right, bool flip)
{
	for (int y = 0; y < 32; y++)
		for (int col = 0; col < 32; col++)
			for (int c = 0; c < 3; c++) {
				int row = y + down, from = (flip ? 31 - col : col) + right;
				bool black = row < 0 || row > 31 || from < 0 || from > 31;
				int p = black ? 0 : pixel(i, c, row, from);

				if (x[(y * 32 + col) * 3 + c] != (float)((p / 255.0 - mean[c]) / std[c]))
					return false;
			}
	return true;
}

static const double zero[3] = {0, 0, 0}, one[3] = {1, 1, 1};

/* Without augmentation every sample is the image of its label. */
static void check_plain(const char *settings, uint64_t n_train, uint64_t n_valid, int first_valid, int label_factor,
			int64_t classes)
{
	char text[400];
	float x[PIXELS];
	int32_t y;
	mr_dataset *d;
	unsigned seen = 0;

	snprintf(text, sizeof(text), "%s padding=0 flip=false mean=[0] std=[1]", settings);
	MR_CHECK_OK(data_help_open("cifar", text, want(3), &d));
	CU_ASSERT(d->n_train == n_train && d->n_valid == n_valid && d->classes == classes);
	CU_ASSERT(mr_shape_dims(d->input) == 3 && mr_shape_dim(d->input, 0) == 32 && mr_shape_dim(d->input, 1) == 32);
	CU_ASSERT_EQUAL(mr_shape_dim(d->input, 2), 3);
	for (uint64_t g = 0; g < 2 * n_train; g++) {
		d->ops->train(d, g, x, &y);
		CU_ASSERT(is_image(x, y / label_factor, zero, one, 0, 0, false));
		if (g < n_train)
			seen |= 1u << y / label_factor;
	}
	CU_ASSERT_EQUAL(seen, (1u << n_train) - 1);
	for (uint64_t i = 0; i < n_valid; i++) {
		d->ops->valid(d, i, x, &y);
		CU_ASSERT_EQUAL(y, label_factor * (first_valid + (int)i));
		CU_ASSERT(is_image(x, first_valid + (int)i, zero, one, 0, 0, false));
	}
	mr_dataset_close(d);
}

static void records(void)
{
	static const double mean[3] = {0.5, 0.25, 0.125}, std[3] = {0.5, 0.25, 2};
	mr_dataset *d, *e;
	float x[PIXELS];
	int32_t y;

	data_help_folder(dir);
	save("all.bin", 0, 10, 1);
	save("ten/data_batch_1.bin", 0, 4, 1);
	save("ten/data_batch_2.bin", 4, 3, 1);
	save("ten/data_batch_3.bin", 7, 1, 1);
	save("ten/test_batch.bin", 3, 5, 1);
	save("hundred/train.bin", 0, 6, 2);
	save("hundred/test.bin", 2, 3, 2);
	check_plain("path=all.bin", 9, 1, 9, 1, 10);
	check_plain("path=all.bin validation=0.5", 5, 5, 5, 1, 10);
	check_plain("path=ten validation=0", 8, 0, 0, 1, 10);
	check_plain("path=ten validation=0.5", 4, 4, 4, 1, 10);
	check_plain("path=ten validation_path=ten", 8, 5, 3, 1, 10);
	check_plain("path=ten/data_batch_1.bin,ten/data_batch_2.bin validation_path=all.bin", 7, 10, 0, 1, 10);
	check_plain("path=hundred validation_path=hundred labels=fine", 6, 3, 2, 1, 100);
	check_plain("path=hundred validation_path=hundred labels=coarse", 6, 3, 2, 2, 20);
	MR_CHECK_OK(data_help_open("cifar", "path=all.bin mean=[0.5,0.25,0.125] std=[0.5,0.25,2]", want(3), &d));
	d->ops->valid(d, 0, x, &y);
	CU_ASSERT(is_image(x, 9, mean, std, 0, 0, false));
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, "all.bin: 9 training and 1 validation images of 32x32x3, 10 cl"));
	MR_CHECK_OK(data_help_open("cifar", "path=all.bin mean=[0.5,0.25,0.125] std=[0.5,0.25,2.5]", want(3), &e));
	CU_ASSERT_NOT_EQUAL(d->fingerprint, e->fingerprint);
	mr_dataset_close(e);
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* --- random changes --- */

/* Every sample is the image of its label, shifted by at most 2, mirrored or not; all shifts and both kinds occur. */
static void crops_and_flips(void)
{
	enum { EPOCHS = 60, IMAGES = 8 };
	mr_dataset *d, *other, *plain;
	static float x[PIXELS], again[PIXELS];
	int count[5][5][2] = {{{0}}}, differ = 0, images_that_change = 0;
	int32_t y, z;

	data_help_folder(dir);
	save("all.bin", 0, IMAGES, 1);
	MR_CHECK_OK(data_help_open("cifar", "path=all.bin validation=0 padding=2 mean=[0] std=[1]", want(3), &d));
	MR_CHECK_OK(data_help_open("cifar", "path=all.bin validation=0 padding=2 mean=[0] std=[1]", want(4), &other));
	for (uint64_t g = 0; g < EPOCHS * IMAGES; g++) {
		int found = 0;

		d->ops->train(d, g, x, &y);
		for (int place = 0; place < 50; place++)
			if (is_image(x, y, zero, one, place / 10 - 2, place / 2 % 5 - 2, place % 2)) {
				count[place / 10][place / 2 % 5][place % 2]++;
				found++;
			}
		CU_ASSERT_EQUAL(found, 1);
		d->ops->train(d, g, again, &z);
		CU_ASSERT(y == z && !memcmp(x, again, sizeof(x)));
		other->ops->train(other, g, again, &z);
		differ += memcmp(x, again, sizeof(x)) != 0;
	}
	for (int place = 0; place < 50; place++) { /* 9.6 are expected of each */
		int n = count[place / 10][place / 2 % 5][place % 2];

		images_that_change += n > 0;
		CU_ASSERT(n < 30);
	}
	CU_ASSERT_EQUAL(images_that_change, 50);
	CU_ASSERT(differ > EPOCHS * IMAGES / 2);
	mr_dataset_close(other);
	mr_dataset_close(d);
	/* Validation is never changed; what changes samples is part of the fingerprint. */
	MR_CHECK_OK(data_help_open("cifar", "path=all.bin validation=0.5 mean=[0] std=[1]", want(3), &d));
	MR_CHECK_OK(data_help_open("cifar", "path=all.bin validation=0.5 mean=[0] std=[1] padding=3", want(3), &plain));
	CU_ASSERT_NOT_EQUAL(d->fingerprint, plain->fingerprint);
	for (uint64_t i = 0; i < d->n_valid; i++) {
		d->ops->valid(d, i, x, &y);
		CU_ASSERT(is_image(x, 4 + (int)i, zero, one, 0, 0, false));
	}
	mr_dataset_close(plain);
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* mnist augments its images by the same function: a sample with the same random numbers gets the same shift. */
static void crops_of_mnist(void)
{
	static const unsigned char header[16] = {0, 0, 8, 3, 0, 0, 0, MAX, 0, 0, 0, 32, 0, 0, 0, 32};
	static const unsigned char label_header[8] = {0, 0, 8, 1, 0, 0, 0, MAX};
	static unsigned char images[16 + MAX * PLANE], labels[8 + MAX];
	static float grey[PLANE], colour[PIXELS];
	mr_dataset *m, *c;
	int32_t y, z;

	data_help_folder(dir);
	memcpy(images, header, 16);
	memcpy(labels, label_header, 8);
	for (int i = 0; i < MAX; i++) {
		labels[8 + i] = (unsigned char)i;
		for (int p = 0; p < PLANE; p++)
			images[16 + i * PLANE + p] = pixel(i, 0, p / 32, p % 32);
	}
	data_help_write(dir, "i", images, sizeof(images));
	data_help_write(dir, "l", labels, sizeof(labels));
	save("all.bin", 0, MAX, 1);
	MR_CHECK_OK(data_help_open("mnist", "images=i labels=l classes=12 padding=3 flip=true", want(9), &m));
	MR_CHECK_OK(data_help_open("cifar", "path=all.bin classes=12 padding=3 flip=true mean=[0] std=[1]", want(9),
				   &c));
	for (uint64_t g = 0; g < m->n_train * 4; g++) {
		m->ops->train(m, g, grey, &y);
		c->ops->train(c, g, colour, &z);
		CU_ASSERT_EQUAL(y, z);
		for (int p = 0; p < PLANE; p++)
			if (grey[p] != colour[3 * p]) {
				CU_FAIL("another place");
				break;
			}
	}
	mr_dataset_close(c);
	mr_dataset_close(m);
	data_help_remove(dir);
}

/* --- files that are not CIFAR --- */

static void bad_files(void)
{
	static const struct {
		const char *settings, *part;
		mr_status code;
	} cases[] = {
		{"path=absent.bin", "absent.bin: No such file", MR_EDATA},
		{"path=empty", "empty: the file is empty", MR_EDATA},
		{"path=cut.bin", "cut.bin: 3072 bytes are not a whole number of records of 3073 bytes", MR_EDATA},
		{"path=all.bin,cut.bin", "cut.bin: 3072 bytes are not", MR_EDATA},
		{"path=hundred.bin", "but of CIFAR-100's of 3074: labels = \"fine\" or \"coarse\"", MR_EDATA},
		{"path=all.bin labels=fine", "but of CIFAR-10's of 3073: labels = \"cifar10\"", MR_EDATA},
		{"path=all.bin classes=9", "all.bin: label 9 of record 9, at byte 27657, is not below 9", MR_EDATA},
		{"path=hundred.bin labels=coarse classes=9", "label 10 of record 5, at byte 15370, is not", MR_EDATA},
		{"path=hundred.bin labels=fine classes=4", "label 4 of record 4, at byte 12297, is not", MR_EDATA},
		{"path=.", "data_batch_1.bin: No such file", MR_EDATA},
		{"path=. labels=fine", "train.bin: No such file", MR_EDATA},
		{"path=,", "\",\" names no file", MR_EDATA},
		{"path=all.bin validation=0.99", "leaves none of 10 samples for training", MR_EDATA},
		{"path=all.bin validation_path=cut.bin", "cut.bin", MR_EDATA},
		{"path=all.bin validation_path=all.bin validation=0.1", "not both", MR_ECONFIG},
		{"path=all.bin mean=[0.5,0.5]", "mean has 2 and std 3 numbers, expected 1 or 3", MR_ECONFIG},
		{"path=all.bin std=[]", "std 0 numbers", MR_ECONFIG},
	};
	mr_data_want tokens;
	mr_dataset *d;

	data_help_folder(dir);
	save("all.bin", 0, 10, 1);
	save("hundred.bin", 0, 6, 2);
	data_help_write(dir, "empty", "", 0);
	data_help_write(dir, "cut.bin", (unsigned char[3072]){1}, 3072);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		MR_CHECK_FAIL(data_help_open("cifar", cases[i].settings, want(0), &d), cases[i].code, cases[i].part);
	tokens = *want(0);
	tokens.context = 8;
	MR_CHECK_FAIL(data_help_open("cifar", "path=all.bin", &tokens, &d), MR_ECONFIG, "no token sequences");
	data_help_remove(dir);
}

static void broken_records(void)
{
	unsigned char bytes[2 * 3073] = {0};

	data_help_folder(dir);
	bytes[3073] = 9;
	data_help_mistreat("cifar", "path=b.bin validation=0", want(1), "b.bin", bytes, 3073, 31, true, 3);
	data_help_mistreat("cifar", "path=b.bin validation=0.5", want(1), "b.bin", bytes, sizeof(bytes), 97, false, 3);
	data_help_remove(dir);
}

void mr_suite_cifar(void);
void mr_suite_cifar(void)
{
	MR_SUITE("cifar");
	MR_TEST(records);
	MR_TEST(crops_and_flips);
	MR_TEST(crops_of_mnist);
	MR_TEST(bad_files);
	MR_TEST(broken_records);
}
