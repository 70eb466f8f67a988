#include "base/failure.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct mr_failure {
	_Atomic bool failed;  /* C0: set after `text`; pairs with C0 in mr_failure_check */
	pthread_mutex_t lock; /* protects `text` */
	char text[400];
};

mr_failure *mr_failure_create(void)
{
	mr_failure *f = calloc(1, sizeof(*f));

	if (f)
		pthread_mutex_init(&f->lock, NULL);
	return f;
}

void mr_failure_destroy(mr_failure *f)
{
	if (f)
		pthread_mutex_destroy(&f->lock);
	free(f);
}

void mr_failure_set(mr_failure *f, const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&f->lock);
	if (!atomic_load_explicit(&f->failed, memory_order_relaxed)) {
		va_start(ap, fmt);
		vsnprintf(f->text, sizeof(f->text), fmt, ap);
		va_end(ap);
		atomic_store_explicit(&f->failed, true, memory_order_release); /* C0 */
	}
	pthread_mutex_unlock(&f->lock);
}

mr_status mr_failure_check(mr_failure *f)
{
	if (!atomic_load_explicit(&f->failed, memory_order_acquire)) /* C0 */
		return MR_OK;
	return mr_fail(MR_EDATA, "%s", f->text);
}
