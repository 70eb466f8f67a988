# random_pair.awk - a random training as a configuration: system x network x precision x backend x threads, and what
# else changes its way through the kernels.
#
#	awk -v seed=S -v number=N [-v library=0] -v layers="NAME:BYTES ..." -f random_pair.awk
#
# The same seed and number give the same file with any awk: random numbers are products below 2^46. Without @layers the
# partition is automatic and no layer is frozen; with the names of the layers, NAME:BYTES of weights, it may be random,
# and some may be frozen, which takes a second call. With library=0 there is no backend but the reference.

function random(n) # from 0 to n - 1
{
	state = state * 16807 % 2147483647
	return int(state / 2147483647 * n)
}

function pick(list, words)
{
	return words[1 + random(split(list, words, " "))]
}

function one_in(n)
{
	return random(n) == 0
}

function text(s)
{
	return "\"" s "\""
}

# Each network with data of its own, small enough for a hundredth of a second a step. Widths are odd numbers, too.
function network(name, act)
{
	if (name == "mlp" || name == "norm") {
		act = pick("relu gelu none")
		if (name == "norm")
			act = pick("relu none")
		model = "name = \"mlp\"; hidden = [" pick("12,12,12,12,12,12,12 33,17,64,5,9 256,256,256") "]; " \
			"activation = " text(act) "; norm = " text(name == "norm" ? "batch" : "none") ";"
		data = "name = \"synthetic\"; features = " pick("6 64") "; classes = " pick("3 10") "; samples = 300;"
	} else if (name == "gpt") {
		model = "name = \"gpt\"; layers = " pick("2 3") "; width = " pick("8 24 64") "; heads = 2; context = " \
			pick("8 12 17") "; dropout = " pick("0.0 0.2") "; tied = " tied() ";"
		data = "name = \"text\"; path = \"text.txt\"; validation = 0.02; vocab = " text(pick("char byte")) ";"
	} else if (name == "llama") {
		model = "name = \"llama\"; layers = 2; width = " pick("16 48") "; heads = 4; kv_heads = " \
			pick("0 1 2") "; context = " pick("8 9") "; tied = " tied() ";"
		data = "name = \"text\"; path = \"text.txt\"; validation = 0.02; vocab = " text(pick("char byte")) ";"
	} else if (name == "awd_lm") {
		model = "name = \"awd_lm\"; layers = 2; embed = 6; width = " pick("8 33") "; context = 6; tied = " \
			tied() "; weight_dropout = " pick("0.0 0.2") "; dropout = " pick("0.0 0.1") ";"
		data = "name = \"text\"; path = \"text.txt\"; validation = 0.02; vocab = " text(pick("char byte")) \
			"; order = " text(pick("columns random")) ";"
	} else if (name == "dlrm") {
		model = "name = \"dlrm\"; rows = [50, 300, 7]; width = " pick("4 9") "; bottom = [16]; top = [16, 8];"
		data = "name = \"clicks\"; numbers = 5; categories = 3; values = 100; samples = 400;"
	} else if (name == "table") {
		model = "name = \"mlp\"; hidden = [" pick("16,9 33 12,12,12,12") "]; categories = 1; embedding = " \
			pick("4 9") ";"
		data = "name = \"csv\"; path = \"table.csv\"; targets = \"" pick("classes classes numbers") "\"; " \
			"categories = \"2,3\"; category = \"known\"; one_hot = 10; empty = \"mean\";"
	} else if (name == "gnmt") {
		model = "name = \"gnmt\"; layers = 2; width = " pick("8 17") "; attention = " \
			text(pick("additive general")) ";"
		data = "name = \"reversal\"; letters = 12; shortest = 2; longest = 4; samples = 300;"
	} else if (name == "s2vt") {
		model = "name = \"s2vt\"; projection = 8; embed = 6; width = " pick("8 17") "; dropout = " \
			pick("0.0 0.2") ";"
		data = "name = \"captions\"; frames = 4; features = 6; words = 10; longest = 3; samples = 300;"
	} else if (name == "vit") {
		model = "name = \"vit\"; layers = 2; width = " pick("12 48") "; heads = 3; patch = 4;"
		data = images(8)
	} else if (name == "resnet18" || name == "resnet50") {
		model = "name = " text(name) "; width = " pick("2 4 8") "; blocks = [" pick("1,1 1,1,1 2,1") "];"
		data = images(8)
	} else if (name == "lenet") {
		model = "name = \"lenet\"; form = " text(pick("lenet5 caffe")) ";"
		data = "name = \"synthetic\"; image = [28, 28, 1]; classes = 10; samples = 100;"
	} else {
		model = "name = \"quadratic\"; blocks = 6; noise = " pick("0.0 0.1") ";"
		data = "name = \"generated\"; kind = \"tridiagonal\"; features = 24; rows = 100;"
	}
}

function tied()
{
	return flushes && one_in(3) ? "true" : "false"
}

