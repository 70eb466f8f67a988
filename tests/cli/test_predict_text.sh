# predict of language models: texts, lines, JSON lines and files of tokens, by the vocabulary or the tokenizer in the
# checkpoint alone; the loss is eval's, and probabilities are those of the tokens.
# Arguments: source tree, build tree.
. "$(dirname "$0")/cli_lib.sh"
command=predict

how='model = { name = "gpt"; layers = 1; width = 16; heads = 2; context = 8; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
train = { steps = 60; batch = 8; eval_every = 60; };'

# train NAME: quietly.
train() {
	"$millrace" train "$1.cfg" >out 2>&1 || complain "train $1.cfg:"
}

awk 'BEGIN { srand(7); for (i = 0; i < 500; i++) { k = int(3 * rand())
	print (k == 0 ? "the cat sat" : k == 1 ? "a dog ran" : "birds fly high over hills") } }' >prose.txt
cat >chars.cfg <<END
data = { name = "text"; path = "prose.txt"; validation = 0.2; };
$how
END
train chars
# The validation part as eval reads it: whole windows of 8, and the token behind the last.
whole=$(wc -c <prose.txt)
valid=$(awk -v n="$whole" 'BEGIN { v = n - int(n * 0.8); print 8 * int((v - 1) / 8) + 1 }')
first=$(awk -v n="$whole" 'BEGIN { print int(n * 0.8) + 1 }')
tail -c +"$first" prose.txt | head -c "$valid" >rest.txt
"$millrace" eval chars.cfg >line || complain "eval"
mkdir gone && mv prose.txt gone
# number NAME FILE: the figure that stands behind NAME there.
number() {
	sed -n "s/, top-5.*//; s/.*$1 \([-0-9.e+]*\).*/\1/p" "$2" | tail -n 1
}
expect 0 "$((valid - 1)) tokens in 1 texts" runs/chars rest.txt -o whole.jsonl
awk -v a="$(number loss line)" -v b="$(number loss out)" 'BEGIN { d = a - b; exit !(d < 2e-6 && d > -2e-6) }' ||
	complain "eval says $(cat line)"
[ "$(number accuracy line)" = "$(number accuracy out)" ] || complain "eval says $(cat line)"
grep -q '^{"tokens":[0-9]*,"log_probability":-[0-9.]*,"perplexity":[0-9.]*,"next":\[{"token":"[a-z\\ ]*","id":' \
	whole.jsonl ||
	complain "$(cat whole.jsonl)"

# A row a token: the sum is the text's, and any batch gives the same.
expect 0 "perplexity" runs/chars rest.txt --tokens -o tokens.csv
[ "$(head -n 1 tokens.csv)" = "row,token,id,log probability,prediction,prediction id,probability" ] ||
	complain "$(head -n 1 tokens.csv)"
expect 0 "perplexity" runs/chars rest.txt --tokens -o other.csv --batch 3
cmp -s tokens.csv other.csv || complain "batches change probabilities"
expect 0 "perplexity" runs/chars rest.txt --tokens -o tokens.npy
[ "$(wc -c <tokens.npy)" -eq $((128 + valid * 8)) ] || complain "tokens.npy has $(wc -c <tokens.npy) bytes"

# Lines: probabilities of tokens multiply to those of texts; what could follow sums to at most 1.
printf 'the cat\na dog\n\nbirds\n' >lines.txt
expect 0 "4 texts" runs/chars lines.txt --input lines -o lines.csv
[ "$(wc -l <lines.csv)" -eq 5 ] || complain "$(cat lines.csv)"
grep -q '^"*the cat"*,7,-' lines.csv || complain "$(cat lines.csv)"
grep -q '^,0,0,,,,$' lines.csv || complain "an empty line: $(cat lines.csv)"
"$millrace" predict runs/chars - --input lines --tokens --format csv <lines.txt >each.csv 2>out || complain "stdin"
awk -F, 'FNR == NR { if (FNR > 1 && $4 != "") sum[$1] += $4; next } FNR > 1 && $2 > 1 { d = sum[FNR - 1] - $3
	if (d > 1e-5 || d < -1e-5) exit 1; n++ } END { exit n != 3 }' each.csv lines.csv ||
	complain "tokens and texts differ: $(cat each.csv lines.csv)"
