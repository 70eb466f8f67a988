/*
 * images.c - a folder of PNG, JPEG, PPM and PGM files with one subfolder per class (image_folder.h, picture.h).
 *
 * Images of any size become squares of one size. For validation the shorter side is resized and the middle is cropped;
 * for training a part of random area and aspect ratio is resized (as for Inception networks), or a random square of the
 * resized image is cropped. With crop = "exact" all files must have exactly that size. resample.h resizes. The
 * augmentation of a sample is a pure function of the seed and its number (augment.h).
 *
 * The heads of all files are read when the source opens. A folder whose pixels fit in memory is decoded at load, which
 * also finds damaged files and names them all. Otherwise a file is decoded when its sample is needed, and
 * mr_dataset_check returns the failure if it cannot be decoded.
 */
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/stats.h"
#include "data/image_folder.h"
#include "data/resample.h"
#include "data/split.h"

#define SHOWN_CLASSES 6u
#define GREY_MEAN 0.449 /* the means of the defaults of three channels */
#define GREY_STD 0.226

typedef enum crop { CROP_RANDOM_RESIZED, CROP_RANDOM, CROP_CENTRE, CROP_EXACT } crop;

typedef struct images {
	mr_dataset base;
	mr_augment augment;
	mr_image_folder folder[2];        /* [1] empty: the last images of each class of [0] validate */
	const mr_image_folder *valid_from;
	mr_split split;
	bool draws;                       /* the split is that of split.h; else the last of each class validate */
	uint32_t *order;                  /* [n_train + n_valid] the index of each sample's image in its folder */
	crop crop;
	int64_t size, resize;
	double least_area;
	uint64_t most_damaged;
	bool to_grey;                     /* coloured pictures become grey ones */
	bool keeps[2];
	mr_failure *failure;
} images;

/* --- opening --- */

static mr_status check_options(images *s, const mr_values *values)
{
	static const mr_option_need needs[] = {
		{"padding", "crop", "exact"},
		{"least_area", "crop", "random_resized"},
		{"resize", "crop", "random_resized|random|centre"},
		{NULL, NULL, NULL},
	};
	static const char *const crops[] = {"random_resized", "random", "centre", "exact"};

	MR_TRY(mr_values_check_needs(values, needs));
	while (strcmp(mr_values_string(values, "crop"), crops[s->crop]))
		s->crop++;
	s->size = mr_values_int(values, "size");
	s->resize = mr_values_int(values, "resize");
	s->least_area = mr_values_float(values, "least_area");
	s->most_damaged = (uint64_t)mr_values_int(values, "damaged");
	if (!s->resize)
		s->resize = (8 * s->size + 3) / 7;
	if (s->resize < s->size)
		return mr_fail(MR_ECONFIG, "data \"images\": resize = %lld is less than size = %lld",
			       (long long)s->resize, (long long)s->size);
	if (mr_values_string(values, "validation_path")[0] && mr_values_is_set(values, "validation"))
		return mr_fail(MR_ECONFIG, "data \"images\": give validation_path or validation, not both");
	return MR_OK;
}

static mr_status open_folder(images *s, int which, const char *path, const mr_data_want *want)
{
	mr_image_folder *f = &s->folder[which];
	uint64_t left = which ? s->most_damaged - s->folder[0].damage.n : s->most_damaged;
	char *root = mr_data_path(want, path);
	mr_status st;

	f->damage.most = left;
	st = root ? mr_image_folder_open(f, root, which ? &s->folder[0] : NULL) : mr_data_no_memory(0);

	free(root);
	MR_TRY(st);
	for (size_t i = 0; s->crop == CROP_EXACT && i < f->n; i++)
		if (f->file[i].size.rows != s->size || f->file[i].size.cols != s->size)
			return mr_fail(MR_EDATA,
				       "%s/%s: %u x %u pixels, but with crop = \"exact\" each image has %lld x %lld",
				       f->root, mr_image_folder_name(f, i), f->file[i].size.cols, f->file[i].size.rows,
				       (long long)s->size, (long long)s->size);
	return MR_OK;
}

