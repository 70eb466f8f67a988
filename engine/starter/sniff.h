/* sniff.h - what kind of data a file or a folder holds, by its first bytes and the names in it. */
#ifndef MR_STARTER_SNIFF_H
#define MR_STARTER_SNIFF_H

#include "base/status.h"

typedef enum mr_sniff_kind {
	MR_SNIFF_TEXT,
	MR_SNIFF_CSV,
	MR_SNIFF_LIBSVM,
	MR_SNIFF_IDX,      /* images and their labels: two files of MNIST's format */
	MR_SNIFF_CIFAR,    /* a folder of CIFAR's binary batches */
	MR_SNIFF_PICTURES  /* a folder with a folder of pictures for each class */
} mr_sniff_kind;

typedef struct mr_sniff {
	mr_sniff_kind kind;
	char *images, *labels;             /* IDX: paths of the files; owned, else NULL */
	char *test_images, *test_labels;   /* IDX: those beside them for validation; NULL: none */
} mr_sniff;

/** Look at @path. The caller calls fini, also after a failure. Errors: MR_EDATA with the path and what was expected;
 * MR_ERESOURCE. */
mr_status mr_sniff_look(const char *path, mr_sniff *out) MR_MUST_USE;
void mr_sniff_fini(mr_sniff *s);

#endif
