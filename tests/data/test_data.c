/* Order, splits, vocabularies and numbers of all sources; what is wrong with files is in test_files.c. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "data/part.h"
#include "data/text.h"
#include "data_help.h"

static char dir[512];

static mr_data_want tokens_want(int64_t context, uint64_t seed)
{
	return (mr_data_want){.dtype = MR_F32, .seed = seed, .context = context, .base_dir = dir};
}

/* A text in which byte i has the value i mod 251, so that an excerpt shows where it starts. */
static void write_counting(const char *name, size_t n)
{
	static unsigned char bytes[700000];

	CU_ASSERT_FATAL(n <= sizeof(bytes));
	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)(i % 251);
	data_help_write(dir, name, bytes, n);
}

/* Windows of one epoch: inside the training part, one apart from their target, not overlapping, permuted. */
static void check_epoch(const mr_dataset *d, uint64_t epoch, uint64_t n_train, int32_t *first)
{
	int64_t t = d->input.rows;
	char seen[251] = {0};
	int32_t input[32], target[32];
	uint64_t ascending = 0;
	int32_t last = -1;

	CU_ASSERT_FATAL(t <= 32 && n_train <= 251);
	*first = 1 << 30;
	for (uint64_t i = 0; i < d->n_train; i++) {
		d->ops->train(d, epoch * d->n_train + i, input, target);
		ascending += input[0] > last;
		last = input[0];
		if (input[0] < *first)
			*first = input[0];
		for (int64_t j = 0; j < t; j++) {
			CU_ASSERT_EQUAL(input[j], input[0] + j);
			CU_ASSERT_EQUAL(target[j], input[j] + 1);
			CU_ASSERT_FATAL(target[j] < (int32_t)n_train);
			CU_ASSERT_EQUAL(seen[input[j]], 0);
			seen[input[j]] = 1;
		}
	}
	CU_ASSERT(*first < t);
	CU_ASSERT(d->n_train < 8 || ascending < d->n_train);
}

