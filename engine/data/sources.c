/*
 * sources.c - the text of a C project: README.md, then every *.c and *.h below the root in the byte order of their
 * paths (as LC_ALL=C sort has it), cut at 1 MB. Hidden folders, folders whose name begins with "build", symbolic links
 * and empty files are skipped. It serves the quickstart, which must not download anything.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grown.h"
#include "base/str.h"
#include "data/part.h"
#include "data/text.h"
#include "data/excerpts.h"

#define MAX_BYTES 1000000u
#define MAX_DEPTH 32
#define MAX_FILES 100000u

typedef struct listing {
	char **path; /* relative to the root */
	size_t n;
} listing;

static void forget(listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->path[i]);
	free(l->path);
}

static mr_status add(listing *l, const char *folder, const char *name)
{
	mr_strbuf b = {0};
	char **grown = mr_grown(l->path, l->n, sizeof(*grown)), *path;

	if (!grown)
		return mr_data_no_memory(0);
	l->path = grown;
	mr_strbuf_printf(&b, "%s%s", folder, name);
	path = mr_strbuf_take(&b);
	if (!path)
		return mr_data_no_memory(0);
	l->path[l->n++] = path;
	return MR_OK;
}

static bool is_source(const char *name)
{
	size_t n = strlen(name);

	return n > 2 && name[n - 2] == '.' && (name[n - 1] == 'c' || name[n - 1] == 'h');
}

static mr_status walk(listing *l, const char *root, int dir, const char *folder, int depth);

/* Look at one entry of the folder open as @dir; @folder is "" or ends in '/'. */
static mr_status visit(listing *l, const char *root, int dir, const char *folder, const char *name, int depth)
{
	struct stat st;
	mr_strbuf b = {0};
	mr_status result;
	int fd;

	if (name[0] == '.' || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return MR_OK; /* an entry that went away meanwhile is none */
	if (S_ISREG(st.st_mode))
		return is_source(name) && l->n < MAX_FILES ? add(l, folder, name) : MR_OK;
	if (!S_ISDIR(st.st_mode) || !strncmp(name, "build", 5) || depth == MAX_DEPTH)
		return MR_OK;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return mr_fail(MR_EDATA, "%s/%s%s: %s", root, folder, name, strerror(errno));
	mr_strbuf_printf(&b, "%s%s/", folder, name);
	result = walk(l, root, fd, mr_strbuf_text(&b), depth + 1);
	mr_strbuf_fini(&b);
	return result;
}

/* Collect the sources below @folder. Takes over @dir. */
static mr_status walk(listing *l, const char *root, int dir, const char *folder, int depth)
{
	DIR *d = fdopendir(dir);
	mr_status st = MR_OK;

	if (!d) {
		st = mr_fail(MR_EDATA, "%s/%s: %s", root, folder, strerror(errno));
		close(dir);
		return st;
	}
	for (struct dirent *e = readdir(d); e && st == MR_OK; e = readdir(d))
		st = visit(l, root, dir, folder, e->d_name, depth);
	closedir(d);
	return st;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Append the file @path below @root, up to MAX_BYTES in all. */
static mr_status append(const char *root, int dir, const char *path, char *bytes, size_t *n)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && errno == ENOENT)
		return MR_OK;
	if (fd < 0)
		return mr_fail(MR_EDATA, "%s/%s: %s", root, path, strerror(errno));
	while (*n < MAX_BYTES) {
		ssize_t got = read(fd, bytes + *n, MAX_BYTES - *n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			mr_status st = mr_fail(MR_EDATA, "%s/%s: %s", root, path, strerror(errno));

			close(fd);
			return st;
		}
		if (got == 0)
			break;
		*n += (size_t)got;
	}
	close(fd);
	return MR_OK;
}

static mr_status gather(const char *root, int dir, char *bytes, size_t *n)
{
	listing l = {0};
	int top = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mr_status st;

	if (top < 0)
		return mr_fail(MR_EDATA, "%s: %s", root, strerror(errno));
	st = walk(&l, root, top, "", 0);
	if (l.n)
		qsort(l.path, l.n, sizeof(*l.path), by_bytes);
	if (st == MR_OK)
		st = append(root, dir, "README.md", bytes, n);
	for (size_t i = 0; i < l.n && st == MR_OK; i++)
		st = append(root, dir, l.path[i], bytes, n);
	forget(&l);
	if (st == MR_OK && *n == 0)
		st = mr_fail(MR_EDATA, "%s: neither README.md nor any *.c or *.h file with text in it", root);
	return st;
}

static mr_status open_sources(const mr_values *values, const mr_data_want *want, mr_dataset **out)
{
	char *root = NULL, *bytes = NULL;
	mr_contents *in;
	size_t n = 0;
	int dir = -1;
	mr_status st;

	MR_TRY(mr_excerpts_check_context("sources", want));
	root = mr_data_path(want, mr_values_string(values, "root"));
	bytes = malloc(MAX_BYTES);
	if (!root || !bytes) {
		st = mr_data_no_memory(MAX_BYTES);
		goto out;
	}
	dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	st = dir < 0 ? mr_fail(MR_EDATA, "%s: %s", root, strerror(errno)) : gather(root, dir, bytes, &n);
	if (st == MR_OK) {
		in = mr_contents_of(root, bytes, n);
		bytes = NULL;
		st = in ? mr_text_create(root, in, values, want, out) : mr_data_no_memory(n);
	}
	if (dir >= 0)
		close(dir);
out:
	free(bytes);
	free(root);
	return st;
}

static const mr_option options[] = {
	{"root", MR_OPT_STRING, ".", 0, 0, NULL, NULL, "folder with README.md and sources below it"},
	MR_TEXT_VOCAB,
	MR_DATA_VALIDATION,
	MR_DATA_ORDER,
	{NULL},
};

extern const mr_dataset_ops mr_data_sources;
const mr_dataset_ops mr_data_sources = {
	.name = "sources",
	.summary = "README.md and the C sources below a folder, at most 1 MB, byte by byte",
	.options = options,
	.make = open_sources,
	.load = mr_text_load,
	.close = mr_text_close,
	.train = mr_excerpts_train,
	.sample = mr_excerpts_sample,
	.valid = mr_excerpts_valid,
	.files = "language",
	.form = mr_text_form,
};
