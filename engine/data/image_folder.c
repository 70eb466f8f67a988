#include "data/image_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/room.h"
#include "base/stats.h"

#define HEAD 4096u /* bytes that are read first and enter the fingerprint */
#define MOST_HEAD ((uint64_t)16 << 20)
#define NAME_BYTES 32u /* the least that the allocator gives for a name */

/* The names in a folder but hidden ones, in the order of their bytes. */
typedef struct listing {
	char **name;
	size_t n, room;
} listing;

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void forget(listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->name[i]);
	free(l->name);
}

static mr_status add_name(listing *l, const char *path, const char *name)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		char **wide;

		MR_TRY(mr_room_check(path, "its list of files", room * (sizeof(*wide) + NAME_BYTES)));
		wide = realloc(l->name, room * sizeof(*wide));
		if (!wide)
			return mr_data_no_memory(room * sizeof(*wide));
		l->name = wide;
		l->room = room;
	}
	l->name[l->n] = strdup(name);
	return l->name[l->n++] ? MR_OK : mr_data_no_memory(0);
}

/* forget follows, also after a failure. */
static mr_status list(const char *path, listing *l)
{
	DIR *d = opendir(path);
	mr_status st = MR_OK;

	*l = (listing){0};
	if (!d)
		return mr_fail(MR_EDATA, "%s: %s", path, strerror(errno));
	for (struct dirent *e; st == MR_OK && (errno = 0, e = readdir(d));)
		if (e->d_name[0] != '.')
			st = add_name(l, path, e->d_name);
	if (st == MR_OK && errno)
		st = mr_fail(MR_EDATA, "%s: %s", path, strerror(errno));
	closedir(d);
	if (l->n)
		qsort(l->name, l->n, sizeof(*l->name), by_bytes);
	return st;
}

/* @a/@b, or @a alone where @b is empty. */
static mr_status join(mr_strbuf *out, const char *a, const char *b)
{
	*out = (mr_strbuf){0};
	mr_strbuf_append(out, a);
	if (*b)
		mr_strbuf_printf(out, "/%s", b);
	if (!out->failed)
		return MR_OK;
	mr_strbuf_fini(out);
	return mr_data_no_memory(0);
}

/* --- files --- */

static mr_status grow(mr_image_folder *f)
{
	size_t room = f->room ? 2 * f->room : 64;
	mr_image_file *file;

	if (f->n < f->room)
		return MR_OK;
	MR_TRY(mr_room_check(f->root, "its list of pictures", room * sizeof(*file) + f->names.cap));
	file = realloc(f->file, room * sizeof(*file));
	if (!file)
		return mr_data_no_memory(room * sizeof(*file));
	f->file = file;
	f->room = room;
	return MR_OK;
}

/* Read the head of the file, as far as needed, until the size of the picture is known. */
static mr_status look(mr_image_folder *f, mr_contents *in, mr_picture *size)
{
	uint64_t bytes = mr_contents_bytes(in);
	bool more = true;

	for (uint64_t n = HEAD; more; n *= 16) {
		size_t len = n < bytes ? n : bytes;
		uint8_t *room;
		mr_status st;

		MR_TRY(mr_room_check(mr_contents_path(in), "its head", len));
		room = malloc(len);
		st = room ? MR_OK : mr_data_no_memory(len);
		if (st == MR_OK) {
			const uint8_t *head = mr_contents_at(in, 0, len, room);

			if (n == HEAD)
				f->fingerprint = mr_hash64(f->fingerprint, head, len);
			st = mr_picture_look(mr_contents_path(in), head, len, size, &more);
		}
		free(room);
		MR_TRY(st);
		MR_TRY(mr_contents_check(in));
		if (more && n >= bytes)
			return mr_fail(MR_EDATA, "%s: truncated: it ends within its head", mr_contents_path(in));
		if (more && n >= MOST_HEAD)
			return mr_fail(MR_EDATA, "%s: its head does not end within %llu bytes", mr_contents_path(in),
				       (unsigned long long)MOST_HEAD);
	}
	return MR_OK;
}