static void excerpts_of_text(void)
{
	mr_data_want want;
	mr_dataset *d, *again;
	int32_t first[20], input[8], target[8], other[8];
	int distinct = 0, moved[2] = {0};

	data_help_folder(dir);
	write_counting("count.txt", 200);
	want = tokens_want(8, 1);
	MR_CHECK_OK(data_help_open("text", "path=count.txt vocab=byte", &want, &d));
	CU_ASSERT_EQUAL(d->classes, 256);
	CU_ASSERT_EQUAL(d->n_train, 180 / 8 - 1);
	CU_ASSERT_EQUAL(d->n_valid, 2); /* 20 bytes: 8 + 8 and a target, 3 dropped */
	CU_ASSERT_PTR_NOT_NULL(strstr(d->describe, "count.txt"));
	for (uint64_t e = 0; e < 20; e++) {
		check_epoch(d, e, 180, &first[e]);
		distinct += e && first[e] != first[0];
		moved[e % 2] += e && first[e] != first[e - 1];
	}
	CU_ASSERT(distinct > 5);
	CU_ASSERT(moved[0] > 4 && moved[1] > 4); /* r_e changes from each epoch to the next; one in eight is the same by
	                                            chance */
	for (uint64_t i = 0; i < 2; i++) {
		d->ops->valid(d, i, input, target);
		CU_ASSERT_EQUAL(input[0], 180 + 8 * (int32_t)i);
		CU_ASSERT_EQUAL(target[7], 180 + 8 * (int32_t)i + 8);
	}
	/* The same seed gives the same samples in another opening, another seed does not. */
	MR_CHECK_OK(data_help_open("text", "path=count.txt vocab=byte", &want, &again));
	CU_ASSERT_EQUAL(again->fingerprint, d->fingerprint);
	d->ops->train(d, 1000, input, target);
	again->ops->train(again, 1000, other, target);
	CU_ASSERT(memcmp(input, other, sizeof(input)) == 0);
	mr_dataset_close(again);
	want.seed = 2;
	MR_CHECK_OK(data_help_open("text", "path=count.txt vocab=byte", &want, &again));
	distinct = 0;
	for (uint64_t g = 0; g < 20; g++) {
		d->ops->train(d, g, input, target);
		again->ops->train(again, g, other, target);
		distinct += memcmp(input, other, sizeof(input)) != 0;
	}
	CU_ASSERT(distinct > 10);
	mr_dataset_close(again);
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* Longer than what is read at once. */
static void long_excerpts(void)
{
	enum { CONTEXT = 2500 };
	static int32_t input[CONTEXT], target[CONTEXT];
	mr_data_want want;
	mr_dataset *d;

	data_help_folder(dir);
	write_counting("count.txt", 20000);
	want = tokens_want(CONTEXT, 1);
	MR_CHECK_OK(data_help_open("text", "path=count.txt vocab=byte validation=0.3", &want, &d));
	CU_ASSERT_FATAL(d->n_train > 0 && d->n_valid > 0);
	for (uint64_t g = 0; g < d->n_train + d->n_valid; g++) {
		int64_t wrong = 0;

		memset(target, 0xff, sizeof(target));
		if (g < d->n_train)
			d->ops->train(d, g, input, target);
		else
			d->ops->valid(d, g - d->n_train, input, target);
		for (int64_t j = 0; j < CONTEXT; j++)
			wrong += input[j] != (input[0] + j) % 251 || target[j] != (input[0] + j + 1) % 251;
		CU_ASSERT_EQUAL(wrong, 0);
	}
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* Every length from too short up: an epoch's excerpts stay inside, and as many tokens as the scheme allows are seen. */
static void excerpts_of_any_length(void)
{
	data_help_folder(dir);
	for (size_t n = 1; n < 60; n++) {
		mr_data_want want = tokens_want(5, n);
		mr_dataset *d;
		int32_t first;

		write_counting("n.txt", n);
		if (n <= 5) {
			MR_CHECK_FAIL(data_help_open("text", "path=n.txt vocab=byte validation=0", &want, &d), MR_EDATA,
				      "training tokens");
			continue;
		}
		MR_CHECK_OK(data_help_open("text", "path=n.txt vocab=byte validation=0", &want, &d));
		CU_ASSERT_EQUAL(d->n_train, n < 10 ? 1 : n / 5 - 1);
		CU_ASSERT_EQUAL(d->n_valid, 0);
		for (uint64_t e = 0; e < 8; e++)
			check_epoch(d, e, n, &first);
		mr_dataset_close(d);
	}
	data_help_remove(dir);
}

/* In columns, each sample of a step goes on where that of the step before ended, and no two columns share a token. */
static void excerpts_in_columns(void)
{
	enum { COLUMNS = 3, CONTEXT = 5, N = 200 };
	mr_data_want want = tokens_want(CONTEXT, 1);
	int32_t input[CONTEXT], target[CONTEXT], next[COLUMNS];
	uint64_t fingerprint, moved = 0;
	mr_dataset *d;

	data_help_folder(dir);
	write_counting("n.txt", N);
	MR_CHECK_OK(data_help_open("text", "path=n.txt vocab=byte validation=0", &want, &d));
	CU_ASSERT_EQUAL(d->columns, 0);
	fingerprint = d->fingerprint;
	mr_dataset_close(d);
	MR_CHECK_FAIL(data_help_open("text", "path=n.txt vocab=byte validation=0 order=columns", &want, &d), MR_ECONFIG,
		      "only for training");
	want.batch = 40;
	MR_CHECK_FAIL(data_help_open("text", "path=n.txt vocab=byte validation=0 order=columns", &want, &d), MR_EDATA,
		      "39 training windows of 5 tokens, but 40 columns");
	want.batch = COLUMNS;
	MR_CHECK_OK(data_help_open("text", "path=n.txt vocab=byte validation=0 order=columns", &want, &d));
	CU_ASSERT_EQUAL(d->columns, COLUMNS);
	CU_ASSERT_EQUAL(d->n_train, 39);
	CU_ASSERT_NOT_EQUAL(d->fingerprint, fingerprint);
	for (uint64_t e = 0; e < 6; e++) {
		char seen[N] = {0};

		for (uint64_t i = 0; i < d->n_train; i++) {
			d->ops->train(d, e * d->n_train + i, input, target);
			CU_ASSERT(i < COLUMNS || input[0] == next[i % COLUMNS]);
			moved += i == 0 && input[0] != 0;
			next[i % COLUMNS] = target[CONTEXT - 1];
			for (int j = 0; j < CONTEXT; j++) {
				CU_ASSERT_EQUAL_FATAL(seen[input[j]], 0);
				CU_ASSERT_EQUAL(target[j], input[j] + 1);
				seen[input[j]] = 1;
			}
		}
	}
	CU_ASSERT(moved > 1); /* epochs begin at different tokens */
	mr_dataset_close(d);
	data_help_remove(dir);
}

static void vocabulary(void)
{
	const char *text = "banana \xc3\xa4 banana and some more of it, long enough for a window";
	mr_data_want want;
	mr_dataset *d;
	int32_t input[4], target[4];
	size_t used;

	data_help_folder(dir);
	data_help_write(dir, "t.txt", text, strlen(text));
	want = tokens_want(4, 0);
	MR_CHECK_OK(data_help_open("text", "path=t.txt validation=0.5", &want, &d));
	CU_ASSERT_EQUAL(d->classes, 21); /* " ,abdefghilmnorstuw" and the two bytes of the umlaut */
	for (int32_t k = 0; k < d->classes; k++) {
		CU_ASSERT_EQUAL(strlen(d->token_text(d, k)), 1);
		CU_ASSERT_EQUAL(d->token_of(d, d->token_text(d, k), &used), k);
		CU_ASSERT_EQUAL(used, 1);
		if (k)
			CU_ASSERT((unsigned char)d->token_text(d, k)[0] > (unsigned char)d->token_text(d, k - 1)[0]);
		CU_ASSERT_PTR_NOT_NULL(strchr(text, d->token_text(d, k)[0]));
	}
	CU_ASSERT_EQUAL(d->token_of(d, "Q", &used), -1);
	CU_ASSERT_EQUAL(d->token_of(d, "", &used), -1);
	CU_ASSERT_EQUAL(used, 0);
	CU_ASSERT_STRING_EQUAL(d->token_text(d, -1), "");
	CU_ASSERT_STRING_EQUAL(d->token_text(d, (int32_t)d->classes), "");
	/* The first validation excerpt spells the text from its middle. */
	d->ops->valid(d, 0, input, target);
	for (size_t i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(d->token_text(d, input[i])[0], text[31 + i]);
		CU_ASSERT_EQUAL(d->token_text(d, target[i])[0], text[32 + i]);
	}
	mr_dataset_close(d);
	MR_CHECK_OK(data_help_open("text", "path=t.txt vocab=byte", &want, &d));
	CU_ASSERT_EQUAL(d->token_of(d, "a", &used), 'a');
	CU_ASSERT_STRING_EQUAL(d->token_text(d, 0xc3), "\xc3");
	mr_dataset_close(d);
	data_help_remove(dir);
}

/* What a trained model was given: text is read with it or refused, and tokens are spelled without a text. */
static void given_alphabet(void)
{
	mr_data_want want;
	mr_dataset *d;
	int32_t input[4], target[4];
	size_t used;

	data_help_folder(dir);
	data_help_write(dir, "t.txt", "abcabcabcabcabcabc", 18);
	want = tokens_want(4, 0);
	MR_CHECK_OK(data_help_open("text", "path=t.txt", &want, &d));
	CU_ASSERT_STRING_EQUAL(d->alphabet, "616263");
	mr_dataset_close(d);
	want.alphabet = "61626378";
	MR_CHECK_OK(data_help_open("text", "path=t.txt validation=0.5", &want, &d));
	CU_ASSERT_EQUAL(d->classes, 4);
	d->ops->valid(d, 0, input, target);
	CU_ASSERT(input[0] == 0 && target[0] == 1 && d->token_of(d, "x", &used) == 3);
	mr_dataset_close(d);
	want.alphabet = "6162";
	MR_CHECK_FAIL(data_help_open("text", "path=t.txt", &want, &d), MR_EDATA,
		      "byte 0x63 at offset 2 is not in the vocabulary");
	want.alphabet = "000aff";
	MR_CHECK_OK(mr_text_of_alphabet(&want, &d));
	CU_ASSERT(d->classes == 3 && d->token_of(d, "\n", &used) == 1 && d->token_of(d, "a", &used) == -1);
	CU_ASSERT_STRING_EQUAL(d->token_text(d, 2), "\xff");
	mr_dataset_close(d);
	for (size_t i = 0; i < 4; i++) {
		want.alphabet = (const char *const[]){"", "616", "6161", "6z"}[i];
		MR_CHECK_FAIL(mr_text_of_alphabet(&want, &d), MR_EDATA, "vocabulary");
	}
	data_help_remove(dir);
}

static void text_of_sources(void)
{
	static const char want_text[] = "READ\nA-dot\nab\nsub-a\nsub-b\nz\n";
	mr_data_want want;
	mr_dataset *d;
	char got[64] = "";
	int32_t input[1], target[1];
	size_t used;

	data_help_folder(dir);
	data_help_write(dir, "p/z.h", "z\n", 2);
	data_help_write(dir, "p/README.md", "READ\n", 5);
	data_help_write(dir, "p/a/b.c", "ab\n", 3);
	data_help_write(dir, "p/a.c", "A-dot\n", 6); /* '.' sorts before '/' */
	data_help_write(dir, "p/sub/b.h", "sub-b\n", 6);
	data_help_write(dir, "p/sub/a.c", "sub-a\n", 6);
	data_help_write(dir, "p/empty.c", "", 0);
	data_help_write(dir, "p/other.md", "no", 2);
	data_help_write(dir, "p/build-dev/x.c", "no", 2);
	data_help_write(dir, "p/.git/x.c", "no", 2);
	data_help_write(dir, "p/.h", "no", 2);
	want = tokens_want(1, 0);
	MR_CHECK_OK(data_help_open("sources", "root=p vocab=byte validation=0", &want, &d));
	mr_dataset_close(d);
	/* All but the first two bytes validate, in excerpts of one: they spell the text. */
	MR_CHECK_OK(data_help_open("sources", "root=p validation=0.92", &want, &d));
	CU_ASSERT_EQUAL_FATAL(d->n_valid, sizeof(want_text) - 1 - 2 - 1);
	for (uint64_t i = 0; i < d->n_valid; i++) {
		d->ops->valid(d, i, input, target);
		strcat(got, d->token_text(d, input[0]));
	}
	strcat(got, d->token_text(d, target[0]));
	CU_ASSERT_STRING_EQUAL(got, want_text + 2);
	CU_ASSERT(d->token_of(d, "R", &used) >= 0);
	mr_dataset_close(d);

	data_help_write(dir, "none/x.txt", "no", 2);
	MR_CHECK_FAIL(data_help_open("sources", "root=none", &want, &d), MR_EDATA, "neither README.md");
	MR_CHECK_FAIL(data_help_open("sources", "root=absent", &want, &d), MR_EDATA, "absent");
	data_help_remove(dir);
}

static void sources_stop_at_a_megabyte(void)
{
	mr_data_want want;
	mr_dataset *d;
	size_t n = 700000;

	data_help_folder(dir);
	write_counting("p/a.c", n);
	write_counting("p/b.c", n);
	want = tokens_want(64, 0);
	MR_CHECK_OK(data_help_open("sources", "root=p validation=0", &want, &d));
	CU_ASSERT_EQUAL(d->n_train, 1000000 / 64 - 1);
	mr_dataset_close(d);
	data_help_remove(dir);
}

static void pairs_of_numbers(void)
{
	mr_data_want want = {.dtype = MR_F64};
	mr_dataset *d;
	double x, y;
	float x4, y4;

	MR_CHECK_OK(data_help_open("numbers", "x=[1,0.1,3] y=[4,5,6]", &want, &d));
	CU_ASSERT_EQUAL(d->n_train, 3);
	CU_ASSERT_EQUAL(d->n_valid, 0);
	CU_ASSERT_EQUAL(d->classes, 0);
	for (uint64_t g = 0; g < 9; g++) {
		d->ops->train(d, g, &x, &y);
		CU_ASSERT_EQUAL(x, g % 3 == 1 ? 0.1 : 1.0 + (double)(g % 3));
		CU_ASSERT_EQUAL(y, 4.0 + (double)(g % 3));
	}
	mr_dataset_close(d);
	want.dtype = MR_F32;
	MR_CHECK_OK(data_help_open("numbers", "x=[0.1] y=[2]", &want, &d));
	d->ops->train(d, 7, &x4, &y4);
	CU_ASSERT_EQUAL(x4, 0.1f);
	CU_ASSERT_EQUAL(y4, 2);
	mr_dataset_close(d);
	MR_CHECK_FAIL(data_help_open("numbers", "x=[1,2] y=[1]", &want, &d), MR_EDATA, "x has 2 and y has 1");
	MR_CHECK_FAIL(data_help_open("numbers", "x=[] y=[]", &want, &d), MR_EDATA, "x has 0");
	MR_CHECK_FAIL(data_help_open("numbers", "x=[1e300] y=[1]", &want, &d), MR_EDATA, "f32");
	MR_CHECK_FAIL(data_help_open("numbers", "x=[1]", &want, &d), MR_ECONFIG, "\"y\"");
	want.context = 8;
	MR_CHECK_FAIL(data_help_open("numbers", "x=[1] y=[1]", &want, &d), MR_ECONFIG, "no token sequences");
}

static void synthetic_classes(void)
{
	mr_data_want want = {.dtype = MR_F64, .seed = 5};
	mr_dataset *d, *narrow;
	double x[6], centre[3][6] = {{0}};
	float x4[6];
	int32_t y, y4, count[3] = {0};
	char seen[70] = {0};

	MR_CHECK_OK(data_help_open("synthetic", "features=6 classes=3 samples=100 noise=0 validation=0.3", &want, &d));
	CU_ASSERT_EQUAL_FATAL(d->n_train, 70);
	CU_ASSERT_EQUAL(d->n_valid, 30);
	CU_ASSERT_EQUAL(d->classes, 3);
	for (uint64_t g = 0; g < 70; g++) {
		d->ops->train(d, g, x, &y);
		CU_ASSERT_FATAL(y >= 0 && y < 3);
		if (count[y]++)
			CU_ASSERT(memcmp(x, centre[y], sizeof(x)) == 0); /* without noise a class is a point */
		memcpy(centre[y], x, sizeof(x));
	}
	CU_ASSERT(count[0] == 24 && count[1] == 23 && count[2] == 23);
	CU_ASSERT(memcmp(centre[0], centre[1], sizeof(x)) != 0);
	mr_dataset_close(d);

	/* With noise every sample differs; an epoch has each once; f32 is f64 rounded. */
	MR_CHECK_OK(data_help_open("synthetic", "features=6 classes=3 samples=100 validation=0.3", &want, &d));
	want.dtype = MR_F32;
	MR_CHECK_OK(data_help_open("synthetic", "features=6 classes=3 samples=100 validation=0.3", &want, &narrow));
	for (uint64_t g = 70; g < 140; g++) {
		d->ops->train(d, g, x, &y);
		narrow->ops->train(narrow, g, x4, &y4);
		CU_ASSERT_EQUAL(y, y4);
		for (int f = 0; f < 6; f++)
			CU_ASSERT_EQUAL((float)x[f], x4[f]);
		for (uint64_t h = 0; h < 70; h++) {
			double other[6];

			d->ops->train(d, h, other, &y);
			if (memcmp(other, x, sizeof(x)) == 0)
				seen[h]++;
		}
	}
	for (int h = 0; h < 70; h++)
		CU_ASSERT_EQUAL(seen[h], 1);
	d->ops->valid(d, 29, x, &y);
	CU_ASSERT_EQUAL(y, 99 % 3);
	CU_ASSERT(isfinite(x[5]));
	mr_dataset_close(narrow);
	mr_dataset_close(d);
	MR_CHECK_FAIL(data_help_open("synthetic", "features=1048576 samples=1073741824", &want, &d), MR_ERESOURCE,
		      "memory");
	MR_CHECK_FAIL(data_help_open("synthetic", "samples=1 validation=0.9", &want, &d), MR_EDATA,
		      "none for training");
}

static void synthetic_images(void)
{
	mr_data_want want = {.dtype = MR_F64, .seed = 5};
	mr_dataset *flat, *d;
	double x[24], y[24];
	int32_t a, b;

	MR_CHECK_OK(data_help_open("synthetic", "image=[3,4,2] classes=3 samples=10", &want, &d));
	MR_CHECK_OK(data_help_open("synthetic", "features=24 classes=3 samples=10", &want, &flat));
	CU_ASSERT(mr_shape_same(d->input, mr_shape_of(3, (const int64_t[]){3, 4, 2}, false)));
	d->ops->train(d, 4, x, &a);
	flat->ops->train(flat, 4, y, &b);
	CU_ASSERT(a == b && !memcmp(x, y, sizeof(x)));
	mr_dataset_close(flat);
	mr_dataset_close(d);
	MR_CHECK_FAIL(data_help_open("synthetic", "image=[3,4]", &want, &d), MR_ECONFIG, "got 2 numbers");
	MR_CHECK_FAIL(data_help_open("synthetic", "image=[3,4.5,1]", &want, &d), MR_ECONFIG, "got 4.5");
	MR_CHECK_FAIL(data_help_open("synthetic", "image=[4096,4096,3]", &want, &d), MR_ECONFIG, "at most 1048576");
}

static void registry(void)
{
	for (uint32_t i = 0; mr_dataset_at(i); i++) {
		const mr_dataset_ops *ops = mr_dataset_at(i);

		CU_ASSERT_PTR_EQUAL(mr_dataset_find(ops->name), ops);
		CU_ASSERT(ops->summary && (ops->make || (ops->open && ops->bytes)) && ops->train);
		for (const mr_option *o = ops->options; o->name; o++)
			CU_ASSERT(o->help && o->help[strlen(o->help) - 1] != '.');
	}
	CU_ASSERT_PTR_NULL(mr_dataset_find("imagenet"));
	mr_dataset_close(NULL);
}

/* Every epoch sees each sample once, in an order of its own. */
static void order_of_epochs(void)
{
	enum { N = 50, EPOCHS = 3 };
	uint64_t at[EPOCHS][N];

	for (uint64_t e = 0; e < EPOCHS; e++) {
		bool seen[N] = {false};
		int same = 0;

		for (uint64_t i = 0; i < N; i++) {
			at[e][i] = mr_data_order(N, 3, e * N + i);
			CU_ASSERT_FATAL(at[e][i] < N && !seen[at[e][i]]);
			seen[at[e][i]] = true;
			same += e > 0 && at[e][i] == at[e - 1][i];
		}
		CU_ASSERT(same < N / 4);
	}
}

void mr_suite_data(void);
void mr_suite_data(void)
{
	MR_SUITE("data");
	MR_TEST(registry);
	MR_TEST(excerpts_of_text);
	MR_TEST(long_excerpts);
	MR_TEST(excerpts_of_any_length);
	MR_TEST(excerpts_in_columns);
	MR_TEST(vocabulary);
	MR_TEST(given_alphabet);
	MR_TEST(text_of_sources);
	MR_TEST(sources_stop_at_a_megabyte);
	MR_TEST(pairs_of_numbers);
	MR_TEST(synthetic_classes);
	MR_TEST(synthetic_images);
	MR_TEST(order_of_epochs);
}
