/*
 * mnist.c - images and labels in the IDX files of MNIST and its relatives, plain or gzip.
 */
#include <stdlib.h>

#include "base/stats.h"
#include "base/str.h"
#include "data/augment.h"
#include "formats/idx.h"

typedef struct mnist {
	mr_dataset base;
	mr_idx images, labels, valid_images, valid_labels; /* the last two empty: the end of the first two validates */
	const mr_idx *valid_from[2];                       /* images and labels of the validation samples */
	uint64_t valid_at;                              /* the first of them there */
	mr_augment augment;
} mnist;

static mr_status open_idx(mr_idx *x, const char *option, mr_idx_kind kind, const mr_values *values,
			  const mr_data_want *want)
{
	char *path = mr_data_path(want, mr_values_string(values, option));
	mr_status st = path ? mr_idx_open(x, path, kind) : mr_data_no_memory(0);

	free(path);
	return st;
}

static void count_idx(mnist *m, mr_idx *x, const mr_data_want *want)
{
	if (x->in && x->packed)
		m->base.bytes.kept += mr_idx_bytes(x);
	else if (x->in)
		x->keeps = mr_data_will_keep(&m->base, x->in, want);
}

static mr_status check_pair(const mr_idx *images, const mr_idx *labels)
{
	if (images->n != labels->n)
		return mr_fail(MR_EDATA, "%s has %u images, but %s has %u labels", images->path, images->n,
			       labels->path, labels->n);
	return MR_OK;
}

/* Go through all samples of @x: hash them on behind *@hash, and refuse a label that is not below @classes (0: no
 * labels). */
static mr_status look_through(const mr_idx *x, int64_t classes, uint64_t *hash)
{
	uint8_t room[MR_CONTENTS_PIECE];
	uint64_t bytes = x->n * mr_idx_sample_bytes(x);
	mr_hasher h;

	mr_hasher_init(&h, *hash, bytes);
	for (uint64_t at = 0, len; at < bytes; at += len) {
		const uint8_t *piece;

		len = bytes - at < sizeof(room) ? bytes - at : sizeof(room);
		piece = mr_contents_at(x->in, x->header + at, len, room);
		mr_hasher_add(&h, piece, len);
		for (uint64_t i = 0; classes && i < len; i++)
			if (piece[i] >= classes)
				return mr_fail(
					MR_EDATA,
					"%s: label %u of sample %llu, at byte %llu of the contents, is not below %lld",
					x->path, piece[i], (unsigned long long)(at + i),
					(unsigned long long)(at + i + x->header), (long long)classes);
	}
	*hash = mr_hasher_end(&h);
	return mr_contents_check(x->in);
}

static mr_status open_validation(mnist *m, const mr_values *values, const mr_data_want *want)
{
	mr_dataset *d = &m->base;

	MR_TRY(open_idx(&m->valid_images, "validation_images", MR_IDX_IMAGES, values, want));
	MR_TRY(open_idx(&m->valid_labels, "validation_labels", MR_IDX_LABELS, values, want));
	MR_TRY(check_pair(&m->valid_images, &m->valid_labels));
	if (m->valid_images.rows != m->images.rows || m->valid_images.cols != m->images.cols)
		return mr_fail(MR_EDATA, "%s has images of %ux%u, but %s of %ux%u", m->valid_images.path,
			       m->valid_images.rows, m->valid_images.cols, m->images.path, m->images.rows,
			       m->images.cols);
	d->n_train = m->images.n;
	d->n_valid = m->valid_images.n;
	m->valid_from[0] = &m->valid_images;
	m->valid_from[1] = &m->valid_labels;
	return MR_OK;
}

static mr_status split(mnist *m, double fraction)
{
	mr_dataset *d = &m->base;

	d->n_train = m->valid_at = mr_data_train_part(m->images.n, fraction);
	d->n_valid = m->images.n - d->n_train;
	m->valid_from[0] = &m->images;
	m->valid_from[1] = &m->labels;
	if (!d->n_train)
		return mr_fail(MR_EDATA, "%s: %u images leave none for training", m->images.path, m->images.n);
	return MR_OK;
}

static mr_status open_all(mnist *m, const mr_values *values, const mr_data_want *want)
{
	bool images = mr_values_string(values, "validation_images")[0] != '\0';
	bool labels = mr_values_string(values, "validation_labels")[0] != '\0';
	mr_dataset *d = &m->base;

	if (images != labels)
		return mr_fail(MR_ECONFIG, "data \"mnist\": validation_images and validation_labels belong together");
	if (images && mr_values_is_set(values, "validation"))
		return mr_fail(MR_ECONFIG, "data \"mnist\": give validation_images or validation, not both");
	d->classes = mr_values_int(values, "classes");
	MR_TRY(open_idx(&m->images, "images", MR_IDX_IMAGES, values, want));
	MR_TRY(open_idx(&m->labels, "labels", MR_IDX_LABELS, values, want));
	MR_TRY(check_pair(&m->images, &m->labels));
	d->input = (mr_shape){.rows = 1, .cols = (int64_t)mr_idx_sample_bytes(&m->images)};
	d->image = mr_shape_of(3, (const int64_t[]){m->images.rows, m->images.cols, 1}, false);
	d->target = (mr_shape){.rows = 1, .cols = 1, .tokens = true};
	if (images)
		MR_TRY(open_validation(m, values, want));
	else
		MR_TRY(split(m, mr_values_float(values, "validation")));
	mr_augment_init(&m->augment, m->images.rows, m->images.cols, 1, values, want);
	mr_augment_normal(&m->augment, 0, mr_values_float(values, "mean"), mr_values_float(values, "std"));
	count_idx(m, &m->images, want);
	count_idx(m, &m->labels, want);
	count_idx(m, &m->valid_images, want);
	count_idx(m, &m->valid_labels, want);
	return MR_OK;
}

