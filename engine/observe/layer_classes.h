/*
 * layer_classes.h - the layers of a profile by their kind and pass, against the roofline of their worker's cores: a
 * table, and a picture.
 *
 *	class   pass          layers      ms  GFLOP/s   peak      MB  FLOP/byte  from    roof
 *	linear  F  x W             8  0.0640    183.2  75.1%    0.61       24.1  L2     81.0%
 *
 * The bytes are the least that a pass moves: inputs, outputs, weights and gradients, each once. At best they come from
 * the first level of the caches that holds them. `roof` is the part of the rate that is possible: FLOPs at the peak or
 * bytes at the level's bandwidth, whichever takes longer, by the time that was measured.
 */
#ifndef MR_OBSERVE_LAYER_CLASSES_H
#define MR_OBSERVE_LAYER_CLASSES_H

#include <stdio.h>

#include "observe/speed.h"
#include "profile/profile.h"
#include "report/svg.h"
#include "session/session.h"

typedef struct mr_layer_class {
	const char *kind;           /* of the layers */
	const char *pass, *product; /* "F", "x W"; product "": it makes none */
	uint32_t n;                 /* layers */
	double seconds, flops, bytes; /* of all of them, a micro-batch each */
	double least_s;             /* what the roof allows */
	mr_bandwidth_level level;   /* of the layer that moves most */
	mr_speed counted;           /* of the repeats in which events were counted; NAN */
} mr_layer_class;

typedef struct mr_layer_classes {
	mr_layer_class *at; /* [n] those that take longest first; owned */
	uint32_t n;
	mr_speed_limits limits; /* of the worker of the first stage */
	uint32_t threads;
	const char *missing;    /* mr_profile.missing */
} mr_layer_classes;

/** Of profile @p of @s; @peak FLOP/s of a core. Errors: MR_ERESOURCE. */
mr_status mr_layer_classes_of(const mr_session *s, const mr_profile *p, double peak, const mr_bandwidth *b,
			      mr_layer_classes *out) MR_MUST_USE;
void mr_layer_classes_fini(mr_layer_classes *c);

/** Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_layer_classes_print(const mr_layer_classes *c, FILE *out) MR_MUST_USE;

/** The roofline with a point for each class that computes: FLOPs a byte, GFLOP/s. @title above it. Errors: MR_EIO,
 * MR_ERESOURCE. */
mr_status mr_layer_classes_svg(const mr_layer_classes *c, const char *title, const mr_svg *v) MR_MUST_USE;

#endif
