/* test_folders.c - training on a folder of images: several decoding threads, the same bits; a file that goes bad. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "rig.h"

#define STEPS 12

/* 6 images of each of two classes, @rows x @cols and a little more; @dir/t/. */
static void save_images(const char *dir, int rows, int cols)
{
	unsigned char *pixels = malloc((size_t)(3 * (rows + 12) * cols));
	char path[200];

	for (int i = 0; i < 12; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/t", dir);
		mkdir(path, 0777);
		snprintf(path, sizeof(path), "%s/t/%s", dir, i % 2 ? "odd" : "even");
		mkdir(path, 0777);
		snprintf(path, sizeof(path), "%s/t/%s/%02d.ppm", dir, i % 2 ? "odd" : "even", i);
		f = fopen(path, "wb");
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		fprintf(f, "P6 %d %d 255\n", cols, rows + i);
		for (int p = 0; p < 3 * (rows + i) * cols; p++)
			pixels[p] = (unsigned char)(p % 1000 * (p % 1000) / 7 + i * 40);
		CU_ASSERT_EQUAL(fwrite(pixels, (size_t)(3 * cols), (size_t)(rows + i), f), (size_t)(rows + i));
		fclose(f);
	}
	free(pixels);
}

static void open_rig(rig *r, const char *system, int loaders, int rows, int cols)
{
	rig_init(r);
	save_images(r->dir, rows, cols);
	rig_sets(r, "data.name=images data.size=8 train.batch=6 train.steps=12 model.width=8");
	rig_set(r, "data.path=%s/t", r->dir);
	rig_set(r, "system.name=%s", system);
	rig_set(r, "train.microbatches=%d", strcmp(system, "pipedream") ? 2 : 1);
	rig_set(r, "machine.loaders=%d", loaders);
	rig_set(r, "machine.memory_limit=%d", 512 << 20); /* a program with sanitizers alone takes 200 MiB */
	rig_open(r);
	CU_ASSERT_EQUAL_FATAL(r->s.data->n_train, 10);
	CU_ASSERT_FATAL(r->s.data->bytes.reading > 0);
}

static void loaders_change_no_bit(void)
{
	static const char *const systems[] = {"pipedream", "1f1b", "chimera"};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		rig_result one = {0}, three = {0}, replayed = {0};
		rig r;

		open_rig(&r, systems[i], 1, 14, 20);
		rig_train(&r, STEPS, true, &one);
		if (!RIG_TSAN)
			rig_replay(&r, STEPS, MR_REPLAY_RANDOM, 5, &replayed);
		rig_fini(&r);
		open_rig(&r, systems[i], 3, 14, 20);
		rig_train(&r, STEPS, true, &three);
		rig_fini(&r);
		CU_ASSERT_TRUE(rig_equal(&one, &three, false, systems[i]));
		CU_ASSERT_TRUE(RIG_TSAN || rig_equal_weights(&one, &replayed, systems[i]));
		rig_result_fini(&one);
		rig_result_fini(&three);
		rig_result_fini(&replayed);
	}
}

/* More pixels than an eighth of the memory: they stay on the disk, and each image is decoded when it is needed. A
 * file that is truncated meanwhile ends the training with a message, once it is needed. */
static void a_file_goes_bad(void)
{
	for (int loaders = RIG_TSAN ? 3 : 1; loaders <= 3; loaders += 2) {
		char path[200];
		uint64_t reached;
		rig r;

		open_rig(&r, "pipedream", loaders, 1400, 1600);
		CU_ASSERT(r.s.data->bytes.on_disk > (uint64_t)64 << 20);
		rig_start(&r);
		rig_run(&r, 4, NULL);
		snprintf(path, sizeof(path), "%s/t/odd/03.ppm", r.dir);
		CU_ASSERT_EQUAL(truncate(path, 1000), 0);
		MR_CHECK_FAIL(mr_executor_run(&r.s.executor, STEPS, NULL, NULL, &reached), MR_EDATA, "/t/odd/03.ppm: ");
		/* a loader that is reading the file at that moment meets its end */
		CU_ASSERT(strstr(mr_error_text(), "bytes behind the head, but 1600 x 1403 pixels are 6734400") ||
			  strstr(mr_error_text(), "the file was shortened while it was in use: nothing is left at"));
		rig_fini(&r);
	}
}

void mr_suite_folders(void);
void mr_suite_folders(void)
{
	MR_SUITE("folders");
	MR_TEST(loaders_change_no_bit);
	MR_TEST(a_file_goes_bad);
}
