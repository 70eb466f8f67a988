/*
 * token_table.h - the tokens of a vocabulary by number and by their bytes.
 */
#ifndef MR_TOKEN_TOKEN_TABLE_H
#define MR_TOKEN_TOKEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define MR_TOKEN_NUMBERS ((int64_t)1 << 24) /* the numbers of tokens are below */

typedef struct mr_token {
	char *bytes; /* NULL: no token has this number */
	size_t len;
} mr_token;

typedef struct mr_token_table {
	mr_token *at;      /* [n] */
	size_t n, room;    /* n: the largest number plus 1 */
	int32_t *place;    /* [places] numbers by the hash of their bytes, the next free place where it is taken; -1:
	                      free */
	size_t places, listed;
	int32_t byte[256]; /* the token that is this byte alone; -1: there is none */
} mr_token_table;

void mr_token_table_init(mr_token_table *t);
void mr_token_table_fini(mr_token_table *t);

/** Token @number, in [0, MR_TOKEN_NUMBERS), is @bytes[@len]. @listed: it can be found by them. Errors: MR_EDATA when
 * another one has this number, or these bytes; MR_ERESOURCE. */
mr_status mr_token_table_put(mr_token_table *t, int64_t number, const char *bytes, size_t len,
			     bool listed) MR_MUST_USE;

/** The number of the listed token @bytes[@len]; -1: there is none. */
int32_t mr_token_table_find(const mr_token_table *t, const char *bytes, size_t len);

#endif
