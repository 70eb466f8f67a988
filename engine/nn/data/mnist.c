/*
 * mnist.c - images and labels in the IDX files of MNIST and its relatives, plain or gzip.
 *
 *	images  big-endian int32: magic 2051, count, rows, columns; then count * rows * columns bytes
 *	labels  big-endian int32: magic 2049, count; then count bytes
 *
 * A file must have exactly the size that its header says. A pixel p becomes (p / 255 - mean) / std. zlib reads both
 * plain and compressed files and checks the CRC of the latter.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/size.h"
#include "base/stats.h"
#include "base/str.h"
#include "nn/data/part.h"

#define MAGIC_IMAGES 2051u
#define MAGIC_LABELS 2049u
#define MAX_SIDE 65536u
/* Deflate cannot shrink further than this; a header that claims more lies, and no memory is taken for it. */
#define MAX_RATIO 1032u

typedef struct idx {
	char *path;
	uint32_t n, rows, cols; /* labels: rows = cols = 1 */
	uint8_t *bytes;
} idx;

typedef struct mnist {
	mr_dataset base;
	mr_dtype dtype;
	uint64_t seed;
	idx images, labels, valid_images, valid_labels; /* the last two empty: the end of the first two validates */
	const uint8_t *pixels, *answers;                /* of the first validation sample */
	double value[256];
} mnist;

static uint32_t big_endian(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* The sentence for a file that ended or broke before byte @offset + @bytes of its contents, or in gzip's trailer. */
static mr_status broken(const idx *x, gzFile f, uint64_t offset, uint64_t bytes)
{
	int code;
	const char *reason = gzerror(f, &code);

	if (code == Z_OK || code == Z_BUF_ERROR)
		return mr_fail(MR_EDATA, "%s: truncated: %llu bytes of contents were expected at least", x->path,
			       (unsigned long long)(offset + bytes));
	if (!strncmp(reason, x->path, strlen(x->path)) && !strncmp(reason + strlen(x->path), ": ", 2))
		reason += strlen(x->path) + 2; /* zlib names the file too */
	return mr_fail(MR_EDATA, "%s: damaged: %s", x->path, reason);
}

/* All of @bytes bytes, in pieces that an unsigned int of zlib can count. */
static mr_status read_all(const idx *x, gzFile f, void *to, uint64_t offset, uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes;) {
		unsigned piece = bytes - done > 1u << 20 ? 1u << 20 : (unsigned)(bytes - done);
		int got = gzread(f, (char *)to + done, piece);

		if (got < 0 || (unsigned)got < piece)
			return broken(x, f, offset, bytes);
		done += piece;
	}
	return MR_OK;
}

static mr_status read_header(idx *x, gzFile f, uint32_t magic, uint64_t *header_bytes)
{
	uint8_t h[16];
	uint32_t found;

	*header_bytes = magic == MAGIC_IMAGES ? 16 : 8;
	MR_TRY(read_all(x, f, h, 0, *header_bytes));
	found = big_endian(h);
	if (found != magic)
		return mr_fail(MR_EDATA, "%s: not an IDX file of %s: magic %u, expected %u%s", x->path,
			       magic == MAGIC_IMAGES ? "images" : "labels", found, magic,
			       found == (magic ^ MAGIC_IMAGES ^ MAGIC_LABELS) ? " (images and labels swapped?)" : "");
	x->n = big_endian(h + 4);
	x->rows = magic == MAGIC_IMAGES ? big_endian(h + 8) : 1;
	x->cols = magic == MAGIC_IMAGES ? big_endian(h + 12) : 1;
	if (x->n == 0)
		return mr_fail(MR_EDATA, "%s: holds no samples", x->path);
	if (!x->rows || !x->cols || x->rows > MAX_SIDE || x->cols > MAX_SIDE)
		return mr_fail(MR_EDATA, "%s: images of %ux%u, expected 1 to %u in both directions", x->path, x->rows,
			       x->cols, MAX_SIDE);
	return MR_OK;
}

