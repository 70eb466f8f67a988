#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/fault.h"
#include "check.h"
#include "ckpt_help.h"
#include "store/crc_blocks.h"

static char dir[512];

static void save(uint64_t step)
{
	MR_CHECK_OK(ckpt_help_save(dir, step, false, 0, 0, NULL));
}

static void check_link(const char *link, const char *name)
{
	size_t len;
	unsigned char *text = ckpt_help_read(dir, link, &len);

	CU_ASSERT(len == strlen(name) + 1 && memcmp(text, name, strlen(name)) == 0 && text[len - 1] == '\n');
	free(text);
}

static void saved_is_found(void)
{
	mr_checkpoint *c;
	mr_safetensors *s;
	uint64_t bytes;
	char *path, sub[600];
	size_t len;

	ckpt_help_folder(dir);
	snprintf(sub, sizeof(sub), "%s/new", dir); /* a folder that does not exist yet */
	MR_CHECK_OK(ckpt_help_save(sub, 7, false, 0, 0, &path));
	CU_ASSERT_PTR_NOT_NULL_FATAL(path);
	CU_ASSERT(strlen(path) > 13 && !strcmp(path + strlen(path) - 13, "step-00000007"));
	CU_ASSERT_EQUAL(ckpt_help_check(path), 7);
	CU_ASSERT_EQUAL(ckpt_help_latest(sub), 7);
	MR_CHECK_OK(mr_checkpoint_open(path, &c));
	CU_ASSERT_STRING_EQUAL(mr_checkpoint_fact(c, "isa"), "AVX2");
	CU_ASSERT_PTR_NULL(mr_checkpoint_fact(c, "cpu"));
	CU_ASSERT_STRING_EQUAL(mr_checkpoint_fact_at(c, 0).key, "seed");
	CU_ASSERT_STRING_EQUAL(mr_checkpoint_fact_at(c, 1).value, "AVX2");
	CU_ASSERT_PTR_NULL(mr_checkpoint_fact_at(c, 2).key);
	CU_ASSERT_STRING_EQUAL(mr_checkpoint_file_at(c, 0, &bytes), "model.safetensors");
	free(ckpt_help_read(path, "model.safetensors", &len));
	CU_ASSERT_EQUAL(bytes, len);
	CU_ASSERT_PTR_NULL(mr_checkpoint_file_at(c, 2, NULL));
	MR_CHECK_FAIL(mr_checkpoint_tensors(c, "absent.safetensors", &s), MR_ECKPT, "has no file");
	MR_CHECK_FAIL(mr_checkpoint_tensors(c, "../LATEST", &s), MR_ECKPT, "has no file");
	mr_checkpoint_close(c);
	mr_checkpoint_close(NULL);
	free(path);
	CU_ASSERT_EQUAL(ckpt_help_count(sub, ".tmp"), 0);
	ckpt_help_remove(dir);
}

static void rotation(void)
{
	ckpt_help_folder(dir);
	for (uint64_t step = 1; step <= 5; step++)
		MR_CHECK_OK(ckpt_help_save(dir, step, step == 2, 0, 0, NULL));
	CU_ASSERT_EQUAL(ckpt_help_count(dir, "step-"), 3); /* the last two and the best */
	CU_ASSERT(ckpt_help_exists(dir, "step-00000002"));
	CU_ASSERT(ckpt_help_exists(dir, "step-00000004"));
	CU_ASSERT(ckpt_help_exists(dir, "step-00000005"));
	check_link("BEST", "step-00000002");
	check_link("LATEST", "step-00000005");
	MR_CHECK_OK(ckpt_help_save(dir, 6, true, 0, 0, NULL));
	CU_ASSERT_EQUAL(ckpt_help_count(dir, "step-"), 2); /* 5, and 6, which is the best now */
	CU_ASSERT(!ckpt_help_exists(dir, "step-00000002"));
	check_link("BEST", "step-00000006");
	MR_CHECK_OK(ckpt_help_save(dir, 7, true, 1, 0, NULL));
	CU_ASSERT_EQUAL(ckpt_help_count(dir, "step-"), 1);
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 7);
	ckpt_help_remove(dir);
}

