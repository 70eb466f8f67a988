#include "trained/unreadable.h"

#include <stdio.h>

#define SHOWN 20

static void show(const mr_unreadable *m, const char *text)
{
	if (m->show)
		m->show(m->arg, text);
}

/* The first alone is the error itself; it is shown when a second one comes. */
void mr_unreadable_add(mr_unreadable *m)
{
	if (m->n == 0)
		snprintf(m->first, sizeof(m->first), "%s", mr_error_text());
	else if (m->n == 1)
		show(m, m->first);
	if (m->n && m->n < SHOWN)
		show(m, mr_error_text());
	m->n++;
}

mr_status mr_unreadable_status(const mr_unreadable *m, const char *what)
{
	if (!m->n)
		return MR_OK;
	return m->n == 1 ? mr_fail(MR_EDATA, "%s", m->first)
			 : mr_fail(MR_EDATA, "%llu %s cannot be read, the first: %s", (unsigned long long)m->n, what,
				   m->first);
}