# A weight for each class of the data, or balanced; "" for others.
function class_weights(n, i, out)
{
	if (data ~ /"clicks"/)
		n = 2
	else if (match(data, /classes = [0-9]+/))
		n = substr(data, RSTART + 10, RLENGTH - 10) + 0
	if ((n || data ~ /targets = "classes"/) && (!n || one_in(2)))
		return "balanced"
	for (i = 0; i < n; i++)
		out = out (i ? "," : "") pick("0.5 1 2.25")
	return out
}

function images(size)
{
	return "name = \"synthetic\"; image = [" size ", " size ", 3]; classes = 4; samples = 100;"
}

# Keys of the system beside its name; one in three has its defaults.
function keys_of(kind, workers)
{
	if (one_in(3))
		return ""
	if (kind == "1f1b")
		return "recompute = " text(pick("never always")) "; " \
			pick("merge_w=0; merge_w=2; merge_w=2;steal=true;")
	if (kind == "gpipe")
		return "backward = " text(pick("fifo lifo")) "; recompute = " text(pick("never always")) ";"
	if (kind == "dapple")
		return "policy = " text(pick("pa pb")) "; recompute = " text(pick("never always")) ";" \
			(workers == 3 ? " replicas = [" pick("2,1 1,2") "];" : "")
	if (kind ~ /^(zb_h1|zb_h2)$/)
		return pick("optimizer=\"validated\"; steal=true;")
	if (kind ~ /^(interleaved_zb|zb_auto|zb_v|v_half|v_min)$/)
		return "steal = " pick("false true") ";"
	if (kind == "pipedream")
		return pick("vertical_sync=true; stashing=false; drain=5;") \
			(workers == 3 ? " replicas = [" pick("2,1 1,2") "];" : "")
	if (kind == "pipemare")
		return "t2 = " pick("true false") "; recompute = " text(pick("never always")) ";"
	if (kind == "pipedream_2bw")
		return "recompute = " text(pick("never always")) ";"
	if (kind == "roundpipe")
		return "optimizer = " text(pick("sync async")) ";"
	if (kind == "spectrain")
		return "variant = " text(pick("v1 v2")) ";"
	if (kind == "local_sgd")
		return "every = 2; placement = " text(pick("stages rotated")) "; outer = " \
			text(pick("none nesterov")) ";"
	if (kind == "data_parallel" && clip == 0 && model !~ /tied = true/ && one_in(2))
		return (one_in(2) ? "gradients = \"released\"" : "parameters = \"sharded\"; rooms = " pick("2 3 4") \
			(workers == 4 ? "; groups = " pick("1 2") : "")) \
			"; chunks = " pick("3 4") ";"
	if (kind == "chimera" || kind == "data_parallel" || kind == "gems")
		return "weights = " text(pick("shared private")) ";"
	if (kind == "weipipe")
		return "ring = " pick("true false") ";"
	if (kind == "helixpipe")
		return "recompute = " pick("true false") "; blocks = " (model ~ /gpt|llama|vit/ ? pick("0 1") : 1) ";"
	if (kind == "search")
		return "tries = 50;"
	if (kind == "cyclic")
		return "rule = " text(pick("v1 v2")) ";"
	if (kind == "asgd")
		return pick("data=\"own\"; data=\"own\";rescaled=true;") " times = [" \
			pick(workers == 2 ? "1,2 3,1" : workers == 3 ? "1,2,2 2,2,1" : "1,1,2,2 2,1,1,2") "];"
	return ""
}

# @n cuts at random places: a list of names in order.
function cuts(n, m, names, i, left, out)
{
	m = split(layers, names, " ")
	left = n
	for (i = 2; i <= m && left > 0; i++)
		if (random(m - i + 1) < left) {
			out = out (out == "" ? "" : ", ") text(name_of(names[i]))
			left--
		}
	return left > 0 ? "" : "[" out "]"
}

function name_of(layer)
{
	return substr(layer, 1, index(layer, ":") - 1)
}

# Layers with weights: the first ones, or those of a stretch, in which one may train all the same.
function frozen(m, i, first, n, names, named, out)
{
	m = split(layers, names, " ")
	for (i = 1; i <= m; i++)
		if (names[i] !~ /:0$/)
			named[++n] = name_of(names[i])
	if (n < 2)
		return ""
	first = one_in(3) ? 1 + random(n - 1) : 1
	m = first + random(n - first)
	for (i = first; i <= m; i++)
		out = out (out == "" ? "" : ",") named[i]
	return out (m - first > 1 && one_in(4) ? ",!" named[m - 1] : "")
}

