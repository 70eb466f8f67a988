#include "starter/sniff.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/contents.h"
#include "formats/csv_table.h"
#include "data/dataset.h"
#include "formats/lines.h"
#include "formats/picture.h"
#include "formats/skipped.h"

#define HEAD 65536u
#define MOST_LINES 50 /* of the head, that must look alike */

/* The first bytes of a file, with a NUL behind them. */
typedef struct head {
	char bytes[HEAD + 1];
	size_t n;
	bool whole; /* they are the whole file */
} head;

static mr_status read_head(const char *path, head *h)
{
	mr_contents *in;
	uint64_t bytes;
	mr_status st;

	MR_TRY(mr_contents_open(path, &in));
	bytes = mr_contents_bytes(in);
	h->whole = bytes < HEAD;
	h->n = h->whole ? bytes : HEAD;
	mr_contents_at(in, 0, h->n, h->bytes);
	st = mr_contents_check(in);
	mr_contents_close(in);
	MR_TRY(st);
	if (h->n >= 3 && !memcmp(h->bytes, MR_BYTE_ORDER_MARK, 3)) /* as mr_lines_next leaves it out */
		memmove(h->bytes, h->bytes + 3, h->n -= 3);
	h->bytes[h->n] = 0;
	return h->n ? MR_OK : mr_fail(MR_EDATA, "%s: the file is empty", path);
}

static bool is_folder(const char *path)
{
	struct stat s;

	return !stat(path, &s) && S_ISDIR(s.st_mode);
}

static bool is_file(const char *path)
{
	struct stat s;

	return !stat(path, &s) && S_ISREG(s.st_mode);
}

/* --- IDX --- */

/* @path with the last "@from" of its file's name replaced; NULL: there is none, or no file of that name. */
static char *other_name(const char *path, const char *from, const char *to)
{
	const char *name = strrchr(path, '/'), *at = NULL;
	char *out;

	for (const char *p = strstr(name ? name : path, from); p; p = strstr(p + 1, from))
		at = p;
	if (!at || asprintf(&out, "%.*s%s%s", (int)(at - path), path, to, at + strlen(from)) < 0)
		return NULL;
	return out;
}

/* The file of labels that belongs to the images at @path, by the names that MNIST's files have; NULL: none. */
static char *labels_of(const char *path)
{
	char *labels = other_name(path, "images", "labels"), *out = labels ? other_name(labels, "idx3", "idx1") : NULL;

	if (!out) {
		out = labels;
		labels = NULL;
	}
	free(labels);
	if (out && !is_file(out)) {
		free(out);
		out = NULL;
	}
	return out;
}

static mr_status take_idx(const char *images, mr_sniff *s)
{
	char *test;

	s->kind = MR_SNIFF_IDX;
	s->images = strdup(images);
	s->labels = labels_of(images);
	if (!s->labels)
		return mr_fail(MR_EDATA,
			       "%s: images of MNIST's format (IDX), but there is no file of their labels beside them: "
			       "a name with \"labels\" for \"images\", and \"idx1\" for \"idx3\", was expected",
			       images);
	test = other_name(images, "train", "t10k");
	s->test_labels = test && is_file(test) ? labels_of(test) : NULL;
	if (s->test_labels) {
		s->test_images = test;
		test = NULL;
	}
	free(test);
	return MR_OK;
}

static bool is_idx(const head *h, const char *path, bool *labels)
{
	const unsigned char *b = (const unsigned char *)h->bytes;

	if (h->n >= 4 && b[0] == 0 && b[1] == 0 && b[2] == 8 && (b[3] == 1 || b[3] == 3)) {
		*labels = b[3] == 1;
		return true;
	}
	/* packed: by its name */
	*labels = strstr(path, "idx1") != NULL;
	return h->n >= 2 && b[0] == 0x1f && b[1] == 0x8b && (*labels || strstr(path, "idx3"));
}

