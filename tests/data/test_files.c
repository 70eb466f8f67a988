/* Token and IDX files: what is read from good ones, and the message for each way of being bad. */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "data_help.h"

static char dir[512];

#define MAX 65536

/* A file under construction. */
typedef struct blob {
	unsigned char b[MAX];
	size_t n;
} blob;

static void put_big(blob *x, uint32_t v)
{
	for (int s = 24; s >= 0; s -= 8)
		x->b[x->n++] = (unsigned char)(v >> s);
}

static void put_little(blob *x, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		x->b[x->n++] = (unsigned char)(v >> (8 * i));
}

static blob make_images(uint32_t magic, uint32_t n, uint32_t rows, uint32_t cols, size_t pixels)
{
	blob x = {.n = 0};

	put_big(&x, magic);
	put_big(&x, n);
	put_big(&x, rows);
	put_big(&x, cols);
	for (size_t i = 0; i < pixels; i++)
		x.b[x.n++] = (unsigned char)(i * 7);
	return x;
}

static blob make_labels(uint32_t magic, uint32_t n, size_t labels)
{
	blob x = {.n = 0};

	put_big(&x, magic);
	put_big(&x, n);
	for (size_t i = 0; i < labels; i++)
		x.b[x.n++] = (unsigned char)(i % 10);
	return x;
}

static blob make_llmc(int32_t magic, int32_t version, int32_t n, size_t tokens)
{
	blob x = {.n = 0};

	put_little(&x, (uint32_t)magic, 4);
	put_little(&x, (uint32_t)version, 4);
	put_little(&x, (uint32_t)n, 4);
	while (x.n < 1024)
		x.b[x.n++] = 0;
	for (size_t i = 0; i < tokens; i++)
		put_little(&x, i * 5, 2);
	return x;
}

static blob make_nanogpt(size_t tokens)
{
	blob x = {.n = 0};

	for (size_t i = 0; i < tokens; i++)
		put_little(&x, i * 5, 2);
	return x;
}

static void save(const char *name, blob x)
{
	data_help_write(dir, name, x.b, x.n);
}

static const mr_data_want *want(int64_t context)
{
	static mr_data_want w;

	w = (mr_data_want){.dtype = MR_F32, .seed = 3, .context = context, .base_dir = dir};
	return &w;
}

/* --- tokens --- */

static void check_tokens(const char *settings, int64_t classes, uint64_t n_train, uint64_t n_valid, int32_t first_valid)
{
	int32_t input[4], target[4];
	mr_dataset *d;

	MR_CHECK_OK(data_help_open("tokens", settings, want(4), &d));
	CU_ASSERT_EQUAL(d->classes, classes);
	CU_ASSERT_EQUAL(d->n_train, n_train);
	CU_ASSERT_EQUAL(d->n_valid, n_valid);
	for (uint64_t g = 0; g < 3 * n_train; g++) {
		d->ops->train(d, g, input, target);
		for (int j = 0; j < 4; j++) {
			CU_ASSERT_EQUAL(target[j], input[j] + 5);
			CU_ASSERT(target[j] < classes);
		}
	}
	d->ops->valid(d, 0, input, target);
	CU_ASSERT_EQUAL(input[0], first_valid);
	CU_ASSERT_PTR_NULL(d->token_text);
	mr_dataset_close(d);
}

