#include "ir/text.h"

#include <ctype.h>
#include <string.h>

#include "ir/op.h"
#include "ir/text_words.h"

static const char *word(const char *const *words, size_t n, unsigned i)
{
	return i < n ? words[i] : "?";
}

#define WORD(words, i) word(words, MR_TEXT_COUNT(words), (unsigned)(i))

static void print_system(const mr_plan *plan, mr_strbuf *out)
{
	char name[sizeof(plan->system)];
	size_t n = 0;

	for (; n + 1 < sizeof(name) && plan->system[n]; n++) {
		unsigned char c = (unsigned char)plan->system[n];

		name[n] = isalnum(c) || strchr("_.+-", c) ? (char)c : '_';
	}
	name[n] = 0;
	mr_strbuf_printf(out, "plan %s\n", n ? name : "_");
}

static void print_double(const char *key, double x, mr_strbuf *out)
{
	char text[32];

	if (x != 0)
		mr_strbuf_printf(out, " %s=%s", key, mr_double_text(x, text));
}

static void print_average(const mr_average *a, mr_strbuf *out)
{
	if (a->rule == MR_AVERAGE_NONE)
		return;
	mr_strbuf_printf(out, " average=%s every=%u%s", WORD(mr_text_average, a->rule), a->every,
			 a->state ? " average_state" : "");
	print_double("alpha", a->alpha, out);
	print_double("outer_lr", a->outer_lr, out);
	print_double("outer_mu", a->outer_mu, out);
}

static void print_contract(const mr_contract *c, mr_strbuf *out)
{
	mr_strbuf_printf(out, "contract %s flush=%s read=%s sum=%s need=%u staleness=%u%s%s%s%s%s%s%s",
			 WORD(mr_text_coverage, c->coverage), WORD(mr_text_flush, c->flush),
			 WORD(mr_text_read_rule, c->read_f), WORD(mr_text_sum, c->sum), c->need, c->max_staleness,
			 c->same_version_b ? " same_version_b" : "", c->clip ? " clip" : "", c->tied ? " tied" : "",
			 c->private_weights ? " private_weights" : "", c->racing ? " racing" : "",
			 c->keep_read ? " keep_read" : "", c->steal ? " steal" : "");
	if (c->delay || c->delayed)
		mr_strbuf_printf(out, " delay=%u delayed=%u", c->delay, c->delayed);
	if (c->predict != MR_PREDICT_NONE)
		mr_strbuf_printf(out, " aim=%s", WORD(mr_text_predict, c->predict));
	if (c->ema_decay_ppm)
		mr_strbuf_printf(out, " memory=%u", c->ema_decay_ppm);
	if (c->slow_start)
		mr_strbuf_printf(out, " slow_start=%u", c->slow_start);
	if (c->sync_steps)
		mr_strbuf_printf(out, " sync_steps=%u", c->sync_steps);
	print_average(&c->average, out);
	mr_strbuf_append(out, "\n");
}

static void print_place(const mr_plan *plan, uint8_t pipe, mr_strbuf *out)
{
	mr_strbuf_printf(out, "place p%u", pipe);
	for (uint16_t s = 0; s < plan->n_stages; s++) {
		uint16_t w = mr_plan_worker(plan, pipe, s);

		if (w == MR_WORKER_ANY)
			mr_strbuf_append(out, " -");
		else
			mr_strbuf_printf(out, " %u", w);
	}
	mr_strbuf_append(out, "\n");
}

static void print_storage(const mr_plan *plan, mr_strbuf *out)
{
	mr_strbuf_printf(out, "storage %s\n", WORD(mr_text_storage, plan->storage));
	for (unsigned p = 0; p < plan->n_pipes; p++) {
		mr_strbuf_printf(out, "slots p%u", p);
		for (uint16_t s = 0; s < plan->n_stages; s++)
			mr_strbuf_printf(out, " %u", plan->n_slots[mr_plan_at(plan, (uint8_t)p, s)]);
		mr_strbuf_printf(out, "\nbuffers p%u", p);
		for (uint16_t s = 0; s < plan->n_stages; s++) {
			size_t at = mr_plan_at(plan, (uint8_t)p, s);

			mr_strbuf_printf(out, " %u/%u", plan->n_fwd[at], plan->n_bwd[at]);
		}
		mr_strbuf_append(out, "\n");
	}
	mr_strbuf_append(out, "versions");
	for (uint16_t s = 0; s < plan->n_stages; s++)
		mr_strbuf_printf(out, " %u", plan->n_versions[s]);
	mr_strbuf_append(out, "\n");
}

