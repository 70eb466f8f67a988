/*
 * reader_images.c - pictures: one file, a folder of them, or one with a folder for each class, as for training.
 *
 * Pictures come in the byte order of their names. They are resized and cropped as those that validate in training.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/contents.h"
#include "base/grown.h"
#include "data/resample.h"
#include "formats/picture.h"
#include "reader/reader.h"

typedef struct images {
	mr_reader base;
	mr_augment normal;
	char **path;        /* [n] */
	double *target;     /* [n] number of the class; -1: the folder is no class of the model */
	bool *has_target;   /* [n] */
	size_t n, room, at;
	size_t root;        /* bytes of the folder in front of each name */
} images;

static mr_status no_memory(void)
{
	return mr_fail(MR_ERESOURCE, "no memory for a list of pictures");
}

static void close_images(mr_reader *r)
{
	images *s = (images *)r;

	for (size_t i = 0; i < s->n; i++)
		free(s->path[i]);
	free(s->path);
	free(s->target);
	free(s->has_target);
	free(s);
}

static mr_status add(images *s, const char *path, const char *class)
{
	char **p = mr_grown(s->path, s->n, sizeof(*p));
	double *t = mr_grown(s->target, s->n, sizeof(*t));
	bool *h = mr_grown(s->has_target, s->n, sizeof(*h));

	s->path = p ? p : s->path;
	s->target = t ? t : s->target;
	s->has_target = h ? h : s->has_target;
	if (!p || !t || !h)
		return no_memory();
	s->path[s->n] = strdup(path);
	if (!s->path[s->n])
		return no_memory();
	s->has_target[s->n] = class != NULL;
	s->target[s->n] = class ? mr_reader_class(s->base.form, class) : 0;
	s->n++;
	return MR_OK;
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static mr_status walk(images *s, const char *path, const char *class);

static mr_status visit(images *s, const char *folder, const char *name, bool inside, const char *class)
{
	struct stat is;
	char *path = mr_path_join(folder, name);
	mr_status st = MR_OK;

	if (!path)
		return no_memory();
	if (!stat(path, &is) && S_ISDIR(is.st_mode))
		st = inside ? MR_OK : walk(s, path, name);
	else if (mr_picture_name(name))
		st = add(s, path, class);
	free(path);
	return st;
}

/* Without @class, the folders in it are classes. */
static mr_status walk(images *s, const char *path, const char *class)
{
	struct dirent **entry;
	int n = scandir(path, &entry, visible, by_bytes);
	mr_status st = MR_OK;

	if (n < 0)
		return mr_fail(MR_EDATA, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (st == MR_OK)
			st = visit(s, path, entry[i]->d_name, class != NULL, class);
		free(entry[i]);
	}
	free(entry);
	return st;
}

static void set_normal(images *s, mr_dtype dtype)
{
	const mr_form *f = s->base.form;

	s->normal = (mr_augment){.dtype = dtype, .rows = f->rows, .cols = f->cols, .channels = f->channels};
	for (int c = 0; c < f->channels; c++)
		mr_augment_normal(&s->normal, c, f->mean[c], f->std[c]);
}

static mr_status list(images *s, const char *path)
{
	struct stat is;

	if (!strcmp(path, "-"))
		return mr_fail(MR_EUSAGE, "pictures cannot come from standard input: give a folder or a picture");
	if (stat(path, &is))
		return mr_fail(MR_EDATA, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(is.st_mode))
		return add(s, path, NULL);
	s->root = strlen(path) + (path[strlen(path) - 1] != '/');
	MR_TRY(walk(s, path, NULL));
	return s->n ? MR_OK : mr_fail(MR_EDATA, "%s: holds no .png, .jpg, .jpeg, .ppm or .pgm", path);
}

static mr_status open_images(const mr_form *f, const char *path, mr_dtype dtype, mr_reader **out)
{
	images *s = calloc(1, sizeof(*s));
	mr_status st;

	if (!s)
		return no_memory();
	s->base = (mr_reader){.kind = &mr_reader_pictures, .form = f, .dtype = dtype, .named = true};
	set_normal(s, dtype);
	st = list(s, path);
	if (st != MR_OK) {
		close_images(&s->base);
		return st;
	}
	*out = &s->base;
	return MR_OK;
}

static mr_status put_pixels(const images *s, const char *path, const mr_picture *p, const uint8_t *rgb, void *input)
{
	const mr_form *f = s->base.form;
	int64_t rows = p->rows, cols = p->cols, shorter = rows < cols ? rows : cols;
	mr_resample r = {.pixels = rgb, .cols = cols, .part = {0, 0, rows, cols}, .rows_to = rows, .cols_to = cols};

	if (!f->resize && (rows != f->rows || cols != f->cols))
		return mr_fail(MR_EDATA, "%s: %lld x %lld pixels, but the model takes %lld x %lld alone", path,
			       (long long)cols, (long long)rows, (long long)f->cols, (long long)f->rows);
	if (f->resize) {
		r.rows_to = rows * f->resize / shorter;
		r.cols_to = cols * f->resize / shorter;
	}
	r.down = (r.rows_to - f->rows) / 2;
	r.right = (r.cols_to - f->cols) / 2;
	return mr_resample_put(&r, &s->normal, input);
}

static mr_status decode(const images *s, const char *path, mr_contents *in, void *input)
{
	const uint8_t *bytes = mr_contents_at(in, 0, 0, NULL);
	uint8_t *rgb;
	mr_picture p;
	bool more;
	mr_status st;

	MR_TRY(mr_picture_look(path, bytes, mr_contents_bytes(in), &p, &more));
	if (more)
		return mr_fail(MR_EDATA, "%s: truncated: it ends within its head", path);
	rgb = malloc(mr_picture_bytes(&p));
	if (!rgb)
		return mr_fail(MR_ERESOURCE, "%s: no memory for its pixels", path);
	st = mr_picture_decode(path, bytes, mr_contents_bytes(in), &p, rgb);
	if (st == MR_OK && s->base.form->channels == 1)
		mr_picture_to_grey(rgb, mr_picture_bytes(&p) / 3);
	if (st == MR_OK)
		st = put_pixels(s, path, &p, rgb, input);
	free(rgb);
	return st;
}

static mr_status next(mr_reader *r, void *input, mr_reader_sample *out)
{
	images *s = (images *)r;
	mr_contents *in = NULL;
	mr_status st;
	size_t i = s->at;

	if (i == s->n)
		return MR_OK;
	s->at++;
	*out = (mr_reader_sample){.got = true, .has_target = s->has_target[i], .target = s->target[i],
				  .name = s->path[i] + s->root};
	r->skips = true;
	st = mr_contents_open(s->path[i], &in);
	if (st == MR_OK)
		st = mr_contents_keep(in);
	if (st == MR_OK)
		st = decode(s, s->path[i], in, input);
	mr_contents_close(in);
	return st;
}

const mr_reader_kind mr_reader_pictures = {
	.files = "pictures", .open = open_images, .next = next, .close = close_images};
