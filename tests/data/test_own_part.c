/* Parts of the training data of a worker's own: together they are the list, and each is gone through before it begins
 * again, in every source, from a seed's random order or in that of the file. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "data/own_part.h"
#include "data_help.h"

#define ROOM 4096 /* bytes of a sample */
#define MOST 256  /* samples of a source here */

static char dir[512];

static void write_files(void)
{
	unsigned char images[16 + 12 * 4] = {0, 0, 8, 3, 0, 0, 0, 12, 0, 0, 0, 2, 0, 0, 0, 2};
	unsigned char labels[8 + 12] = {0, 0, 8, 1, 0, 0, 0, 12};
	char rows[2048] = "a,b,y\n", text[800];
	size_t n = strlen(rows);

	for (size_t i = 0; i < 12; i++) {
		images[16 + 4 * i] = (unsigned char)(i + 1);
		labels[8 + i] = (unsigned char)(i % 10);
	}
	for (int i = 0; i < 37; i++)
		n += (size_t)snprintf(rows + n, sizeof(rows) - n, "%d,%d,%d\n", i, i * i, i % 3);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i * i / 7 % 26);
	data_help_folder(dir);
	data_help_write(dir, "i", images, sizeof(images));
	data_help_write(dir, "l", labels, sizeof(labels));
	data_help_write(dir, "rows.csv", rows, n);
	data_help_write(dir, "prose", text, sizeof(text));
}

/* The list of @d, and how often each of its samples was given. */
typedef struct list {
	unsigned char sample[MOST][2 * ROOM];
	int given[MOST];
	size_t n;
} list;

static void read_list(const mr_dataset *d, list *l)
{
	memset(l, 0, sizeof(*l));
	l->n = d->n_train;
	CU_ASSERT_FATAL(l->n <= MOST);
	for (size_t i = 0; i < l->n; i++)
		d->ops->sample(d, i, 0, l->sample[i], l->sample[i] + ROOM);
}

/* Samples [@first, @end) of @l are the candidates; those that are equal are given in turns. */
static bool give(list *l, size_t first, size_t end, const unsigned char *sample)
{
	size_t best = end;

	for (size_t i = first; i < end; i++)
		if (!memcmp(l->sample[i], sample, sizeof(l->sample[i])) &&
		    (best == end || l->given[i] < l->given[best]))
			best = i;
	if (best < end)
		l->given[best]++;
	return best < end;
}

static void parts_make_up_the_list(const char *source, const char *settings, int64_t context)
{
	const mr_data_want want = {.dtype = MR_F32, .seed = 5, .context = context, .base_dir = dir};
	static unsigned char sample[2 * ROOM];
	list *l = malloc(sizeof(*l));
	mr_dataset *d;
	bool all = l != NULL;

	CU_ASSERT_FATAL(l != NULL);
	MR_CHECK_OK(data_help_open(source, settings, &want, &d));
	for (uint32_t n = 1; n <= 3; n++) {
		MR_CHECK_OK(mr_own_part_check(d, n));
		read_list(d, l);
		for (uint32_t p = 0; p < n; p++) {
			size_t first = l->n * p / n, end = l->n * (p + 1) / n;

			for (uint64_t g = 0; g < 2 * (end - first); g++) {
				memset(sample, 0, sizeof(sample));
				mr_own_part_train(d, p, n, g, sample, sample + ROOM);
				/* windows of text begin elsewhere behind as many samples as the whole text has */
				all &= (g >= l->n && !strcmp(source, "text")) || give(l, first, end, sample);
				if (g + 1 == end - first)
					for (size_t i = first; i < end; i++)
						all &= l->given[i] == 1;
			}
		}
		if (!all)
			printf("\n%s %s: %u parts are not its list\n", source, settings, n);
		CU_ASSERT(all);
	}
	mr_dataset_close(d);
	free(l);
}

static void every_source(void)
{
	write_files();
	parts_make_up_the_list("csv", "path=rows.csv target=y validation=0.2", 0);
	parts_make_up_the_list("mnist", "images=i labels=l validation=0.2", 0);
	parts_make_up_the_list("text", "path=prose", 8);
	parts_make_up_the_list("numbers", "x=[1,2,3,4,5] y=[2,3,4,5,6]", 0);
	parts_make_up_the_list("formula", "rows=20 features=3", 0);
	parts_make_up_the_list("synthetic", "features=4 samples=50", 0);
	parts_make_up_the_list("clicks", "numbers=2 categories=2 samples=60", 0);
	data_help_remove(dir);
}

static void what_has_no_parts(void)
{
	mr_data_want want = {.dtype = MR_F32, .seed = 5, .context = 8, .batch = 4, .base_dir = dir};
	mr_dataset *d;

	write_files();
	MR_CHECK_OK(data_help_open("text", "path=prose order=columns", &want, &d));
	MR_CHECK_FAIL(mr_own_part_check(d, 2), MR_ECONFIG,
		      "data \"text\" is read in columns that go through all of it");
	mr_dataset_close(d);
	want.context = 0;
	MR_CHECK_OK(data_help_open("mnist", "images=i labels=l validation=0", &want, &d));
	MR_CHECK_FAIL(mr_own_part_check(d, 13), MR_ECONFIG,
		      "data \"mnist\" has 12 training samples, too few for a part for each of 13 workers");
	mr_dataset_close(d);
	data_help_remove(dir);
}

void mr_suite_own_part(void);
void mr_suite_own_part(void)
{
	MR_SUITE("own_part");
	MR_TEST(every_source);
	MR_TEST(what_has_no_parts);
}
