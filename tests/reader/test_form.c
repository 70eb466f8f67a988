/* The form of data in a checkpoint: what is read is what was written, and damage is found. Seeded. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/form.h"

static const char csv[] =
	"{\"source\":\"csv\",\"files\":\"csv\","
	"\"input\":[1,3],\"input_tokens\":true,\"target\":[1,1],\"target_tokens\":true,"
	"\"classes\":2,\"numbers\":2,\"target_low\":0,\"target_high\":null,\"target_mean\":0,\"target_deviation\":0,"
	"\"separator\":\";\",\"header\":true,\"log\":false,\"empty\":\"zero\",\"category\":\"hash\","
	"\"columns\":[{\"name\":\"a\",\"kind\":\"number\",\"style\":\"comma\",\"gaps\":false,\"scaled\":true,"
	"\"mean\":1.5,\"deviation\":2},{\"name\":\"b\",\"kind\":\"category\"},{\"name\":\"c\",\"kind\":\"number\","
	"\"style\":\"plain\",\"gaps\":false,\"scaled\":false,\"mean\":0,\"deviation\":0},"
	"{\"name\":\"t\",\"kind\":\"target\",\"style\":\"plain\"},{\"name\":\"i\",\"kind\":\"ignored\"}],"
	"\"labels\":[\"no\",\"yes\"]}";
/* A number that may be missing, two values of a category as numbers, three of another one as a category. */
static const char known[] =
	"{\"source\":\"csv\",\"files\":\"csv\","
	"\"input\":[1,5],\"input_tokens\":true,\"target\":[1,1],\"target_tokens\":false,"
	"\"classes\":0,\"numbers\":4,\"target_low\":0,\"target_high\":9,\"target_mean\":0,\"target_deviation\":0,"
	"\"separator\":\",\",\"header\":true,\"log\":false,\"empty\":\"mean\",\"category\":\"known\","
	"\"columns\":[{\"name\":\"big\",\"kind\":\"category\",\"one_hot\":false,\"values\":[\"\",\"x\",\"y\"]},"
	"{\"name\":\"a\",\"kind\":\"number\",\"style\":\"ymd\",\"gaps\":true,\"scaled\":true,\"mean\":3,"
	"\"deviation\":2},{\"name\":\"t\",\"kind\":\"target\",\"style\":\"point\"},"
	"{\"name\":\"few\",\"kind\":\"category\",\"one_hot\":true,\"values\":[\"no\",\"yes\"]}],\"labels\":[]}";
static const char images[] =
	"{\"source\":\"images\",\"files\":\"pictures\","
	"\"input\":[8,8,3],\"input_tokens\":false,\"target\":[1,1],\"target_tokens\":true,"
	"\"classes\":2,\"numbers\":0,\"target_low\":0,\"target_high\":0,\"target_mean\":0,\"target_deviation\":0,"
	"\"rows\":8,\"cols\":8,\"resize\":10,\"mean\":[0.5,0.5,0.5],\"std\":[0.25,1,1],\"labels\":[\"a\",\"b\"]}";
static const char grey[] =
	"{\"source\":\"mnist\",\"files\":\"pictures\","
	"\"input\":[1,6],\"input_tokens\":false,\"image\":[3,2,1],"
	"\"target\":[1,1],\"target_tokens\":true,\"classes\":2,\"numbers\":0,\"target_low\":0,\"target_high\":0,"
	"\"target_mean\":0,\"target_deviation\":0,\"rows\":3,\"cols\":2,\"resize\":0,\"mean\":[0.5],\"std\":[0.25],"
	"\"labels\":[\"0\",\"1\"]}";
static const char coloured[] =
	"{\"source\":\"cifar\",\"files\":\"pictures\","
	"\"input\":[2,2,3],\"input_tokens\":false,\"target\":[1,1],"
	"\"target_tokens\":true,\"classes\":1,\"numbers\":0,\"target_low\":0,\"target_high\":0,\"target_mean\":0,"
	"\"target_deviation\":0,\"rows\":2,\"cols\":2,\"resize\":0,\"mean\":[0,0,0],\"std\":[1,1,1],"
	"\"labels\":[\"0\"],\"record\":14,\"label_at\":1}";
static const char numbers[] =
	"{\"source\":\"clicks\",\"files\":\"numbers\",\"input\":[1,5],\"input_tokens\":true,\"target\":[1,1],"
	"\"target_tokens\":true,\"classes\":2,\"numbers\":3,\"target_low\":0,\"target_high\":0,\"target_mean\":0,"
	"\"target_deviation\":0}";
