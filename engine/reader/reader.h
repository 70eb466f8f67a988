/*
 * reader.h - samples of a file or folder, or of standard input, as a trained model takes them: the form (form.h) says
 * how. The target of a sample is read where it is there.
 *
 * One thread at a time.
 */
#ifndef MR_READER_READER_H
#define MR_READER_READER_H

#include "base/str.h"
#include "reader/form.h"

typedef struct mr_reader mr_reader;

typedef struct mr_reader_sample {
	bool got;          /* false: behind the last one */
	bool has_target;
	double target;     /* as the file has it; of classes the number of the class, -1: a class that the model does
	                      not know */
	const char *name;  /* of a picture, valid until the next sample; NULL: the sample has no name */
} mr_reader_sample;

/* How files are read. */
typedef struct mr_reader_kind {
	const char *files; /* as in mr_form; NULL: reader.c asks for it by other means */
	/** Open @path ("-": standard input). */
	mr_status (*open)(const mr_form *f, const char *path, mr_dtype dtype, mr_reader **out);
	mr_status (*next)(mr_reader *r, void *input, mr_reader_sample *out);
	/** Append what was odd about the samples so far; NULL: never anything. */
	void (*say)(const mr_reader *r, mr_strbuf *out);
	void (*close)(mr_reader *r);
} mr_reader_kind;

extern const mr_reader_kind mr_reader_csv, mr_reader_libsvm, mr_reader_pictures, mr_reader_records;

/** Is @path a file of records (reader_records.c) that a model of @f can read? */
bool mr_reader_is_records(const mr_form *f, const char *path);

/* First member of every reader. */
struct mr_reader {
	const mr_reader_kind *kind;
	const mr_form *form;  /* borrowed */
	mr_dtype dtype;       /* of inputs that are numbers */
	bool named;           /* samples have names */
	bool skips;           /* the last failure was of one sample: the next one can be read */
};

/** Open @path ("-": standard input) for a model of @f, whose numbers are of @dtype. Borrows both. Errors: MR_EDATA,
 * naming the path, and a column that is missing; MR_ERESOURCE. */
mr_status mr_reader_open(const mr_form *f, const char *path, mr_dtype dtype, mr_reader **out) MR_MUST_USE;

/** The next sample: its input to @input, the rest to @out. Errors: MR_EDATA with file, line and column; where r->skips
 * is set then, the samples behind it can be read. */
mr_status mr_reader_next(mr_reader *r, void *input, mr_reader_sample *out) MR_MUST_USE;

/** Append what was odd about the samples so far, although they could be read: "3 unknown values of colour, such as
 * "green"". Nothing, if nothing was. */
void mr_reader_say(const mr_reader *r, mr_strbuf *out);
void mr_reader_close(mr_reader *r); /* accepts NULL */

/** The number of the class called @text, or of a number that equals it; -1: there is none. */
double mr_reader_class(const mr_form *f, const char *text);

#endif