BEGIN {
	state = (seed * 7919 + 12345) % 2147483646 + 1
	for (i = 0; i < 128 * number; i++) # a file takes fewer numbers than that
		random(2)
	kind = pick("sequential naive data_parallel weipipe helixpipe gpipe 1f1b 1f1b dapple gems chimera bitpipe " \
		"dualpipe dualpipe_v " \
		"interleaved looped_bfs hanayo zb_h1 zb_h2 interleaved_zb zb_auto zb_v 1f1b_v v_half v_min roundpipe " \
		"search pipedream pipedream pipedream_2bw ampnet paci wpipe local_sgd avgpipe pipemare spectrain " \
		"pipeoptim xpipe rpd cyclic asgd")
	flushes = kind !~ /^(pipedream|ampnet|paci|wpipe|local_sgd|avgpipe|pipemare|spectrain|pipeoptim|xpipe|rpd)/ && \
		kind !~ /^(cyclic|asgd)$/
	network(pick("mlp mlp gpt gpt llama dlrm vit quadratic table" (kind ~ /^(cyclic|asgd)$/ ? "" : \
		" norm norm awd_lm gnmt s2vt resnet18 resnet18 resnet50 lenet")))
	workers = kind == "sequential" ? 1 : pick("2 2 3 4")
	threads = pick("1 2")
	micros = kind == "cyclic" ? workers * pick("1 2") : \
		kind ~ /^(pipedream|pipeoptim|spectrain|rpd|asgd)$/ && !one_in(20) ? 1 : pick("1 2 4 4 8")
	batch = micros * pick("2 3 4")
	precision = pick("f32 f32 bf16 bf16 " (kind ~ /^(avgpipe|local_sgd)$/ ? "f64" : "bf16_pure bf16_pure f64"))
	backend = precision == "f64" || library == "0" ? "reference" : pick("reference onednn onednn fused auto auto")
	optimizer = kind ~ /^(spectrain|pipeoptim|xpipe)$/ ? pick("momentum adam adamw") : \
		pick("sgd momentum momentum adam adamw nadam lion muon ema" \
			(precision == "bf16_pure" ? "" : " soap rotated_adam"))
	state_ = optimizer ~ /^(momentum|adam|adamw|nadam|lion|ema)$/ && precision != "f64" && !one_in(3) ? \
		pick("bf16 int8") : ""
	refresh = optimizer == "rotated_adam" ? \
		" frequency = " pick("1 2 3 10") "; refresh = \"" pick("uniform delay") "\";" : ""
	mitigation = one_in(6) ? pick("staleness_aware gap_aware dc_asgd weight_prediction spike_compensation " \
		"error_feedback") : "none"
	clip = pick("0.0 0.0 0.5 0.01 1000.0")
	norm_every = pick("0 1 2 100")
	keys = keys_of(kind, workers)
	n_steps = kind == "asgd" ? 12 : pick("3 5 9") # whole cycles
	schedule = pick("constant cosine")
	eval_every = pick("0 0 " (kind == "asgd" ? 12 : 2))
	every = pick("0 0 " (kind == "asgd" ? 12 : 3))
	seed_ = random(1000)
	partition = "\"auto\""
	if (layers != "" && !one_in(3) && workers > 1 && kind !~ /^(helixpipe|asgd)$/ && keys !~ /released|sharded/) {
		list = cuts((kind ~ /_v$|^v_|bitpipe|interleaved|hanayo|looped|wpipe/ ? 2 : 1) * workers - 1)
		partition = list == "" ? partition : list
	}

	stay = ""
	if (layers != "" && flushes && kind != "sequential" && keys !~ /steal|validated/ && one_in(2))
		stay = frozen()

	gradients = pick("auto each merged merged")
	# One core more than workers: the first has a thread more.
	teams = one_in(5) ? "threads = 0; teams = \"uneven\"; topology = \"core:" workers + 1 " pu:1\"" : \
		"threads = " threads
	shares = one_in(model ~ /"(gpt|llama)"/ ? 2 : 6) ? pick("2 2 2 3 4") : 1
	if (shares > 1 && teams ~ /uneven/)
		teams = "threads = " threads
	by_rows = shares > 1 && model ~ /"(gpt|llama)"/ && one_in(2) ? "true" : "false"
	weights = one_in(3) ? class_weights() : ""
	patience = eval_every ? pick("0 1") : 0
	if (data ~ /"csv"/ && one_in(2))
		data = data " split = \"" (data ~ /"classes"/ ? "stratified" : "random") "\"; split_seed = " \
			random(9) "; " pick("validation=0.2; folds=3;fold=1;")

	print "# pair " number " of seed " seed
	print "model = { " model " };"
	print "data = { " data " };"
	print "backend = " text(backend) "; precision = " text(precision) "; partition = " partition ";"
	print "optimizer = { name = " text(optimizer) "; lr = 0.01;" \
		(state_ == "" ? "" : " state = " text(state_) ";") refresh " };"
	if (mitigation != "none")
		print "mitigation = { name = " text(mitigation) "; };"
	print "system = { name = " text(kind) "; " keys " };"
	print "lr_schedule = { name = " text(schedule) "; };"
	print "train = { steps = " n_steps "; batch = " batch "; microbatches = " micros ";"
	print "\tgradients = " text(gradients) "; class_weights = " text(weights) "; patience = " patience ";"
	print "\tclip = " clip "; norm_every = " norm_every "; eval_every = " eval_every "; seed = " seed_ ";"
	print "\teval_at_end = " (seed_ % 3 ? "true" : "false") ";"
	print "\tfrozen = " text(stay) "; };"
	print "machine = { workers = " workers "; " teams "; shares = " shares ";"
	print "\tsequence_parallel = " by_rows "; peak_gflops = 50.0; };"
	print "checkpoint = { every = " every "; at_end = " (every && seed_ % 2 ? "false" : "true") "; };"
}
