/* pin.h - restricts the calling thread to CPUs. */
#ifndef MR_HOST_PIN_H
#define MR_HOST_PIN_H

#include <stdint.h>

/** Restrict the calling thread to the CPUs @cpu[0..n), n at least 1. Returns 0 or an errno. */
int mr_pin(const uint32_t *cpu, uint32_t n);

#endif
