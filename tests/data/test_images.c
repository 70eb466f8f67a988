/* Decoding of pictures of each kind, resizing, and folders of pictures as samples. */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/room.h"
#include "base/notice.h"
#include "check.h"
#include "formats/picture.h"
#include "data/resample.h"
#include "data_help.h"
#include "golden_files.h"

static char dir[512];

static const mr_data_want *want(uint64_t keep)
{
	static mr_data_want w;

	w = (mr_data_want){.dtype = MR_F32, .seed = 3, .base_dir = dir, .keep_bytes = keep};
	return &w;
}

static mr_json *golden(const char *name)
{
	char path[MR_GOLDEN_PATH];
	mr_json *root;

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "pictures/%s", name), 1 << 20, &root));
	return root;
}

/* Does the build have the library for this file? */
static bool readable(const char *name)
{
	const char *version = strstr(name, ".webp") ? (mr_picture_has_webp() ? "there" : "none")
			      : strstr(name, ".gif") ? (mr_picture_has_gif() ? "there" : "none")
			      : strstr(name, ".png") ? mr_picture_png_version()
			      : strstr(name, ".jp") ? mr_picture_jpeg_version()
						    : "ours";

	return strcmp(version, "none") != 0;
}

/* The file of a recorded picture; returns its length. */
static size_t file_of(const mr_json *picture, uint8_t bytes[2048])
{
	const char *hex = mr_json_string(mr_json_get(picture, "file"));
	size_t n = strlen(hex) / 2;

	CU_ASSERT_FATAL(n <= 2048);
	for (size_t i = 0; i < n; i++) {
		unsigned v;

		sscanf(hex + 2 * i, "%2x", &v);
		bytes[i] = (uint8_t)v;
	}
	return n;
}

/* --- decoding --- */

static void check_picture(const mr_json *x)
{
	const char *name = mr_json_string(mr_json_get(x, "name"));
	const mr_json *pixels = mr_json_get(x, "pixels");
	uint8_t bytes[2048], rgb[2048];
	size_t n = file_of(x, bytes);
	int worst = 0, allowed = strstr(name, ".jp") ? 2 : 0;
	mr_picture p;
	bool more;

	if (!readable(name)) {
		MR_CHECK_FAIL(mr_picture_look(name, bytes, n, &p, &more), MR_EDATA, "install the package lib");
		return;
	}
	MR_CHECK_OK(mr_picture_look(name, bytes, n, &p, &more));
	CU_ASSERT(!more && p.rows == mr_json_int(mr_json_get(x, "rows")) &&
		  p.cols == mr_json_int(mr_json_get(x, "cols")));
	CU_ASSERT_EQUAL(p.decoding > 0, !strstr(name, ".p") || strstr(name, ".png"));
	CU_ASSERT_EQUAL(p.grey, strstr(name, "grey") || strstr(name, "one_bit") || strstr(name, "deep"));
	CU_ASSERT_FATAL(mr_picture_bytes(&p) <= sizeof(rgb) && mr_json_size(pixels) == mr_picture_bytes(&p));
	MR_CHECK_OK(mr_picture_decode(name, bytes, n, &p, rgb));
	for (size_t i = 0; i < mr_picture_bytes(&p); i++) {
		int off = abs(rgb[i] - (int)mr_json_int(mr_json_at(pixels, i)));

		worst = off > worst ? off : worst;
	}
	if (worst > allowed)
		fprintf(stderr, "\n%s: %d off\n", name, worst);
	CU_ASSERT(worst <= allowed);
	p.rows++;
	MR_CHECK_FAIL(mr_picture_decode(name, bytes, n, &p, rgb), MR_EDATA, "was changed while it was in use");
}

static void pictures(void)
{
	mr_json *all = golden("pictures.json");

	CU_ASSERT_EQUAL(mr_json_size(all), 26);
	for (size_t i = 0; i < mr_json_size(all); i++)
		check_picture(mr_json_at(all, i));
	mr_json_destroy(all);
}

