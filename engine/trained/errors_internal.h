/* errors_internal.h - what the files that implement errors.h share. */
#ifndef MR_TRAINED_ERRORS_INTERNAL_H
#define MR_TRAINED_ERRORS_INTERNAL_H

#include "base/json.h"
#include "base/str.h"
#include "trained/errors.h"

#define MR_WORST 12 /* samples that are shown */

/* One of the samples with the largest losses. */
typedef struct mr_worst {
	uint64_t sample;
	double loss;        /* of numbers: the distance from the target */
	double target, prediction; /* numbers, or those of classes */
	double probability; /* of the target's class */
	double confidence;  /* the probability of the class that was predicted */
} mr_worst;

/* The samples with the largest losses so far, the largest first. */
typedef struct mr_worst_list {
	mr_worst at[MR_WORST];
	size_t n, most;
} mr_worst_list;

/** Is @w among the worst? One whose loss is no number is worse than all. */
void mr_worst_take(mr_worst_list *l, const mr_worst *w);

/* How often which class was predicted for which. */
typedef struct mr_confusion {
	size_t n_classes;
	uint64_t *pair;     /* [n] target * n_classes + prediction of each sample */
	size_t n, room;
} mr_confusion;

mr_status mr_confusion_init(mr_confusion *c, size_t n_classes, size_t room) MR_MUST_USE;
void mr_confusion_fini(mr_confusion *c);
void mr_confusion_take(mr_confusion *c, size_t target, size_t prediction);
/** Write the accuracy, the classes, their matrix where they are few, and the pairs that are confused most often, as
 * fields of an open object. @name gives a class its name. */
void mr_confusion_put(mr_confusion *c, const char *(*name)(const void *arg, size_t i, mr_strbuf *room), const void *arg,
		      mr_json_writer *w);

/** The name of class @i, or of a token, in @room where it needs it. @t: a mr_trained. */
const char *mr_errors_name(const void *t, size_t i, mr_strbuf *room);

/** Write what the samples of @l are: names of columns, rows, pictures. */
mr_status mr_errors_put_worst(mr_trained *t, const mr_worst_list *l, mr_json_writer *w) MR_MUST_USE;

/** The errors of a language model, and its texts, as fields of an open object. */
mr_status mr_errors_put_language(mr_trained *t, const char *run, uint64_t most, mr_json_writer *w) MR_MUST_USE;

/** Sample number @k of @n among @all. */
static inline uint64_t mr_errors_sample(uint64_t k, uint64_t n, uint64_t all)
{
	return (uint64_t)((double)k * (double)all / (double)n);
}

#endif