/* The last part of each class validates. */
static mr_status split(images *s, double fraction)
{
	const mr_image_folder *f = &s->folder[0];
	mr_dataset *d = &s->base;

	for (int pass = 0; pass < 2; pass++) {
		uint64_t n_train = 0, n_valid = 0;

		for (size_t first = 0, n; first < f->n; first += n) {
			uint64_t train;
			int32_t class_of = f->file[first].class_of;

			for (n = 1; first + n < f->n && f->file[first + n].class_of == class_of;)
				n++;
			train = mr_data_train_part(n, fraction);
			if (!train)
				return mr_fail(MR_EDATA,
					       "%s/%s: validation = %g leaves none of %zu image%s for training",
					       f->root, f->class_name[class_of].data, fraction, n, n == 1 ? "" : "s");
			for (size_t i = 0; pass && i < n; i++)
				s->order[i < train ? n_train + i : d->n_train + n_valid + i - train] =
					(uint32_t)(first + i);
			n_train += train;
			n_valid += n - train;
		}
		d->n_train = n_train;
		d->n_valid = n_valid;
	}
	s->valid_from = f;
	return MR_OK;
}

/* Rows that split.h draws. */
static mr_status draw(images *s, const mr_values *values)
{
	const mr_image_folder *f = &s->folder[0];
	mr_dataset *d = &s->base;
	uint64_t *place = malloc(f->n * sizeof(*place));
	int32_t *class_of = malloc(f->n * sizeof(*class_of));
	mr_status st = place && class_of ? mr_split_count(&s->split, f->root, values, f->n, &d->n_train)
					 : mr_data_no_memory(mr_split_bytes(f->n));

	for (size_t i = 0; st == MR_OK && i < f->n; i++)
		class_of[i] = f->file[i].class_of;
	if (st == MR_OK)
		st = mr_deal_out(&s->split.deal, f->n, d->n_train, s->split.stratified ? class_of : NULL, f->n_classes,
				    place);
	for (size_t i = 0; st == MR_OK && i < f->n; i++)
		s->order[place[i]] = (uint32_t)i;
	d->n_valid = f->n - d->n_train;
	s->valid_from = f;
	free(place);
	free(class_of);
	return st;
}

static mr_status share_out(images *s, const mr_values *values)
{
	size_t n = s->folder[0].n + s->folder[1].n;
	mr_dataset *d = &s->base;

	MR_TRY(mr_split_read(values, &s->split));
	MR_TRY(mr_split_draws(&s->split, true, &s->draws));
	s->order = malloc(n * sizeof(*s->order));
	if (!s->order)
		return mr_data_no_memory(n * sizeof(*s->order));
	if (!s->folder[1].n)
		return s->draws ? draw(s, values) : split(s, mr_values_float(values, "validation"));
	MR_TRY(mr_split_refuse(&s->split, "images"));
	d->n_train = s->folder[0].n;
	d->n_valid = s->folder[1].n;
	for (size_t i = 0; i < n; i++)
		s->order[i] = (uint32_t)(i < d->n_train ? i : i - d->n_train);
	s->valid_from = &s->folder[1];
	return MR_OK;
}

static void count_bytes(images *s, const mr_data_want *want)
{
	mr_data_bytes *b = &s->base.bytes;

	b->kept = b->opened = (s->folder[0].n + s->folder[1].n) * sizeof(*s->order);
	for (int k = 0; k < 2; k++) {
		const mr_image_folder *f = &s->folder[k];
		uint64_t reading = mr_resample_bytes(f->most_rows, f->most_cols, &s->augment);

		if (!f->n)
			continue;
		s->keeps[k] = f->pixel_bytes <= want->keep_bytes;
		b->opened += f->room * sizeof(*f->file) + f->names.cap;
		b->kept += f->room * sizeof(*f->file) + f->names.cap + (s->keeps[k] ? f->pixel_bytes : 0);
		b->on_disk += s->keeps[k] ? 0 : f->file_bytes;
		if (s->keeps[k] && b->passing < f->most_file + f->most_decoding)
			b->passing = f->most_file + f->most_decoding;
		else if (!s->keeps[k])
			reading += f->most_file + f->most_pixels + f->most_decoding;
		b->reading = reading > b->reading ? reading : b->reading;
	}
}

