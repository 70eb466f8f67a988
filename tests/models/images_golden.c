#include "images_golden.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "graph_run.h"
#include "models/registry.h"
#include "nn/element.h"

/* --- numbers from names ------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

static uint64_t key_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x100000001b3u;
	return mix((h ^ 1) + 0x9E3779B97F4A7C15u);
}

/* Number @i of the tensor with key @key: a multiple of 2^-23 in [-1, 1). */
static double number(uint64_t key, int64_t i)
{
	uint64_t z = mix(key + ((uint64_t)i + 1) * 0x9E3779B97F4A7C15u);

	return ((double)(z >> 40) - 8388608) / 8388608;
}

/* --- our layouts and PyTorch's ------------------------------------------------------------------------------------ */

typedef struct network {
	mr_json *root;
	const mr_json *record;
	mr_values *values;
	mr_graph *graph;
	mr_model_data data;
	int64_t samples, h, w, c;
	void *input;
	int32_t *target;
	graph_run run;
} network;

/* Index in PyTorch's tensor of our number @i of a parameter. Convolutions are [h, w, in, out] and [out, in, h, w];
 * matrices [in, out] and [out, in], and where an image of @pixels is flattened its channels are innermost, and
 * outermost. */
static int64_t torch_index(const mr_param *p, int64_t pixels, int64_t i)
{
	int64_t out = i % p->dim[p->rank - 1], at = i / p->dim[p->rank - 1];

	if (p->rank == 4) {
		int64_t in = at % p->dim[2], x = at / p->dim[2] % p->dim[1], y = at / p->dim[2] / p->dim[1];

		return ((out * p->dim[2] + in) * p->dim[0] + y) * p->dim[1] + x;
	}
	if (p->rank == 2) {
		int64_t channels = p->dim[0] / pixels;

		return out * p->dim[0] + at % channels * pixels + at / channels;
	}
	return i;
}

static int64_t pixels_of(const network *n, const mr_param *p)
{
	const mr_node *node = &n->graph->nodes[p->node];

	return node->cfg.flat ? node->in_shape[0].rows : 1;
}

/* A power of two near the bound of uniform weights that preserve the variance of activations; 1/8 for biases. */
static double scale_of(const mr_param *p)
{
	int64_t fan_in = p->n / p->dim[p->rank - 1];

	return p->rank == 1 ? 0.125 : exp2(floor(log2(sqrt(6 / (double)fan_in))));
}

/* The gain of a norm is near 1. */
static bool is_gain(const network *n, const mr_param *p)
{
	return n->graph->nodes[p->node].n_states && p->index == 0;
}

/* @scale: of the parameter. */
static double weight(const network *n, const mr_param *p, double scale, uint64_t key, int64_t i)
{
	double u = number(key, torch_index(p, pixels_of(n, p), i));

	return is_gain(n, p) ? 1 + floor(u * 1048576) / 4194304 : scale * u;
}

static void set_weights(network *n)
{
	const mr_json *params = mr_json_get(n->record, "params");

	CU_ASSERT_EQUAL_FATAL(mr_json_size(params), n->graph->n_params);
	for (uint32_t i = 0; i < n->graph->n_params; i++) {
		const mr_json *p = mr_json_at(params, i);
		const mr_param *ours = &n->graph->params[i];
		uint64_t key = key_of(mr_json_string(mr_json_get(p, "torch")));
		double scale = scale_of(ours);

		CU_ASSERT_STRING_EQUAL_FATAL(ours->name, mr_json_string(mr_json_get(p, "name")));
		for (int64_t j = 0; j < ours->n; j++)
			mr_element_put(n->run.k->types.weights, n->run.w[i], j, weight(n, ours, scale, key, j));
	}
}

static void set_input(network *n)
{
	int64_t count = n->samples * n->h * n->w * n->c;
	uint64_t key = key_of("input");

	n->input = calloc((size_t)count, sizeof(double));
	n->target = calloc((size_t)n->samples, sizeof(*n->target));
	CU_ASSERT_PTR_NOT_NULL_FATAL(n->input);
	CU_ASSERT_PTR_NOT_NULL_FATAL(n->target);
	for (int64_t i = 0; i < count; i++) {
		int64_t c = i % n->c, pixel = i / n->c % (n->h * n->w), s = i / n->c / n->h / n->w;

		mr_element_put(n->run.k->types.activations, n->input, i,
			       number(key, (s * n->c + c) * n->h * n->w + pixel));
	}
	for (int64_t i = 0; i < n->samples; i++)
		n->target[i] = (int32_t)((7 * i + 3) % 10);
}