static mr_status take_idx_file(const char *path, bool labels, mr_sniff *s)
{
	char *images, *renamed;
	mr_status st;

	if (!labels)
		return take_idx(path, s);
	renamed = other_name(path, "labels", "images");
	images = renamed ? other_name(renamed, "idx1", "idx3") : NULL;
	st = !images || !is_file(images)
		     ? mr_fail(MR_EDATA, "%s: labels of MNIST's format (IDX); the file of their images was expected",
			       path)
		     : take_idx(images, s);
	free(renamed);
	free(images);
	return st;
}

/* --- folders --- */

static bool holds_pictures(const char *folder, mr_skipped *skipped)
{
	DIR *d = opendir(folder);
	bool found = false;

	for (struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d)) {
		found = e->d_name[0] != '.' && mr_picture_name(e->d_name);
		if (e->d_name[0] != '.' && !found)
			mr_skipped_add(skipped, e->d_name, false);
	}
	if (d)
		closedir(d);
	return found;
}

/* Look at one name in folder @path; *@images becomes the first file of training images. */
static void look_at(const char *path, const char *name, bool *pictures, bool *cifar, char **images, mr_skipped *skipped)
{
	char *whole;

	if (name[0] == '.' || asprintf(&whole, "%s/%s", path, name) < 0)
		return;
	if (is_folder(whole))
		*pictures = *pictures || holds_pictures(whole, skipped);
	*cifar = *cifar || !strcmp(name, "data_batch_1.bin") || !strcmp(name, "train.bin");
	if (strstr(name, "images") && strstr(name, "idx3") && (!*images || !strncmp(name, "train", 5))) {
		free(*images);
		*images = whole;
		return;
	}
	free(whole);
}

static mr_status nothing_known(const char *path, const mr_skipped *skipped)
{
	mr_strbuf b = {0};

	mr_skipped_print(skipped, &b);
	mr_fail(MR_EDATA,
		"%s: the folder has neither folders of PNG, JPEG, PPM or PGM files (one a class), nor MNIST's files "
		"(*images-idx3*), nor CIFAR's (data_batch_1.bin)%s%s",
		path, b.len ? "; in its folders " : "", mr_strbuf_text(&b));
	mr_strbuf_fini(&b);
	return MR_EDATA;
}

static mr_status look_at_folder(const char *path, mr_sniff *s)
{
	bool pictures = false, cifar = false;
	mr_skipped skipped = {0};
	char *images = NULL;
	mr_status st = MR_OK;
	DIR *d = opendir(path);

	if (!d)
		return mr_fail(MR_EDATA, "%s: cannot open: %s", path, strerror(errno));
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		look_at(path, e->d_name, &pictures, &cifar, &images, &skipped);
	closedir(d);
	if (images)
		st = take_idx(images, s);
	else if (cifar)
		s->kind = MR_SNIFF_CIFAR;
	else if (pictures)
		s->kind = MR_SNIFF_PICTURES;
	else
		st = nothing_known(path, &skipped);
	mr_skipped_fini(&skipped);
	free(images);
	return st;
}

/* --- files of text --- */

/* "1.5 3:0.2 17:1": a number, then pairs. A line of a label alone is one too. */
static bool is_libsvm_line(const char *line, bool *pairs)
{
	char *end;

	strtod(line, &end);
	if (end == line)
		return false;
	for (line = end; *line && *line != '#'; line = end) {
		if (!isspace((unsigned char)*line))
			return false;
		while (isspace((unsigned char)*line))
			line++;
		if (!*line || *line == '#')
			break;
		strtoll(line, &end, 10);
		if (end == line || *end != ':')
			return false;
		line = end + 1;
		strtod(line, &end);
		if (end == line)
			return false;
		*pairs = true;
	}
	return true;
}

/* The next whole line of @h from *@at on, in @line of HEAD + 1 bytes; false: there is none. */
static bool next_line(const head *h, size_t *at, char *line)
{
	const char *begin, *end;
	size_t n;

	if (*at >= h->n)
		return false;
	begin = h->bytes + *at;
	end = memchr(begin, '\n', h->n - *at);
	n = end ? (size_t)(end - begin) : h->n - *at;
	if (!end && !h->whole)
		return false;
	memcpy(line, begin, n);
	if (n && line[n - 1] == '\r')
		n--;
	line[n] = 0;
	*at += (end ? (size_t)(end - begin) : h->n - *at) + 1;
	return true;
}