static void bad_pictures(void)
{
	static const struct {
		const char *bytes, *part;
	} cases[] = {
		{"BM1234", "is not a picture of a known format"},
		{"P3 1 1 255 1 2 3", "is not a picture of a known format"},
		{"P", "is not a picture of a known format"},
		{"P6", "is not a picture of a known format"},
		{"P6 1 1", "damaged head of a P6 file"},
		{"P6 1 x 255\n123", "damaged head"},
		{"P6 1 1 65535\n123456", "the largest value is 65535, expected 1 to 255"},
		{"P5 1 1 0\n1", "the largest value is 0"},
		{"P5 0 1 255\n", "0 x 1 pixels by its head, expected 1 to 100000000"},
		{"P5 99999 99999 255\n", "99999 x 99999 pixels by its head"},
		{"P5 # grey\n 2 # wide\n3 255\n12345", "5 bytes behind the head, but 2 x 3 pixels are 6"},
		{"P5 2 1 255\n123", "3 bytes behind the head, but 2 x 1 pixels are 2"},
		{"P5 2 1 50\n13", "a value of 51, above the largest, 50"},
		{"\xff\xd8\xff\xd9zzzz", "damaged JPEG: no size is said before byte 2"},
		{"\x89PNG\r\n\x1a\n----JUNKxxxxxxxxxxxxxxxxxxxxxxxx", "does not begin with its size"},
	};
	uint8_t rgb[64];
	mr_picture p;
	bool more;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t *bytes = (const uint8_t *)cases[i].bytes;
		size_t n = strlen(cases[i].bytes);
		mr_status st = mr_picture_look("x", bytes, n, &p, &more);

		if (!readable(i == 13 ? "x.jpg" : i == 14 ? "x.png" : "x"))
			continue;
		if (st == MR_OK)
			st = mr_picture_decode("x", bytes, n, &p, rgb);
		MR_CHECK_FAIL(st, MR_EDATA, cases[i].part);
		CU_ASSERT(!strncmp(mr_error_text(), "x: ", 3));
	}
	CU_ASSERT(mr_picture_name("a.PNG") && mr_picture_name(".b.jpeg") && !mr_picture_name("png"));
	CU_ASSERT(!mr_picture_name("a.txt") && !mr_picture_name("a.png.gz"));
}

/* --- resizing --- */

static void check_resized(const mr_json *root, const uint8_t *pixels, const mr_json *x)
{
	const mr_json *part = mr_json_get(x, "part"), *to = mr_json_get(x, "to"), *values = mr_json_get(x, "values");
	int64_t n[4], rows = mr_json_int(mr_json_at(to, 0)), cols = mr_json_int(mr_json_at(to, 1));
	double out[20 * 31 * 3], window[20 * 31 * 3];
	mr_augment a = {.dtype = MR_F64, .rows = rows, .cols = cols, .channels = 3};
	mr_resample r = {.pixels = pixels, .rows_to = rows, .cols_to = cols};

	r.cols = mr_json_int(mr_json_get(root, "cols"));
	for (size_t i = 0; i < 4; i++)
		n[i] = mr_json_int(mr_json_at(part, i));
	r.part = (mr_box){n[0], n[1], n[2], n[3]};
	for (int64_t c = 0; c < 3; c++)
		mr_augment_normal(&a, c, 0, 1.0 / 255);
	MR_CHECK_OK(mr_resample_put(&r, &a, out));
	CU_ASSERT_EQUAL_FATAL(mr_json_size(values), (size_t)(rows * cols * 3));
	for (size_t i = 0; i < mr_json_size(values); i++)
		CU_ASSERT(fabs(out[i] - mr_json_double(mr_json_at(values, i))) < 2e-4);
	/* A window of it, mirrored. */
	r.down = 1;
	r.right = 2;
	r.flip = true;
	a.rows = rows - 1;
	a.cols = cols - 3;
	MR_CHECK_OK(mr_resample_put(&r, &a, window));
	for (int64_t i = 0; i < a.rows * a.cols * 3; i++) {
		int64_t y = i / 3 / a.cols + 1, from = a.cols - 1 - i / 3 % a.cols + 2;

		CU_ASSERT(fabs(window[i] - out[(y * cols + from) * 3 + i % 3]) < 1e-9);
	}
}

