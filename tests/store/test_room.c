/* What has the size that a file says is asked for before it takes memory: manifests, and headers of tensors. */
#include "base/room.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "ckpt_help.h"
#include "store/safetensors.h"

static char dir[512];

static mr_status open_raw(mr_safetensors **s)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	mr_status st = mr_safetensors_open(fd, "raw", NULL, s);

	close(fd);
	return st;
}

/* The header, its JSON and the list of its tensors are asked for before each of them takes memory. */
static void headers_are_judged(void)
{
	const size_t n = 3000; /* less than 256 KiB, which any process may take */
	size_t len = 0;
	char *text = NULL, path[600];
	FILE *f = open_memstream(&text, &len);
	mr_safetensors *s;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs("12345678", f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%c\"%zu\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%zu,%zu]}", i ? ',' : '{', i,
			i, i + 1);
	fputs("}", f);
	fclose(f);
	for (int i = 0; i < 8; i++)
		text[i] = (char)((len - 8) >> (8 * i));
	ckpt_help_folder(dir);
	snprintf(path, sizeof(path), "%s/raw", dir);
	ckpt_help_write(dir, "raw", text, len);
	CU_ASSERT_EQUAL(truncate(path, (off_t)(len + n)), 0);
	free(text);
	MR_CHECK_OK(open_raw(&s));
	CU_ASSERT_EQUAL(mr_safetensors_count(s), n);
	mr_safetensors_close(s);
	mr_room_limit(1);
	MR_CHECK_FAIL(open_raw(&s), MR_ERESOURCE, "raw: header: its JSON may take ");
	mr_room_limit(0);

	/* A header of 100 MB, none of which is read. */
	ckpt_help_write(dir, "raw", (const unsigned char[]){0, 0xe1, 0xf5, 5, 0, 0, 0, 0, '{', '}'}, 10);
	CU_ASSERT_EQUAL(truncate(path, 200000000), 0);
	mr_room_limit(1);
	MR_CHECK_FAIL(open_raw(&s), MR_ERESOURCE, "raw: its header may take 95 MiB of memory");
	mr_room_limit(0);
	ckpt_help_remove(dir);
}

/* A manifest of many checksums is asked for before it is read, and without memory no older checkpoint is tried. */
static void manifests_are_judged(void)
{
	char step_dir[600], name[700], *path;
	mr_checkpoint *c;

	ckpt_help_folder(dir);
	MR_CHECK_OK(ckpt_help_save(dir, 4, false, 0, 0, NULL));
	MR_CHECK_OK(ckpt_help_save(dir, 5, false, 0, 0, NULL));
	snprintf(step_dir, sizeof(step_dir), "%s/step-00000005", dir);
	snprintf(name, sizeof(name), "%s/MANIFEST.json", step_dir);
	CU_ASSERT_EQUAL(truncate(name, 60 << 20), 0);
	mr_room_limit(1);
	MR_CHECK_FAIL(mr_checkpoint_open(step_dir, &c), MR_ERESOURCE, "MANIFEST.json may take 60 MiB of memory");
	MR_CHECK_FAIL(mr_checkpoint_latest(dir, &path), MR_ERESOURCE, "MANIFEST.json may take 60 MiB of memory");
	mr_room_limit(0);
	ckpt_help_quiet(true);
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 4);
	ckpt_help_quiet(false);
	ckpt_help_remove(dir);
}

void mr_suite_room(void); /* the runner declares it too */

void mr_suite_room(void)
{
	MR_SUITE("room");

	MR_TEST(headers_are_judged);
	MR_TEST(manifests_are_judged);
}
