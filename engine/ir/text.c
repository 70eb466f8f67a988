#include "ir/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "ir/contract_field.h"
#include "ir/op.h"
#include "ir/text_words.h"

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

static void print_field(const mr_contract *c, const mr_contract_field *f, mr_strbuf *out)
{
	const char *key = mr_contract_text_key(f);
	char text[32];

	if (!f->in_text && !mr_contract_get(c, f))
		return;
	mr_strbuf_printf(out, *key && f->kind != MR_FIELD_FLAG ? " %s=" : " %s", key);
	if (f->kind == MR_FIELD_COUNT)
		mr_strbuf_printf(out, "%" PRIu64, mr_contract_get(c, f));
	else if (f->kind == MR_FIELD_REAL)
		mr_strbuf_append(out, mr_double_text(mr_contract_get_real(c, f), text));
	else if (f->kind == MR_FIELD_WORD)
		mr_strbuf_append(out, mr_contract_word(c, f));
}

static void print_contract(const mr_contract *c, mr_strbuf *out)
{
	mr_strbuf_append(out, "contract");
	for (unsigned i = 0; i < MR_N_FIELDS; i++)
		print_field(c, &mr_contract_fields[i], out);
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
	bool has_word = (unsigned)plan->storage < MR_TEXT_COUNT(mr_text_storage);

	mr_strbuf_printf(out, "storage %s\n", has_word ? mr_text_storage[plan->storage] : "?");
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
	for (const mr_stage_table *t = mr_stage_tables; t < mr_stage_tables + MR_N_TABLES; t++)
		for (uint16_t s = 0; s < plan->n_stages && mr_stage_table_used(plan, t); s++)
			mr_strbuf_printf(out, "%s %u%s", s ? "" : t->key, mr_stage_table_of(plan, t)[s],
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
	if (!mr_plan_length(plan, section))
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
	mr_strbuf text = {0};
	mr_status st;

	st = mr_text_print(plan, &text);
	if (st == MR_OK && (fwrite(mr_strbuf_text(&text), 1, text.len, file) != text.len || ferror(file)))
		st = mr_fail(MR_EIO, "the plan could not be written");
	mr_strbuf_fini(&text);
	return st;
}