static void resizing(void)
{
	mr_json *root = golden("resized.json");
	const mr_json *cases = mr_json_get(root, "cases"), *values = mr_json_get(root, "pixels");
	uint8_t pixels[17 * 23 * 3];

	CU_ASSERT_EQUAL_FATAL(mr_json_size(values), sizeof(pixels));
	for (size_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (uint8_t)mr_json_int(mr_json_at(values, i));
	for (size_t i = 0; i < mr_json_size(cases); i++)
		check_resized(root, pixels, mr_json_at(cases, i));
	mr_json_destroy(root);
}

/* --- folders --- */

/* A P6 file whose red grows by 4 from column to column, whose green grows by 4 from row to row; blue is @blue. */
static void save(const char *name, int rows, int cols, int blue)
{
	static unsigned char bytes[32 + 64 * 64 * 3];
	size_t n = (size_t)snprintf((char *)bytes, 32, "P6\n%d %d\n255\n", cols, rows);

	for (int i = 0; i < rows * cols; i++) {
		bytes[n++] = (unsigned char)(i % cols * 4);
		bytes[n++] = (unsigned char)(i / cols * 4);
		bytes[n++] = (unsigned char)blue;
	}
	data_help_write(dir, name, bytes, n);
}

/* Two classes; blue is the number of the image, 10 each. */
static void save_classes(void)
{
	char name[40];

	data_help_folder(dir);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "t/%s/%02d.ppm", i < 10 ? "cat" : "dog", i);
		save(name, 40 + i, 50 - i, i);
	}
	data_help_write(dir, "t/dog/notes.txt", "x", 1);
	data_help_write(dir, "t/.hidden/x.ppm", "x", 1);
	data_help_write(dir, "t/README", "x", 1);
}

#define SIDE 16
#define PIXELS (SIDE * SIDE * 3)
#define RAW " mean=[0] std=[0.00392156862745098]" /* values of 0 to 255 */

static mr_status take_name(void *arg, const mr_data_origin *o)
{
	CU_ASSERT(o->line == 0 && o->n == 0);
	snprintf((char *)arg + 64 * o->which, 64, "%s", o->file);
	return MR_OK;
}

/* Evaluation samples have the names of their files. */
static void origins(void)
{
	const uint64_t at[] = {2, 0};
	char name[2][64] = {""};
	mr_dataset *d;

	save_classes();
	MR_CHECK_OK(data_help_open("images", "path=t size=16 validation=0.2" RAW, want(0), &d));
	MR_CHECK_OK(mr_dataset_origin(d, at, 2, take_name, name));
	CU_ASSERT_EQUAL(strncmp(name[0], "dog/", 4), 0);
	CU_ASSERT_EQUAL(strncmp(name[1], "cat/", 4), 0);
	mr_dataset_close(d);
	data_help_remove(dir);
}

