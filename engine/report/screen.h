/*
 * screen.h - the size of the terminal that shows a stream.
 */
#ifndef MR_REPORT_SCREEN_H
#define MR_REPORT_SCREEN_H

#include <stdio.h>

/** Columns of the terminal of @out, read at each call since windows change; 0 if it is no terminal or its width is
 * unknown. */
unsigned mr_screen_columns(FILE *out);
/** Its rows, likewise. */
unsigned mr_screen_rows(FILE *out);

#endif
