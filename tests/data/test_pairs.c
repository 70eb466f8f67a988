/* Pairs of sequences: sentences from a file, made-up reversals, and made-up videos with captions. */
#include <string.h>

#include "base/room.h"
#include "check.h"
#include "data_help.h"
#include "data/pair.h"

static char dir[512];

static const mr_data_want *want(void)
{
	static mr_data_want w;

	w = (mr_data_want){.dtype = MR_F32, .seed = 7, .base_dir = dir};
	return &w;
}

static void save(const char *text)
{
	data_help_write(dir, "p.txt", text, strlen(text));
}

static bool same(const int32_t *got, const int32_t *expected, size_t n)
{
	return memcmp(got, expected, n * sizeof(*got)) == 0;
}

/* Frequent words have low numbers, equal ones in the order of their bytes; validation pairs count for neither. */
static void words(void)
{
	static const int32_t first[] = {4, 6, 3, 0, 2, 5, 4, 4}, first_target[] = {5, 4, 4, 3};
	static const int32_t last[] = {1, 4, 3, 0, 2, 1, 0, 0}, last_target[] = {1, 3, 0, 0};
	int32_t input[8], target[4];
	mr_dataset *d;

	data_help_folder(dir);
	save("a  c \tx  y y\nb a\ty\na b a b\tz\nz a\tnew\n");
	MR_CHECK_OK(data_help_open("pairs", "path=p.txt length=3 validation=0.34", want(), &d));
	CU_ASSERT_EQUAL(d->n_train, 1);
	CU_ASSERT_EQUAL(d->n_valid, 2);
	mr_dataset_close(d);
	MR_CHECK_OK(data_help_open("pairs", "path=p.txt length=3 validation=0.3", want(), &d));
	CU_ASSERT_EQUAL(d->n_train, 2);
	CU_ASSERT_EQUAL(d->n_valid, 1);
	CU_ASSERT(d->input.rows == 8 && d->input.tokens && d->target.rows == 4 && d->target.tokens);
	CU_ASSERT_EQUAL(d->source_classes, MR_PAIR_FIRST + 3);
	CU_ASSERT_EQUAL(d->classes, MR_PAIR_FIRST + 2);
	for (uint64_t g = 0, seen = 0; g < 2; g++) {
		d->ops->train(d, g, input, target);
		if (target[1] == 4) {
			CU_ASSERT(same(input, first, 8));
			CU_ASSERT(same(target, first_target, 4));
			seen++;
		}
		CU_ASSERT(g == 0 || seen == 1);
	}
	d->ops->valid(d, 0, input, target);
	CU_ASSERT(same(input, last, 8));
	CU_ASSERT(same(target, last_target, 4));
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, "2 training and 1 validation pairs of up to 3 words"));
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* The fingerprint tells apart what gives other samples. */
static void vocabularies_are_limited(void)
{
	uint64_t all;
	mr_dataset *d;

	data_help_folder(dir);
	save("a b\ta\na c\tb b\n");
	MR_CHECK_OK(data_help_open("pairs", "path=p.txt validation=0", want(), &d));
	all = d->fingerprint;
	CU_ASSERT(d->source_classes == MR_PAIR_FIRST + 3 && d->classes == MR_PAIR_FIRST + 2);
	mr_dataset_close(d);
	MR_CHECK_OK(data_help_open("pairs", "path=p.txt validation=0 vocab=1", want(), &d));
	CU_ASSERT(d->source_classes == MR_PAIR_FIRST + 1 && d->classes == MR_PAIR_FIRST + 1);
	CU_ASSERT_NOT_EQUAL(d->fingerprint, all);
	mr_dataset_close(d);
	MR_CHECK_OK(data_help_open("pairs", "path=p.txt validation=0 length=9", want(), &d));
	CU_ASSERT_NOT_EQUAL(d->fingerprint, all);
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* Characters of one to four bytes, and a byte that is none; spaces count; lines may end as on other systems. */
static void characters(void)
{
	int32_t input[11], target[5];
	mr_dataset *d;

	data_help_folder(dir);
	save("\xc3\xa4 a\xff\tb\xe2\x82\xac\xf0\x9f\x98\x80\r\n\xc3\xa4\xc3\xa4\xc3\xa4\tbb\n");
	MR_CHECK_OK(data_help_open("pairs", "path=p.txt units=char length=4 validation=0", want(), &d));
	CU_ASSERT_EQUAL(d->n_train, 2);
	CU_ASSERT_EQUAL(d->source_classes, MR_PAIR_FIRST + 4);
	CU_ASSERT_EQUAL(d->classes, MR_PAIR_FIRST + 3);
	for (uint64_t g = 0; g < 2; g++) {
		d->ops->train(d, g, input, target);
		CU_ASSERT_EQUAL(input[0], 4); /* four of eight */
		CU_ASSERT_EQUAL(input[4], target[2] == MR_PAIR_END ? 0 : MR_PAIR_END);
		CU_ASSERT_EQUAL(target[0], 4);
	}
	mr_dataset_close(d);
	data_help_remove(dir);
}

static void refuse(const char *text, const char *settings, const char *part)
{
	mr_dataset *d;

	save(text);
	MR_CHECK_FAIL(data_help_open("pairs", settings, want(), &d), MR_EDATA, part);
}

static void wrong_files_are_one_message(void)
{
	const mr_data_want single = {.dtype = MR_F32, .base_dir = dir, .context = 8};
	mr_dataset *d;

	data_help_folder(dir);
	refuse("a\tb\nno tab here\n", "path=p.txt", "p.txt:2: no tab, expected a sentence, a tab and its translation");
	refuse("a\tb\tc\n", "path=p.txt", "p.txt:1: more than one tab");
	refuse("a\tb\n \tc\n", "path=p.txt", "p.txt:2: nothing before the tab");
	refuse("a\t\n", "path=p.txt", "p.txt:1: nothing after the tab");
	refuse("a b c\td\n", "path=p.txt length=2", "p.txt: all pairs have a sentence of more than length = 2 words");
	refuse("a\tb\n", "path=p.txt validation=0.5", "leaves none of 1 sample");
	refuse("", "path=p.txt", "p.txt");
	refuse("a\tb\n", "path=q.txt", "q.txt");
	MR_CHECK_FAIL(data_help_open("pairs", "path=p.txt", &single, &d), MR_ECONFIG, "the model takes single ones");
	MR_CHECK_FAIL(data_help_open("reversal", "", &single, &d), MR_ECONFIG, "the model takes single ones");
	MR_CHECK_FAIL(data_help_open("reversal", "shortest=9 longest=8", want(), &d), MR_ECONFIG,
		      "at least shortest = 9, got 8");
	data_help_remove(dir);
}

static void mistreated_files(void)
{
	static const char text[] = "eins zwei\tone two\ndrei\tthree\nvier\tfour\nf\xc3\xbcnf\tfive\n";

	data_help_folder(dir);
	data_help_mistreat("pairs", "path=p.txt length=4 validation=0.3", want(), "p.txt", (const unsigned char *)text,
			   sizeof(text) - 1, 1, false, sizeof(text) - 1);
	data_help_remove(dir);
}

/* Every sample is its letters and then the same backwards, of all lengths and letters. */
static void reversals(void)
{
	int32_t input[5 + 5], target[5], again[10];
	unsigned lengths = 0, letters = 0;
	mr_dataset *d;

	MR_CHECK_OK(
		data_help_open("reversal", "letters=3 shortest=2 longest=4 samples=200 validation=0.1", want(), &d));
	CU_ASSERT(d->n_train == 180 && d->n_valid == 20);
	CU_ASSERT(d->classes == MR_PAIR_FIRST + 3 && d->source_classes == d->classes);
	for (uint64_t g = 0; g < 200; g++) {
		int n = 0;

		if (g < 180)
			d->ops->train(d, g, input, target);
		else
			d->ops->valid(d, g - 180, input, target);
		while (input[n] >= MR_PAIR_FIRST)
			letters |= 1u << input[n++];
		lengths |= 1u << n;
		CU_ASSERT_EQUAL(input[n], MR_PAIR_END);
		CU_ASSERT_EQUAL(input[5], MR_PAIR_BEGIN);
		for (int i = 0; i < 5; i++) {
			CU_ASSERT_EQUAL(target[i], i < n ? input[n - 1 - i] : i == n ? MR_PAIR_END : MR_PAIR_PAD);
			CU_ASSERT(i == 4 || input[6 + i] == (i < n ? target[i] : MR_PAIR_PAD));
			CU_ASSERT(i <= n || input[i] == MR_PAIR_PAD);
		}
	}
	CU_ASSERT_EQUAL(lengths, 1u << 2 | 1u << 3 | 1u << 4);
	CU_ASSERT_EQUAL(letters, 7u << MR_PAIR_FIRST);
	d->ops->train(d, 3, input, target);
	d->ops->train(d, 3, again, target);
	CU_ASSERT(same(input, again, 10));
	mr_dataset_close(d);
}

/* Frames show the words of their caption in turn: without noise the same word always looks the same. */
static void frames_show_their_captions(void)
{
	enum { FRAMES = 7, FEATURES = 3, ALL = FRAMES * FEATURES, ROWS = 4, KINDS = 5 };
	int32_t input[ALL + ROWS], target[ROWS], look[MR_PAIR_FIRST + KINDS][FEATURES] = {{0}};
	unsigned lengths = 0, words = 0;
	mr_dataset *d;

	MR_CHECK_OK(data_help_open("captions",
				   "frames=7 features=3 words=5 shortest=1 longest=3 noise=0 samples=100 "
				   "validation=0.2",
				   want(), &d));
	CU_ASSERT(d->n_train == 80 && d->n_valid == 20 && d->frames == FRAMES && d->classes == MR_PAIR_FIRST + KINDS);
	CU_ASSERT(d->input.rows == ALL + ROWS && d->target.rows == ROWS);
	for (uint64_t g = 0; g < 100; g++) {
		int k = 0;

		if (g < 80)
			d->ops->train(d, g, input, target);
		else
			d->ops->valid(d, g - 80, input, target);
		CU_ASSERT_EQUAL(input[ALL], MR_PAIR_BEGIN);
		for (; target[k] >= MR_PAIR_FIRST; k++) {
			CU_ASSERT_EQUAL(input[ALL + k + 1], target[k]);
			CU_ASSERT(k == 0 || target[k] != target[k - 1]);
		}
		CU_ASSERT_EQUAL(target[k], MR_PAIR_END);
		lengths |= 1u << k;
		for (int i = 0; i < FRAMES; i++) {
			int32_t word = target[i * k / FRAMES];

			if (!(words >> word & 1))
				memcpy(look[word], input + i * FEATURES, sizeof(look[word]));
			words |= 1u << word;
			CU_ASSERT(same(input + i * FEATURES, look[word], FEATURES));
		}
	}
	CU_ASSERT_EQUAL(lengths, 1u << 1 | 1u << 2 | 1u << 3);
	CU_ASSERT_EQUAL(words, 31u << MR_PAIR_FIRST);
	CU_ASSERT(!same(look[MR_PAIR_FIRST], look[MR_PAIR_FIRST + 1], FEATURES));
	mr_dataset_close(d);
	MR_CHECK_FAIL(data_help_open("captions", "frames=4 longest=5", want(), &d), MR_ECONFIG,
		      "longest: expected at least shortest = 2 and at most frames = 4, got 5");
}

/* The words of a file may take many times its size: asked for before a vocabulary grows. */
static void vocabularies_are_judged(void)
{
	FILE *f;
	char *text;
	size_t len;
	mr_dataset *d;

	data_help_folder(dir);
	f = open_memstream(&text, &len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (int i = 0; i < 40000; i++)
		fprintf(f, "w%d\tz\n", i);
	fclose(f);
	data_help_write(dir, "p.txt", text, len);
	free(text);
	mr_room_limit(1);
	MR_CHECK_FAIL(data_help_open("pairs", "path=p.txt", want(), &d), MR_ERESOURCE,
		      "p.txt: a vocabulary may take ");
	mr_room_limit(0);
	MR_CHECK_OK(data_help_open("pairs", "path=p.txt", want(), &d));
	mr_dataset_close(d);
	data_help_remove(dir);
}

void mr_suite_pairs(void); /* the runner declares it too */

void mr_suite_pairs(void)
{
	MR_SUITE("pairs");
	MR_TEST(words);
	MR_TEST(vocabularies_are_limited);
	MR_TEST(vocabularies_are_judged);
	MR_TEST(characters);
	MR_TEST(wrong_files_are_one_message);
	MR_TEST(mistreated_files);
	MR_TEST(reversals);
	MR_TEST(frames_show_their_captions);
}