static void count(mr_image_folder *f, const mr_image_file *x)
{
	uint64_t pixels = mr_picture_bytes(&x->size);

	f->file_bytes += x->bytes;
	f->pixel_bytes += pixels;
	f->n_grey += x->size.grey;
	f->most_file = x->bytes > f->most_file ? x->bytes : f->most_file;
	f->most_pixels = pixels > f->most_pixels ? pixels : f->most_pixels;
	f->most_decoding = x->size.decoding > f->most_decoding ? x->size.decoding : f->most_decoding;
	f->most_rows = x->size.rows > f->most_rows ? x->size.rows : f->most_rows;
	f->most_cols = x->size.cols > f->most_cols ? x->size.cols : f->most_cols;
}

/* Is the file at @path, of the head @x, whole? It is decoded, and forgotten. */
static mr_status try(const char *path, mr_contents *in, const mr_image_file *x)
{
	size_t bytes = mr_picture_bytes(&x->size);
	uint8_t *pixels;
	mr_status st;

	MR_TRY(mr_room_check(path, "its pixels", bytes + x->bytes));
	pixels = malloc(bytes);
	if (!pixels)
		return mr_data_no_memory(bytes);
	st = mr_contents_keep(in);
	if (st == MR_OK)
		st = mr_picture_decode(path, mr_contents_at(in, 0, 0, NULL), mr_contents_bytes(in), &x->size, pixels);
	free(pixels);
	return st;
}

/* Read the file at @path as far as needed. */
static mr_status read_head(mr_image_folder *f, const char *path, mr_image_file *x)
{
	mr_contents *in;
	mr_status st;

	MR_TRY(mr_contents_open(path, &in));
	x->bytes = mr_contents_bytes(in);
	f->fingerprint = mr_data_fold(f->fingerprint, x->bytes);
	st = look(f, in, &x->size);
	if (st == MR_OK && f->damage.most)
		st = try(path, in, x);
	mr_contents_close(in);
	return st;
}

static mr_status add_file(mr_image_folder *f, size_t class_of, const char *path)
{
	mr_image_file x = {.name = f->names.len, .pixels = f->pixel_bytes, .class_of = (int32_t)class_of};
	const char *name = path + strlen(f->root) + 1;
	mr_status st;

	MR_TRY(grow(f));
	f->fingerprint = mr_hash64(f->fingerprint, name, strlen(name));
	st = read_head(f, path, &x);
	if (st == MR_EDATA)
		return mr_damage_note(&f->damage, true, true);
	MR_TRY(st);
	if (!mr_strbuf_append_n(&f->names, name, strlen(name) + 1))
		return mr_data_no_memory(f->names.cap);
	count(f, &x);
	f->file[f->n++] = x;
	return MR_OK;
}

static void skip(mr_image_folder *f, const char *path)
{
	struct stat is;

	mr_skipped_add(&f->skipped, path + strlen(f->root) + 1, !stat(path, &is) && S_ISDIR(is.st_mode));
}

static mr_status no_picture(const mr_image_folder *f, const char *path)
{
	mr_strbuf b = {0};

	mr_skipped_print(&f->skipped, &b);
	mr_fail(MR_EDATA, "%s: holds no picture: a class needs files .png, .jpg, .jpeg, .ppm or .pgm%s%s", path,
		b.len ? "; in all " : "", mr_strbuf_text(&b));
	mr_strbuf_fini(&b);
	return MR_EDATA;
}

static mr_status add_class(mr_image_folder *f, size_t class_of, const char *path)
{
	size_t before = f->n + f->damage.n;
	listing l;
	mr_status st = list(path, &l);

	for (size_t i = 0; i < l.n && st == MR_OK; i++) {
		mr_strbuf file;

		st = join(&file, path, l.name[i]);
		if (st != MR_OK)
			break;
		if (mr_picture_name(l.name[i]))
			st = add_file(f, class_of, file.data);
		else
			skip(f, file.data);
		mr_strbuf_fini(&file);
	}
	forget(&l);
	return st == MR_OK && f->n + f->damage.n == before ? no_picture(f, path) : st;
}

/* --- classes --- */

/* The number of the class @name: that of @like, or without @like a new one. */
static mr_status find_class(mr_image_folder *f, const char *name, const mr_image_folder *like, size_t *out)
{
	mr_strbuf *grown;

	if (like) {
		for (*out = 0; *out < like->n_classes; ++*out)
			if (!strcmp(like->class_name[*out].data, name))
				return MR_OK;
		return mr_fail(MR_EDATA, "%s/%s: there is no class of this name in %s", f->root, name, like->root);
	}
	grown = realloc(f->class_name, (f->n_classes + 1) * sizeof(*grown));
	if (!grown)
		return mr_data_no_memory((f->n_classes + 1) * sizeof(*grown));
	f->class_name = grown;
	MR_TRY(join(&f->class_name[f->n_classes], name, ""));
	*out = f->n_classes++;
	return MR_OK;
}

