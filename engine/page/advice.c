#include "page/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FEW_STEPS 20 /* say nothing of a training */
#define PARTS 10     /* of the steps, whose mean losses are compared */

typedef struct curve {
	const mr_figures *rows;
	size_t n;
	double part[PARTS];      /* mean training loss */
	double lr;               /* of the last step */
	const mr_figures *first, *middle, *best, *last; /* evaluations: middle is two thirds on */
	size_t n_evaluations;
	uint64_t steps;
	double most_norm, usual_norm; /* of gradients: largest, median; 0: unknown */
	double most_lr;
	void (*each)(void *arg, const char *text);
	void *arg;
	unsigned said;
} curve;

const mr_figures *mr_advice_best(const mr_figures *rows, size_t n)
{
	const mr_figures *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (isfinite(rows[i].val_loss) && (!best || rows[i].val_loss < best->val_loss))
			best = &rows[i];
	return best;
}

static size_t count_steps(const mr_figures *rows, size_t n)
{
	size_t steps = 0;

	for (size_t i = 0; i < n; i++)
		steps += isfinite(rows[i].loss);
	return steps;
}

static void take_steps(curve *c)
{
	size_t steps = count_steps(c->rows, c->n), at = 0, in[PARTS] = {0};

	for (size_t i = 0; i < c->n; i++) {
		const mr_figures *r = &c->rows[i];
		size_t part = steps ? at * PARTS / steps : 0;

		if (!isfinite(r->loss))
			continue;
		at++;
		c->part[part] += (r->loss - c->part[part]) / (double)++in[part];
		c->lr = isnan(r->lr) ? c->lr : r->lr;
		c->most_lr = fmax(c->most_lr, c->lr);
		c->steps = r->step;
	}
}