/* Identifies the samples and all settings that change them. */
static uint64_t fingerprint_of(const images *s)
{
	uint64_t numbers[] = {s->folder[0].fingerprint, s->folder[1].fingerprint, s->base.n_train, s->crop,
			      (uint64_t)s->size, (uint64_t)s->resize};
	uint64_t h = mr_hash64(0, numbers, sizeof(numbers));

	for (size_t i = 0; i < s->folder[0].n_classes; i++)
		h = mr_hash64(h, s->folder[0].class_name[i].data, s->folder[0].class_name[i].len);
	h = mr_hash64(h, &s->least_area, sizeof(s->least_area));
	for (uint64_t i = 0; s->draws && i < s->base.n_train + s->base.n_valid; i++)
		h = mr_data_fold(h, s->order[i]);
	return mr_augment_fold(&s->augment, h);
}

static mr_status describe(images *s)
{
	const mr_image_folder *f = &s->folder[0];
	mr_dataset *d = &s->base;
	mr_strbuf b = {0};

	mr_strbuf_printf(&b, "%s: %llu training and %llu validation images as %lldx%lldx%lld, %zu classes:",
			 f->root, (unsigned long long)d->n_train, (unsigned long long)d->n_valid, (long long)s->size,
			 (long long)s->size, (long long)s->augment.channels, f->n_classes);
	for (size_t i = 0; i < f->n_classes && i < SHOWN_CLASSES; i++)
		mr_strbuf_printf(&b, "%s%zu %s", i ? ", " : " ", i, f->class_name[i].data);
	if (f->n_classes > SHOWN_CLASSES)
		mr_strbuf_append(&b, ", ...");
	if (s->folder[0].damage.n + s->folder[1].damage.n)
		mr_strbuf_printf(&b, "; %llu damaged ones are left out",
				 (unsigned long long)(s->folder[0].damage.n + s->folder[1].damage.n));
	for (int i = 0; i < 2; i++) {
		mr_strbuf_append(&b, s->folder[i].skipped.n ? "; " : "");
		if (i && s->folder[i].skipped.n)
			mr_strbuf_printf(&b, "%s: ", s->folder[i].root);
		mr_skipped_print(&s->folder[i].skipped, &b);
	}
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

/* One channel where all pictures are grey, and mean and std are not of three. */
static mr_status choose_channels(images *s, const mr_values *values, const mr_data_want *want)
{
	const char *asked = mr_values_string(values, "channels");
	size_t n = s->folder[0].n + s->folder[1].n, n_grey = s->folder[0].n_grey + s->folder[1].n_grey, n_mean, n_std;
	bool grey = !strcmp(asked, "grey"), plain = true;

	mr_values_floats(values, "mean", &n_mean);
	mr_values_floats(values, "std", &n_std);
	plain = !mr_values_is_set(values, "mean") && !mr_values_is_set(values, "std");
	if (!strcmp(asked, "auto"))
		grey = n == n_grey && (plain || (n_mean == 1 && n_std == 1));
	s->to_grey = grey && n_grey < n;
	mr_augment_init(&s->augment, s->size, s->size, grey ? 1 : 3, values, want);
	if (!grey || !plain)
		return mr_augment_normals(&s->augment, "images", values);
	mr_augment_normal(&s->augment, 0, GREY_MEAN, GREY_STD);
	return MR_OK;
}

static mr_status open_all(images *s, const mr_values *values, const mr_data_want *want)
{
	const char *valid = mr_values_string(values, "validation_path");
	mr_dataset *d = &s->base;

	MR_TRY(check_options(s, values));
	s->failure = mr_failure_create();
	if (!s->failure)
		return mr_data_no_memory(0);
	MR_TRY(open_folder(s, 0, mr_values_string(values, "path"), want));
	if (valid[0])
		MR_TRY(open_folder(s, 1, valid, want));
	MR_TRY(choose_channels(s, values, want));
	MR_TRY(share_out(s, values));
	d->input = mr_shape_of(3, (const int64_t[]){s->size, s->size, s->augment.channels}, false);
	d->target = (mr_shape){.rows = 1, .cols = 1, .tokens = true};
	d->classes = (int64_t)s->folder[0].n_classes;
	count_bytes(s, want);
	d->fingerprint = fingerprint_of(s);
	return describe(s);
}

static void close_images(mr_dataset *d)
{
	images *s = (images *)d;

	mr_image_folder_close(&s->folder[0]);
	mr_image_folder_close(&s->folder[1]);
	mr_failure_destroy(s->failure);
	free(s->order);
}

static mr_status open_images(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	MR_TRY(mr_data_refuse_context("images", want));
	return open_all((images *)d, values, want);
}

static mr_status load_images(mr_dataset *d)
{
	images *s = (images *)d;

	for (int k = 0; k < 2; k++)
		if (s->keeps[k]) {
			MR_TRY(mr_image_folder_keep(&s->folder[k]));
			if (s->to_grey)
				mr_picture_to_grey(s->folder[k].pixels, s->folder[k].pixel_bytes / 3);
		}
	return MR_OK;
}

/* --- samples --- */

/* The part of an image of @rows x @cols that is used, and its size after resizing. @g: NULL for validation. */
static mr_resample place(const images *s, const uint64_t *g, int64_t rows, int64_t cols)
{
	int64_t shorter = rows < cols ? rows : cols;
	mr_resample r = {.cols = cols, .part = {0, 0, rows, cols}};

	if (g && s->crop == CROP_RANDOM_RESIZED) {
		r.part = mr_augment_part(&s->augment, *g, rows, cols, s->least_area);
		r.rows_to = r.cols_to = s->size;
		return r;
	}
	r.rows_to = rows * s->resize / shorter;
	r.cols_to = cols * s->resize / shorter;
	if (g && s->crop == CROP_RANDOM) {
		r.down = mr_augment_below(&s->augment, *g, MR_AUGMENT_DOWN, r.rows_to - s->size + 1);
		r.right = mr_augment_below(&s->augment, *g, MR_AUGMENT_RIGHT, r.cols_to - s->size + 1);
	} else {
		r.down = (r.rows_to - s->size) / 2;
		r.right = (r.cols_to - s->size) / 2;
	}
	return r;
}

/* Write the pixels of an image that has exactly the size of a sample. */
static void put_exact(const images *s, mr_augmented how, const uint8_t *pixels, void *input)
{
	for (int64_t y = 0; y < s->size; y++) {
		int64_t from = how.down + y;
		const uint8_t *row = pixels + from * s->size * 3;
		const uint8_t *const rows[3] = {row, row + 1, row + 2};

		mr_augment_row(&s->augment, how, y, from >= 0 && from < s->size ? rows : NULL, 3, input);
	}
}

static mr_status put(const images *s, const mr_image_file *x, const uint64_t *g, const uint8_t *pixels, void *input)
{
	mr_augmented how = g ? mr_augment_of(&s->augment, *g) : (mr_augmented){0};
	mr_resample r;

	if (s->crop == CROP_EXACT) {
		put_exact(s, how, pixels, input);
		return MR_OK;
	}
	r = place(s, g, x->size.rows, x->size.cols);
	r.pixels = pixels;
	r.flip = how.flip;
	return mr_resample_put(&r, &s->augment, input);
}

static mr_status decode_and_put(const images *s, const mr_image_folder *f, size_t i, const uint64_t *g, void *input)
{
	size_t bytes = mr_picture_bytes(&f->file[i].size);
	uint8_t *pixels;
	mr_status st;

	if (f->pixels)
		return put(s, &f->file[i], g, f->pixels + f->file[i].pixels, input);
	pixels = malloc(bytes);
	if (!pixels)
		return mr_data_no_memory(bytes);
	st = mr_image_folder_decode(f, i, pixels);
	if (st == MR_OK && s->to_grey)
		mr_picture_to_grey(pixels, bytes / 3);
	if (st == MR_OK)
		st = put(s, &f->file[i], g, pixels, input);
	free(pixels);
	return st;
}

static void make(const images *s, const mr_image_folder *f, size_t i, const uint64_t *g, void *input, void *target)
{
	if (target)
		*(int32_t *)target = f->file[i].class_of;
	if (input && decode_and_put(s, f, i, g, input) != MR_OK) {
		mr_failure_set(s->failure, "%s", mr_error_text());
		memset(input, 0, mr_shape_bytes(s->base.input, s->augment.dtype));
	}
}

static void sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	const images *s = (const images *)d;

	make(s, &s->folder[0], s->order[i], &g, input, target);
}

