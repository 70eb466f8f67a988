#include "ckpt_help.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"

char *ckpt_help_folder(char dir[512])
{
	if (!mkdtemp(mr_scratch(dir, 512, "ckpt"))) {
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

void ckpt_help_remove(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

unsigned char *ckpt_help_read(const char *dir, const char *name, size_t *len)
{
	char path[1024];
	struct stat st;
	unsigned char *bytes;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f || fstat(fileno(f), &st))
		abort();
	*len = (size_t)st.st_size;
	bytes = malloc(*len + 1);
	if (!bytes || fread(bytes, 1, *len, f) != *len)
		abort();
	fclose(f);
	return bytes;
}

void ckpt_help_write(const char *dir, const char *name, const void *bytes, size_t len)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f || (len && fwrite(bytes, 1, len, f) != len) || fclose(f))
		abort();
}

int ckpt_help_count(const char *dir, const char *prefix)
{
	DIR *d = opendir(dir);
	int n = 0;

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
		n += !strncmp(e->d_name, prefix, strlen(prefix));
	if (d)
		closedir(d);
	return n;
}

bool ckpt_help_exists(const char *dir, const char *name)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

#define N 6

/* What tensor @k holds at @step. */
static void numbers(uint64_t step, int k, float out[N])
{
	for (int i = 0; i < N; i++)
		out[i] = (float)(step * 100 + (uint64_t)(10 * k + i));
}

mr_status ckpt_help_save(const char *dir, uint64_t step, bool best, uint32_t keep, size_t ballast, char **path)
{
	float w[N], b[N], m[N];
	int64_t when = (int64_t)step;
	mr_saved_tensor model[] = {
		{"w", MR_F32, 2, {2, 3}, w, sizeof(w), 0},
		{"b", MR_F32, 1, {N}, b, sizeof(b), 0},
	};
	mr_saved_tensor optimizer[] = {
		{"w.momentum", MR_F32, 2, {3, 2}, m, sizeof(m), 0},
		{"step", MR_I64, 0, {0}, &when, sizeof(when), 0},
	};
	mr_saved_text format = {"format", "pt"};
	mr_saved_tensor inflight = {"slots", MR_U8, 1, {(int64_t)ballast}, NULL, ballast, 0};
	mr_checkpoint_shard parts[] = {
		{"model.safetensors", model, 2, &format, 1, NULL, 0},
		{"optimizer.safetensors", optimizer, 2, NULL, 0, NULL, 0},
		{"inflight.safetensors", &inflight, 1, NULL, 0, NULL, 0},
	};
	mr_saved_text facts[] = {{"seed", "17"}, {"isa", "AVX2"}};
	mr_checkpoint_content c = {step, parts, ballast ? 3 : 2, facts, 2, 1, best, keep, 0, false, NULL};
	mr_status st;

	numbers(step, 0, w);
	numbers(step, 1, b);
	numbers(step, 2, m);
	if (ballast && !(inflight.data = calloc(1, ballast)))
		abort();
	st = mr_checkpoint_save(dir, &c, path);
	free(inflight.data);
	return st;
}

static mr_status compare(mr_safetensors *s, const char *name, int k, uint32_t n_dims, int64_t d0, int64_t d1,
			 uint64_t step)
{
	float got[N], want[N];
	mr_saved_tensor t = {name, MR_F32, n_dims, {d0, d1}, got, sizeof(got), 0};

	MR_TRY(mr_safetensors_load(s, &t));
	numbers(step, k, want);
	return memcmp(got, want, sizeof(got)) ? mr_fail(MR_EINVAL, "%s has other numbers", name) : MR_OK;
}

static mr_status check(mr_checkpoint *c)
{
	uint64_t step = mr_checkpoint_step(c);
	mr_safetensors *s = NULL;
	const char *seed = mr_checkpoint_fact(c, "seed");
	mr_status st;

	MR_TRY(mr_checkpoint_verify(c));
	if (!seed || strcmp(seed, "17") != 0)
		return mr_fail(MR_EINVAL, "no seed");
	MR_TRY(mr_checkpoint_tensors(c, "model.safetensors", &s));
	st = compare(s, "w", 0, 2, 2, 3, step);
	if (st == MR_OK)
		st = compare(s, "b", 1, 1, N, 0, step);
	mr_safetensors_close(s);
	MR_TRY(st);
	MR_TRY(mr_checkpoint_tensors(c, "optimizer.safetensors", &s));
	st = compare(s, "w.momentum", 2, 2, 3, 2, step);
	mr_safetensors_close(s);
	return st;
}

int64_t ckpt_help_check(const char *path)
{
	mr_checkpoint *c = NULL;
	mr_status st = mr_checkpoint_open(path, &c);
	int64_t step = -1;

	if (st == MR_OK)
		st = check(c);
	if (st == MR_OK)
		step = (int64_t)mr_checkpoint_step(c);
	else
		fprintf(stderr, "%s\n", mr_error_text());
	mr_checkpoint_close(c);
	return step;
}

int64_t ckpt_help_latest(const char *dir)
{
	char *path;
	int64_t step;

	if (mr_checkpoint_latest(dir, &path) != MR_OK) {
		fprintf(stderr, "%s\n", mr_error_text());
		return -1;
	}
	step = ckpt_help_check(path);
	free(path);
	return step;
}

void ckpt_help_quiet(bool on)
{
	static int kept = -1;
	int null;

	fflush(stderr);
	if (on && kept < 0) {
		kept = dup(2);
		null = open("/dev/null", O_WRONLY);
		dup2(null, 2);
		close(null);
	} else if (!on && kept >= 0) {
		dup2(kept, 2);
		close(kept);
		kept = -1;
	}
}