/* Beside the newest ones those of every third step stay, but not of an abandoned course. */
static void kept_for_ever(void)
{
	static float one = 1;
	static const mr_saved_tensor w = {.name = "w", .dtype = MR_F32, .data = &one, .bytes = sizeof(one)};
	static const mr_checkpoint_shard part = {.name = "model.safetensors", .tensors = &w, .n_tensors = 1};
	mr_checkpoint_content c = {.parts = &part, .n_parts = 1, .keep = 1, .keep_every = 3};
	uint64_t *listed;
	size_t n;
	char path[64];

	ckpt_help_folder(dir);
	for (c.step = 1; c.step <= 11; c.step++)
		MR_CHECK_OK(mr_checkpoint_save(dir, &c, NULL));
	CU_ASSERT_EQUAL(ckpt_help_count(dir, "step-"), 4);
	MR_CHECK_OK(mr_checkpoint_steps(dir, &listed, &n));
	CU_ASSERT(n == 4 && listed[0] == 11 && listed[1] == 9 && listed[2] == 6 && listed[3] == 3);
	free(listed);
	for (int step = 3; step <= 12; step += 3) {
		snprintf(path, sizeof(path), "step-%08d", step < 12 ? step : 11);
		CU_ASSERT(ckpt_help_exists(dir, path));
	}
	c.step = 5;
	MR_CHECK_OK(mr_checkpoint_save(dir, &c, NULL));
	CU_ASSERT_EQUAL(ckpt_help_count(dir, "step-"), 2);
	CU_ASSERT(ckpt_help_exists(dir, "step-00000003"));
	ckpt_help_remove(dir);
	MR_CHECK_FAIL(mr_checkpoint_steps(dir, &listed, &n), MR_ECKPT, "there is no checkpoint");
}

/* A run resumed from an older checkpoint: steps come again, and later ones of the abandoned course go. */
static void steps_that_come_again(void)
{
	char *path;

	ckpt_help_folder(dir);
	MR_CHECK_OK(ckpt_help_save(dir, 10, false, 9, 0, NULL));
	MR_CHECK_OK(ckpt_help_save(dir, 20, true, 9, 0, NULL));
	MR_CHECK_OK(ckpt_help_save(dir, 30, false, 9, 0, NULL));
	MR_CHECK_OK(ckpt_help_save(dir, 20, false, 9, 0, &path));
	CU_ASSERT_PTR_NOT_NULL(strstr(path, "/step-00000020.1"));
	CU_ASSERT_EQUAL(ckpt_help_check(path), 20);
	free(path);
	CU_ASSERT_EQUAL(ckpt_help_count(dir, "step-"), 3); /* 10, the best 20, the new 20 */
	CU_ASSERT(!ckpt_help_exists(dir, "step-00000030"));
	check_link("LATEST", "step-00000020.1");
	MR_CHECK_OK(ckpt_help_save(dir, 20, true, 9, 0, NULL));
	check_link("LATEST", "step-00000020.2");
	CU_ASSERT_EQUAL(ckpt_help_count(dir, "step-00000020"), 1);
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 20);
	MR_CHECK_OK(ckpt_help_save(dir, 123456789012, false, 9, 0, &path)); /* more than eight digits */
	CU_ASSERT_PTR_NOT_NULL(strstr(path, "/step-123456789012"));
	free(path);
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 123456789012);
	ckpt_help_remove(dir);
}

static void what_cannot_be_deleted_is_a_warning(void)
{
	char path[600];

	ckpt_help_folder(dir);
	save(1);
	save(2);
	snprintf(path, sizeof(path), "%s/step-00000001/kept", dir);
	CU_ASSERT_EQUAL(mkdir(path, 0777), 0);
	ckpt_help_quiet(true);
	save(3);
	ckpt_help_quiet(false);
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 3);
	CU_ASSERT(!ckpt_help_exists(dir, "step-00000001"));
	CU_ASSERT_EQUAL(ckpt_help_count(dir, ".tmp-old-"), 1);
	ckpt_help_remove(dir);
}

static void flip(const char *name)
{
	char path[600];
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r+b");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fseek(f, -1, SEEK_END);
	c = fgetc(f);
	fseek(f, -1, SEEK_END);
	fputc(c ^ 4, f);
	fclose(f);
}