static const char libsvm[] =
	"{\"source\":\"libsvm\",\"files\":\"libsvm\","
	"\"input\":[1,4],\"input_tokens\":false,\"target\":[1,1],\"target_tokens\":false,"
	"\"classes\":0,\"numbers\":0,\"target_low\":-1,\"target_high\":1,\"target_mean\":0,\"target_deviation\":0,"
	"\"two\":true,\"from_zero\":false,\"labels\":[\"-1\",\"1\"]}";

static const char text[] =
	"{\"source\":\"text\",\"files\":\"language\","
	"\"input\":[8,1],\"input_tokens\":true,\"target\":[8,1],\"target_tokens\":true,"
	"\"classes\":3,\"numbers\":0,\"target_low\":0,\"target_high\":0,\"target_mean\":0,\"target_deviation\":0,"
	"\"alphabet\":\"0a6162\"}";

static void reads(void)
{
	mr_form f;

	MR_CHECK_OK(mr_form_read(csv, &f));
	CU_ASSERT(f.inputs.n_columns == 5 && f.inputs.column[0].scaled && f.inputs.column[0].mean == 1.5);
	CU_ASSERT(f.inputs.column[0].deviation == 2 && f.inputs.column[0].style == MR_CELL_COMMA);
	CU_ASSERT(f.inputs.column[1].kind == MR_COLUMN_CATEGORY && !f.inputs.column[2].scaled && f.target == 3);
	CU_ASSERT(f.separator == ';' && f.header && f.inputs.missing == MR_MISSING_ZERO);
	CU_ASSERT(f.inputs.code == MR_CODE_HASH && !f.inputs.log && !f.shapes.values);
	CU_ASSERT(f.n_labels == 2 && !strcmp(f.label[1], "yes") && isinf(f.shapes.target_high));
	CU_ASSERT(f.shapes.numbers == 2 && f.shapes.input.tokens && f.shapes.input.cols == 3);
	mr_form_close(&f);
	MR_CHECK_OK(mr_form_read(known, &f));
	CU_ASSERT(f.inputs.n_numbers == 4 && f.inputs.n_categories == 1 && f.shapes.values[0] == 3);
	CU_ASSERT(f.inputs.column[1].gaps && f.inputs.column[1].at == 0 && f.inputs.column[3].at == 2);
	CU_ASSERT(f.inputs.column[3].one_hot && mr_text_set_find(&f.inputs.column[0].values, "y") == 2);
	mr_form_close(&f);
	MR_CHECK_OK(mr_form_read(images, &f));
	CU_ASSERT(f.rows == 8 && f.cols == 8 && f.resize == 10 && f.record == 0);
	CU_ASSERT(f.std[0] == 0.25 && mr_shape_dims(f.shapes.input) == 3);
	mr_form_close(&f);
	MR_CHECK_OK(mr_form_read(grey, &f));
	CU_ASSERT(f.rows == 3 && f.cols == 2 && f.channels == 1 && mr_shape_dim(f.shapes.image, 0) == 3);
	mr_form_close(&f);
	MR_CHECK_OK(mr_form_read(coloured, &f));
	CU_ASSERT(f.record == 14 && f.label_at == 1 && f.channels == 3);
	mr_form_close(&f);
	MR_CHECK_OK(mr_form_read(numbers, &f));
	CU_ASSERT(f.inputs.n_numbers == 3 && f.inputs.n_categories == 2 && f.target == 5 && !f.header);
	CU_ASSERT(!strcmp(f.inputs.column[4].name, "x5") && !strcmp(f.inputs.column[5].name, "y"));
	CU_ASSERT(f.n_labels == 2 && !strcmp(f.label[1], "1") && f.inputs.column[3].kind == MR_COLUMN_CATEGORY);
	mr_form_close(&f);
	MR_CHECK_OK(mr_form_read(libsvm, &f));
	CU_ASSERT(f.two && f.shapes.classes == 0 && f.n_labels == 2 && !f.language);
	mr_form_close(&f);
	MR_CHECK_OK(mr_form_read(text, &f));
	CU_ASSERT(f.language && !f.tokenizer && !strcmp(f.alphabet, "0a6162") && f.shapes.input.rows == 8);
	mr_form_close(&f);
}

