/*
 * forecast_picture.h - pictures of a forecast: the machine with the stages on its cores, the schedule, and the memory
 * of the workers.
 */
#ifndef MR_OUTLINE_FORECAST_PICTURE_H
#define MR_OUTLINE_FORECAST_PICTURE_H

#include <stdio.h>

#include "session/session_forecast.h"

/**
 * All three as text: a row of cores for each node, a letter for each worker's; the stages of the workers, with bars of
 * their memory; the schedule, where there is one of at most 64 workers. @f has both halves of a forecast. Errors:
 * MR_EIO, MR_ERESOURCE.
 */
mr_status mr_forecast_picture_text(const mr_session *s, const mr_forecast *f, FILE *out) MR_MUST_USE;

/** All three below each other as an SVG file. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_forecast_picture_svg(const mr_session *s, const mr_forecast *f, FILE *out) MR_MUST_USE;

/* --- for the two files of pictures --- */

#define MR_PICTURE_CLASSES 6 /* of memory */
extern const char *const mr_picture_class[MR_PICTURE_CLASSES];

/* A worker in pictures. */
typedef struct mr_picture_worker {
	uint64_t bytes[MR_PICTURE_CLASSES], total;
	char stages[120];    /* "stage 3: h.9.ln_1 .. h.11.mlp" */
} mr_picture_worker;

/** Of all workers of @f; the caller frees them. Errors: MR_ERESOURCE. */
mr_status mr_picture_workers(const mr_session *s, const mr_forecast *f, mr_picture_worker **out) MR_MUST_USE;

#endif
