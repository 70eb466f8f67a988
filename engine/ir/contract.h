/*
 * contract.h - checks whether this version of millrace can keep a contract. The lowering and the checker call it first.
 */
#ifndef MR_IR_CONTRACT_H
#define MR_IR_CONTRACT_H

#include "ir/plan.h"

/**
 * Whether header, placement and sections of @plan go together: micro-batches and commits fit `need`; clipping by the
 * global norm only with a barrier; tied weights and several pipes only with a flush or as stage replicas (without them
 * no list order decides what the other worker reads); a flushing plan reads by batch without delay and is a body alone
 * or a prologue alone; every stage has a worker; only several pipes have weights of their own; replicas flush, share a
 * round evenly and end each iteration with an average; stage replicas are what plan.h says of them, without a flush.
 * Errors: MR_ECONFIG with a message.
 */
mr_status mr_contract_check(const mr_plan *plan) MR_MUST_USE;

#endif