static mr_status add_entry(mr_image_folder *f, const char *name, const mr_image_folder *like)
{
	struct stat is;
	size_t class_of = 0;
	mr_strbuf path;
	mr_status st = MR_OK;

	MR_TRY(join(&path, f->root, name));
	if (!stat(path.data, &is) && S_ISDIR(is.st_mode)) {
		st = find_class(f, name, like, &class_of);
		if (st == MR_OK)
			st = add_class(f, class_of, path.data);
	} else {
		skip(f, path.data);
	}
	mr_strbuf_fini(&path);
	return st;
}

/* Decode all pictures, each to its place in @to or, unless @apart, to its beginning; note damaged ones. */
static mr_status decode_all(const mr_image_folder *f, uint8_t *to, bool apart, mr_damage *found)
{
	mr_status st = MR_OK;

	for (size_t i = 0; i < f->n && st == MR_OK; i++) {
		st = mr_image_folder_decode(f, i, to + (apart ? f->file[i].pixels : 0));
		if (st == MR_EDATA)
			st = mr_damage_note(found, true, true);
	}
	return st;
}

/* Some heads are damaged, for which opening fails: name with them the pictures whose pixels are. */
static mr_status try_rest(mr_image_folder *f)
{
	uint8_t *pixels;
	mr_status st;

	if (!f->damage.n || f->damage.most || !f->n) /* with damaged they are all tried already */
		return MR_OK;
	pixels = malloc(f->most_pixels);
	st = pixels ? decode_all(f, pixels, false, &f->damage) : mr_data_no_memory(f->most_pixels);
	free(pixels);
	return st;
}

mr_status mr_image_folder_open(mr_image_folder *f, const char *root, const mr_image_folder *like)
{
	uint64_t all;
	mr_status st;
	listing l;

	f->names = (mr_strbuf){0};
	f->root = strdup(root);
	if (!f->root)
		return mr_data_no_memory(strlen(root));
	st = list(root, &l);
	for (size_t i = 0; i < l.n && st == MR_OK; i++)
		st = add_entry(f, l.name[i], like);
	forget(&l);
	all = f->damage.n + f->n;
	if (st == MR_OK)
		st = try_rest(f);
	if (st == MR_OK)
		st = mr_damage_check(&f->damage, root, "pictures", all);
	if (st == MR_OK && !f->n)
		return mr_fail(MR_EDATA, "%s: holds no folder of pictures: each class needs one", root);
	return st;
}

void mr_image_folder_close(mr_image_folder *f)
{
	for (size_t i = 0; i < f->n_classes; i++)
		mr_strbuf_fini(&f->class_name[i]);
	free(f->class_name);
	mr_skipped_fini(&f->skipped);
	mr_damage_reset(&f->damage);
	mr_strbuf_fini(&f->names);
	free(f->file);
	free(f->pixels);
	free(f->root);
}

/* --- pixels --- */

mr_status mr_image_folder_decode(const mr_image_folder *f, size_t i, uint8_t *rgb)
{
	const mr_image_file *x = &f->file[i];
	mr_contents *in = NULL;
	mr_strbuf path;
	mr_status st;

	MR_TRY(join(&path, f->root, mr_image_folder_name(f, i)));
	st = mr_contents_open(path.data, &in);
	if (st == MR_OK)
		st = mr_contents_keep(in);
	if (st == MR_OK)
		st = mr_picture_decode(path.data, mr_contents_at(in, 0, 0, NULL), mr_contents_bytes(in), &x->size, rgb);
	mr_contents_close(in);
	mr_strbuf_fini(&path);
	return st;
}

mr_status mr_image_folder_keep(mr_image_folder *f)
{
	mr_damage found = {0};
	mr_status st;

	f->pixels = malloc(f->pixel_bytes);
	if (!f->pixels)
		return mr_data_no_memory(f->pixel_bytes);
	st = decode_all(f, f->pixels, true, &found);
	if (st == MR_OK)
		st = mr_damage_check(&found, f->root, "pictures", f->n);
	mr_damage_reset(&found);
	return st;
}