static void latest_falls_back(void)
{
	static const char *const bad[] = {"",           "\n",  "step-00000009\n", "../step-00000003\n", "step-3\n",
					  "step-00000003",
					  "LATEST\n", "x\n", ".\n",             "step-00000003/\n",   "/\n"};
	char path[600], *found;

	ckpt_help_folder(dir);
	MR_CHECK_FAIL(mr_checkpoint_latest(dir, &found), MR_ECKPT, "there is no checkpoint");
	save(2);
	save(3);
	ckpt_help_quiet(true);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ckpt_help_write(dir, "LATEST", bad[i], strlen(bad[i]));
		CU_ASSERT_EQUAL(ckpt_help_latest(dir), 3);
	}
	ckpt_help_write(dir, "LATEST", "step-00000002\n", 14); /* whole and named: it counts, though older */
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 2);
	snprintf(path, sizeof(path), "%s/LATEST", dir);
	CU_ASSERT_EQUAL(unlink(path), 0);
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 3);
	CU_ASSERT_EQUAL(symlink("step-00000002", path), 0);
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 3);
	CU_ASSERT_EQUAL(unlink(path), 0);
	ckpt_help_write(dir, "LATEST", "step-00000003\n", 14);
	flip("step-00000003/optimizer.safetensors");
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 2);
	flip("step-00000002/MANIFEST.json");
	MR_CHECK_FAIL(mr_checkpoint_latest(dir, &found), MR_ECKPT, "no checkpoint can be used: ");
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(),
				      "step-00000003: optimizer.safetensors: damaged between bytes 0 and 4128"));
	flip("step-00000003/optimizer.safetensors");
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 3);
	ckpt_help_quiet(false);
	CU_ASSERT_PTR_NULL(found);
	MR_CHECK_FAIL(mr_checkpoint_latest("/nowhere/at/all", &found), MR_ECKPT, "there is no checkpoint");
	ckpt_help_remove(dir);
}

static void every_flip_and_every_cut_is_seen(void)
{
	static const char *const names[] = {"model.safetensors", "optimizer.safetensors", "MANIFEST.json"};
	mr_checkpoint *c;
	char *path;
	uint64_t tried = 0, missed = 0;

	ckpt_help_folder(dir);
	MR_CHECK_OK(ckpt_help_save(dir, 5, false, 0, 0, &path));
	CU_ASSERT_EQUAL(ckpt_help_check(path), 5);
	ckpt_help_quiet(true);
	for (size_t k = 0; k < 3; k++) {
		size_t len;
		unsigned char *bytes = ckpt_help_read(path, names[k], &len);

		for (size_t i = 0; i < len; i++, tried++) { /* the bit wanders through the byte */
			bytes[i] ^= (unsigned char)(1u << i % 8);
			ckpt_help_write(path, names[k], bytes, len);
			missed += ckpt_help_check(path) != -1;
			bytes[i] ^= (unsigned char)(1u << i % 8);
		}
		for (size_t cut = 0; cut < len; cut++, tried++) {
			ckpt_help_write(path, names[k], bytes, cut);
			missed += ckpt_help_check(path) != -1;
		}
		bytes[len] = 0; /* there is room for one more */
		ckpt_help_write(path, names[k], bytes, len + 1);
		CU_ASSERT_EQUAL(mr_checkpoint_open(path, &c), MR_ECKPT); /* sizes are seen before anything is read */
		CU_ASSERT_EQUAL(ckpt_help_check(path), -1);
		ckpt_help_write(path, names[k], bytes, len);
		free(bytes);
	}
	ckpt_help_quiet(false);
	CU_ASSERT_EQUAL(missed, 0);
	CU_ASSERT(tried > 17000);
	CU_ASSERT_EQUAL(ckpt_help_check(path), 5);
	free(path);
	ckpt_help_remove(dir);
}

/* A file of two MiB and a part of a third: a bit anywhere in any of the three, or one byte more or less. */
static void every_mib_is_verified(void)
{
	enum { MIB = 1 << 20, SIZE = 2 * MIB + 5000 };
	static const size_t at[] = {0,	     1,	      MIB / 2,	   MIB - 4097,	  MIB - 1,  MIB,       MIB + 4096,
				    2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 2 * MIB + 2500, SIZE - 4, SIZE - 1};
	static unsigned char bytes[SIZE];
	mr_crc_file f;
	int folder, fd;

	ckpt_help_folder(dir);
	folder = open(dir, O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
	MR_CHECK_OK(mr_crc_file_create(&f, folder, "three"));
	for (size_t i = 0, n; i < SIZE; i += n) { /* in pieces that meet the blocks everywhere */
		n = SIZE - i < 300007 ? SIZE - i : 300007;
		MR_CHECK_OK(mr_crc_file_write(&f, bytes + i, n));
	}
	MR_CHECK_OK(mr_crc_file_finish(&f));
	CU_ASSERT(f.size == SIZE && f.n_crcs == 3);
	fd = openat(folder, "three", O_RDWR);
	MR_CHECK_OK(mr_crc_file_verify(fd, "three", SIZE, f.crcs, f.n_crcs, 2));
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		unsigned char wrong = bytes[at[i]] ^ 16;

		CU_ASSERT_EQUAL(pwrite(fd, &wrong, 1, (off_t)at[i]), 1);
		MR_CHECK_FAIL(mr_crc_file_verify(fd, "three", SIZE, f.crcs, f.n_crcs, 2), MR_ECKPT,
			      "damaged between bytes");
		CU_ASSERT_EQUAL(pwrite(fd, &bytes[at[i]], 1, (off_t)at[i]), 1);
	}
	MR_CHECK_OK(mr_crc_file_verify(fd, "three", SIZE, f.crcs, f.n_crcs, 2));
	for (int more = -1; more <= 1; more += 2) {
		CU_ASSERT_EQUAL(ftruncate(fd, SIZE + more), 0);
		MR_CHECK_FAIL(mr_crc_file_verify(fd, "three", SIZE, f.crcs, f.n_crcs, 2), MR_ECKPT, "expected 2102152");
	}
	close(fd);
	close(folder);
	mr_crc_file_fini(&f);
	ckpt_help_remove(dir);
}