static void load(network *n, const char *name)
{
	char path[MR_GOLDEN_PATH];
	const mr_model_ops *model;
	const mr_json *shape, *options;
	const char *keys[] = {"form", "dropout", "width", "blocks", "hidden", "batch_norm"};

	*n = (network){0};
	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/images.json"), 1 << 24, &n->root));
	n->record = mr_json_get(mr_json_get(n->root, "networks"), name);
	CU_ASSERT_PTR_NOT_NULL_FATAL(n->record);
	shape = mr_json_get(n->record, "input");
	n->samples = mr_json_int(mr_json_at(shape, 0)), n->c = mr_json_int(mr_json_at(shape, 1));
	n->h = mr_json_int(mr_json_at(shape, 2)), n->w = mr_json_int(mr_json_at(shape, 3));
	n->data = (mr_model_data){.image = mr_shape_of(3, (const int64_t[]){n->h, n->w, n->c}, false),
				  .target = {.rows = 1, .cols = 1, .tokens = true},
				  .classes = 10};
	n->data.input = n->data.image;
	model = mr_model_find(mr_json_string(mr_json_get(n->record, "model")));
	CU_ASSERT_PTR_NOT_NULL_FATAL(model);
	MR_CHECK_OK(mr_values_create(model->options, &n->values));
	options = mr_json_get(n->record, "options");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (mr_json_get(options, keys[i]))
			MR_CHECK_OK(mr_values_set_text(n->values, keys[i],
						       mr_json_string(mr_json_get(options, keys[i]))));
	MR_CHECK_OK(mr_model_build(model, n->values, &n->data, &n->graph));
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static void check_near(const char *what, const char *of, const mr_kernels *k, double got, double want, double allowed)
{
	bool ok = fabs(got - want) <= allowed;

	if (!ok)
		fprintf(stderr, "\n%s of %s, %s %s: %.17g, recorded %.17g\n", what, of, k->name,
			mr_types_name(&k->types), got, want);
	CU_ASSERT(ok);
}

/* @most: the largest number of the network's gradients. */
static void check_gradient(const network *n, uint32_t i, double most, double tolerance)
{
	const mr_json *want = mr_json_get(mr_json_at(mr_json_get(n->record, "params"), i), "gradient");
	const mr_json *picked = mr_json_get(want, "picked");
	const mr_param *p = &n->graph->params[i];
	const mr_kernels *k = n->run.k;
	double *g = calloc((size_t)p->n, sizeof(*g)), sum = 0, squares = 0;
	double largest = mr_json_double(mr_json_get(want, "most"));
	double scale = tolerance * fmax(largest, 1e-3 * most), norm;
	size_t n_picked = mr_json_size(picked);

	CU_ASSERT_PTR_NOT_NULL_FATAL(g);
	for (int64_t j = 0; j < p->n; j++) {
		double x = mr_element(k->types.gradients, n->run.dw[i], j);

		g[torch_index(p, pixels_of(n, p), j)] = x;
		sum += x, squares += x * x;
	}
	CU_ASSERT_EQUAL(n_picked, p->n < 24 ? (size_t)p->n : 24);
	for (size_t j = 0; j < n_picked; j++)
		check_near("gradient", p->name, k,
			   g[(int64_t)j * (p->n - 1) / (n_picked > 1 ? (int64_t)n_picked - 1 : 1)],
			   mr_json_double(mr_json_at(picked, j)), scale);
	norm = sqrt(mr_json_double(mr_json_get(want, "squares")));
	check_near("norm of the gradient", p->name, k, sqrt(squares), norm, 2 * tolerance * norm + scale);
	check_near("sum of the gradient", p->name, k, sum, mr_json_double(mr_json_get(want, "sum")),
		   scale * sqrt((double)p->n) * 4);
	free(g);
}

static void check_logits(const network *n, const char *name, double tolerance)
{
	const mr_json *logits = mr_json_get(n->record, "logits");
	const void *got = n->run.value[n->graph->nodes[n->graph->n_nodes - 1].in[0]];
	double most = 0;

	CU_ASSERT_EQUAL_FATAL(mr_json_size(logits), (size_t)n->samples * 10);
	for (size_t i = 0; i < mr_json_size(logits); i++)
		most = fmax(most, fabs(mr_json_double(mr_json_at(logits, i))));
	for (size_t i = 0; i < mr_json_size(logits); i++)
		check_near("logit", name, n->run.k, mr_element(n->run.k->types.activations, got, (int64_t)i),
			   mr_json_double(mr_json_at(logits, i)), tolerance * most);
}

static void close_network(network *n)
{
	graph_run_fini(&n->run);
	mr_graph_destroy(n->graph);
	mr_values_destroy(n->values);
	mr_json_destroy(n->root);
	free(n->input);
	free(n->target);
}

static void open_network(network *n, const char *name, const mr_kernels *k)
{
	load(n, name);
	graph_run_init(&n->run, n->graph, k, n->samples, 1);
	set_weights(n);
	set_input(n);
	n->run.value[0] = n->input;
}

/* --- layer by layer ----------------------------------------------------------------------------------------------- */

static double largest(mr_dtype type, const void *x, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		most = fmax(most, fabs(mr_element(type, x, i)));
	return most;
}

/* @n numbers of @got on @k, @want in f64; none may differ by more than @allowed. */
static void check_tensor(const char *what, const char *of, const mr_kernels *k, mr_dtype type, const void *got,
			 const double *want, int64_t n, double allowed)
{
	double worst = 0;

	for (int64_t i = 0; i < n; i++) {
		double d = fabs(mr_element(type, got, i) - want[i]);

		worst = d <= worst ? worst : d; /* NaN is worst */
	}
	check_near(what, of, k, worst, 0, allowed);
}

/* @most: the largest number of the network's gradients of parameters. */
static void check_alone(const network *got, const network *want, uint32_t i, double most, double tolerance)
{
	const mr_node *node = &got->graph->nodes[i];
	const mr_kernels *k = got->run.k;
	double weight = 0;

	for (uint32_t v = node->out; v < node->out + node->n_out; v++) {
		int64_t n = got->samples * mr_shape_count(got->graph->values[v].shape);

		check_tensor("output", node->name, k, k->types.activations, got->run.value[v], want->run.value[v], n,
			     tolerance * largest(MR_F64, want->run.value[v], n));
	}
	for (uint32_t j = 0; j < node->n_in; j++) {
		uint32_t v = node->in[j];
		int64_t n = got->samples * mr_shape_count(got->graph->values[v].shape);
		const double *dx = want->run.gradient[v];

		if (mr_graph_wants_dx(got->graph, i, j))
			check_tensor("gradient of an input", node->name, k, k->types.activations, got->run.gradient[v],
				     dx, n, tolerance * fmax(largest(MR_F64, dx, n), 1e-3 * most));
	}
	for (uint32_t p = node->first_param; p < node->first_param + node->n_params; p++) {
		const mr_param *param = &got->graph->params[p];
		double own = largest(MR_F64, want->run.dw[p], param->n);

		/* The bias of a convolution before batch normalisation has a gradient of 0 but for rounding. */
		weight = fmax(weight, own);
		check_tensor("gradient", param->name, k, k->types.gradients, got->run.dw[p], want->run.dw[p], param->n,
			     tolerance * fmax(weight, 1e-3 * most));
	}
}

void check_image_layers(const char *name, const mr_kernels *k, double tolerance)
{
	const mr_kernels *f64 = mr_kernels_find("reference", MR_F64);
	network of, want, got;
	double most = 0;

	open_network(&of, name, f64);
	open_network(&want, name, f64);
	open_network(&got, name, k);
	(void)graph_run_forward(&of.run, of.input, of.target);
	graph_run_backward(&of.run, false);
	for (uint32_t p = 0; p < of.graph->n_params; p++)
		most = fmax(most, largest(MR_F64, of.run.dw[p], of.graph->params[p].n));
	for (uint32_t i = 0; i + 1 < of.graph->n_nodes; i++) {
		graph_run_alone(&want.run, i, &of.run);
		graph_run_alone(&got.run, i, &of.run);
		check_alone(&got, &want, i, most, tolerance);
	}
	close_network(&of);
	close_network(&want);
	close_network(&got);
}

/* --- the whole network -------------------------------------------------------------------------------------------- */

void check_image_network(const char *name, const mr_kernels *k, double tolerance)
{
	double want, loss, most = 0;
	network n;

	open_network(&n, name, k);
	loss = graph_run_forward(&n.run, n.input, n.target);
	want = mr_json_double(mr_json_get(n.record, "loss"));
	check_near("loss", name, k, loss, want, tolerance * want);
	check_logits(&n, name, tolerance);
	graph_run_backward(&n.run, false);
	for (uint32_t i = 0; i < n.graph->n_params; i++) {
		const mr_json *g = mr_json_get(mr_json_at(mr_json_get(n.record, "params"), i), "gradient");

		most = fmax(most, mr_json_double(mr_json_get(g, "most")));
	}
	for (uint32_t i = 0; i < n.graph->n_params; i++)
		check_gradient(&n, i, most, tolerance);
	close_network(&n);
}