static mr_status read_contents(idx *x, gzFile f, uint32_t magic, uint64_t file_bytes)
{
	uint64_t header, most;
	size_t bytes;
	char extra;
	int got, code;

	MR_TRY(read_header(x, f, magic, &header));
	most = gzdirect(f) ? file_bytes : file_bytes > UINT64_MAX / MAX_RATIO ? UINT64_MAX : file_bytes * MAX_RATIO;
	if (!mr_size_mul((size_t)x->rows * x->cols, x->n, &bytes) || bytes > most - header ||
	    (gzdirect(f) && header + bytes != file_bytes))
		return mr_fail(MR_EDATA, "%s: a file of %llu bytes cannot be %u samples of %ux%u, as its header says",
			       x->path, (unsigned long long)file_bytes, x->n, x->rows, x->cols);
	MR_TRY(mr_data_check_memory(bytes));
	x->bytes = malloc(bytes);
	if (!x->bytes)
		return mr_data_no_memory(bytes);
	MR_TRY(read_all(x, f, x->bytes, header, bytes));
	got = gzread(f, &extra, 1); /* going to the end is what checks the CRC */
	gzerror(f, &code);
	if (got > 0)
		return mr_fail(MR_EDATA, "%s: contents go on after the %u samples of the header", x->path, x->n);
	return code == Z_OK || code == Z_STREAM_END ? MR_OK : broken(x, f, header, bytes);
}

static mr_status load(idx *x, const char *option, uint32_t magic, const mr_values *values, const mr_data_want *want)
{
	uint64_t file_bytes;
	gzFile f;
	mr_status st;

	x->path = mr_data_path(want, mr_values_string(values, option));
	if (!x->path)
		return mr_data_no_memory(0);
	MR_TRY(mr_data_stat(x->path, &file_bytes));
	f = gzopen(x->path, "rb");
	if (!f)
		return mr_fail(MR_EDATA, "%s: cannot be opened", x->path);
	st = read_contents(x, f, magic, file_bytes);
	gzclose_r(f);
	return st;
}

static mr_status check_pair(const idx *images, const idx *labels, int64_t classes)
{
	if (images->n != labels->n)
		return mr_fail(MR_EDATA, "%s has %u images, but %s has %u labels", images->path, images->n,
			       labels->path, labels->n);
	for (uint32_t i = 0; i < labels->n; i++)
		if (labels->bytes[i] >= classes)
			return mr_fail(MR_EDATA,
				       "%s: label %u of sample %u, at byte %u of the contents, is not below %lld",
				       labels->path, labels->bytes[i], i, i + 8, (long long)classes);
	return MR_OK;
}

static uint64_t hash(const idx *images, const idx *labels, uint64_t seed)
{
	uint64_t pixels = (uint64_t)images->n * images->rows * images->cols;

	return mr_hash64(mr_hash64(seed, images->bytes, pixels), labels->bytes, labels->n);
}

static mr_status load_validation(mnist *m, const mr_values *values, const mr_data_want *want)
{
	mr_dataset *d = &m->base;

	MR_TRY(load(&m->valid_images, "validation_images", MAGIC_IMAGES, values, want));
	MR_TRY(load(&m->valid_labels, "validation_labels", MAGIC_LABELS, values, want));
	MR_TRY(check_pair(&m->valid_images, &m->valid_labels, d->classes));
	if (m->valid_images.rows != m->images.rows || m->valid_images.cols != m->images.cols)
		return mr_fail(MR_EDATA, "%s has images of %ux%u, but %s of %ux%u", m->valid_images.path,
			       m->valid_images.rows, m->valid_images.cols, m->images.path, m->images.rows,
			       m->images.cols);
	d->n_train = m->images.n;
	d->n_valid = m->valid_images.n;
	m->pixels = m->valid_images.bytes;
	m->answers = m->valid_labels.bytes;
	d->fingerprint = hash(&m->valid_images, &m->valid_labels, d->fingerprint);
	return MR_OK;
}

static mr_status split(mnist *m, double fraction)
{
	mr_dataset *d = &m->base;

	d->n_train = mr_data_train_part(m->images.n, fraction);
	d->n_valid = m->images.n - d->n_train;
	m->pixels = m->images.bytes + d->n_train * (uint64_t)d->input.cols;
	m->answers = m->labels.bytes + d->n_train;
	if (!d->n_train)
		return mr_fail(MR_EDATA, "%s: %u images leave none for training", m->images.path, m->images.n);
	return MR_OK;
}

