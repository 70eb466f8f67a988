/*
 * form.h - the form of the data that a model was trained on (mr_dataset_form), read from its checkpoint: which columns
 * there were and how they were scaled, what classes are called, how pictures were resized. With it files are read as in
 * training when the training's own files are gone.
 */
#ifndef MR_READER_FORM_H
#define MR_READER_FORM_H

#include "data/dataset.h"
#include "formats/csv_inputs.h"

typedef struct mr_form {
	mr_json *root;         /* owns all texts */
	const char *source;    /* name of the data */
	const char *files;     /* what files are, as in mr_dataset_ops */
	bool language;         /* that is "language": texts.h reads them */
	mr_dataset shapes;     /* without samples, for mr_session_open_shapes */
	const char **label;    /* [n_labels] names of the classes in their order; of two labels: 0 and 1 */
	size_t n_labels;
	char *names;           /* of columns and classes where files are rows of numbers */
	/* csv, and rows of numbers: columns without names, the target last */
	char separator;
	bool header;           /* as in mr_csv_table */
	mr_csv_inputs inputs;  /* columns in the order of the training file */
	size_t target;         /* the target's column */
	int64_t *values;       /* shapes.values */
	/* of a language model: what gives text its tokens; both NULL: nothing */
	const char *alphabet;  /* as in mr_dataset */
	const char *tokenizer; /* as mr_tokenizer_json has it */
	/* libsvm */
	bool two;              /* two labels became 0 and 1 */
	bool from_zero;        /* indices begin there, else at 1 */
	/* pictures */
	int64_t rows, cols, resize; /* resize 0: each picture has rows x cols; else that of its shorter side */
	int64_t record, label_at; /* of a file of records of CIFAR: bytes of one, and the place of its label; 0: none */
	int channels;          /* 1 or 3 */
	double mean[3], std[3]; /* [channels] */
} mr_form;

/** Read the @text of a form into @out, which is closed by mr_form_close, also after a failure. Errors: MR_ECKPT with
 * what is wrong in it; MR_ERESOURCE. */
mr_status mr_form_read(const char *text, mr_form *out) MR_MUST_USE;
void mr_form_close(mr_form *f);

#endif
