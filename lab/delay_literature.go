package lab

import "context"

// literaturePolicies are those of the literature on refreshing pages, by year, beside what they are
// measured by. They are a table of their own, since delay is for what people use.
var literaturePolicies = []string{"lists", "nutch", "storm", "cho", "olston", "lefortier", "azar", "whittle", "kolobov", "upadhyay",
	"avrachenkov-lln", "avrachenkov-sa", "busa-fekete", "best-folds", "oracle"}

// delayLiterature is delay of the policies of the literature.
func delayLiterature(ctx context.Context, env *Env) (*Result, error) {
	return delaysOf(ctx, env, literaturePolicies)
}