/* @form with the first @from replaced by @to. */
static char *changed(const char *form, const char *from, const char *to)
{
	const char *at = strstr(form, from);
	size_t size = strlen(form) + strlen(to) + 1;
	char *out = malloc(size);

	CU_ASSERT_FATAL(at && out);
	snprintf(out, size, "%.*s%s%s", (int)(at - form), form, to, at + strlen(from));
	return out;
}

static void refuses(void)
{
	static const struct {
		const char *text, *from, *to, *says;
	} cases[] = {
		{csv, "[1,3]", "[1,4]", "columns"}, /* the columns do not make the input */
		{csv, "[1,3]", "[16777216,16777216,16777216,16777216]", "input"}, /* whose product would overflow */
		{csv, "[1,3]", "[0,3]", "input"},
		{csv, "\"numbers\":2", "\"numbers\":1", "numbers"},
		{csv, "\"no\",", "", "labels"},
		{csv, "\"kind\":\"target\"", "\"kind\":\"number\"", "columns"}, /* there is no target */
		{csv, "\"deviation\":2", "\"deviation\":null", "deviation"},
		{csv, "\";\"", "\"x\"", "separator"},
		{csv, "\"comma\"", "\"roman\"", "style"},
		{csv, "\"zero\"", "\"none\"", "empty"},
		{known, "\"no\",", "", "columns"}, /* one value less makes one input less */
		{known, "\"x\"", "\"y\"", "values"}, /* twice */
		{known, "\"x\"", "7", "values"},
		{known, "\"gaps\":true", "\"gaps\":1", "columns"},
		{csv, "\"csv\"", "\"synthetic\"", "files"},
		{csv, "\"csv\"", "\"none of these\"", "files"},
		{csv, "\"files\":\"csv\"", "\"files\":\"libsvm\"", "files"},
		{images, "\"rows\":8", "\"rows\":9", "input"},
		{images, "\"resize\":10", "\"resize\":7", "resize"},
		{grey, "\"image\":[3,2,1]", "\"image\":[3,2,0]", "image"},
		{coloured, "\"record\":14", "\"record\":12", "record"},
		{coloured, "\"label_at\":1", "\"label_at\":14", "label_at"},
		{numbers, "\"numbers\":3", "\"numbers\":6", "numbers"},
		{images, "0.25", "0", "std"},
		{images, "\"classes\":2", "\"classes\":-1", "classes"},
		{images, "{", "[", "damaged"},
		{libsvm, "\"-1\",", "", "labels"},
		{libsvm, "\"target\":[1,1]", "\"target\":[1,2]", "target"},
		{text, "\"target\":[8,1]", "\"target\":[7,1]", "input"},
		{text, "\"input_tokens\":true", "\"input_tokens\":false", "input"},
		{text, "\"classes\":3", "\"classes\":4", "alphabet"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *form = changed(cases[i].text, cases[i].from, cases[i].to);
		mr_form f;

		MR_CHECK_FAIL(mr_form_read(form, &f), MR_ECKPT, cases[i].says);
		mr_form_close(&f);
		free(form);
	}
}

/* Bytes changed, dropped and doubled: an answer every time, and what is read has consistent sizes. */
static void random_damage(void)
{
	static const char *const texts[] = {csv, images, libsvm, known, text, grey, coloured, numbers};
	static const char bytes[] = "{}[]\",:0123456789-+.eE truefalsn\\\x01\xff";
	uint64_t state = 7;
	unsigned n_good = 0;

	for (unsigned i = 0; i < 30000; i++) {
		const char *from = texts[i / 4 % 8];
		char form[2048];
		size_t len = strlen(from);
		mr_status st;
		mr_form f;

		memcpy(form, from, len + 1);
		for (unsigned k = 0; k <= i % 4; k++) {
			size_t at;

			state = state * 6364136223846793005u + 1442695040888963407u;
			at = (state >> 33) % len;
			if (state >> 60 < 4 && len > 2)
				memmove(form + at, form + at + 1, len-- - at);
			else
				form[at] = bytes[(state >> 20) % (sizeof(bytes) - 1)];
		}
		st = mr_form_read(form, &f);
		n_good += st == MR_OK;
		CU_ASSERT(st == MR_OK || (st == MR_ECKPT && *mr_error_text()));
		CU_ASSERT(st != MR_OK || mr_shape_count(f.shapes.input) > 0);
		mr_form_close(&f);
	}
	CU_ASSERT(n_good > 0 && n_good < 30000);
}

void mr_suite_form(void);
void mr_suite_form(void)
{
	MR_SUITE("form");
	MR_TEST(reads);
	MR_TEST(refuses);
	MR_TEST(random_damage);
}