# Longer than a window: the last token's probability is that of the window that ends there.
printf 'birds fly high\nfly high\n' >long.txt
"$millrace" predict runs/chars - --input lines --tokens --format csv <long.txt >long.csv 2>out || complain "long lines"
awk -F, '$1 == 1 { a = $4 } $1 == 2 { b = $4 } END { d = a - b; exit !(a < 0 && d < 1 && d > -1) }' long.csv ||
	complain "$(cat long.csv)"

# JSON lines with texts and tokens; all mistakes are named.
printf '{"text":"the cat"}\n{"tokens":[1,2,3],"more":0}\n\n' >in.jsonl
expect 0 "2 texts" runs/chars in.jsonl -o out.jsonl
head -n 1 out.jsonl | grep -q '^{"text":"the cat","tokens":7,' || complain "$(cat out.jsonl)"
sed -n 2p out.jsonl | grep -q '^{"tokens":3,' || complain "$(cat out.jsonl)"
printf '{"text":"the cat"}\n{"tokens":[99]}\n{"txt":1}\n{"text":"Q"}\n{' >bad.jsonl
expect 4 "4 texts cannot be read, the first: bad.jsonl:2: token 1 of number 99 is not below the vocabulary of" \
	runs/chars bad.jsonl -o kept.jsonl
has 'bad.jsonl:3: expected an object with "text" (a string) or "tokens" (a list of numbers)'
has 'bad.jsonl:4: byte 0x51 at offset 0 is not in the vocabulary of the model'
has 'bad.jsonl:5: '
[ -e kept.jsonl ] && complain "predictions of a wrong file were kept"
expect 4 "absent.txt" runs/chars absent.txt

# --- a tokenizer, whose file is gone; the same by a text and by the file of its tokens ---
"$millrace" --version | grep -q 'tokenizers by PCRE2: none' && exit $failed
cp "$source/tests/golden/token/gpt2.json" gpt2.json
cp gone/prose.txt prose.txt
cat >words.cfg <<END
data = { name = "text"; path = "prose.txt"; tokenizer = "gpt2.json"; };
$how
END
train words
"$millrace" tokenize gpt2.json rest.txt -o rest.bin >out 2>&1 || complain "tokenize"
mv prose.txt gpt2.json gone
expect 0 "in 1 texts" runs/words rest.txt -o text.jsonl
expect 0 "in 1 texts" runs/words rest.bin -o bin.jsonl
cmp -s text.jsonl bin.jsonl || complain "tokens and their text differ"
expect 0 "in 1 texts" runs/words rest.txt --tokens -o spelt.jsonl
sed -n 's/.*"token":"\(.*\)","id.*/\1/p' spelt.jsonl | head -n 3 | tr -d '\n' | grep -q '^[a-z]' || complain "spelling"

# --- token numbers without a tokenizer ---
"$millrace" tokenize gone/gpt2.json gone/prose.txt -o prose.bin >out 2>&1 || complain "tokenize"
cat >numbers.cfg <<END
data = { name = "tokens"; path = "prose.bin"; };
$how
END
train numbers
expect 0 "in 1 texts" runs/numbers prose.bin -o numbers.jsonl
grep -q '"next":\[{"id":' numbers.jsonl || complain "$(cat numbers.jsonl)"
expect 2 "nothing in its checkpoint spells them" runs/numbers rest.txt --input text

# --- keys of texts are of texts ---
printf 'a,t\n1,0\n2,1\n3,0\n4,1\n' >table.csv
cat >table.cfg <<END
model = { name = "mlp"; hidden = [4]; };
data = { name = "csv"; path = "table.csv"; targets = "classes"; };
optimizer = { name = "sgd"; lr = 0.1; };
system = { name = "sequential"; };
train = { steps = 2; batch = 2; };
machine = { workers = 1; threads = 1; };
END
train table
expect 2 '--tokens is of language models, and this one was trained on data "csv"' runs/table table.csv --tokens
exit $failed