/* As a save writes it: by several threads, past the page cache where there is such a way, from pieces that lie well and
 * from pieces that do not. Of several damaged blocks the first is reported. */
static void files_of_several_threads(void)
{
	enum { MIB = 1 << 20, SIZE = 33 * MIB + 12345 };
	static const size_t ends[][4] = {{4096, SIZE, SIZE, SIZE}, {1, 0, 20 * MIB + 3, SIZE}};
	unsigned char *bytes = aligned_alloc(4096, 34 * MIB), *back;
	mr_crc_file f;
	size_t len;
	int folder;

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
	ckpt_help_folder(dir);
	folder = open(dir, O_RDONLY | O_DIRECTORY);
	for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
		mr_crc_piece piece[4];
		size_t at = 0;
		int fd;

		for (int i = 0; i < 4; i++) {
			size_t end = ends[k][i] > at ? ends[k][i] : at;

			piece[i] = (mr_crc_piece){.data = bytes + at, .bytes = end - at};
			at = end;
		}
		MR_CHECK_OK(mr_crc_file_create(&f, folder, "many"));
		f.n_threads = 3;
		MR_CHECK_OK(mr_crc_blocks_write(&f, piece, 4));
		MR_CHECK_OK(mr_crc_file_finish(&f));
		CU_ASSERT(f.size == SIZE && f.n_crcs == 34);
		back = ckpt_help_read(dir, "many", &len);
		CU_ASSERT(len == SIZE && !memcmp(back, bytes, SIZE));
		free(back);
		for (size_t b = 0; b < f.n_crcs; b += 7)
			CU_ASSERT_EQUAL(f.crcs[b], mr_crc32c(0, bytes + b * MIB, b < 33 ? MIB : 12345));
		fd = openat(folder, "many", O_RDWR);
		CU_ASSERT(pwrite(fd, "??", 2, 10 * MIB + 7) == 2 && pwrite(fd, "??", 2, 30 * MIB + 7) == 2);
		for (uint32_t n = 1; n <= 3; n += 2)
			MR_CHECK_FAIL(mr_crc_file_verify(fd, "many", SIZE, f.crcs, f.n_crcs, n), MR_ECKPT,
				      "damaged between bytes 10485760 and 11534336");
		CU_ASSERT(pwrite(fd, "??", 2, 6 * MIB + 7) == 2 && pwrite(fd, "??", 2, 3 * MIB + 7) == 2);
		for (int i = 0; i < 4; i++) /* two threads meet these at the same time, in any order */
			MR_CHECK_FAIL(mr_crc_file_verify(fd, "many", SIZE, f.crcs, f.n_crcs, 2), MR_ECKPT,
				      "damaged between bytes 3145728 and 4194304");
		CU_ASSERT(pwrite(fd, bytes + 6 * MIB + 7, 2, 6 * MIB + 7) == 2 &&
			  pwrite(fd, bytes + 3 * MIB + 7, 2, 3 * MIB + 7) == 2);
		close(fd);
		fd = openat(folder, "many", O_RDONLY | O_DIRECT);
		if (fd >= 0)
			MR_CHECK_FAIL(mr_crc_file_verify(fd, "many", SIZE, f.crcs, f.n_crcs, 2), MR_ECKPT,
				      "damaged between bytes 10485760 and 11534336");
		close(fd);
		CU_ASSERT_EQUAL(unlinkat(folder, "many", 0), 0);
		mr_crc_file_fini(&f);
	}
	close(folder);
	free(bytes);
	ckpt_help_remove(dir);
}