static void print_header(const mr_plan *plan, mr_strbuf *out)
{
	print_system(plan, out);
	mr_strbuf_printf(out, "stages %u workers %u pipes %u micro %u commits %u\n", plan->n_stages, plan->n_workers,
			 plan->n_pipes, plan->n_micro, plan->commits);
	print_contract(&plan->contract, out);
	for (uint16_t s = 0; s < plan->n_stages && mr_plan_has_stage_replicas(plan); s++)
		mr_strbuf_printf(out, "%s %u%s", s ? "" : "turns", plan->stage_replicas[s],
				 s + 1 < plan->n_stages ? "" : "\n");
	for (unsigned p = 0; p < plan->n_pipes; p++)
		print_place(plan, (uint8_t)p, out);
	if (plan->lowered)
		print_storage(plan, out);
}

static void print_version(mr_strbuf *out, mr_section section, char letter, int32_t v)
{
	mr_strbuf_printf(out, section == MR_PROLOGUE ? " %c%d" : " %c%+d", letter, v);
}

/* Slot and buffer numbers: where the op has a use for them, and wherever one is not 0 (so that nothing is lost). */
static void print_numbers(const mr_plan *plan, const mr_instr *in, mr_strbuf *out)
{
	bool stored = plan->lowered && plan->storage == MR_STORED && mr_op_is_compute(in->op);
	bool first = in->stage == 0, last = in->stage + 1u == plan->n_stages;
	bool forward = in->op == MR_OP_F || in->op == MR_OP_R, writes = in->op != MR_OP_R && in->op != MR_OP_W;

	if (stored || in->slot)
		mr_strbuf_printf(out, " a%u", in->slot);
	if ((stored && in->op != MR_OP_W && (forward ? !first : !last)) || in->in)
		mr_strbuf_printf(out, " i%u", in->in);
	if ((stored && writes && (forward ? !last : !first)) || in->out)
		mr_strbuf_printf(out, " o%u", in->out);
}

mr_status mr_text_instr(const mr_plan *plan, uint16_t worker, mr_section section, const mr_instr *in, mr_strbuf *out)
{
	bool reads = mr_op_is_compute(in->op);
	int32_t main_v = reads ? in->read : in->target, other_v = reads ? in->target : in->read;

	if (in->op >= MR_N_OPS || in->flags >> MR_TEXT_COUNT(mr_text_flags))
		return mr_fail(MR_EINVAL, "op %u with flags 0x%x has no words", in->op, in->flags);
	mr_strbuf_printf(out, section == MR_PROLOGUE ? "w%u %s m%u s%u p%u" : "w%u %s m+%u s%u p%u", worker,
			 mr_op_name((mr_op)in->op), in->micro, in->stage, in->pipe);
	if (in->span != 1)
		mr_strbuf_printf(out, " x%u", in->span);
	if (plan->lowered || main_v)
		print_version(out, section, 'v', main_v);
	if (other_v || (in->flags & MR_INSTR_UPDATE))
		print_version(out, section, reads ? 't' : 'r', other_v);
	print_numbers(plan, in, out);
	for (unsigned k = 0; k < MR_TEXT_COUNT(mr_text_flags); k++)
		if (in->flags & 1u << k)
			mr_strbuf_printf(out, " %s", mr_text_flags[k]);
	return out->failed ? mr_fail(MR_ERESOURCE, "no memory to print a plan") : MR_OK;
}

static mr_status print_section(const mr_plan *plan, mr_section section, mr_strbuf *out)
{
	size_t n = 0;

	for (unsigned w = 0; w < plan->n_workers; w++)
		n += mr_plan_list(plan, (uint16_t)w, section)->n;
	if (n == 0)
		return MR_OK;
	if (section == MR_BODY)
		mr_strbuf_printf(out, "[body x N micro+%u ver+%u]\n", plan->n_micro, plan->commits);
	else
		mr_strbuf_append(out, section == MR_PROLOGUE ? "[prologue]\n" : "[epilogue]\n");
	for (unsigned w = 0; w < plan->n_workers; w++) {
		const mr_list *list = mr_plan_list(plan, (uint16_t)w, section);

		for (uint32_t i = 0; i < list->n; i++) {
			MR_TRY(mr_text_instr(plan, (uint16_t)w, section, &list->at[i], out));
			mr_strbuf_append(out, "\n");
		}
	}
	return MR_OK;
}

mr_status mr_text_print(const mr_plan *plan, mr_strbuf *out)
{
	print_header(plan, out);
	for (mr_section section = MR_PROLOGUE; section < MR_N_SECTIONS; section++)
		MR_TRY(print_section(plan, section, out));
	return out->failed ? mr_fail(MR_ERESOURCE, "no memory to print a plan") : MR_OK;
}

mr_status mr_text_write(const mr_plan *plan, FILE *file)
{
	mr_strbuf text;
	mr_status st;

	mr_strbuf_init(&text);
	st = mr_text_print(plan, &text);
	if (st == MR_OK && (fwrite(mr_strbuf_text(&text), 1, text.len, file) != text.len || ferror(file)))
		st = mr_fail(MR_EIO, "the plan could not be written");
	mr_strbuf_fini(&text);
	return st;
}
