#include "trained/class_files.h"

#include "report/output.h"
#include "trained/predictions.h"

static const char *name_of(const void *form, size_t i, char room[24])
{
	return mr_predictions_class(form, i, room);
}

mr_status mr_class_scores_write(const mr_class_scores *s, const mr_form *f, const char *path)
{
	mr_output out;
	mr_json_writer w;
	mr_status st;

	if (!path || !*path)
		return MR_OK;
	MR_TRY(mr_output_open(path, &out));
	mr_json_init(&w, out.file, true);
	mr_json_begin_object(&w);
	st = mr_class_scores_put(s, name_of, f, &w);
	mr_json_end_object(&w);
	return mr_output_close(&out, st == MR_OK ? mr_json_finish(&w) : st);
}

mr_status mr_class_curves_write(const mr_class_scores *s, const mr_form *f, const char *path)
{
	mr_output out;

	if (!path || !*path)
		return MR_OK;
	MR_TRY(mr_output_open(path, &out));
	return mr_output_close(&out, mr_class_curves_put(&s->samples, name_of, f, out.file));
}