static mr_status load_mnist(mr_dataset *d)
{
	mnist *m = (mnist *)d;
	mr_idx *all[] = {&m->images, &m->labels, &m->valid_images, &m->valid_labels};

	d->fingerprint = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!all[i]->in)
			continue;
		MR_TRY(mr_idx_load(all[i]));
		MR_TRY(look_through(all[i], i % 2 ? d->classes : 0, &d->fingerprint));
	}
	d->fingerprint = mr_augment_fold(&m->augment, mr_data_fold(d->fingerprint, d->n_train));
	return MR_OK;
}

static mr_status describe(mnist *m)
{
	mr_dataset *d = &m->base;
	mr_strbuf b = {0};

	mr_strbuf_printf(&b, "%s: %llu training and %llu validation images of %ux%u, %lld classes", m->images.path,
			 (unsigned long long)d->n_train, (unsigned long long)d->n_valid, m->images.rows, m->images.cols,
			 (long long)d->classes);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

static void close_mnist(mr_dataset *d)
{
	mnist *m = (mnist *)d;
	mr_idx *all[] = {&m->images, &m->labels, &m->valid_images, &m->valid_labels};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		mr_idx_close(all[i]);
}

static mr_status open_mnist(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	MR_TRY(mr_data_refuse_context("mnist", want));
	MR_TRY(open_all((mnist *)d, values, want));
	return describe((mnist *)d);
}

#define PIECE ((size_t)1 << 14) /* bytes read at once, unless a row has more */

static void decode(const mnist *m, const mr_idx *images, const mr_idx *labels, uint64_t i, mr_augmented how,
		   void *input, void *target)
{
	uint64_t first = images->header + i * mr_idx_sample_bytes(images);
	uint32_t cols = images->cols, most = cols < PIECE ? (uint32_t)PIECE / cols : 1;
	uint8_t room[MR_IDX_MAX_SIDE], label;
	const uint8_t *pixels = NULL;
	int64_t begin = 0, end = 0; /* rows in `pixels` */

	for (int64_t y = 0; input && y < images->rows; y++) {
		int64_t from = how.down + y;
		bool there = from >= 0 && from < images->rows;
		const uint8_t *row;

		if (there && from >= end) {
			begin = from;
			end = begin + most < images->rows ? begin + most : images->rows;
			pixels = mr_contents_at(images->in, first + (uint64_t)begin * cols,
						(size_t)(end - begin) * cols, room);
		}
		row = there ? pixels + (from - begin) * cols : NULL;
		mr_augment_row(&m->augment, how, y, there ? &row : NULL, 1, input);
	}
	label = *(const uint8_t *)mr_contents_at(labels->in, labels->header + i, 1, &label);
	if (label >= m->base.classes) {
		mr_contents_has_changed(labels->in, labels->header + i);
		label = 0;
	}
	if (target)
		*(int32_t *)target = label;
}

static void sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	const mnist *m = (const mnist *)d;

	decode(m, &m->images, &m->labels, i, mr_augment_of(&m->augment, g), input, target);
}

static void valid(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	const mnist *m = (const mnist *)d;

	decode(m, m->valid_from[0], m->valid_from[1], m->valid_at + i, (mr_augmented){0}, input, target);
}

static void form(const mr_dataset *d, mr_json_writer *w)
{
	mr_augment_form(&((const mnist *)d)->augment, 0, w);
	mr_augment_form_classes(d->classes, w);
}

static mr_status check(const mr_dataset *d)
{
	const mnist *m = (const mnist *)d;

	MR_TRY(mr_contents_check(m->images.in));
	MR_TRY(mr_contents_check(m->labels.in));
	MR_TRY(mr_contents_check(m->valid_images.in));
	return mr_contents_check(m->valid_labels.in);
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
	MR_AUGMENT_PADDING("0"),
	MR_AUGMENT_FLIP("false"),
	{NULL},
};

extern const mr_dataset_ops mr_data_mnist;
const mr_dataset_ops mr_data_mnist = {
	.name = "mnist",
	.summary = "images and labels in IDX files, plain or gzip",
	.options = options,
	.halves = true,
	.bytes = sizeof(mnist),
	.open = open_mnist,
	.load = load_mnist,
	.check = check,
	.close = close_mnist,
	.train = mr_data_train,
	.sample = sample,
	.valid = valid,
	.files = "pictures",
	.form = form,
};