static void token_files(void)
{
	mr_dataset *a, *b;

	data_help_folder(dir);
	save("nano.bin", make_nanogpt(100));
	save("llmc.bin", make_llmc(20240520, 1, 100, 100));
	save("more.bin", make_nanogpt(300));
	/* 90 of 100 tokens train: 90 / 4 - 1 windows; tokens 90..99 hold two of 4 and a target. */
	check_tokens("path=nano.bin", 496, 21, 2, 450);
	check_tokens("path=llmc.bin", 496, 21, 2, 450);
	check_tokens("path=llmc.bin format=llmc vocab=50257", 50257, 21, 2, 450);
	check_tokens("path=nano.bin format=nanogpt validation=0.5", 496, 11, 12, 250);
	check_tokens("path=nano.bin validation_path=more.bin", 1496, 24, 74, 0);
	/* The same tokens are the same data in either dress. */
	MR_CHECK_OK(data_help_open("tokens", "path=nano.bin", want(4), &a));
	MR_CHECK_OK(data_help_open("tokens", "path=llmc.bin", want(4), &b));
	CU_ASSERT_EQUAL(a->fingerprint, b->fingerprint);
	CU_ASSERT_PTR_NOT_NULL(strstr(a->describe, "nanoGPT, 100 tokens; vocabulary 496"));
	CU_ASSERT_PTR_NOT_NULL(strstr(b->describe, "llm.c, 100 tokens"));
	mr_dataset_close(b);
	MR_CHECK_OK(data_help_open("tokens", "path=nano.bin vocab=500", want(4), &b));
	CU_ASSERT_NOT_EQUAL(a->fingerprint, b->fingerprint);
	mr_dataset_close(b);
	mr_dataset_close(a);
	data_help_remove(dir);
}

static void bad_token_files(void)
{
	static const struct {
		const char *settings, *part;
		mr_status code;
	} cases[] = {
		{"path=absent.bin", "absent.bin: No such file", MR_EDATA},
		{"path=.", "is a folder", MR_EDATA},
		{"path=empty.bin", "empty.bin: the file is empty", MR_EDATA},
		{"path=odd.bin", "odd.bin: 201 bytes are not a whole number", MR_EDATA},
		{"path=odd.bin format=llmc", "not an llm.c token file: magic 327680", MR_EDATA},
		{"path=nano.bin format=llmc", "expected 20240520 or 20240801", MR_EDATA},
		{"path=short.bin", "header of an llm.c token file has 1024", MR_EDATA},
		{"path=version.bin", "version 2 at offset 4, expected 1", MR_EDATA},
		{"path=wide.bin", "version 1 at offset 4, expected 7", MR_EDATA},
		{"path=less.bin", "1222 bytes, but 100 tokens by its header make 1224", MR_EDATA},
		{"path=more.bin", "1226 bytes, but 100 tokens by its header make 1224", MR_EDATA},
		{"path=negative.bin", "-1 tokens by the header", MR_EDATA},
		{"path=none.bin", "0 tokens by the header", MR_EDATA},
		{"path=huge.bin", "2147483647 tokens by its header make 4294968318", MR_EDATA},
		{"path=nano.bin vocab=300", "token 300 at byte offset 120 is not below the vocabulary of 300",
		 MR_EDATA},
		{"path=llmc.bin vocab=300", "token 300 at byte offset 1144 is not", MR_EDATA},
		{"path=nano.bin validation=0.99", "1 training tokens", MR_EDATA},
		{"path=nano.bin validation=0.02", "2 validation tokens, but a window of context 4 needs 5", MR_EDATA},
		{"path=nano.bin validation_path=tiny.bin", "tiny.bin: 4 validation tokens", MR_EDATA},
		{"path=nano.bin validation_path=absent", "absent", MR_EDATA},
		{"path=nano.bin validation_path=odd.bin", "odd.bin", MR_EDATA},
		{"path=nano.bin validation_path=llmc.bin validation=0.5", "not both", MR_ECONFIG},
		{"format=auto", "needs the key \"path\"", MR_ECONFIG},
	};
	blob odd = make_nanogpt(101);
	blob brief = make_llmc(20240520, 1, 100, 0);
	mr_dataset *d;

	data_help_folder(dir);
	odd.n--;
	brief.n = 500;
	save("nano.bin", make_nanogpt(100));
	save("llmc.bin", make_llmc(20240520, 1, 100, 100));
	save("empty.bin", (blob){.n = 0});
	save("odd.bin", odd);
	save("short.bin", brief);
	save("version.bin", make_llmc(20240520, 2, 100, 100));
	save("wide.bin", make_llmc(20240801, 1, 100, 200));
	save("less.bin", make_llmc(20240520, 1, 100, 99));
	save("more.bin", make_llmc(20240520, 1, 100, 101));
	save("negative.bin", make_llmc(20240520, 1, -1, 100));
	save("none.bin", make_llmc(20240520, 1, 0, 0));
	save("huge.bin", make_llmc(20240520, 1, 0x7fffffff, 100));
	save("tiny.bin", make_nanogpt(4));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		MR_CHECK_FAIL(data_help_open("tokens", cases[i].settings, want(4), &d), cases[i].code, cases[i].part);
	MR_CHECK_FAIL(data_help_open("tokens", "path=nano.bin", want(0), &d), MR_ECONFIG, "the model takes none");
	data_help_remove(dir);
}