static void take_evaluations(curve *c)
{
	size_t at = 0;

	for (size_t i = 0; i < c->n; i++)
		c->n_evaluations += isfinite(c->rows[i].val_loss);
	for (size_t i = 0; i < c->n; i++) {
		const mr_figures *r = &c->rows[i];

		if (!isfinite(r->val_loss))
			continue;
		c->first = c->first ? c->first : r;
		if (at++ == c->n_evaluations * 2 / 3)
			c->middle = r;
		c->last = r;
	}
	c->best = mr_advice_best(c->rows, c->n);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void take_norms(curve *c)
{
	double *norm = malloc((c->n + 1) * sizeof(*norm));
	size_t n = 0;

	for (size_t i = 0; norm && i < c->n; i++) {
		double x = isnan(c->rows[i].grad_norm) ? c->rows[i].stage_grad_norm : c->rows[i].grad_norm;

		if (isfinite(x))
			norm[n++] = x;
	}
	if (n >= FEW_STEPS) {
		qsort(norm, n, sizeof(*norm), ascending);
		c->usual_norm = norm[n / 2];
		c->most_norm = norm[n - 1];
	}
	free(norm);
}

static void say(curve *c, const char *fmt, ...) MR_PRINTF(2, 3);
static void say(curve *c, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->each(c->arg, text);
	c->said++;
}

/* Did the training loss grow again, by more than a fifth of what it had fallen? */
static bool rises(const curve *c)
{
	double least = c->part[0];

	for (int i = 1; i < PARTS; i++)
		least = fmin(least, c->part[i]);
	return c->part[PARTS - 1] - least > 0.2 * (c->part[0] - least) && c->part[PARTS - 1] > 1.05 * least;
}

static void advise_on_rate(curve *c)
{
	if (rises(c) && c->lr > 0)
		say(c, "The training loss grew again, which is what too large a learning rate does: try a third of it "
		       "(optimizer.lr = %.2g), or let it fall (lr_schedule = { name = \"cosine\"; warmup = %llu; }).",
		    c->lr / 3, (unsigned long long)(c->steps / 20 + 1));
	if (c->usual_norm > 0 && c->most_norm > 20 * c->usual_norm)
		say(c, "Some gradients were far larger than most (norm %.3g, usual is %.3g): train.clip = %.2g keeps "
		       "single batches from throwing the weights off.",
		    c->most_norm, c->usual_norm, 2 * c->usual_norm);
}

/* How far the loss fell, with which differences are compared. */
static double fall(const curve *c)
{
	return fmax(c->first->val_loss - c->best->val_loss, 1e-12);
}

static void advise_on_length(curve *c)
{
	unsigned long long best = (unsigned long long)c->best->step, steps = (unsigned long long)c->steps;
	bool falls = c->lr < 0.5 * c->most_lr;

	if (c->last->val_loss - c->best->val_loss > 0.1 * fall(c) && c->part[PARTS - 1] < c->part[PARTS / 2]) {
		say(c, "After step %llu the validation loss grew while the training loss fell: the model learns its "
		       "training rows by heart. train.patience = 3 ends a training there and keeps the best "
		       "checkpoint; more rows, a smaller network, weight decay or dropout lead further.", best);
	} else if (c->best == c->last && c->middle->val_loss - c->last->val_loss > 0.02 * fall(c)) {
		say(c, "The validation loss was still falling at the end: train longer (train.steps = %llu; "
		       "train --resume goes on from here).", 2 * steps);
	} else if (c->middle->val_loss - c->best->val_loss < 0.02 * fall(c)) {
		say(c, "The validation loss hardly fell in the last third: more steps alone bring little. %s a larger "
		       "network or more data.",
		    falls ? "Try"
			  : "Let the learning rate fall at the end (lr_schedule = { name = \"cosine\"; }), or try");
	}
}

unsigned mr_advice(const mr_figures *rows, size_t n, void (*each)(void *arg, const char *text), void *arg)
{
	curve c = {.rows = rows, .n = n, .each = each, .arg = arg};

	if (count_steps(rows, n) < FEW_STEPS)
		return 0;
	take_steps(&c);
	take_evaluations(&c);
	take_norms(&c);
	advise_on_rate(&c);
	if (!c.best)
		say(&c, "There was no evaluation, so nothing here tells how good the model is on other rows than those "
			"it learned from: train.eval_every = %llu makes twenty, on the rows that data.validation holds "
			"out.",
		    (unsigned long long)(c.steps / 20 + 1));
	else if (c.best->trains_only)
		say(&c, "No rows were held out, so nothing here tells how good the model is on others: "
			"data.validation = 0.2 keeps a fifth of them for that.");
	else if (c.n_evaluations < 4)
		say(&c, "There are too few evaluations to see where the training stands: train.eval_every = %llu makes "
			"twenty of them.", (unsigned long long)(c.steps / 20 + 1));
	else
		advise_on_length(&c);
	return c.said;
}

/* --- classes --- */

#define UNBALANCED 3 /* times as many samples of one class as of another */

/* A class in errors.json. */
typedef struct class_count {
	const char *name;
	double samples, right;
} class_count;

static class_count count_of(const mr_json *c)
{
	const char *name = mr_json_string(mr_json_get(c, "class"));

	return (class_count){name ? name : "?", mr_json_double(mr_json_get(c, "samples")),
			     mr_json_double(mr_json_get(c, "right"))};
}

unsigned mr_advice_on_classes(const mr_json *errors, void (*each)(void *arg, const char *text), void *arg)
{
	const mr_json *classes = mr_json_get(errors, "classes"), *kind = mr_json_get(errors, "kind");
	class_count most = {.samples = 0}, worst = {.samples = 0};
	double all = 0, right = 0;
	char text[1024];

	if (!mr_json_is_string(kind) || strcmp(mr_json_string(kind), "classes") ||
	    mr_json_int(mr_json_get(errors, "step")) < FEW_STEPS)
		return 0;
	for (size_t i = 0; i < mr_json_size(classes); i++) {
		class_count c = count_of(mr_json_at(classes, i));

		all += c.samples;
		right += c.right;
		most = c.samples > most.samples ? c : most;
	}
	for (size_t i = 0; i < mr_json_size(classes); i++) {
		class_count c = count_of(mr_json_at(classes, i));

		if (c.samples > 0 && c.samples * UNBALANCED <= most.samples &&
		    (worst.samples == 0 || c.right * worst.samples < worst.right * c.samples))
			worst = c;
	}
	if (worst.samples == 0 || worst.right / worst.samples > 0.9 * most.right / most.samples)
		return 0;
	snprintf(text, sizeof(text),
		 "The classes are unbalanced: %.1f %% of the samples are \"%.60s\", %.1f %% are \"%.60s\", and of "
		 "these %.1f %% are found, of all samples %.1f %%. Where rare classes matter, more of their samples "
		 "help, or train.class_weights = \"balanced\"; accuracy alone hides them.",
		 100 * most.samples / all, most.name, 100 * worst.samples / all, worst.name,
		 100 * worst.right / worst.samples, 100 * right / all);
	each(arg, text);
	return 1;
}
