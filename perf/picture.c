/*
 * picture.c - draws the instructions of a trace, as `schedule --format svg` draws those of a plan.
 *
 *	perf_picture trace.json TITLE SUBTITLE >picture.svg
 *
 * trace.json is what `train` and `simulate` leave for the steps of trace.steps. The axis is in milliseconds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "report/schedule_picture.h"

#define MOST_BYTES ((size_t)256 << 20)

static uint64_t ns_of(const mr_json *us)
{
	return (uint64_t)llround(1e3 * mr_json_double(us));
}

/* Takes @event, unless it is no instruction: a wait, a message, a name. */
static bool take(const mr_json *event, mr_trace_rec *r)
{
	const char *kind = mr_json_string(mr_json_get(event, "cat"));
	const mr_json *args = mr_json_get(event, "args");
	mr_op op = kind ? mr_op_parse(kind) : MR_N_OPS;

	if (op == MR_N_OPS || !args)
		return false;
	*r = (mr_trace_rec){
		.begin_ns = ns_of(mr_json_get(event, "ts")),
		.micro = (uint32_t)mr_json_int(mr_json_get(args, "micro")),
		.version = (uint32_t)mr_json_int(mr_json_get(args, "version")),
		.stage = (uint16_t)mr_json_int(mr_json_get(args, "stage")),
		.worker = (uint16_t)mr_json_int(mr_json_get(event, "tid")),
		.pipe = (uint8_t)mr_json_int(mr_json_get(args, "pipe")),
		.op = (uint8_t)op,
	};
	r->end_ns = r->begin_ns + ns_of(mr_json_get(event, "dur"));
	return true;
}

static mr_status draw(const mr_json *trace, const char *title, const char *subtitle)
{
	const mr_json *events = mr_json_get(trace, "traceEvents");
	mr_trace_rec *rec = calloc(mr_json_size(events) + 1, sizeof(*rec));
	mr_schedule_picture p = {.rec = rec, .unit = 1e6, .unit_name = "ms", .title = title, .subtitle = subtitle};
	mr_status st;

	if (!rec)
		return mr_fail(MR_ERESOURCE, "no memory for %zu events", mr_json_size(events));
	for (size_t i = 0; i < mr_json_size(events); i++)
		if (take(mr_json_at(events, i), &rec[p.n_rec])) {
			uint16_t rows = (uint16_t)(rec[p.n_rec++].worker + 1);

			p.n_workers = rows > p.n_workers ? rows : p.n_workers;
		}
	st = p.n_rec ? mr_schedule_picture_svg(&p, stdout) : mr_fail(MR_EDATA, "a trace without instructions");
	free(rec);
	return st;
}

int main(int argc, char **argv)
{
	mr_json *trace = NULL;
	mr_status st = argc == 4 ? mr_json_read_file(argv[1], MOST_BYTES, &trace)
				 : mr_fail(MR_EUSAGE, "usage: perf_picture trace.json TITLE SUBTITLE >picture.svg");

	if (st == MR_OK)
		st = draw(trace, argv[2], argv[3]);
	if (st != MR_OK)
		fprintf(stderr, "perf_picture: %s\n", mr_error_text());
	mr_json_destroy(trace);
	return mr_status_exit_code(st);
}
