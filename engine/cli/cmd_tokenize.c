/* millrace tokenize: writes the tokens of texts into a file that data "tokens" reads. */
#include <stdio.h>
#include <stdlib.h>

#include "base/contents.h"
#include "base/str.h"
#include "cli/args.h"
#include "token/token_file.h"
#include "token/tokenizer.h"

#define MOST_FILES 100000

typedef struct work {
	mr_tokenizer *tokenizer;
	mr_token_writer out;
	mr_tokens tokens; /* of the file at hand */
	int32_t begin;    /* in front of each file; -1: nothing */
	uint64_t bytes;
} work;

static mr_status encode_file(work *w, const char *path)
{
	mr_contents *in;
	uint64_t n;
	mr_status st;

	MR_TRY(mr_contents_open(path, &in));
	n = mr_contents_bytes(in);
	st = mr_contents_keep(in);
	w->tokens.n = 0;
	if (st == MR_OK && w->begin >= 0) {
		st = mr_tokens_reserve(&w->tokens, 1);
		if (st == MR_OK)
			w->tokens.at[w->tokens.n++] = w->begin;
	}
	if (st == MR_OK) {
		st = mr_tokenizer_encode(w->tokenizer, mr_contents_at(in, 0, n, NULL), n, &w->tokens);
		if (st != MR_OK)
			st = mr_fail_in(st, "%s", path);
	}
	mr_contents_close(in);
	w->bytes += n;
	return st == MR_OK ? mr_token_writer_add(&w->out, w->tokens.at, w->tokens.n) : st;
}

static mr_status write_tokens(const mr_args *args, work *w)
{
	const char *output = mr_values_string(args->values, "output"), *begin = mr_values_string(args->values, "begin");
	bool wide = mr_tokenizer_size(w->tokenizer) > 65536, bare;
	char size[16];
	mr_status st = MR_OK;

	bare = *mr_values_string(args->values, "format") == 'n';
	if (bare && wide)
		return mr_fail(MR_EUSAGE,
			       "--format nanogpt has tokens of 16 bits, and the tokenizer has tokens up to %lld: write "
			       "llmc", (long long)mr_tokenizer_size(w->tokenizer) - 1);
	w->begin = *begin ? mr_tokenizer_added(w->tokenizer, begin) : -1;
	if (*begin && w->begin < 0)
		return mr_fail(MR_EUSAGE, "--begin: the tokenizer has no added token \"%s\"", begin);
	MR_TRY(mr_token_writer_begin(&w->out, output, wide, bare));
	for (uint32_t i = 1; i < args->n_operands && st == MR_OK; i++)
		st = encode_file(w, args->operand[i]);
	MR_TRY(mr_token_writer_end(&w->out, st));
	printf("%s is written: %llu tokens of %d bits, for %s of text, %.2f bytes a token; vocabulary %lld\n", output,
	       (unsigned long long)w->out.n, wide ? 32 : 16, mr_bytes_text(w->bytes, size),
	       (double)w->bytes / (double)w->out.n, (long long)mr_tokenizer_size(w->tokenizer));
	return MR_OK;
}

static mr_status run(mr_args *args)
{
	work w = {0};
	mr_status st;

	if (!*mr_values_string(args->values, "output"))
		return mr_fail(MR_EUSAGE, "tokenize needs the file to write: --output FILE (or -o FILE)");
	MR_TRY(mr_tokenizer_open(args->operand[0], &w.tokenizer));
	st = write_tokens(args, &w);
	mr_tokenizer_close(w.tokenizer);
	free(w.tokens.at);
	return st;
}

static const mr_option options[] = {
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL, "write to this file (short: -o)"},
	{"begin", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "added token that stands in front of each file, such as <|endoftext|>; empty: none"},
	{"format", MR_OPT_ENUM, "llmc", 0, 0, "llmc|nanogpt", NULL,
	 "tokens behind llm.c's header, of 16 bits, or of 32 for a vocabulary beyond 65536; or bare tokens of 16 bits"},
	{0},
};

const mr_command mr_command_tokenize = {
	.name = "tokenize",
	.operands = "TOKENIZER TEXT...",
	.min_operands = 2,
	.max_operands = MOST_FILES,
	.summary = "write the tokens of texts into a file that data \"tokens\" reads",
	.help = "TOKENIZER is a tokenizer.json of Hugging Face with byte-level BPE (GPT-2, Llama 3); the tokens are\n"
		"those that it gives with add_special_tokens=False. Each TEXT is read whole; a byte that is no UTF-8\n"
		"becomes a token of its own. The file is read by\n"
		"data = { name = \"tokens\"; path = \"FILE\"; tokenizer = \"TOKENIZER\"; }; the tokenizer is for\n"
		"writing samples. Texts up to 64 MiB need no such file: see the key tokenizer of data \"text\".\n",
	.options = options,
	.run = run,
};