static void valid(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	const images *s = (const images *)d;

	make(s, s->valid_from, s->order[d->n_train + i], NULL, input, target);
}

static mr_status check(const mr_dataset *d)
{
	return mr_failure_check(((const images *)d)->failure);
}

static void form(const mr_dataset *d, mr_json_writer *w)
{
	const images *s = (const images *)d;

	mr_augment_form(&s->augment, s->crop == CROP_EXACT ? 0 : s->resize, w);
	mr_json_field_array(w, "labels");
	for (size_t i = 0; i < s->folder[0].n_classes; i++)
		mr_json_put_string(w, s->folder[0].class_name[i].data);
	mr_json_end_array(w);
}

static mr_status origin(mr_dataset *d, const uint64_t *at, size_t n, mr_data_origin_fn *each, void *arg)
{
	const images *s = (const images *)d;
	const mr_image_folder *f = s->valid_from;

	for (size_t i = 0; i < n; i++) {
		size_t file = s->order[d->n_train + at[i]];

		MR_TRY(each(arg, &(mr_data_origin){.which = i, .file = mr_image_folder_name(f, file)}));
	}
	return MR_OK;
}

static const mr_option options[] = {
	{"path", MR_OPT_STRING, NULL, 0, 0, NULL, NULL,
	 "folder with a folder of PNG, JPEG, PPM or PGM files for each class"},
	{"validation_path", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "such a folder, of the same classes, that only validates; empty: split off the last images of each class"},
	MR_DATA_VALIDATION,
	MR_SPLIT_OPTIONS("the last ones of each class"),
	{"size", MR_OPT_INT, "224", 1, 4096, NULL, "pixels", "each side of a sample"},
	{"resize", MR_OPT_INT, "0", 0, 8192, NULL, "pixels",
	 "shorter side of an image before a square is cut out of it, in the middle for validation; 0: 8/7 of size"},
	{"crop", MR_OPT_ENUM, "random_resized", 0, 0, "random_resized|random|centre|exact", NULL,
	 "how a training image becomes a square; exact: all images have the size"},
	{"least_area", MR_OPT_FLOAT, "0.08", 0.0001, 1, NULL, NULL,
	 "of random_resized: least part of an image's area that is used; sides are to each other as 3:4 to 4:3"},
	MR_AUGMENT_PADDING("0"),
	MR_AUGMENT_FLIP("true"),
	{"channels", MR_OPT_ENUM, "auto", 0, 0, "auto|grey|rgb", NULL,
	 "grey: one channel, the brightness of coloured pictures; auto: grey if all pictures are, and mean and std are "
	 "not of three channels"},
	{"damaged", MR_OPT_INT, "0", 0, 1 << 30, NULL, "pictures",
	 "damaged pictures that are left out at most; to find them, all are decoded when the folder is opened. 0: a "
	 "run stops and names them"},
	{"mean", MR_OPT_FLOATS, "[0.485, 0.456, 0.406]", -1, 2, NULL, NULL,
	 "taken off the pixels of each channel, which first go from 0 to 1; one number is for all channels. Of grey "
	 "pictures 0.449, and std 0.226, where neither is set"},
	{"std", MR_OPT_FLOATS, "[0.229, 0.224, 0.225]", 1e-6, 1e6, NULL, NULL, "then divides them"},
	{NULL},
};

extern const mr_dataset_ops mr_data_images;
const mr_dataset_ops mr_data_images = {
	.name = "images",
	.summary = "a folder of PNG, JPEG, PPM or PGM files for each class",
	.options = options,
	.halves = true,
	.bytes = sizeof(images),
	.open = open_images,
	.load = load_images,
	.check = check,
	.close = close_images,
	.train = mr_data_train,
	.sample = sample,
	.valid = valid,
	.files = "pictures",
	.form = form,
	.origin = origin,
};
