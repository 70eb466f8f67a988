#include "observe/evaluation.h"

#include <math.h>

mr_status mr_evaluate(mr_session *s, mr_eval_wanted *wanted, void *arg, mr_figures *out)
{
	mr_figures f = mr_figures_at(0);
	double unit = s->data->target_deviation > 0 ? s->data->target_deviation : 1; /* of the target */
	mr_scores scores;

	MR_TRY(mr_executor_eval(&s->executor, wanted, arg, &f.val_loss));
	scores = mr_executor_scores(&s->executor);
	f.trains_only = s->data->trains_only;
	f.val_perplexity = mr_session_has_perplexity(s) ? exp(f.val_loss) : (double)NAN;
	f.val_accuracy = scores.accuracy;
	f.val_top5 = scores.top5;
	f.val_auc = scores.auc;
	f.val_rmse = scores.rmse * unit;
	f.val_mae = scores.mae * unit;
	f.val_r2 = scores.r2;
	*out = f;
	return MR_OK;
}
