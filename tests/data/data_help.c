#include "data_help.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "check.h"
#include "scratch.h"

char *data_help_folder(char dir[512])
{
	if (!mkdtemp(mr_scratch(dir, 512, "data"))) {
		perror(dir);
		abort();
	}
	return dir;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

void data_help_remove(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* @dir/@name in @path, with the folders in between. */
static void place(const char *dir, const char *name, char path[1024])
{
	snprintf(path, 1024, "%s/%s", dir, name);
	for (char *slash = strchr(path + strlen(dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
}

void data_help_write(const char *dir, const char *name, const void *bytes, size_t len)
{
	char path[1024];
	FILE *f;

	place(dir, name, path);
	f = fopen(path, "wb");
	if (!f || (len && fwrite(bytes, 1, len, f) != len) || fclose(f)) {
		perror(path);
		abort();
	}
}

void data_help_write_gzip(const char *dir, const char *name, const void *bytes, size_t len)
{
	char path[1024];
	gzFile f;

	place(dir, name, path);
	f = gzopen(path, "wb");
	if (!f || gzwrite(f, bytes, (unsigned)len) != (int)len || gzclose(f) != Z_OK)
		abort();
}

mr_status data_help_open(const char *name, const char *settings, const mr_data_want *want, mr_dataset **out)
{
	const mr_dataset_ops *ops = mr_dataset_find(name);
	char copy[1024], *rest = NULL;
	mr_values *values = NULL;
	mr_status st;

	*out = NULL;
	if (!ops)
		return mr_fail(MR_EINVAL, "no source %s", name);
	snprintf(copy, sizeof(copy), "%s", settings);
	MR_TRY(mr_values_create(ops->options, &values));
	st = MR_OK;
	for (char *word = strtok_r(copy, " ", &rest); word && st == MR_OK; word = strtok_r(NULL, " ", &rest)) {
		char *equals = strchr(word, '=');

		*equals = '\0';
		st = mr_values_set_text(values, word, equals + 1);
	}
	if (st == MR_OK)
		st = mr_dataset_open(ops, values, want, out);
	mr_values_destroy(values);
	return st;
}

mr_status data_help_survive(const char *source, const char *settings, const mr_data_want *want)
{
	static char input[1 << 16], target[1 << 10];
	mr_dataset *d;
	mr_status st = data_help_open(source, settings, want, &d);

	if (st != MR_OK) {
		CU_ASSERT(st == MR_EDATA || st == MR_ERESOURCE);
		CU_ASSERT(strlen(mr_error_text()) > 10);
		return st;
	}
	CU_ASSERT_FATAL(mr_shape_bytes(d->input, MR_F32) <= sizeof(input));
	CU_ASSERT_FATAL(mr_shape_bytes(d->target, MR_F32) <= sizeof(target));
	for (uint64_t g = 0; g < d->n_train; g++) {
		d->ops->train(d, g, input, target);
		CU_ASSERT(((int32_t *)target)[0] >= 0 && ((int32_t *)target)[0] < d->classes);
	}
	for (uint64_t i = 0; i < d->n_valid; i++) {
		d->ops->valid(d, i, input, target);
		CU_ASSERT(((int32_t *)target)[0] >= 0 && ((int32_t *)target)[0] < d->classes);
	}
	mr_dataset_close(d);
	return MR_OK;
}

void data_help_mistreat(const char *source, const char *settings, const mr_data_want *want, const char *name,
			const unsigned char *bytes, size_t len, size_t step, bool exact, size_t flips)
{
	unsigned char *changed = malloc(len);

	for (size_t n = 0; n < len; n += step) {
		mr_status st;

		data_help_write(want->base_dir, name, bytes, n);
		st = data_help_survive(source, settings, want);
		if (exact)
			CU_ASSERT_NOT_EQUAL(st, MR_OK);
	}
	for (size_t bit = 0; bit < 8 * flips; bit++) {
		memcpy(changed, bytes, len);
		changed[bit / 8] ^= (unsigned char)(1u << bit % 8);
		data_help_write(want->base_dir, name, changed, len);
		data_help_survive(source, settings, want);
	}
	data_help_write(want->base_dir, name, bytes, len);
	CU_ASSERT_EQUAL(data_help_survive(source, settings, want), MR_OK);
	free(changed);
}
