#include "base/inputs.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST_ROOM 64 /* a power of 2 */

typedef struct input {
	uint64_t dev, ino;
	struct timespec changed;
	bool used;
} input;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static input *table; /* [room], open addressing; at most half of it is used */
static size_t room, n;

/* Where @s is, or would be, in a table that has a free place. */
static input *place_of(input *in, size_t size, uint64_t dev, uint64_t ino)
{
	size_t i = (size_t)((ino ^ dev << 32) * 0x9e3779b97f4a7c15u >> 20) & (size - 1);

	while (in[i].used && (in[i].dev != dev || in[i].ino != ino))
		i = (i + 1) & (size - 1);
	return &in[i];
}

static bool grow(void)
{
	size_t size = room ? 2 * room : FIRST_ROOM;
	input *more = calloc(size, sizeof(*more));

	if (!more)
		return false;
	for (size_t i = 0; i < room; i++)
		if (table[i].used)
			*place_of(more, size, table[i].dev, table[i].ino) = table[i];
	free(table);
	table = more;
	room = size;
	return true;
}

void mr_inputs_note(const struct stat *s)
{
	pthread_mutex_lock(&lock);
	if (2 * (n + 1) <= room || grow()) {
		input *at = place_of(table, room, s->st_dev, s->st_ino);

		n += !at->used;
		*at = (input){s->st_dev, s->st_ino, s->st_ctim, true};
	}
	pthread_mutex_unlock(&lock);
}

bool mr_inputs_has(const struct stat *s)
{
	const input *at;
	bool has;

	pthread_mutex_lock(&lock);
	at = room ? place_of(table, room, s->st_dev, s->st_ino) : NULL;
	has = at && at->used && at->changed.tv_sec == s->st_ctim.tv_sec && at->changed.tv_nsec == s->st_ctim.tv_nsec;
	pthread_mutex_unlock(&lock);
	return has;
}