#ifdef MR_FAULTS
/* A file system that reserves no room; one that is opened past the page cache and then refuses to write so. */
static void file_systems_that_lack_calls(void)
{
	enum { MIB = 1 << 20, SIZE = 2 * MIB + 12345 };
	static const struct {
		const char *call;
		int err;
	} lacks[] = {
		{"checkpoint.allocate", EOPNOTSUPP},
		{"checkpoint.allocate", ENOSYS},
		{"checkpoint.write", EINVAL},
	};
	unsigned char *bytes = aligned_alloc(4096, 3 * MIB), *back;
	mr_crc_piece piece = {.data = bytes, .bytes = SIZE};
	mr_crc_file f;
	size_t len;
	int folder;

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	memset(bytes, 7, SIZE);
	ckpt_help_folder(dir);
	folder = open(dir, O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
		MR_CHECK_OK(mr_crc_file_create(&f, folder, "lacks"));
		if (f.direct >= 0 || i < 2) {
			mr_fault_set_fail(lacks[i].call, 1, lacks[i].err);
			MR_CHECK_OK(mr_crc_blocks_write(&f, &piece, 1));
			mr_fault_set_fail(NULL, 0, 0);
			MR_CHECK_OK(mr_crc_file_finish(&f));
			back = ckpt_help_read(dir, "lacks", &len);
			CU_ASSERT(len == SIZE && !memcmp(back, bytes, SIZE));
			free(back);
		}
		CU_ASSERT_EQUAL(unlinkat(folder, "lacks", 0), 0);
		mr_crc_file_fini(&f);
	}
	close(folder);
	free(bytes);
	ckpt_help_remove(dir);
}
#endif

static void files_that_are_not_files(void)
{
	mr_checkpoint *c;
	char *path, file[600], copy[600], link[600];

	ckpt_help_folder(dir);
	MR_CHECK_OK(ckpt_help_save(dir, 5, false, 0, 0, &path));
	snprintf(file, sizeof(file), "%s/model.safetensors", path);
	snprintf(copy, sizeof(copy), "%s/elsewhere", dir);
	snprintf(link, sizeof(link), "%s/step-00000006", dir);
	CU_ASSERT_EQUAL(rename(file, copy), 0);
	MR_CHECK_FAIL(mr_checkpoint_open(path, &c), MR_ECKPT, "model.safetensors: No such file");
	CU_ASSERT_EQUAL(symlink("../elsewhere", file), 0);
	MR_CHECK_FAIL(mr_checkpoint_open(path, &c), MR_ECKPT, "model.safetensors: is not a regular file");
	CU_ASSERT_EQUAL(unlink(file), 0);
	CU_ASSERT_EQUAL(mkdir(file, 0777), 0);
	MR_CHECK_FAIL(mr_checkpoint_open(path, &c), MR_ECKPT, "model.safetensors: is not a regular file");
	CU_ASSERT_EQUAL(rmdir(file), 0);
	CU_ASSERT_EQUAL(rename(copy, file), 0);
	MR_CHECK_OK(mr_checkpoint_open(path, &c));
	mr_checkpoint_close(c);
	CU_ASSERT_EQUAL(symlink("step-00000005", link), 0);
	CU_ASSERT_EQUAL(mr_checkpoint_open(link, &c), MR_ECKPT);
	snprintf(file, sizeof(file), "%s/MANIFEST.json", path);
	CU_ASSERT_EQUAL(rename(file, copy), 0);
	CU_ASSERT_EQUAL(symlink("../elsewhere", file), 0);
	MR_CHECK_FAIL(mr_checkpoint_open(path, &c), MR_ECKPT, "MANIFEST.json: cannot open");
	free(path);
	ckpt_help_remove(dir);
}