static void classes_and_split(void)
{
	float x[PIXELS];
	int32_t y;
	mr_dataset *d, *v;
	unsigned seen = 0;

	save_classes();
	save("v/dog/a.ppm", 33, 44, 77);
	MR_CHECK_OK(data_help_open("images", "path=t size=16 validation=0.2" RAW, want(0), &d));
	CU_ASSERT(d->n_train == 16 && d->n_valid == 4 && d->classes == 2);
	CU_ASSERT(mr_shape_same(d->input, mr_shape_of(3, (const int64_t[]){SIDE, SIDE, 3}, false)));
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, "16 training and 4 validation images as 16x16x3, 2 classes: "
						   "0 cat, 1 dog"));
	for (uint64_t g = 0; g < d->n_train; g++) {
		d->ops->train(d, g, x, &y);
		CU_ASSERT_EQUAL(y, (int)(x[2] + 0.5f) / 10);
		seen |= 1u << (int)(x[2] + 0.5f);
	}
	CU_ASSERT_EQUAL(seen, 0xff | 0xff << 10);
	for (uint64_t i = 0; i < 4; i++) { /* the last two of each class */
		d->ops->valid(d, i, x, &y);
		CU_ASSERT_EQUAL((int)(x[2] + 0.5f), (int)(i < 2 ? 8 + i : 16 + i));
		CU_ASSERT_EQUAL(y, i >= 2);
	}
	MR_CHECK_OK(data_help_open("images", "path=t size=16 validation_path=v" RAW, want(0), &v));
	CU_ASSERT(v->n_train == 20 && v->n_valid == 1 && v->fingerprint != d->fingerprint);
	v->ops->valid(v, 0, x, &y);
	CU_ASSERT(y == 1 && fabsf(x[2] - 77) < 0.01f);
	mr_dataset_close(v);
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* The column (row) of the original image at column @x (row @y) of sample @s, read from its red (green). After resizing
 * by a factor that is not a whole number it is up to a tenth of a pixel off. */
static double column_of(const float *s, int x)
{
	return s[(SIDE / 2 * SIDE + x) * 3] / 4;
}

static double row_of(const float *s, int y)
{
	return s[(y * SIDE + SIDE / 2) * 3 + 1] / 4;
}

