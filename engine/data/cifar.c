/*
 * cifar.c - CIFAR-10 and CIFAR-100 in their binary form.
 *
 *	CIFAR-10   records of 3073 bytes: label, then 32 x 32 bytes each of red, green and blue
 *	CIFAR-100  records of 3074 bytes: coarse label, fine label, then the same pixels
 *
 * Several files are read as one sequence of records. A sample is [32, 32, 3], channels last.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/stats.h"
#include "base/str.h"
#include "data/augment.h"

#define SIDE 32
#define PLANE (SIDE * SIDE)
#define PIXELS (3 * PLANE)
#define MAX_FILES 64

/* A value of the option `labels`, with its format. */
typedef struct kind {
	const char *name;
	uint64_t record; /* size of a record in bytes */
	uint64_t label;  /* offset of the label in a record */
	int64_t classes;
	const char *train, *valid; /* names of the files in a folder; %d: numbers from 1 up to the last existing file */
} kind;

static const kind kinds[] = {
	{"cifar10", 1 + PIXELS, 0, 10, "data_batch_%d.bin", "test_batch.bin"},
	{"fine", 2 + PIXELS, 1, 100, "train.bin", "test.bin"},
	{"coarse", 2 + PIXELS, 0, 20, "train.bin", "test.bin"},
};

typedef struct batch {
	mr_contents *in;
	uint64_t n; /* records */
	bool keeps; /* load reads the file into memory */
} batch;

/* Files that are read as one sequence of records. */
typedef struct batches {
	batch at[MAX_FILES];
	uint32_t n_files;
	uint64_t n; /* records of all files */
} batches;

typedef struct cifar {
	mr_dataset base;
	const kind *kind;
	batches files, valid_files;
	const batches *valid_from;
	uint64_t valid_at; /* the first validation record there */
	mr_augment augment;
} cifar;

/* --- files --- */

static mr_status add_file(cifar *c, batches *b, const char *path, const mr_data_want *want)
{
	uint64_t record = c->kind->record, other = record == 1 + PIXELS ? 2 + PIXELS : 1 + PIXELS, bytes;
	batch *x = &b->at[b->n_files];

	if (b->n_files == MAX_FILES)
		return mr_fail(MR_EDATA, "%s: is file %d, expected at most %d", path, MAX_FILES + 1, MAX_FILES);
	MR_TRY(mr_contents_open(path, &x->in));
	b->n_files++;
	bytes = mr_contents_bytes(x->in);
	if (bytes % record)
		return mr_fail(MR_EDATA, "%s: %llu bytes are not a whole number of records of %llu bytes%s", path,
			       (unsigned long long)bytes, (unsigned long long)record,
			       bytes % other ? ""
			       : other == 1 + PIXELS ? ", but of CIFAR-10's of 3073: labels = \"cifar10\""
						     : ", but of CIFAR-100's of 3074: labels = \"fine\" or \"coarse\"");
	x->n = bytes / record;
	b->n += x->n;
	x->keeps = mr_data_will_keep(&c->base, x->in, want);
	return MR_OK;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Add the files of folder @path: @name, or if it contains %d all from number 1 on. */
static mr_status add_folder(cifar *c, batches *b, const char *path, const char *name, const mr_data_want *want)
{
	const char *number = strstr(name, "%d");
	mr_status st = MR_OK;

	for (int i = 1; st == MR_OK && (i == 1 || number); i++) {
		struct stat is;
		mr_strbuf s = {0};

		mr_strbuf_printf(&s, "%s/", path);
		if (number)
			mr_strbuf_printf(&s, "%.*s%d%s", (int)(number - name), name, i, number + 2);
		else
			mr_strbuf_append(&s, name);
		if (s.failed)
			st = mr_data_no_memory(0);
		else if (i > 1 && stat(s.data, &is))
			number = NULL; /* that was the last one */
		else
			st = add_file(c, b, s.data, want);
		mr_strbuf_fini(&s);
	}
	return st;
}

/* @list: files and folders, separated by commas. */
static mr_status add_list(cifar *c, batches *b, const char *list, const char *in_folder, const mr_data_want *want)
{
	char *copy = strdup(list), *rest = NULL;
	mr_status st = copy ? MR_OK : mr_data_no_memory(strlen(list));

	for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; word && st == MR_OK;
	     word = strtok_r(NULL, ",", &rest)) {
		char *path = mr_data_path(want, word + strspn(word, " "));

		if (!path)
			st = mr_data_no_memory(0);
		else if (is_folder(path))
			st = add_folder(c, b, path, in_folder, want);
		else
			st = add_file(c, b, path, want);
		free(path);
	}
	free(copy);
	if (st == MR_OK && !b->n_files)
		return mr_fail(MR_EDATA, "data \"cifar\": \"%s\" names no file", list);
	return st;
}