/* Manifests with a right checksum and wrong contents. */
static void forged_manifests(void)
{
#define HEAD "{\"format\":\"millrace-checkpoint\",\"version\":1,\"step\":5,\"facts\":{},\"files\":"
#define FILE_OF(name) "{\"name\":\"" name "\",\"bytes\":1,\"crc32c_per_mib\":[1383945041]}"
	static const struct {
		const char *text, *part;
	} cases[] = {
		{HEAD "[" FILE_OF("../x") "]", "a file is called \"../x\""},
		{HEAD "[" FILE_OF("/etc/passwd") "]", "a file is called \"/etc/passwd\""},
		{HEAD "[" FILE_OF("..") "]", "a file is called \"..\""},
		{HEAD "[" FILE_OF("") "]", "a file is called \"\""},
		{HEAD "[" FILE_OF(".hidden") "]", "a file is called \".hidden\""},
		{HEAD "[" FILE_OF("a/b") "]", "a file is called \"a/b\""},
		{HEAD "[" FILE_OF("MANIFEST.json") "]", "a file is called \"MANIFEST.json\""},
		{HEAD "[" FILE_OF("x") "," FILE_OF("x") "]", "lists \"x\" twice"},
		{HEAD "[" FILE_OF("y") "]", "y: No such file"},
		{HEAD "[{\"name\":\"x\",\"bytes\":-1,\"crc32c_per_mib\":[]}]", "no size and checksums of \"x\""},
		{HEAD "[{\"name\":\"x\",\"bytes\":1.0,\"crc32c_per_mib\":[]}]", "no size and checksums of \"x\""},
		{HEAD "[{\"name\":\"x\",\"bytes\":1,\"crc32c_per_mib\":1}]", "no size and checksums of \"x\""},
		{HEAD "[{\"name\":\"x\",\"bytes\":1,\"crc32c_per_mib\":[\"1\"]}]", "checksum 0 of \"x\""},
		{HEAD "[{\"name\":\"x\",\"bytes\":1,\"crc32c_per_mib\":[4294967296]}]", "checksum 0 of \"x\""},
		{HEAD "[{\"name\":\"x\",\"bytes\":1,\"crc32c_per_mib\":[]}]", "0 checksums for 1 bytes"},
		{HEAD "[{\"name\":\"x\",\"bytes\":1,\"crc32c_per_mib\":[1,2]}]", "2 checksums for 1 bytes"},
		{HEAD "[{\"name\":\"x\",\"bytes\":2,\"crc32c_per_mib\":[1]}]", "x: 1 bytes, expected 2"},
		{HEAD "[{\"name\":\"x\",\"bytes\":1,\"crc32c_per_mib\":[1]}]", "expected 00000001"},
		{HEAD "[]", "lists no file, expected at least one"},
		{"{\"format\":\"millrace-checkpoint\",\"version\":1,\"step\":9223372036854775807,\"facts\":{},"
		 "\"files\":[" FILE_OF("x") "]",
		 "step 9223372036854775807, expected at most 1000000000000000"},
		{HEAD "[7]", "a file is called \"\""},
		{HEAD "{}", "no step or no list of files"},
		{"{\"format\":\"other\",\"version\":1,\"step\":5,\"facts\":{},\"files\":[]", "format \"other\""},
		{"{\"version\":1,\"step\":5,\"facts\":{},\"files\":[]", "format \"\""},
		{"{\"format\":\"millrace-checkpoint\",\"version\":2,\"step\":5,\"facts\":{},\"files\":[]", "version 2"},
		{"{\"format\":\"millrace-checkpoint\",\"version\":1,\"step\":-5,\"facts\":{},\"files\":[]", "no step"},
		{"{\"format\":\"millrace-checkpoint\",\"version\":1,\"step\":5,\"facts\":{\"a\":1},\"files\":[]",
		 "fact \"a\""},
		{"{\"format\":\"millrace-checkpoint\",\"version\":1,\"step\":5,\"facts\":[],\"files\":[]",
		 "facts are array"},
		{"{\"format\":\"millrace-checkpoint\",\"version\":1,\"version\":1,\"step\":5", "MANIFEST.json:"},
		{"{\"format\":", "MANIFEST.json:"},
	};
	char text[2048], step_dir[600];
	mr_checkpoint *c;

	ckpt_help_folder(dir);
	snprintf(step_dir, sizeof(step_dir), "%s/step-00000005", dir);
	mkdir(step_dir, 0777);
	ckpt_help_write(step_dir, "x", "a", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *body = cases[i].text;
		mr_status st;

		snprintf(text, sizeof(text), "%s,\n\t\"manifest_crc32c\": \"%08x\"\n}\n", body,
			 mr_crc32c(0, body, strlen(body)));
		ckpt_help_write(step_dir, "MANIFEST.json", text, strlen(text));
		st = mr_checkpoint_open(step_dir, &c);
		if (st == MR_OK)
			st = mr_checkpoint_verify(c);
		mr_checkpoint_close(c);
		CU_ASSERT_EQUAL(st, MR_ECKPT);
		if (!strstr(mr_error_text(), cases[i].part))
			fprintf(stderr, "\n%s\n", mr_error_text());
		CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), cases[i].part));
	}
	ckpt_help_remove(dir);
}