static void bad_text_files(void)
{
	static const struct {
		const char *settings, *part;
	} cases[] = {
		{"path=absent.txt", "absent.txt: No such file"},
		{"path=.", "is a folder"},
		{"path=empty.txt", "empty.txt: the file is empty"},
		{"path=/dev/null", "/dev/null: is not a regular file"},
		{"path=tiny.txt", "tiny.txt: 3 training tokens, but a window of context 4 needs 5"},
		{"path=some.txt validation=0.01", "some.txt: 1 validation tokens"},
		{"path=some.txt validation=0.99", "training tokens"},
	};
	mr_dataset *d;

	data_help_folder(dir);
	data_help_write(dir, "empty.txt", "", 0);
	data_help_write(dir, "tiny.txt", "abcd", 4);
	data_help_write(dir, "some.txt", "abcdefghijklmnopqrstuvwxyz", 26);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		MR_CHECK_FAIL(data_help_open("text", cases[i].settings, want(4), &d), MR_EDATA, cases[i].part);
	MR_CHECK_OK(data_help_open("text", "path=some.txt", want(8), &d)); /* the default split may leave no window */
	CU_ASSERT_EQUAL(d->n_valid, 0);
	mr_dataset_close(d);
	MR_CHECK_FAIL(data_help_open("text", "path=some.txt", want(0), &d), MR_ECONFIG, "the model takes none");
	MR_CHECK_FAIL(data_help_open("text", "vocab=byte", want(4), &d), MR_ECONFIG, "needs the key \"path\"");
	data_help_remove(dir);
}

/* --- mnist --- */

#define PAIR "images=i labels=l"

static void check_mnist(const char *settings, uint64_t n_train, uint64_t n_valid)
{
	float x[6];
	int32_t y;
	mr_dataset *d;
	uint64_t seen = 0;

	MR_CHECK_OK(data_help_open("mnist", settings, want(0), &d));
	CU_ASSERT_EQUAL(d->n_train, n_train);
	CU_ASSERT_EQUAL(d->n_valid, n_valid);
	CU_ASSERT_EQUAL(d->input.cols, 6);
	CU_ASSERT_EQUAL(d->classes, 10);
	for (uint64_t g = 0; g < n_train; g++) {
		d->ops->train(d, g, x, &y);
		for (int p = 0; p < 6; p++)
			CU_ASSERT(x[p] >= 0 && x[p] <= 1);
		for (int i = 0; i < 20; i++) /* pixel 0 of sample i is 7 * 6 * i mod 256 */
			if ((float)((i * 42 & 255) / 255.0) == x[0]) {
				CU_ASSERT_EQUAL(y, i % 10);
				seen++;
			}
	}
	CU_ASSERT_EQUAL(seen, n_train);
	mr_dataset_close(d);
}

static void idx_files(void)
{
	blob images = make_images(2051, 20, 2, 3, 120), labels = make_labels(2049, 20, 20);
	mr_dataset *d, *z;
	float x[6];
	int32_t y;

	data_help_folder(dir);
	save("i", images);
	save("l", labels);
	data_help_write_gzip(dir, "i.gz", images.b, images.n);
	data_help_write_gzip(dir, "l.gz", labels.b, labels.n);
	save("vi", make_images(2051, 5, 2, 3, 30));
	save("vl", make_labels(2049, 5, 5));
	check_mnist(PAIR, 18, 2);
	check_mnist("images=i.gz labels=l.gz", 18, 2);
	check_mnist("images=i.gz labels=l validation=0", 20, 0);
	check_mnist("images=i labels=l validation_images=vi validation_labels=vl", 20, 5);
	MR_CHECK_OK(data_help_open("mnist", "images=i labels=l mean=0.5 std=0.25", want(0), &d));
	d->ops->valid(d, 0, x, &y); /* sample 18: pixel p is 7 (6 * 18 + p) mod 256 */
	CU_ASSERT_EQUAL(y, 8);
	for (int p = 0; p < 6; p++)
		CU_ASSERT_EQUAL(x[p], (float)(((7 * (108 + p) & 255) / 255.0 - 0.5) / 0.25));
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, "18 training and 2 validation images of 2x3, 10 classes"));
	MR_CHECK_OK(data_help_open("mnist", "images=i.gz labels=l.gz mean=0.5 std=0.25", want(0), &z));
	CU_ASSERT_EQUAL(d->fingerprint, z->fingerprint);
	mr_dataset_close(z);
	MR_CHECK_OK(data_help_open("mnist", PAIR, want(0), &z));
	CU_ASSERT_NOT_EQUAL(d->fingerprint, z->fingerprint);
	mr_dataset_close(z);
	mr_dataset_close(d);
	data_help_remove(dir);
}

