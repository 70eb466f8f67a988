/* printable.h - texts that came out of files, before they go to a terminal. */
#ifndef MR_BASE_PRINTABLE_H
#define MR_BASE_PRINTABLE_H

/**
 * Replace each control character of @text but newlines and tabs by '?', in place, so that the text does nothing to a
 * terminal; also those that UTF-8 writes as two bytes, 0xc2 0x80 to 0xc2 0x9f. Returns @text.
 *
 * The texts of mr_fail, the cells of tables and the descriptions of data sources have gone through it.
 */
char *mr_printable(char *text);

#endif
