#include "reader/reader.h"

#include <string.h>

#include "formats/csv_table.h"

mr_status mr_reader_open(const mr_form *f, const char *path, mr_dtype dtype, mr_reader **out)
{
	static const mr_reader_kind *const kinds[] = {&mr_reader_csv, &mr_reader_libsvm, &mr_reader_pictures};
	const char *files = strcmp(f->files, "numbers") ? f->files : "csv";

	if (mr_reader_is_records(f, path))
		return mr_reader_records.open(f, path, dtype, out);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i]->files, files))
			return kinds[i]->open(f, path, dtype, out);
	return mr_fail(MR_ECKPT, "the model was trained on data \"%.40s\", whose files cannot be predicted", f->source);
}

mr_status mr_reader_next(mr_reader *r, void *input, mr_reader_sample *out)
{
	*out = (mr_reader_sample){0};
	r->skips = false;
	return r->kind->next(r, input, out);
}

void mr_reader_say(const mr_reader *r, mr_strbuf *out)
{
	if (r->kind->say)
		r->kind->say(r, out);
}

void mr_reader_close(mr_reader *r)
{
	if (r)
		r->kind->close(r);
}

double mr_reader_class(const mr_form *f, const char *text)
{
	double v, w;

	for (size_t i = 0; i < f->n_labels; i++)
		if (!strcmp(f->label[i], text))
			return (double)i;
	if (!mr_csv_is_number(text, &v))
		return -1;
	for (size_t i = 0; i < f->n_labels; i++)
		if (mr_csv_is_number(f->label[i], &w) && v == w)
			return (double)i;
	return -1;
}