static mr_status load_all(mnist *m, const mr_values *values, const mr_data_want *want)
{
	bool images = mr_values_string(values, "validation_images")[0] != '\0';
	bool labels = mr_values_string(values, "validation_labels")[0] != '\0';
	mr_dataset *d = &m->base;

	if (images != labels)
		return mr_fail(MR_ECONFIG, "data \"mnist\": validation_images and validation_labels belong together");
	if (images && mr_values_is_set(values, "validation"))
		return mr_fail(MR_ECONFIG, "data \"mnist\": give validation_images or validation, not both");
	d->classes = mr_values_int(values, "classes");
	MR_TRY(load(&m->images, "images", MAGIC_IMAGES, values, want));
	MR_TRY(load(&m->labels, "labels", MAGIC_LABELS, values, want));
	MR_TRY(check_pair(&m->images, &m->labels, d->classes));
	d->input = (mr_shape){.rows = 1, .cols = (int64_t)m->images.rows * m->images.cols};
	d->target = (mr_shape){.rows = 1, .cols = 1, .tokens = true};
	d->fingerprint = hash(&m->images, &m->labels, 0);
	if (images)
		MR_TRY(load_validation(m, values, want));
	else
		MR_TRY(split(m, mr_values_float(values, "validation")));
	for (int p = 0; p < 256; p++)
		m->value[p] = (p / 255.0 - mr_values_float(values, "mean")) / mr_values_float(values, "std");
	d->fingerprint = mr_hash64(mr_data_fold(d->fingerprint, d->n_train), m->value, sizeof(m->value));
	return MR_OK;
}

static mr_status describe(mnist *m)
{
	mr_dataset *d = &m->base;
	mr_strbuf b;

	mr_strbuf_init(&b);
	mr_strbuf_printf(&b, "%s: %llu training and %llu validation images of %ux%u, %lld classes", m->images.path,
			 (unsigned long long)d->n_train, (unsigned long long)d->n_valid, m->images.rows, m->images.cols,
			 (long long)d->classes);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

static void close_mnist(mr_dataset *d)
{
	mnist *m = (mnist *)d;
	idx *all[] = {&m->images, &m->labels, &m->valid_images, &m->valid_labels};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		free(all[i]->path);
		free(all[i]->bytes);
	}
	free(d->describe);
	free(m);
}

static mr_status open_mnist(const mr_values *values, const mr_data_want *want, mr_dataset **out)
{
	mnist *m;
	mr_status st;

	MR_TRY(mr_data_refuse_context("mnist", want));
	m = calloc(1, sizeof(*m));
	if (!m)
		return mr_data_no_memory(sizeof(*m));
	m->dtype = want->dtype;
	m->seed = want->seed;
	st = load_all(m, values, want);
	if (st == MR_OK)
		st = describe(m);
	if (st != MR_OK) {
		close_mnist(&m->base);
		return st;
	}
	*out = &m->base;
	return MR_OK;
}

static void decode(const mnist *m, const uint8_t *pixels, uint8_t label, void *input, void *target)
{
	int64_t n = m->base.input.cols;

	for (int64_t i = 0; i < n; i++)
		mr_data_put(m->dtype, input, (uint64_t)i, m->value[pixels[i]]);
	*(int32_t *)target = label;
}

static void train(const mr_dataset *d, uint64_t g, void *input, void *target)
{
	const mnist *m = (const mnist *)d;
	uint64_t i = mr_data_order(d->n_train, m->seed, g);

	decode(m, m->images.bytes + i * (uint64_t)d->input.cols, m->labels.bytes[i], input, target);
}

static void valid(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	const mnist *m = (const mnist *)d;

	decode(m, m->pixels + i * (uint64_t)d->input.cols, m->answers[i], input, target);
}

static const mr_option options[] = {
	{"images", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "IDX file of images, plain or gzip"},
	{"labels", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "IDX file of their labels, plain or gzip"},
	{"validation_images", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "images that only validate; empty: split off the last ones"},
	{"validation_labels", MR_OPT_STRING, "", 0, 0, NULL, NULL, "their labels"},
	MR_DATA_VALIDATION,
	{"classes", MR_OPT_INT, "10", 1, 256, NULL, NULL, "number of classes; every label is below it"},
	{"mean", MR_OPT_FLOAT, "0", -1, 2, NULL, NULL, "taken off every pixel, which first goes from 0 to 1"},
	{"std", MR_OPT_FLOAT, "1", 1e-6, 1e6, NULL, NULL, "then divides it"},
	{NULL},
};

extern const mr_dataset_ops mr_data_mnist;
const mr_dataset_ops mr_data_mnist = {
	.name = "mnist",
	.summary = "images and labels in IDX files, plain or gzip",
	.options = options,
	.open = open_mnist,
	.close = close_mnist,
	.train = train,
	.valid = valid,
};
