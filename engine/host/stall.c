#include "host/stall.h"

#include "host/clock.h"

#define LOOK_NS 1000000000u /* a look later than this, or than a quarter of the limit, was itself held up */
#define AUTOMATIC UINT64_MAX
#define FIRST_TIMES 6u

void mr_stall_init(mr_stall *s, double seconds)
{
	*s = (mr_stall){.limit_ns = seconds < 0 ? AUTOMATIC : (uint64_t)(seconds * 1e9), .seen_ns = mr_clock_ns()};
}

void mr_stall_go_on(mr_stall *s)
{
	s->idle_ns = 0;
	s->seen_ns = mr_clock_ns();
}

static uint64_t limit_of(const mr_stall *s, uint64_t longest_ns)
{
	uint64_t longest = longest_ns > s->longest_ns ? longest_ns : s->longest_ns;

	if (s->limit_ns != AUTOMATIC)
		return s->limit_ns;
	if (!s->moved && !longest_ns)
		return FIRST_TIMES * (uint64_t)MR_STALL_LEAST_NS;
	return longest * MR_STALL_TIMES > MR_STALL_LEAST_NS ? longest * MR_STALL_TIMES : MR_STALL_LEAST_NS;
}

bool mr_stall_look(mr_stall *s, uint64_t beats, uint64_t longest_ns)
{
	uint64_t now = mr_clock_ns(), passed = now - s->seen_ns, limit = limit_of(s, longest_ns);
	uint64_t most = limit / 4 < LOOK_NS ? limit / 4 : LOOK_NS;

	s->seen_ns = now;
	if (beats != s->beats) {
		s->longest_ns = s->idle_ns > s->longest_ns ? s->idle_ns : s->longest_ns;
		s->moved = true;
		s->beats = beats;
		s->idle_ns = 0;
		return false;
	}
	s->idle_ns += passed < most ? passed : most;
	return limit != 0 && s->idle_ns >= limit;
}
