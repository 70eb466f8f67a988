/* What is known of data goes through a text unharmed, in every source that differs, and no sample comes of it. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "data/absent.h"
#include "data_help.h"

static char dir[512];

static void write_files(void)
{
	char rows[4096] = "size,colour,shape,price\n", text[800];
	size_t n = strlen(rows);

	for (int i = 0; i < 60; i++)
		n += (size_t)snprintf(rows + n, sizeof(rows) - n, "%d,c%d,s%d,%d.25\n", i, i % 3, i % 7, i * i);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i * i / 7 % 26);
	data_help_folder(dir);
	data_help_write(dir, "rows.csv", rows, n);
	data_help_write(dir, "prose", text, sizeof(text));
}

static void goes_through(const char *source, const char *settings, int64_t context, const char *fact)
{
	const mr_data_want want = {.dtype = MR_F32, .seed = 5, .context = context, .batch = 4, .base_dir = dir};
	static unsigned char room[2][4096];
	mr_strbuf before = {0}, after = {0};
	mr_dataset *d, *far;

	MR_CHECK_OK(data_help_open(source, settings, &want, &d));
	mr_absent_print(d, true, &before);
	MR_CHECK_OK(mr_absent_create(d->ops, mr_strbuf_text(&before), &far));
	mr_absent_print(far, true, &after);
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&before), mr_strbuf_text(&after));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&after), fact));
	CU_ASSERT(mr_shape_same(d->input, far->input) && mr_shape_same(d->target, far->target));
	CU_ASSERT(d->n_train == far->n_train && d->n_valid == far->n_valid && d->fingerprint == far->fingerprint);
	CU_ASSERT(d->target_mean == far->target_mean && d->target_high == far->target_high);
	CU_ASSERT(d->image.n_dims == far->image.n_dims && d->ops->halves == far->ops->halves);
	CU_ASSERT_EQUAL(far->bytes.kept, 0);
	for (int64_t i = 0; d->values && i < d->input.cols - d->numbers; i++)
		CU_ASSERT_EQUAL(d->values[i], far->values[i]);
	MR_CHECK_OK(mr_dataset_load(far));
	MR_CHECK_OK(mr_dataset_check(far));
	far->ops->train(far, 0, room[0], room[1]);
	MR_CHECK_FAIL(mr_dataset_check(far), MR_EDATA, "a sample was asked of a rank that does not read the data");
	mr_dataset_close(far);
	mr_dataset_close(d);
	mr_strbuf_fini(&before);
	mr_strbuf_fini(&after);
}

static void every_sort(void)
{
	write_files();
	goes_through("csv", "path=rows.csv target=price target_scale=standard categories=colour,shape category=known "
		     "one_hot=0", 0, "the data (values of each category): 2 3 7\n");
	goes_through("text", "path=prose", 8, "the data (an input): 8 x 1 tokens\n");
	goes_through("text", "path=prose order=columns", 8, "the data (alphabet): 6162");
	goes_through("synthetic", "image=[4,5,3] classes=7 samples=50", 0, "the data (an input): 4 x 5 x 3 numbers\n");
	goes_through("captions", "frames=6 features=4", 0, "the data (frames of a sample): 6\n");
	goes_through("reversal", "samples=50", 0, "the data (classes of the source): ");
	goes_through("clicks", "numbers=2 categories=2 samples=60", 0, "the data (numbers of a sample): 2\n");
	CU_ASSERT_FALSE(mr_absent_in("the plan: 12\n"));
	data_help_remove(dir);
}

void mr_suite_absent(void);
void mr_suite_absent(void)
{
	MR_SUITE("absent");
	MR_TEST(every_sort);
}