/* A step's folder under another step's name would be resumed as that. */
static void renamed_folder(void)
{
	char from[600], to[600], *path;

	ckpt_help_folder(dir);
	MR_CHECK_OK(ckpt_help_save(dir, 5, false, 4, 0, NULL));
	MR_CHECK_OK(ckpt_help_save(dir, 7, false, 4, 0, NULL));
	snprintf(from, sizeof(from), "%s/step-00000007", dir);
	snprintf(to, sizeof(to), "%s/step-00000070", dir);
	CU_ASSERT_EQUAL_FATAL(rename(from, to), 0);
	MR_CHECK_FAIL(mr_checkpoint_check(dir, "step-00000070"), MR_ECKPT,
		      "says step 7, which does not suit the folder's name");
	ckpt_help_quiet(true);
	MR_CHECK_OK(mr_checkpoint_latest(dir, &path));
	ckpt_help_quiet(false);
	CU_ASSERT_PTR_NOT_NULL(strstr(path, "step-00000005"));
	free(path);
	ckpt_help_remove(dir);
}

static void too_large_for_the_disk(void)
{
	size_t bytes = (size_t)1 << 45; /* only promised, never touched */
	void *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	mr_saved_tensor t = {"w", MR_U8, 1, {(int64_t)bytes}, data, bytes, 0};
	mr_checkpoint_shard part = {"model.safetensors", &t, 1, NULL, 0, NULL, 0};
	mr_checkpoint_content c = {.step = 9, .parts = &part, .n_parts = 1};

	ckpt_help_folder(dir);
	save(1);
	CU_ASSERT(mr_checkpoint_bytes(&c) > bytes);
	MR_CHECK_FAIL(mr_checkpoint_save(dir, &c, NULL), MR_ERESOURCE, "a checkpoint needs 32 TiB (3518");
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "are free"));
	CU_ASSERT_EQUAL(ckpt_help_count(dir, ""), 4); /* . .. LATEST step-00000001 */
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 1);
	MR_CHECK_OK(mr_checkpoint_preflight(dir, 1, 1));
	MR_CHECK_OK(mr_checkpoint_preflight("not-there-yet", 1, 1));
	MR_CHECK_OK(mr_checkpoint_preflight("/not-there-yet", 0, 1));
	MR_CHECK_FAIL(mr_checkpoint_preflight("/not/there/yet", 1, 1), MR_EIO, "No such file");
	if (data != MAP_FAILED)
		munmap(data, bytes);
	ckpt_help_remove(dir);
}

/* A run that was stopped has its checkpoints on the disk already, and goes on in the room that they leave. */
static void checkpoints_that_are_there_count(void)
{
	struct statvfs disk;
	uint64_t most;

	ckpt_help_folder(dir);
	CU_ASSERT_EQUAL_FATAL(statvfs(dir, &disk), 0);
	most = (uint64_t)disk.f_bavail * disk.f_frsize / 5 * 3; /* there is room for one of these, not for two */
	MR_CHECK_OK(mr_checkpoint_preflight(dir, most, 1));
	MR_CHECK_FAIL(mr_checkpoint_preflight(dir, most, 2), MR_ERESOURCE, "2 checkpoints that are there at once need");
	save(1);
	MR_CHECK_OK(mr_checkpoint_preflight(dir, most, 2));
	MR_CHECK_FAIL(mr_checkpoint_preflight(dir, most, 3), MR_ERESOURCE, "2 checkpoints");
	MR_CHECK_FAIL(mr_checkpoint_preflight(dir, 2 * most, 1), MR_ERESOURCE, "a checkpoint needs");
	MR_CHECK_FAIL(mr_checkpoint_preflight(dir, most, UINT64_MAX), MR_ERESOURCE,
		      "checkpoints that are there at once need");
	save(2);
	MR_CHECK_OK(mr_checkpoint_preflight(dir, most, 2));
	MR_CHECK_FAIL(mr_checkpoint_preflight(dir, 2 * most, 2), MR_ERESOURCE, "a checkpoint needs");
	ckpt_help_remove(dir);
}