static const struct {
	const char *settings, *part;
} bad_idx[] = {
	{"images=absent labels=l", "absent: No such file"},
	{"images=. labels=l", "is a folder"},
	{"images=empty labels=l", "empty: the file is empty"},
	{"images=three labels=l", "three: truncated"},
	{"images=header labels=l", "header: truncated"},
	{"images=l labels=i", "magic 2049, expected 2051 (images and labels swapped?)"},
	{"images=i labels=i", "labels: magic 2051, expected 2049"},
	{"images=magic labels=l", "magic 2052, expected 2051"},
	{"images=little labels=l", "not an IDX file of images"},
	{"images=less labels=l", "135 bytes cannot be 20 samples of 2x3"},
	{"images=more labels=l", "137 bytes cannot be 20 samples of 2x3"},
	{"images=none labels=l", "none: holds no samples"},
	{"images=flat labels=l", "images of 0x3"},
	{"images=wide labels=l", "images of 2x65537"},
	{"images=huge labels=l", "cannot be 4294967295 samples of 65536x65536"},
	{"images=bomb.gz labels=l", "cannot be 4000000 samples of 1000x1000"},
	{"images=less.gz labels=l", "less.gz: truncated"},
	{"images=more.gz labels=l", "more.gz: contents go on"},
	{"images=cut.gz labels=l", "cut.gz: truncated"},
	{"images=crc.gz labels=l", "crc.gz: damaged: incorrect data check"},
	{"images=i labels=fewer", "20 images, but"},
	{"images=i labels=short", "short: a file of 27 bytes cannot be 20"},
	{"images=i labels=l classes=9", "label 9 of sample 9, at byte 17 of the contents, is not below 9"},
	{"images=i labels=l validation_images=absent validation_labels=l", "absent"},
	{"images=i labels=l validation_images=square validation_labels=l", "images of 3x2, but"},
	{"images=i labels=l validation_images=i validation_labels=fewer", "but"},
};

