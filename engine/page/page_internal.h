/* page_internal.h - what the parts of a page share. For page*.c only. */
#ifndef MR_PAGE_PAGE_INTERNAL_H
#define MR_PAGE_PAGE_INTERNAL_H

#include "page/page.h"
#include "report/svg.h"

typedef struct mr_page {
	FILE *out;
	const mr_run_folder *run; /* the one whose part is written */
	unsigned n_pictures;      /* so far: each has ids of its own */
	char scope[16];
} mr_page;

/** The next picture of the page, @wide: as wide as it is. mr_page_end_picture follows with the status of drawing it,
 * which it returns. */
mr_svg mr_page_picture(mr_page *p, bool wide);
mr_status mr_page_end_picture(mr_page *p, mr_status st) MR_MUST_USE;
/** Is it known that one worker did all? Nothing of a pipeline is said of such a run. */
bool mr_page_is_alone(const mr_run_folder *r);
/** A paragraph. */
void mr_page_say(mr_page *p, const char *fmt, ...) MR_PRINTF(2, 3);
/** The same, in a softer colour. */
void mr_page_note(mr_page *p, const char *text);
/** @text, with its line ends and tabs, for an element that keeps them. */
void mr_page_lines(mr_page *p, const char *text);
/** @text in quotes, where blanks or other characters would not be seen; else as it is. Returns @out of @size. */
const char *mr_page_visible(const char *text, char *out, size_t size);
/** A number as people read it: "43451", "0.01235", "1.2e+20". Returns @out. */
const char *mr_page_number(double x, char out[32]);
void mr_page_heading(mr_page *p, int level, const char *text);

/** The losses of all @n runs, for narrow screens. Errors: MR_ERESOURCE; MR_EIO. */
mr_status mr_page_loss(mr_page *p, const mr_run_folder *runs, size_t n) MR_MUST_USE;

/* The parts of a run, each with its heading. Errors: MR_ERESOURCE; MR_EIO. */
mr_status mr_page_learned(mr_page *p) MR_MUST_USE;
mr_status mr_page_errors(mr_page *p) MR_MUST_USE;
void mr_page_advice(mr_page *p);
mr_status mr_page_timeline(mr_page *p) MR_MUST_USE;
mr_status mr_page_time(mr_page *p) MR_MUST_USE;
mr_status mr_page_staleness(mr_page *p) MR_MUST_USE;
mr_status mr_page_memory(mr_page *p) MR_MUST_USE;
mr_status mr_page_machine(mr_page *p) MR_MUST_USE;

/* Parts of mr_page_errors, of the errors in errors.json. */
mr_status mr_page_confusion(mr_page *p, const mr_json *errors) MR_MUST_USE;
mr_status mr_page_residuals(mr_page *p, const mr_json *errors) MR_MUST_USE;
void mr_page_texts(mr_page *p, const mr_json *errors);

#endif
