/* test_grey.c - folders of grey pictures: how many channels a sample has, and what coloured ones become. */
#include <math.h>

#include "check.h"
#include "data_help.h"

static char dir[512];

/* Files up to @keep bytes are kept in memory. */
static const mr_data_want *want(uint64_t keep)
{
	static mr_data_want w;

	w = (mr_data_want){.dtype = MR_F32, .seed = 3, .base_dir = dir, .keep_bytes = keep};
	return &w;
}

/* Grey pictures have one channel, unless three are asked for; coloured ones when asked to. */
static void channels(void)
{
	static const char grey[] = "P5 2 2 255\n\000\100\200\377", red[] = "P6 2 2 255\n\377\0\0\377\0\0"
							   "\377\0\0\377\0\0";
	float x[12];
	mr_dataset *d;
	int32_t y;

	data_help_folder(dir);
	data_help_write(dir, "g/a/1.pgm", grey, sizeof(grey) - 1);
	data_help_write(dir, "g/b/1.pgm", grey, sizeof(grey) - 1);
	data_help_write(dir, "c/a/1.ppm", red, sizeof(red) - 1);
	data_help_write(dir, "c/b/1.pgm", grey, sizeof(grey) - 1);
	MR_CHECK_OK(data_help_open("images", "path=g size=2 crop=exact flip=false validation=0", want(1 << 20), &d));
	CU_ASSERT(d->input.n_dims == 3 && d->input.dim[2] == 1);
	d->ops->train(d, 0, x, &y);
	CU_ASSERT(fabsf(x[3] - (1 - 0.449F) / 0.226F) < 1e-5F && fabsf(x[0] + 0.449F / 0.226F) < 1e-5F);
	mr_dataset_close(d);
	MR_CHECK_OK(data_help_open("images", "path=g size=2 channels=rgb validation=0", want(1 << 20), &d));
	CU_ASSERT_EQUAL(d->input.dim[2], 3);
	mr_dataset_close(d);
	MR_CHECK_OK(data_help_open("images", "path=g size=2 validation=0 mean=[0.5,0.5,0.5]", want(1 << 20), &d));
	CU_ASSERT_EQUAL(d->input.dim[2], 3);
	mr_dataset_close(d);
	MR_CHECK_OK(data_help_open("images", "path=c size=2 validation=0", want(1 << 20), &d));
	CU_ASSERT_EQUAL(d->input.dim[2], 3);
	mr_dataset_close(d);
	for (uint64_t keep = 0; keep < 2; keep++) {
		MR_CHECK_OK(data_help_open("images",
					   "path=c size=2 crop=centre resize=2 flip=false channels=grey validation=0 "
					   "mean=[0] std=[1]", want(keep ? 1 : 1 << 20), &d));
		CU_ASSERT_EQUAL(d->input.dim[2], 1);
		for (uint64_t i = 0; i < 2; i++) {
			d->ops->train(d, i, x, &y);
			CU_ASSERT(y == 1 || fabsf(x[0] - 76 / 255.0F) < 1e-5F);
			CU_ASSERT(y == 0 || fabsf(x[3] - 1) < 1e-5F);
		}
		mr_dataset_close(d);
	}
	data_help_remove(dir);
}

void mr_suite_grey(void);
void mr_suite_grey(void)
{
	MR_SUITE("grey");
	MR_TEST(channels);
}
