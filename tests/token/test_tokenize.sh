# Tokenizers of Hugging Face: tokenize, and training, evaluation and samples on their tokens.
#	test_tokenize.sh SOURCE BUILD
. "$(dirname "$0")/../cli/cli_lib.sh"

"$millrace" --version | grep -q 'tokenizers by PCRE2: none' && {
	. "$1/tests/missing.sh"
	missing_package tokenize "build with PCRE2" libpcre2-dev
}
cp "$source/tests/golden/token/gpt2.json" "$source/tests/golden/token/llama3.json" .
for i in 1 2 3 4 5 6 7 8; do
	echo "The quick brown fox jumps over the lazy dog, $i times. It's what they're after, isn't it?"
done >prose.txt
cat >text.cfg <<'EOF'
model = { name = "gpt"; layers = 1; width = 16; heads = 2; context = 8; };
data = { name = "text"; path = "prose.txt"; tokenizer = "gpt2.json"; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 2; batch = 2; };
machine = { workers = 1; threads = 1; peak_gflops = 1.0; };
sample = { tokens = 4; prompt = "The <|end|>"; };
EOF

# The file is what data "tokens" reads: 16 bits, or 32 for large vocabularies.
expect 0 "prose.bin is written: " tokenize gpt2.json prose.txt -o prose.bin
has "tokens of 16 bits, for 712 B of text"
"$millrace" check-data text.cfg | sed 's/.*prose.txt: 712 bytes are \([0-9]* tokens\).*/\1/; q' >from_text
grep -qF "prose.bin is written: $(cat from_text) of 16" out || complain "text has $(cat from_text):"
sed 's/"text"; path = "prose.txt"/"tokens"; path = "prose.bin"/' text.cfg >tokens.cfg
expect 0 "prose.bin: llm.c, $(cat from_text); vocabulary 642" check-data tokens.cfg
expect 0 "twice.bin is written: $((2 * $(sed 's/ .*//' from_text) + 2)) tokens" tokenize gpt2.json prose.txt prose.txt \
	-o twice.bin --begin "<|end|>"
expect 0 "bare.bin is written" tokenize gpt2.json prose.txt -o bare.bin --format nanogpt
tail -c +1025 prose.bin | cmp - bare.bin || complain "a header is not all that llm.c's form has more:"
sed 's/"<tool>": *[0-9]*/&/; s/"id":641/"id":70000/; s/"id": 641/"id": 70000/' gpt2.json >wide.json
expect 0 "tokens of 32 bits" tokenize wide.json prose.txt -o wide.bin
expect 0 "wide.bin: llm.c, $(cat from_text); vocabulary 70001" check-data tokens.cfg --set data.path=wide.bin \
	--set data.tokenizer=wide.json
expect 2 "write llmc" tokenize wide.json prose.txt -o no.bin --format nanogpt
expect 2 "no added token \"<|en|>\"" tokenize gpt2.json prose.txt -o no.bin --begin "<|en|>"
expect 2 "tokenize needs the file to write" tokenize gpt2.json prose.txt
expect 4 "absent.txt: No such file" tokenize gpt2.json prose.txt absent.txt -o no.bin
expect 1 "no/no.bin: cannot write" tokenize gpt2.json prose.txt -o no/no.bin
[ -z "$(find . -name 'no.bin*')" ] || complain "a file that failed was left:"

# Training on a text and on its file of tokens is the same, and both write samples.
expect 0 "done: 2 of 2 steps" train text.cfg
has "The <|end|>"
loss=$(sed -n 's/.*"loss":\([^,]*\).*/\1/p' runs/text/metrics.jsonl | head -1)
expect 0 "done: 2 of 2 steps" train tokens.cfg
[ "$loss" = "$(sed -n 's/.*"loss":\([^,]*\).*/\1/p' runs/tokens/metrics.jsonl | head -1)" ] ||
	complain "the same tokens give another loss:"
awk 'BEGIN { for (i = 0; i < 100000; i++) print "a text, about this and that" }' >large.txt
if ! grep -q __asan_init "$millrace" && ! grep -q __tsan_init "$millrace"; then # they have memory of their own
	expect 4 "are encoded at a start: write its tokens with" check-data text.cfg --set data.path=large.txt \
		--set machine.memory_limit=20M
	has "and at most 2.4 MiB are"
fi
expect 0 "step 2: validation loss" eval text.cfg --set data.validation=0.3

# A tokenizer that leaves out the line's end of an empty prompt.
sed '1s/{/{"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\\\s"},\
	"behavior": "Removed", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false}]},/
	s/"pre_tokenizer": {$/"former": {/' gpt2.json >drop.json
sed 's/gpt2.json/drop.json/' text.cfg >drop.cfg
expect 0 "done: 2 of 2 steps" train drop.cfg
expect 0 "" sample drop.cfg --set sample.prompt=

# A normal form with more tokens than two a byte: what follows is the same as behind the normal form itself.
if ! "$millrace" --version | grep -q 'utf8proc: none'; then
	sed 's/"normalizer": null/"normalizer": {"type": "NFD"}/' gpt2.json >nfd.json
	sed 's/gpt2.json/nfd.json/' text.cfg >nfd.cfg
	expect 0 "done: 2 of 2 steps" train nfd.cfg
	whole=$(printf '\352\260\201') parts=$(printf '\341\204\200\341\205\241\341\206\250')
	for prompt in "$whole$whole$whole$whole" "$parts$parts$parts$parts"; do
		expect 0 "$prompt" sample nfd.cfg --set "sample.prompt=$prompt" --set sample.tokens=20
		tail -c +$(($(printf %s "$prompt" | wc -c) + 1)) out >"end.${#prompt}"
	done
	[ "$(cksum end.* | awk '{ print $1 }' | uniq | wc -l)" -eq 1 ] || complain "a prompt was cut short:"
fi
rm prose.txt
expect 0 "The <|end|>" sample text.cfg
expect 0 "The <|end|>" sample tokens.cfg

# A model's tokens are those of its tokenizer.
expect 4 "llama3.json: tokenizer " sample text.cfg --set data.tokenizer=llama3.json
has "is not the one that the model was trained with"
expect 3 "tokenizer: the model was trained on the tokens of a tokenizer: name its tokenizer.json" sample text.cfg \
	--set data.tokenizer=
expect 3 "only a model of text can write a sample: the data are tokens, which need a tokenizer" sample tokens.cfg \
	--set data.tokenizer= --set data.vocab=642
expect 4 "is not below the vocabulary of 100" check-data tokens.cfg --set data.vocab=100
exit $failed