/* The middle of a validation image, whose shorter side becomes 18. */
static void centre_crops(void)
{
	float x[PIXELS];
	int32_t y;
	mr_dataset *d;

	data_help_folder(dir);
	save("t/a/1.ppm", 36, 54, 1);
	save("t/a/2.ppm", 36, 54, 1);
	MR_CHECK_OK(data_help_open("images", "path=t size=16 validation=0.5" RAW, want(0), &d));
	d->ops->valid(d, 0, x, &y); /* 36 x 54 become 18 x 27: columns 5 to 20 of them, 2 pixels each */
	for (int i = 2; i < SIDE - 2; i++) {
		CU_ASSERT(fabs(column_of(x, i) - (2 * (5 + i) + 0.5)) < 0.01);
		CU_ASSERT(fabs(row_of(x, i) - (2 * (1 + i) + 0.5)) < 0.01);
	}
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* Training samples are the parts that mr_augment_part draws, and half of them are mirrored. */
static void random_parts(void)
{
	mr_augment a = {.seed = 3, .rows = SIDE, .cols = SIDE, .channels = 3, .flip = true};
	int flips = 0, moved = 0;
	float x[PIXELS];
	int32_t y;
	mr_dataset *d;

	data_help_folder(dir);
	save("t/a/1.ppm", 50, 60, 1);
	MR_CHECK_OK(data_help_open("images", "path=t size=16 validation=0 least_area=0.2" RAW, want(0), &d));
	for (uint64_t g = 0; g < 200; g++) {
		mr_box b = mr_augment_part(&a, g, 50, 60, 0.2);
		bool flip = mr_augment_of(&a, g).flip;
		double area = (double)b.rows * (double)b.cols, step = (double)b.cols / SIDE;

		CU_ASSERT(area > 0.19 * 3000 && 10 * b.cols > 7 * b.rows && 10 * b.cols < 14 * b.rows);
		CU_ASSERT(b.down >= 0 && b.right >= 0 && b.down + b.rows <= 50 && b.right + b.cols <= 60);
		flips += flip;
		moved += b.down + b.right > 0;
		d->ops->train(d, g, x, &y);
		for (int i = 4; i < SIDE - 4; i++) {
			int at = flip ? SIDE - 1 - i : i;

			CU_ASSERT(fabs(column_of(x, i) - ((at + 0.5) * step - 0.5 + (double)b.right)) < 0.15);
			CU_ASSERT(fabs(row_of(x, i) -
				       ((i + 0.5) * (double)b.rows / SIDE - 0.5 + (double)b.down)) < 0.15);
		}
	}
	CU_ASSERT(flips > 70 && flips < 130 && moved > 150);
	/* No part of an image of one row has an aspect ratio that is allowed. */
	CU_ASSERT_EQUAL(mr_augment_part(&a, 0, 1, 90, 0.5).cols, 1);
	CU_ASSERT_EQUAL(mr_augment_part(&a, 0, 30, 900, 0.9).cols, 40);
	CU_ASSERT_EQUAL(mr_augment_part(&a, 0, 900, 30, 0.9).down, 430);
	mr_dataset_close(d);
	/* A square at a random place of the resized image, which is 20 x 24. */
	MR_CHECK_OK(data_help_open("images", "path=t size=16 validation=0 crop=random resize=20 flip=false" RAW,
				   want(0), &d));
	for (uint64_t g = 0; g < 100; g++) {
		int64_t down = mr_augment_below(&a, g, MR_AUGMENT_DOWN, 5);
		int64_t right = mr_augment_below(&a, g, MR_AUGMENT_RIGHT, 9);

		d->ops->train(d, g, x, &y);
		CU_ASSERT(fabs(column_of(x, 8) - ((8.5 + (double)right) * 2.5 - 0.5)) < 0.15);
		CU_ASSERT(fabs(row_of(x, 8) - ((8.5 + (double)down) * 2.5 - 0.5)) < 0.15);
	}
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* Images that have exactly the size are not resized, only padded. */
static void exact_images(void)
{
	float x[PIXELS];
	int32_t y;
	mr_dataset *d;
	int black = 0;

	data_help_folder(dir);
	save("t/a/1.ppm", SIDE, SIDE, 9);
	save("t/a/2.ppm", SIDE, SIDE, 9);
	MR_CHECK_OK(data_help_open("images", "path=t size=16 validation=0.5 crop=exact padding=3" RAW, want(0), &d));
	d->ops->valid(d, 0, x, &y);
	for (int p = 0; p < SIDE * SIDE; p++)
		CU_ASSERT(fabsf(x[3 * p] - (float)(p % SIDE * 4)) < 1e-3f && fabsf(x[3 * p + 2] - 9) < 1e-3f);
	for (uint64_t g = 0; g < 40; g++) {
		d->ops->train(d, g, x, &y);
		black += x[2] < 1 || x[PIXELS - 1] < 1;
	}
	CU_ASSERT(black > 25);
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* --- the same samples, wherever the pixels are --- */

typedef struct reader {
	const mr_dataset *d;
	float *to; /* [n] samples */
	uint64_t n;
} reader;

static void *read_all(void *arg)
{
	reader *r = arg;
	int32_t y;

	for (uint64_t g = 0; g < r->n; g++)
		r->d->ops->train(r->d, g, r->to + g * PIXELS, &y);
	return NULL;
}

static void kept_or_decoded(void)
{
	enum { N = 40, THREADS = 3 };
	float *all = malloc(sizeof(float) * PIXELS * N * (THREADS + 1)), half[PIXELS];
	pthread_t thread[THREADS];
	reader r[THREADS];
	mr_dataset *kept, *read;
	int32_t y, z;

	save_classes();
	MR_CHECK_OK(data_help_open("images", "path=t size=16", want(0), &kept));
	MR_CHECK_OK(data_help_open("images", "path=t size=16", want(1), &read));
	CU_ASSERT_EQUAL(kept->fingerprint, read->fingerprint);
	CU_ASSERT(kept->bytes.on_disk == 0 && kept->bytes.passing > 0 && kept->bytes.kept > read->bytes.kept + 80000);
	CU_ASSERT(read->bytes.on_disk > 80000 && read->bytes.reading > kept->bytes.reading + 2 * 4000);
	read_all(&(reader){kept, all, N});
	for (int i = 0; i < THREADS; i++) {
		r[i] = (reader){read, all + (size_t)(i + 1) * N * PIXELS, N};
		CU_ASSERT_EQUAL(pthread_create(&thread[i], NULL, read_all, &r[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		CU_ASSERT(!memcmp(all, r[i].to, sizeof(float) * PIXELS * N));
	}
	/* Either half alone. */
	CU_ASSERT_FATAL(read->ops->halves);
	read->ops->train(read, 7, half, NULL);
	CU_ASSERT(!memcmp(half, all + 7 * PIXELS, sizeof(half)));
	read->ops->train(read, 7, half, &y);
	read->ops->train(read, 7, NULL, &z);
	CU_ASSERT_EQUAL(y, z);
	MR_CHECK_OK(mr_dataset_check(read));
	mr_dataset_close(read);
	mr_dataset_close(kept);
	free(all);
	data_help_remove(dir);
}

/* --- what is wrong with a folder or a file --- */

static void bad_folders(void)
{
	static const struct {
		const char *settings, *part;
		mr_status code;
	} cases[] = {
		{"path=absent", "absent: No such file", MR_EDATA},
		{"path=t/cat", "t/cat: holds no folder of pictures", MR_EDATA},
		{"path=none", "none/b: holds no picture: a class needs files .png", MR_EDATA},
		{"path=text", "text/a/x.png: is not a picture of a known format", MR_EDATA},
		{"path=cut validation=0", "cut/a/x.ppm: 3 bytes behind the head, but 2 x 2 pixels are 12", MR_EDATA},
		{"path=empty", "empty/a/x.ppm: the file is empty", MR_EDATA},
		{"path=folder", "folder/a/x.ppm: is a folder", MR_EDATA},
		{"path=t crop=exact size=40",
		 "t/cat/00.ppm: 50 x 40 pixels, but with crop = \"exact\" each image has 40 x 40", MR_EDATA},
		{"path=t validation=0.95", "t/cat: validation = 0.95 leaves none of 10 images for training", MR_EDATA},
		{"path=t validation_path=v", "v/cow: there is no class of this name in", MR_EDATA},
		{"path=t validation_path=v validation=0.1", "not both", MR_ECONFIG},
		{"path=t size=32 resize=31", "resize = 31 is less than size = 32", MR_ECONFIG},
		{"path=t padding=3", "padding: has no effect", MR_ECONFIG},
		{"path=t crop=centre least_area=0.5", "least_area: has no effect", MR_ECONFIG},
		{"path=t crop=exact resize=500", "resize: has no effect", MR_ECONFIG},
		{"path=t mean=[1,1]", "mean has 2 and std 3 numbers", MR_ECONFIG},
	};
	mr_data_want tokens;
	mr_dataset *d;

	save_classes();
	save("v/cow/1.ppm", 4, 4, 1);
	save("none/a/1.ppm", 4, 4, 1);
	data_help_write(dir, "none/b/readme.txt", "x", 1);
	data_help_write(dir, "text/a/x.png", "plain text", 10);
	data_help_write(dir, "cut/a/x.ppm", "P6 2 2 255\n123", 14);
	data_help_write(dir, "empty/a/x.ppm", "", 0);
	data_help_write(dir, "folder/a/x.ppm/y", "x", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		MR_CHECK_FAIL(data_help_open("images", cases[i].settings, want(0), &d), cases[i].code, cases[i].part);
	tokens = *want(0);
	tokens.context = 8;
	MR_CHECK_FAIL(data_help_open("images", "path=t", &tokens, &d), MR_ECONFIG, "no token sequences");
	data_help_remove(dir);
}

/* Damaged files are named, all of them, or left out up to a limit; without one of a class, the others stay. */
static void damaged_files(void)
{
	mr_strbuf notes = {0}, *before;
	mr_dataset *d;

	save_classes();
	data_help_write(dir, "t/cat/05.ppm", "P6 2 2 255\n123", 14);
	data_help_write(dir, "t/dog/03.ppm", "plain", 5);
	data_help_write(dir, "t/dog/04.ppm", "", 0);
	before = mr_notice_to(&notes);
	MR_CHECK_FAIL(data_help_open("images", "path=t size=16", want(0), &d), MR_EDATA,
		      "t: 3 of ");
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&notes), "t/cat/05.ppm: ")); /* its pixels, not its head */
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&notes), "t/dog/03.ppm: is not a picture of a known format"));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&notes), "t/dog/04.ppm: the file is empty"));
	MR_CHECK_FAIL(data_help_open("images", "path=t size=16 damaged=2", want(0), &d), MR_EDATA,
		      "t: 3 of ");
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "damaged = 3 leaves them out"));
	mr_notice_to(before);
	mr_strbuf_fini(&notes);
	MR_CHECK_OK(data_help_open("images", "path=t size=16 damaged=3", want(1), &d));
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, "; 3 damaged ones are left out"));
	for (uint64_t i = 0; i < d->n_train; i++) {
		float x[PIXELS];
		int32_t y;

		d->ops->train(d, i, x, &y);
	}
	MR_CHECK_OK(mr_dataset_check(d));
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* Decode bytes that may not be a picture, from memory that ends with them. */
static mr_status survive(const uint8_t *bytes, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1), *rgb = NULL;
	mr_picture p;
	bool more;
	mr_status st;

	memcpy(copy, bytes, n);
	st = mr_picture_look("x", copy, n, &p, &more);
	if (st == MR_OK && more)
		st = mr_fail(MR_EDATA, "x: no size");
	if (st == MR_OK && mr_picture_bytes(&p) < 1 << 20) { /* others have a damaged size */
		rgb = malloc(mr_picture_bytes(&p));
		st = mr_picture_decode("x", copy, n, &p, rgb);
	}
	CU_ASSERT(st == MR_OK || (st == MR_EDATA && !strncmp(mr_error_text(), "x: ", 3)));
	free(rgb);
	free(copy);
	return st;
}

