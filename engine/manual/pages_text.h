/* pages_text.h - pages.roff as a text. MillraceLayers.cmake writes the file that defines it. */
#ifndef MR_MANUAL_PAGES_TEXT_H
#define MR_MANUAL_PAGES_TEXT_H

extern const char mr_pages_text[];

#endif
