/*
 * absent.h - data whose files are on other hosts: all that is known of them, and no sample.
 *
 * Of a training over several processes only those that read inputs or targets need the files. One of these prints what
 * it knows, and the others make a source of that text: it answers for shapes, counts and the fingerprint, and a sample
 * that is asked of it is a failure, which mr_dataset_check tells.
 */
#ifndef MR_DATA_ABSENT_H
#define MR_DATA_ABSENT_H

#include "base/str.h"
#include "data/dataset.h"

/** Append what is known of the open source @d to @out: lines "name: value", which are the same for the same files.
 * @loaded: @d is loaded, and its line for the start table follows, in which names of files may differ. */
void mr_absent_print(const mr_dataset *d, bool loaded, mr_strbuf *out);

/** Has such lines been appended to @text? */
bool mr_absent_in(const char *text);

/** The source that @text tells of, which has such lines of data of @ops. Any thread. Errors: MR_ERESOURCE. */
mr_status mr_absent_create(const mr_dataset_ops *ops, const char *text, mr_dataset **out) MR_MUST_USE;

#endif
