/*
 * csv_file.h - the files of a table, row by row, and what the first reading of them finds: how many rows there are, in
 * which style the numbers of a column are written, which values and classes there are, and which rows are damaged.
 *
 * A damaged row has another number of fields than the first one, a quote that is not closed, or a field that is not
 * what its column is. Up to `damage.most` of them are left out; where there are more, the reading fails (damage.h).
 */
#ifndef MR_FORMATS_CSV_FILE_H
#define MR_FORMATS_CSV_FILE_H

#include "base/str.h"
#include "formats/csv_inputs.h"
#include "formats/damage.h"

typedef struct mr_csv_reading mr_csv_reading;

typedef struct mr_csv_file {
	char *path[2];         /* [0] training, [1] validation; NULL: validation rows come from [0]; owned */
	mr_csv_table table;
	mr_csv_inputs inputs;  /* column i is that of the table */
	bool by_class;
	mr_text_set label;     /* ascending, by their numbers if all of them are numbers */
	uint64_t n[2];         /* rows of each file that are read */
	uint64_t n_without[2]; /* rows left out because they have no target */
	double target_low, target_high; /* of targets that are numbers */
	mr_damage damage;
	uint64_t *damaged[2];  /* lines of the damaged rows of each file, ascending; */
	uint64_t n_lines[2];   /* how many of them are there */
	mr_csv_reading *reading; /* while the first reading lasts */
} mr_csv_file;

/* What one pass over the files does with the current row of file->table: row @row of all files together, which begins
 * at line @number. */
typedef mr_status mr_csv_row_fn(void *of, uint64_t row, uint64_t number);

/** Read the files, which are named, with the keys @values (mr_csv_table_open), a value of its own for each of up to
 * @one_hot values of a category. The rest of @f is zeroed, but by_class, damage.most, inputs.log, .missing and .code.
 * mr_csv_file_fini follows, also after a failure. Errors: MR_EDATA, MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_csv_file_open(mr_csv_file *f, const mr_values *values, uint64_t one_hot) MR_MUST_USE;
void mr_csv_file_fini(mr_csv_file *f);

/** Call @fn for all rows of both files that are not left out, numbered from 0. Errors: those of @fn; MR_EDATA. */
mr_status mr_csv_file_rows(mr_csv_file *f, mr_csv_row_fn *fn, void *of) MR_MUST_USE;

/** The target of the current row, which begins at line @number: a number, or the number of its class. */
mr_status mr_csv_file_target(const mr_csv_file *f, uint64_t number, double *out) MR_MUST_USE;

#endif
