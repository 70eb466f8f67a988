/* processor.h - the name of the processor, for people and for telling machines apart. */
#ifndef MR_HOST_PROCESSOR_H
#define MR_HOST_PROCESSOR_H

#include <stddef.h>

/** What Linux calls the processor ("model name"), cut to @size bytes; "" where it has no such line. */
void mr_processor_name(char *text, size_t size);

#endif
