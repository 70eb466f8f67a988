/* screen_help.h - a pseudo terminal of a given width, for what is drawn on one. */
#ifndef MR_TESTS_REPORT_SCREEN_HELP_H
#define MR_TESTS_REPORT_SCREEN_HELP_H

#include <stdio.h>

typedef struct mr_test_screen {
	FILE *out;    /* the terminal's side: write here */
	int master;   /* where what was written arrives */
} mr_test_screen;

/** Open one. A failed assertion when the system has none. */
mr_test_screen mr_test_screen_open(unsigned short columns);
/** Make it as wide as @columns, as a user who drags the window. */
void mr_test_screen_resize(const mr_test_screen *s, unsigned short columns);
/** What was written since the last call, without the carriage return that a terminal puts in front of a newline; the
 * caller frees it. */
char *mr_test_screen_take(mr_test_screen *s);
void mr_test_screen_close(mr_test_screen *s);

/** Columns of the widest line of @text, which ends lines by \n or \r; escapes do not count. */
unsigned mr_test_widest(const char *text);

#endif