static void bad_idx_files(void)
{
	blob images = make_images(2051, 20, 2, 3, 120), labels = make_labels(2049, 20, 20), little = {.n = 0}, cut;
	char path[600];
	FILE *f;
	mr_dataset *d;

	data_help_folder(dir);
	save("i", images);
	save("l", labels);
	save("empty", (blob){.n = 0});
	save("three", (blob){.b = {0, 0, 8}, .n = 3});
	save("header", make_images(2051, 20, 2, 3, 0));
	cut = images;
	cut.n = 15;
	save("header", cut);
	save("magic", make_images(2052, 20, 2, 3, 120));
	put_little(&little, 2051, 4);
	put_little(&little, 20, 4);
	put_little(&little, 2, 4);
	put_little(&little, 3, 4);
	save("little", little);
	save("less", make_images(2051, 20, 2, 3, 119));
	save("more", make_images(2051, 20, 2, 3, 121));
	save("none", make_images(2051, 0, 2, 3, 0));
	save("flat", make_images(2051, 20, 0, 3, 0));
	save("wide", make_images(2051, 20, 2, 65537, 120));
	save("huge", make_images(2051, 0xffffffff, 65536, 65536, 120));
	save("square", make_images(2051, 20, 3, 2, 120));
	save("fewer", make_labels(2049, 19, 19));
	save("short", make_labels(2049, 20, 19));
	cut = make_images(2051, 4000000, 1000, 1000, 120);
	data_help_write_gzip(dir, "bomb.gz", cut.b, cut.n);
	data_help_write_gzip(dir, "less.gz", images.b, images.n - 1);
	cut = images;
	cut.n++;
	data_help_write_gzip(dir, "more.gz", cut.b, cut.n);
	data_help_write_gzip(dir, "i.gz", images.b, images.n);
	snprintf(path, sizeof(path), "%s/i.gz", dir);
	f = fopen(path, "rb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	cut.n = fread(cut.b, 1, MAX, f);
	fclose(f);
	cut.n -= 3;
	save("cut.gz", cut);
	cut.n += 3;
	cut.b[cut.n - 8] ^= 1;
	save("crc.gz", cut);
	for (size_t i = 0; i < sizeof(bad_idx) / sizeof(bad_idx[0]); i++)
		MR_CHECK_FAIL(data_help_open("mnist", bad_idx[i].settings, want(0), &d), MR_EDATA, bad_idx[i].part);
	MR_CHECK_FAIL(data_help_open("mnist", PAIR " validation_images=i", want(0), &d), MR_ECONFIG, "belong together");
	MR_CHECK_FAIL(data_help_open("mnist", PAIR " validation_images=i validation_labels=l validation=0.1", want(0),
				     &d),
		      MR_ECONFIG, "not both");
	MR_CHECK_FAIL(data_help_open("mnist", PAIR, want(8), &d), MR_ECONFIG, "no token sequences");
	data_help_remove(dir);
}

/* --- truncation at every length, flips of every bit --- */

static void mistreat(const char *source, const char *settings, const char *name, int64_t context, blob x, bool exact,
		     size_t flips)
{
	data_help_mistreat(source, settings, want(context), name, x.b, x.n, 1, exact, flips);
}

static blob compressed(blob x)
{
	char path[600];
	FILE *f;

	data_help_write_gzip(dir, "z", x.b, x.n);
	snprintf(path, sizeof(path), "%s/z", dir);
	f = fopen(path, "rb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	x.n = fread(x.b, 1, MAX, f);
	fclose(f);
	return x;
}

static void broken_files(void)
{
	blob images = make_images(2051, 4, 2, 3, 24), labels = make_labels(2049, 4, 4);

	data_help_folder(dir);
	save("i", images);
	save("l", labels);
	mistreat("mnist", PAIR, "i", 0, images, true, images.n);
	mistreat("mnist", PAIR, "l", 0, labels, true, labels.n);
	mistreat("mnist", PAIR, "i", 0, compressed(images), true, compressed(images).n);
	mistreat("mnist", PAIR, "l", 0, compressed(labels), true, compressed(labels).n);
	save("b", make_nanogpt(20));
	mistreat("tokens", "path=b", "b", 4, make_nanogpt(20), false, 40);
	mistreat("tokens", "path=b", "b", 4, make_llmc(20240520, 1, 20, 20), true, 16);
	data_help_write(dir, "t", "x", 1);
	mistreat("text", "path=t", "t", 4, make_nanogpt(20), false, 40);
	data_help_remove(dir);
}

/* --- files that stay on the disk --- */

/* All samples of @d, training and then evaluation, into @bytes; returns how many bytes they are. */
static size_t all_samples(const mr_dataset *d, char *bytes, size_t room)
{
	size_t in = mr_shape_bytes(d->input, MR_F32), out = mr_shape_bytes(d->target, MR_F32), at = 0;

	for (uint64_t i = 0; i < 2 * d->n_train + d->n_valid; i++) {
		CU_ASSERT_FATAL(at + in + out <= room);
		if (i < 2 * d->n_train)
			d->ops->train(d, i, bytes + at, bytes + at + in);
		else
			d->ops->valid(d, i - 2 * d->n_train, bytes + at, bytes + at + in);
		at += in + out;
	}
	return at;
}

static const struct {
	const char *source, *settings, *longest; /* a file that shows when it is shortened */
	int64_t context;
} on_disk[] = {
	{"text", "path=long.txt", "long.txt", 3000},
	{"text", "path=long.txt vocab=byte", "long.txt", 7},
	{"tokens", "path=long.bin validation_path=more.bin", "long.bin", 2500},
	{"tokens", "path=long.bin vocab=60000", "long.bin", 7},
	{"mnist", "images=i labels=l", "i", 0},
	{"mnist", "images=i labels=l padding=9 flip=true", "i", 0},
	{"cifar", "path=c1.bin,c2.bin", "c1.bin", 0},
	{"cifar", "path=c1.bin validation_path=c2.bin", "c2.bin", 0},
	{"mnist", "images=i labels=l.gz validation_images=vi validation_labels=vl", "vi", 0},
	{"arrays", "matrix=m targets=t rows=20 features=3000", "m", 0},
	{"arrays",
	 "matrix=m targets=t rows=18 features=3000 validation_matrix=vm validation_targets=vt validation_rows=2", "vm",
	 0},
	{"arrays", "matrix=mf targets=tf rows=10 features=30 numbers=f32 validation=0.3", "mf", 0},
};

#define N_ON_DISK (sizeof(on_disk) / sizeof(on_disk[0]))

static void write_long_files(size_t array_rows)
{
	static double m[60000];
	static float mf[300];
	static char text[20000];
	static uint16_t tokens[20000];
	static unsigned char records[5 * 3073];
	blob images = make_images(2051, 20, 50, 50, 50000), labels = make_labels(2049, 20, 20);

	for (size_t i = 0; i < 60000; i++)
		m[i] = (double)(i % 977) / 7;
	for (size_t i = 0; i < 300; i++)
		mf[i] = (float)i;
	for (size_t i = 0; i < 20000; i++) {
		text[i] = (char)('a' + i * i % 23);
		tokens[i] = (uint16_t)(i * 3 % 59999);
	}
	data_help_write(dir, "long.txt", text, sizeof(text));
	data_help_write(dir, "long.bin", tokens, sizeof(tokens));
	data_help_write(dir, "more.bin", tokens, 12000);
	save("i", images);
	save("l", labels);
	data_help_write_gzip(dir, "l.gz", labels.b, labels.n);
	save("vi", make_images(2051, 5, 50, 50, 12500));
	save("vl", make_labels(2049, 5, 5));
	for (size_t i = 0; i < sizeof(records); i++)
		records[i] = (unsigned char)(i % 3073 ? i * i : i / 3073);
	data_help_write(dir, "c1.bin", records, sizeof(records));
	data_help_write(dir, "c2.bin", records, 3 * 3073);
	data_help_write(dir, "m", m, array_rows * 3000 * sizeof(*m));
	data_help_write(dir, "t", m, array_rows * sizeof(*m));
	data_help_write(dir, "vm", m, 2 * 3000 * sizeof(*m));
	data_help_write(dir, "vt", m, 2 * sizeof(*m));
	data_help_write(dir, "mf", mf, 300 * sizeof(*mf));
	data_help_write(dir, "tf", mf, 10 * sizeof(*mf));
}

/* Samples and fingerprint do not depend on where a file is; what is kept and what is not is counted. */
static void samples_from_disk(void)
{
	enum { ROOM = 8 << 20 };
	char *kept = malloc(ROOM), *read = malloc(ROOM);

	data_help_folder(dir);
	for (size_t i = 0; i < N_ON_DISK; i++) {
		const mr_data_want in_memory = {
			.dtype = MR_F32, .seed = 3, .context = on_disk[i].context, .base_dir = dir};
		mr_data_want want = in_memory;
		mr_dataset *d, *e;
		size_t n;

		write_long_files(strstr(on_disk[i].settings, "rows=18") ? 18 : 20);
		want.keep_bytes = 1;
		MR_CHECK_OK(data_help_open(on_disk[i].source, on_disk[i].settings, &in_memory, &d));
		MR_CHECK_OK(data_help_open(on_disk[i].source, on_disk[i].settings, &want, &e));
		CU_ASSERT(d->bytes.kept > 0 && d->bytes.on_disk == 0 && e->bytes.on_disk > 0);
		CU_ASSERT_EQUAL(d->bytes.kept, e->bytes.kept + e->bytes.on_disk);
		CU_ASSERT(e->bytes.kept == 0 || strstr(on_disk[i].settings, ".gz"));
		CU_ASSERT_EQUAL(d->fingerprint, e->fingerprint);
		CU_ASSERT_STRING_EQUAL(d->describe, e->describe);
		n = all_samples(d, kept, ROOM);
		CU_ASSERT(all_samples(e, read, ROOM) == n && n > 0 && !memcmp(kept, read, n));
		MR_CHECK_OK(mr_dataset_check(e));
		mr_dataset_close(d);
		mr_dataset_close(e);
	}
	free(kept);
	free(read);
	data_help_remove(dir);
}

/* A file that is cut short under the reader's hands: samples go on as zeros, and the check says which file, for good.
 */
static void shortened_meanwhile(void)
{
	enum { ROOM = 8 << 20 };
	char *bytes = malloc(ROOM);

	data_help_folder(dir);
	for (size_t i = 0; i < N_ON_DISK; i++) {
		mr_data_want want = {.dtype = MR_F32, .context = on_disk[i].context, .base_dir = dir, .keep_bytes = 1};
		char path[600], message[100];
		mr_dataset *d;

		write_long_files(strstr(on_disk[i].settings, "rows=18") ? 18 : 20);
		MR_CHECK_OK(data_help_open(on_disk[i].source, on_disk[i].settings, &want, &d));
		snprintf(path, sizeof(path), "%s/%s", dir, on_disk[i].longest);
		CU_ASSERT_EQUAL(truncate(path, 100), 0);
		all_samples(d, bytes, ROOM);
		snprintf(message, sizeof(message),
			 "%s: the file was shortened while it was in use: nothing is left at byte ",
			 on_disk[i].longest);
		MR_CHECK_FAIL(mr_dataset_check(d), MR_EDATA, message);
		write_long_files(20);
		MR_CHECK_FAIL(mr_dataset_check(d), MR_EDATA, message);
		mr_dataset_close(d);
	}
	free(bytes);
	data_help_remove(dir);
}

/* What was no token or class when the file was checked never reaches a layer that would index by it. */
static void changed_meanwhile(void)
{
	static const char *const cases[][3] = {
		{"tokens", "path=long.bin vocab=60000", "long.bin"},
		{"text", "path=long.txt", "long.txt"},
		{"mnist", "images=i labels=l", "l"},
		{"cifar", "path=c1.bin", "c1.bin"},
	};
	static unsigned char junk[40000];
	char *bytes = malloc(8 << 20);

	data_help_folder(dir);
	memset(junk, 0xff, sizeof(junk));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool tokens = i < 2;
		mr_data_want want = {
			.dtype = MR_F32, .context = tokens ? 9 : 0, .base_dir = dir, .keep_bytes = 1};
		int32_t *numbers = (int32_t *)(void *)bytes;
		mr_dataset *d;

		write_long_files(20);
		MR_CHECK_OK(data_help_open(cases[i][0], cases[i][1], &want, &d));
		data_help_write(dir, cases[i][2], junk, strcmp(cases[i][2], "l") ? sizeof(junk) : 28);
		for (uint64_t g = 0; g < 20; g++) {
			d->ops->train(d, g, bytes, bytes + (4 << 20));
			CU_ASSERT(!tokens || (numbers[0] == 0 && numbers[8] == 0));
			CU_ASSERT_EQUAL(*(int32_t *)(void *)(bytes + (4 << 20)), 0);
		}
		MR_CHECK_FAIL(mr_dataset_check(d), MR_EDATA, "the file was changed while it was in use, at byte");
		mr_dataset_close(d);
	}
	free(bytes);
	data_help_remove(dir);
}

void mr_suite_files(void);
void mr_suite_files(void)
{
	MR_SUITE("files");
	MR_TEST(token_files);
	MR_TEST(bad_token_files);
	MR_TEST(bad_text_files);
	MR_TEST(idx_files);
	MR_TEST(bad_idx_files);
	MR_TEST(broken_files);
	MR_TEST(samples_from_disk);
	MR_TEST(shortened_meanwhile);
	MR_TEST(changed_meanwhile);
}