/* --- opening --- */

static const kind *kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static mr_status open_all(cifar *c, const mr_values *values, const mr_data_want *want)
{
	const char *valid = mr_values_string(values, "validation_path");
	mr_dataset *d = &c->base;
	int64_t classes = mr_values_int(values, "classes");

	if (valid[0] && mr_values_is_set(values, "validation"))
		return mr_fail(MR_ECONFIG, "data \"cifar\": give validation_path or validation, not both");
	c->kind = kind_of(mr_values_string(values, "labels"));
	d->classes = classes ? classes : c->kind->classes;
	mr_augment_init(&c->augment, SIDE, SIDE, 3, values, want);
	MR_TRY(mr_augment_normals(&c->augment, "cifar", values));
	MR_TRY(add_list(c, &c->files, mr_values_string(values, "path"), c->kind->train, want));
	d->input = mr_shape_of(3, (const int64_t[]){SIDE, SIDE, 3}, false);
	d->target = (mr_shape){.rows = 1, .cols = 1, .tokens = true};
	if (valid[0]) {
		MR_TRY(add_list(c, &c->valid_files, valid, c->kind->valid, want));
		c->valid_from = &c->valid_files;
		d->n_train = c->files.n;
		d->n_valid = c->valid_files.n;
		return MR_OK;
	}
	MR_TRY(mr_data_split(mr_contents_path(c->files.at[0].in), values, c->files.n, &d->n_train));
	c->valid_from = &c->files;
	c->valid_at = d->n_train;
	d->n_valid = c->files.n - d->n_train;
	return MR_OK;
}

static mr_status describe(cifar *c)
{
	mr_dataset *d = &c->base;
	mr_strbuf b = {0};

	mr_strbuf_printf(&b, "%s", mr_contents_path(c->files.at[0].in));
	if (c->files.n_files > 1)
		mr_strbuf_printf(&b, " and %u more", c->files.n_files - 1);
	mr_strbuf_printf(&b, ": %llu training and %llu validation images of %dx%dx3, %lld classes",
			 (unsigned long long)d->n_train, (unsigned long long)d->n_valid, SIDE, SIDE,
			 (long long)d->classes);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

static void close_batches(batches *b)
{
	for (uint32_t i = 0; i < b->n_files; i++)
		mr_contents_close(b->at[i].in);
}

static void close_cifar(mr_dataset *d)
{
	cifar *c = (cifar *)d;

	close_batches(&c->files);
	close_batches(&c->valid_files);
}

static mr_status open_cifar(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	MR_TRY(mr_data_refuse_context("cifar", want));
	MR_TRY(open_all((cifar *)d, values, want));
	return describe((cifar *)d);
}

/* --- loading --- */

/* Read all records of @x: continue *@hash over them, and reject a label that is not a class. */
static mr_status look_through(const cifar *c, const batch *x, uint64_t *hash)
{
	uint8_t room[2 + PIXELS];
	mr_hasher h;

	mr_hasher_init(&h, *hash, x->n * c->kind->record);
	for (uint64_t i = 0; i < x->n; i++) {
		uint64_t at = i * c->kind->record;
		const uint8_t *record = mr_contents_at(x->in, at, c->kind->record, room);

		mr_hasher_add(&h, record, c->kind->record);
		if (record[c->kind->label] >= c->base.classes)
			return mr_fail(MR_EDATA, "%s: label %u of record %llu, at byte %llu, is not below %lld",
				       mr_contents_path(x->in), record[c->kind->label], (unsigned long long)i,
				       (unsigned long long)(at + c->kind->label), (long long)c->base.classes);
	}
	*hash = mr_hasher_end(&h);
	return mr_contents_check(x->in);
}

static mr_status load_batches(const cifar *c, const batches *b, uint64_t *hash)
{
	for (uint32_t i = 0; i < b->n_files; i++) {
		if (b->at[i].keeps)
			MR_TRY(mr_contents_keep(b->at[i].in));
		MR_TRY(look_through(c, &b->at[i], hash));
	}
	return MR_OK;
}

static mr_status load_cifar(mr_dataset *d)
{
	cifar *c = (cifar *)d;
	uint64_t hash = c->kind->label; /* the same file may have fine and coarse labels */

	MR_TRY(load_batches(c, &c->files, &hash));
	MR_TRY(load_batches(c, &c->valid_files, &hash));
	hash = mr_data_fold(hash, d->n_train);
	d->fingerprint = mr_augment_fold(&c->augment, hash);
	return MR_OK;
}

/* --- samples --- */

static void decode(const cifar *c, const batches *b, uint64_t i, mr_augmented how, void *input, void *target)
{
	const batch *x = b->at;
	uint8_t room[2 + PIXELS], label;
	const uint8_t *record, *first;

	for (; i >= x->n; x++)
		i -= x->n;
	record = mr_contents_at(x->in, i * c->kind->record, c->kind->record, room);
	first = record + c->kind->record - PIXELS;
	for (int64_t y = 0; input && y < SIDE; y++) {
		int64_t from = how.down + y;
		const uint8_t *row = first + from * SIDE;
		const uint8_t *rows[3] = {row, row + PLANE, row + 2 * PLANE};

		mr_augment_row(&c->augment, how, y, from >= 0 && from < SIDE ? rows : NULL, 1, input);
	}
	label = record[c->kind->label];
	if (label >= c->base.classes) {
		mr_contents_has_changed(x->in, i * c->kind->record + c->kind->label);
		label = 0;
	}
	if (target)
		*(int32_t *)target = label;
}

static void sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	const cifar *c = (const cifar *)d;

	decode(c, &c->files, i, mr_augment_of(&c->augment, g), input, target);
}

