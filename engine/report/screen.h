/*
 * screen.h - how wide the terminal is that reads a stream.
 */
#ifndef MR_REPORT_SCREEN_H
#define MR_REPORT_SCREEN_H

#include <stdio.h>

/** Columns of the terminal behind @out, asked at each call since windows change; 0 where it is no terminal or does not
 * say. */
unsigned mr_screen_columns(FILE *out);

#endif
