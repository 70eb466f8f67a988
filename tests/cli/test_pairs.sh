# Models of pairs of sequences and of frames with captions: training, evaluation and profiles of any cut, and what is
# refused. Arguments: source tree, build tree.
. "$(dirname "$0")/cli_lib.sh"

awk 'BEGIN { for (i = 0; i < 40; i++) printf "wort%d und%d satz\tword%d and\n", i % 5, i % 3, i % 5 }' >words.txt
cat >words.cfg <<'END'
model = { name = "gnmt"; layers = 2; width = 16; dropout = 0.0; };
data = { name = "pairs"; path = "words.txt"; length = 4; };
optimizer = { name = "adam"; lr = 0.02; };
system = { name = "1f1b"; };
train = { steps = 150; batch = 8; microbatches = 2; eval_every = 50; };
machine = { workers = 2; threads = 1; };
END

# Accuracy leaves padding out: two words and an end are right at last, of five rows. The loss, of whole sentences, has
# no perplexity.
expect 0 "words.txt: 36 training and 4 validation pairs of up to 4 words, vocabularies of 13 and 10" train words.cfg
expect 0 "accuracy 100.0000%" eval words.cfg
! grep -q "perplexity" out || complain "the loss of a sentence has a perplexity"
expect 4 "pairs has no validation part" eval words.cfg --set data.validation=0
! grep -q "window" out || complain "pairs have windows"

# profiles CONF LAYER CUT...: the profile shows the layer whatever the cut. That the machine was disturbed (6) does not
# matter.
profiles() {
	conf=$1
	layer=$2
	shift 2
	for cut; do
		"$millrace" profile "$conf" --method alone --seconds 0 --set "partition=[\"$cut\"]" >out 2>&1 </dev/null
		got=$?
		case $got in 0 | 6) ;; *) complain "profile $conf cut at $cut: exit $got" ;; esac
		has "$layer"
	done
}

# The tokens that cross a boundary are those of the data.
profiles words.cfg cross_attention encoder.backwards encoder.rnn_layers.1 decoder.embedder decoder.att_rnn.attn

printf 'a\tb\nno tab\n' >bad.txt
expect 4 "bad.txt:2: no tab, expected a sentence, a tab and its translation" train words.cfg --set data.path=bad.txt \
	--set run.dir=none
expect 3 "words.cfg:1: model.name: takes pairs of sequences" train words.cfg --set data.name=synthetic \
	--set run.dir=none
cat >gpt.cfg <<'END'
model = { name = "gpt"; layers = 1; width = 8; heads = 1; context = 4; };
data = { name = "reversal"; };
optimizer = { name = "adam"; lr = 0.02; };
system = { name = "1f1b"; };
train = { steps = 2; batch = 8; };
END
expect 3 "data \"reversal\" gives pairs of sequences, but the model takes single ones" train gpt.cfg

# Words are counted, not the numbers of the frames; this loss has a perplexity.
cat >video.cfg <<'END'
model = { name = "s2vt"; projection = 8; embed = 8; width = 8; };
data = { name = "captions"; frames = 6; features = 4; words = 5; longest = 3; samples = 100; };
optimizer = { name = "adam"; lr = 0.02; };
system = { name = "1f1b"; };
train = { steps = 20; batch = 8; microbatches = 2; eval_every = 10; };
machine = { workers = 2; threads = 1; };
END
expect 0 "90 training and 10 validation sequences of 6 frames of 4 numbers, with 2 to 3 words out of 5" train video.cfg
has "perplexity"
grep -q '"tokens":640,' runs/video/metrics.jsonl || complain "20 steps of 8 captions of 4 tokens are 640"
profiles video.cfg lstm2 frames lstm1 words last caption

exit $failed