static bool is_libsvm(const head *h, char *line)
{
	bool pairs = false;
	size_t at = 0;
	int n = 0;

	while (n < MOST_LINES && next_line(h, &at, line)) {
		if (!*line)
			continue;
		if (!is_libsvm_line(line, &pairs))
			return false;
		n++;
	}
	return pairs;
}

static bool is_named(const char *path, const char *ending)
{
	size_t n = strlen(path), e = strlen(ending);

	return n > e && !strcasecmp(path + n - e, ending);
}

static bool has_number(const mr_csv_table *t)
{
	double x;

	for (uint32_t c = 0; c < t->n_columns; c++)
		if (mr_csv_is_number(t->field[c], &x))
			return true;
	return false;
}

/* A file that is named so; or five lines with as many fields as the first one, two at least, and a number among those
 * of each behind the first. */
static bool is_csv(const char *path, const head *h, char *line)
{
	bool named = is_named(path, ".csv") || is_named(path, ".tsv"), alike = true;
	const mr_dataset_ops *ops = mr_dataset_find("csv");
	mr_values *values = NULL;
	mr_csv_table t = {0};
	uint64_t n = 0;
	size_t at = 0;

	if (mr_values_create(ops->options, &values) == MR_OK && mr_csv_table_open(&t, path, values) == MR_OK)
		while (alike && n < MOST_LINES && next_line(h, &at, line)) {
			if (!*line)
				continue;
			alike = mr_csv_table_split(&t, line, n + 1) == MR_OK && (!n || has_number(&t));
			n += alike;
		}
	alike = named || (alike && t.n_columns > 1 && n >= 5);
	mr_csv_table_close(&t);
	mr_values_destroy(values);
	return alike;
}

static mr_status look_at_file(const char *path, head *h, char *line, mr_sniff *s)
{
	bool labels;

	MR_TRY(read_head(path, h));
	if (is_idx(h, path, &labels))
		return take_idx_file(path, labels, s);
	if (h->n >= 2 && (!memcmp(h->bytes, "\xff\xfe", 2) || !memcmp(h->bytes, "\xfe\xff", 2)))
		return mr_fail(MR_EDATA, "%s: a text in UTF-16, expected UTF-8: iconv -f utf-16 -t utf-8 makes it",
			       path);
	if (memchr(h->bytes, 0, h->n))
		return mr_fail(MR_EDATA,
			       "%s: this is no text, and of no other kind that init can see: text, CSV, LIBSVM, "
			       "MNIST's IDX files, or a folder of pictures was expected (millrace list data has all "
			       "sources)",
			       path);
	s->kind = is_libsvm(h, line) ? MR_SNIFF_LIBSVM : is_csv(path, h, line) ? MR_SNIFF_CSV : MR_SNIFF_TEXT;
	if (s->kind == MR_SNIFF_CSV && memchr(h->bytes, '\r', h->n) && !memchr(h->bytes, '\n', h->n))
		return mr_fail(MR_EDATA,
			       "%s: its lines end in CR alone, expected LF or CR LF: tr '\\r' '\\n' makes them",
			       path);
	return MR_OK;
}

mr_status mr_sniff_look(const char *path, mr_sniff *out)
{
	head *h;
	char *line;
	mr_status st;

	*out = (mr_sniff){0};
	if (is_folder(path))
		return look_at_folder(path, out);
	h = malloc(sizeof(*h));
	line = malloc(HEAD + 1);
	st = h && line ? look_at_file(path, h, line, out) : mr_fail(MR_ERESOURCE, "no memory to look at %s", path);
	free(h);
	free(line);
	return st;
}

void mr_sniff_fini(mr_sniff *s)
{
	free(s->images);
	free(s->labels);
	free(s->test_images);
	free(s->test_labels);
	*s = (mr_sniff){0};
}