/* Recorded pictures cut at every length are refused; with a bit changed they are refused or survived. */
static void broken_pictures(void)
{
	mr_json *all = golden("pictures.json");

	for (size_t i = 0; i < mr_json_size(all); i++) {
		const char *name = mr_json_string(mr_json_get(mr_json_at(all, i), "name"));
		uint8_t bytes[2048];
		size_t n = file_of(mr_json_at(all, i), bytes);

		if (!readable(name) || strstr(name, "cmyk"))
			continue;
		CU_ASSERT_EQUAL(survive(bytes, n), MR_OK);
		for (size_t cut = 0; cut < n; cut++)
			CU_ASSERT_EQUAL(survive(bytes, cut), MR_EDATA);
		for (size_t bit = 0; bit < 8 * n; bit++) {
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			survive(bytes, n);
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
	mr_json_destroy(all);
}

/* The same for a folder with one image: open or load refuses it. */
static void broken_folder(void)
{
	unsigned char bytes[64];
	size_t n = (size_t)snprintf((char *)bytes, sizeof(bytes), "P6\n4 3\n255\n%036d", 0);

	data_help_folder(dir);
	data_help_mistreat("images", "path=t size=8 validation=0", want(0), "t/a/x.ppm", bytes, n, 3, true, 12);
	data_help_remove(dir);
}

/* A file is damaged after the source was opened: its samples are zeros, and from then on the check names it. */
static void broken_meanwhile(void)
{
	static const struct {
		const char *bytes, *part; /* NULL: the file is removed */
	} cases[] = {
		{NULL, "07.ppm: No such file"},
		{"P6 43 47 255\n123", "07.ppm: 3 bytes behind the head"},
		{"P6 4 4 255\n123", "07.ppm: the file was changed while it was in use: 4 x 4 pixels, were 43 x 47"},
		{"junk", "07.ppm: is not a picture of a known format"},
	};
	float x[PIXELS];
	char path[600];
	int32_t y;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mr_dataset *d;
		int zeros = 0;

		save_classes();
		MR_CHECK_OK(data_help_open("images", "path=t size=16 validation=0" RAW, want(1), &d));
		if (cases[i].bytes)
			data_help_write(dir, "t/cat/07.ppm", cases[i].bytes, strlen(cases[i].bytes));
		snprintf(path, sizeof(path), "%s/t/cat/07.ppm", dir);
		if (!cases[i].bytes)
			unlink(path);
		for (uint64_t g = 0; g < d->n_train; g++) {
			int black = 0;

			d->ops->train(d, g, x, &y);
			for (int p = 0; p < PIXELS; p++)
				black += x[p] == 0;
			zeros += black == PIXELS;
			CU_ASSERT(y == 0 || y == 1);
		}
		CU_ASSERT_EQUAL(zeros, 1);
		MR_CHECK_FAIL(mr_dataset_check(d), MR_EDATA, cases[i].part);
		MR_CHECK_FAIL(mr_dataset_check(d), MR_EDATA, dir);
		mr_dataset_close(d);
		data_help_remove(dir);
	}
}

/* Lists of files and heads of pictures are as long as the folder and its files make them. */
static void lists_and_heads_are_judged(void)
{
	static const char pixel[] = "P6 1 1 255\n123";
	static unsigned char head[11 * 65537 + 2] = {0xff, 0xd8}; /* a JPEG of 11 blocks of no pixels */
	mr_dataset *d;
	char name[64];

	data_help_folder(dir);
	for (int i = 0; i < 4097; i++) {
		snprintf(name, sizeof(name), "long/a/%d.txt", i);
		data_help_write(dir, name, "x", 1);
		snprintf(name, sizeof(name), "pictures/%c/%d.ppm", 'a' + (i & 1), i);
		data_help_write(dir, name, pixel, sizeof(pixel) - 1);
	}
	for (int i = 0; i < 11; i++)
		memcpy(head + 2 + 65537 * i, (const unsigned char[]){0xff, 0xe1, 0xff, 0xff}, 4);
	data_help_write(dir, "head/a/x.jpg", head, sizeof(head));
	mr_room_limit(1);
	MR_CHECK_FAIL(data_help_open("images", "path=long size=1", want(0), &d), MR_ERESOURCE,
		      "long/a: its list of files may take ");
	MR_CHECK_FAIL(data_help_open("images", "path=pictures size=1", want(0), &d), MR_ERESOURCE,
		      "pictures: its list of pictures may take ");
	if (readable("x.jpg"))
		MR_CHECK_FAIL(data_help_open("images", "path=head size=1", want(0), &d), MR_ERESOURCE,
			      "head/a/x.jpg: its head may take ");
	mr_room_limit(0);
	MR_CHECK_OK(data_help_open("images", "path=pictures size=1", want(0), &d));
	mr_dataset_close(d);
	data_help_remove(dir);
}

void mr_suite_images(void);
void mr_suite_images(void)
{
	MR_SUITE("images");
	MR_TEST(pictures);
	MR_TEST(bad_pictures);
	MR_TEST(resizing);
	MR_TEST(classes_and_split);
	MR_TEST(origins);
	MR_TEST(centre_crops);
	MR_TEST(random_parts);
	MR_TEST(exact_images);
	MR_TEST(kept_or_decoded);
	MR_TEST(bad_folders);
	MR_TEST(damaged_files);
	MR_TEST(lists_and_heads_are_judged);
	MR_TEST(broken_pictures);
	MR_TEST(broken_folder);
	MR_TEST(broken_meanwhile);
}
