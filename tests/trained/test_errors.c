/* The worst samples, and which classes are taken for which, against lists that were made by hand. */
#include "trained/errors_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void worst(void)
{
	static const double loss[] = {1, 5, 3, 5, 0.5, 4, 2};
	mr_worst_list l = {.most = 4};

	for (size_t i = 0; i < sizeof(loss) / sizeof(loss[0]); i++)
		mr_worst_take(&l, &(mr_worst){.sample = i, .loss = loss[i]});
	CU_ASSERT_EQUAL(l.n, 4);
	CU_ASSERT(l.at[0].sample == 1 && l.at[1].sample == 3 && l.at[2].sample == 5 && l.at[3].sample == 2);
	/* one that is no number is worse than all */
	mr_worst_take(&l, &(mr_worst){.sample = 9, .loss = NAN});
	CU_ASSERT(l.n == 4 && l.at[0].sample == 9 && l.at[3].sample == 5);
}

static const char *name(const void *arg, size_t i, mr_strbuf *room)
{
	mr_strbuf_reset(room);
	mr_strbuf_printf(room, "%s%zu", (const char *)arg, i);
	return mr_strbuf_text(room);
}

static char *json_of(mr_confusion *c)
{
	mr_json_writer w;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	w = mr_json_begin(f, false);
	mr_confusion_put(c, name, "c", &w);
	MR_CHECK_OK(mr_json_finish(&w));
	fclose(f);
	return text;
}

static void confusion(void)
{
	static const size_t pair[][2] = {{0, 0}, {0, 1}, {2, 1}, {1, 1}, {2, 1}, {0, 1}, {2, 0}, {2, 1}};
	mr_confusion c;
	char *text;

	MR_CHECK_OK(mr_confusion_init(&c, 3, 8));
	for (size_t i = 0; i < 8; i++)
		mr_confusion_take(&c, pair[i][0], pair[i][1]);
	text = json_of(&c);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"accuracy\":0.25"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"confusion\":[[1,2,0],[0,1,0],[1,3,0]]"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "{\"class\":\"c1\",\"samples\":1,\"predictions\":6,\"right\":1}"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"confused\":[{\"target\":\"c2\",\"prediction\":\"c1\",\"samples\":3},"
					    "{\"target\":\"c0\",\"prediction\":\"c1\",\"samples\":2},"
					    "{\"target\":\"c2\",\"prediction\":\"c0\",\"samples\":1}]"));
	free(text);
	mr_confusion_fini(&c);
}

/* Very many classes have no matrix, and the pairs are those that occur most often: 20 of them. */
static void many_classes(void)
{
	mr_confusion c;
	char *text;
	size_t n = 0;

	MR_CHECK_OK(mr_confusion_init(&c, 50000, 5000));
	for (size_t i = 0; i < 90; i++)
		for (size_t k = 0; k <= i; k++)
			mr_confusion_take(&c, 500 * i, 500 * i + 7);
	text = json_of(&c);
	CU_ASSERT_PTR_NULL(strstr(text, "\"confusion\""));
	CU_ASSERT_PTR_NULL(strstr(text, "\"classes\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"confused\":[{\"target\":\"c44500\",\"prediction\":\"c44507\","
					    "\"samples\":90}"));
	for (const char *at = text; (at = strstr(at, "\"target\"")); at++)
		n++;
	CU_ASSERT_EQUAL(n, 20);
	free(text);
	mr_confusion_fini(&c);
}

/* Samples that are looked at are in order, all different, and the first is among them. */
static void spread(void)
{
	for (uint64_t n = 1; n <= 60; n++)
		for (uint64_t k = 1; k < n; k++)
			CU_ASSERT(mr_errors_sample(k, n, 60) > mr_errors_sample(k - 1, n, 60) &&
				  mr_errors_sample(k, n, 60) < 60);
	CU_ASSERT_EQUAL(mr_errors_sample(0, 7, 60), 0);
}

void mr_suite_errors(void);
void mr_suite_errors(void)
{
	MR_SUITE("errors");
	MR_TEST(worst);
	MR_TEST(confusion);
	MR_TEST(many_classes);
	MR_TEST(spread);
}