static void valid(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	const cifar *c = (const cifar *)d;

	decode(c, c->valid_from, c->valid_at + i, (mr_augmented){0}, input, target);
}

static void form(const mr_dataset *d, mr_json_writer *w)
{
	const cifar *c = (const cifar *)d;

	mr_augment_form(&c->augment, 0, w);
	mr_augment_form_classes(d->classes, w);
	mr_json_field_int(w, "record", (int64_t)c->kind->record);
	mr_json_field_int(w, "label_at", (int64_t)c->kind->label);
}

static mr_status check(const mr_dataset *d)
{
	const cifar *c = (const cifar *)d;
	const batches *both[] = {&c->files, &c->valid_files};

	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; i < both[k]->n_files; i++)
			MR_TRY(mr_contents_check(both[k]->at[i].in));
	return MR_OK;
}

static const mr_option options[] = {
	{"path", MR_OPT_STRING, NULL, 0, 0, NULL, NULL,
	 "files of records, separated by commas; a folder stands for its data_batch_1.bin and so on, or its train.bin"},
	{"validation_path", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "files that only validate; a folder: its test_batch.bin or test.bin; empty: split off the last records"},
	MR_DATA_VALIDATION,
	{"labels", MR_OPT_ENUM, "cifar10", 0, 0, "cifar10|fine|coarse", NULL,
	 "records of CIFAR-10 with one label, or of CIFAR-100, which have two"},
	{"classes", MR_OPT_INT, "0", 0, 256, NULL, NULL,
	 "number of classes; every label is below it; 0: 10, of fine labels 100, of coarse ones 20"},
	{"mean", MR_OPT_FLOATS, "[0.4914, 0.4822, 0.4465]", -1, 2, NULL, NULL,
	 "taken off the pixels of each channel, which first go from 0 to 1; one number is for all channels"},
	{"std", MR_OPT_FLOATS, "[0.247, 0.2435, 0.2616]", 1e-6, 1e6, NULL, NULL, "then divides them"},
	MR_AUGMENT_PADDING("4"),
	MR_AUGMENT_FLIP("true"),
	{NULL},
};

extern const mr_dataset_ops mr_data_cifar;
const mr_dataset_ops mr_data_cifar = {
	.name = "cifar",
	.summary = "CIFAR-10 and CIFAR-100 in their binary form",
	.options = options,
	.halves = true,
	.bytes = sizeof(cifar),
	.open = open_cifar,
	.load = load_cifar,
	.check = check,
	.close = close_cifar,
	.train = mr_data_train,
	.sample = sample,
	.valid = valid,
	.files = "pictures",
	.form = form,
};