static void names_of_files(void)
{
	static const char *const bad[] = {"", ".x", "..", "a/b", "/a", "MANIFEST.json"};
	mr_checkpoint_shard parts[2] = {{.name = "a"}, {.name = "a"}};
	mr_checkpoint_content c = {.parts = parts, .n_parts = 1};

	ckpt_help_folder(dir);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		parts[0].name = bad[i];
		MR_CHECK_FAIL(mr_checkpoint_save(dir, &c, NULL), MR_EINVAL, "cannot be called");
	}
	parts[0].name = "a";
	c.n_parts = 2;
	MR_CHECK_FAIL(mr_checkpoint_save(dir, &c, NULL), MR_EINVAL, "two files");
	c.n_parts = 1; /* no tensors at all is legal */
	MR_CHECK_OK(mr_checkpoint_save(dir, &c, NULL));
	CU_ASSERT_EQUAL(ckpt_help_count(dir, "step-00000000"), 1);
	ckpt_help_remove(dir);
}

static void make_temp(const char *what, long pid)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/.tmp-%s-%ld-0123abcd", dir, what, pid);
	mkdir(path, 0777);
	ckpt_help_write(path, "model.safetensors", "half", 4);
}

static void sweep(void)
{
	pid_t dead = fork();

	if (dead == 0)
		_exit(0);
	waitpid(dead, NULL, 0);
	ckpt_help_folder(dir);
	save(1);
	make_temp("2", dead);
	make_temp("3", getppid());
	make_temp("4", getpid());
	make_temp("old", dead);
	make_temp("x", 0);
	ckpt_help_write(dir, ".tmp-LATEST-999999999-01234567", "step", 4);
	ckpt_help_write(dir, ".tmp-notes", "mine", 4);
	mr_checkpoint_sweep(dir);
	CU_ASSERT_EQUAL(ckpt_help_count(dir, ".tmp-"), 3);
	CU_ASSERT_EQUAL(ckpt_help_count(dir, ".tmp-3-"), 1); /* its process lives */
	CU_ASSERT(ckpt_help_exists(dir, ".tmp-notes"));
	CU_ASSERT_EQUAL(ckpt_help_count(dir, ".tmp-x-0-"), 1);
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 1);
	mr_checkpoint_sweep("/nowhere/at/all");
	ckpt_help_remove(dir);
}

static void lock_of_a_run(void)
{
	char expected[64];
	int lock, other, status;
	pid_t child;

	ckpt_help_folder(dir);
	MR_CHECK_OK(mr_run_lock(dir, &lock));
	snprintf(expected, sizeof(expected), "process %ld is running there", (long)getpid());
	MR_CHECK_FAIL(mr_run_lock(dir, &other), MR_ERESOURCE, expected);
	CU_ASSERT(other < 0);
	mr_run_unlock(other);
	child = fork();
	if (child == 0)
		_exit(mr_run_lock(dir, &other) == MR_ERESOURCE ? 0 : 1);
	waitpid(child, &status, 0);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	mr_run_unlock(lock);
	child = fork(); /* a holder that is killed leaves no lock */
	if (child == 0) {
		if (mr_run_lock(dir, &other) != MR_OK)
			_exit(1);
		raise(SIGKILL);
	}
	waitpid(child, &status, 0);
	CU_ASSERT(WIFSIGNALED(status));
	MR_CHECK_OK(mr_run_lock(dir, &lock));
	mr_run_unlock(lock);
	MR_CHECK_FAIL(mr_run_lock("/nowhere/at/all", &lock), MR_EIO, "cannot open");
	ckpt_help_remove(dir);
}

void mr_suite_checkpoint_io(void);
void mr_suite_checkpoint_io(void)
{
	MR_SUITE("checkpoint_io");
	MR_TEST(saved_is_found);
	MR_TEST(rotation);
	MR_TEST(kept_for_ever);
	MR_TEST(steps_that_come_again);
	MR_TEST(what_cannot_be_deleted_is_a_warning);
	MR_TEST(latest_falls_back);
	MR_TEST(every_flip_and_every_cut_is_seen);
	MR_TEST(every_mib_is_verified);
	MR_TEST(files_of_several_threads);
#ifdef MR_FAULTS
	MR_TEST(file_systems_that_lack_calls);
#endif
	MR_TEST(files_that_are_not_files);
	MR_TEST(forged_manifests);
	MR_TEST(renamed_folder);
	MR_TEST(too_large_for_the_disk);
	MR_TEST(names_of_files);
	MR_TEST(checkpoints_that_are_there_count);
	MR_TEST(sweep);
	MR_TEST(lock_of_a_run);
}
