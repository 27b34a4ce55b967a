package lab

import (
	"context"
	"slices"
)

// refreshing are the policies of the literature on refreshing copies, by year. They are a table of their
// own, since others are for what people use and for what papers on discovery compare.
var refreshing = []string{"cho", "olston", "lefortier", "azar", "whittle", "kolobov", "upadhyay", "avrachenkov-lln", "avrachenkov-sa", "busa-fekete"}

// delayLiterature is delay of these policies, beside what they are measured by.
func delayLiterature(ctx context.Context, env *Env) (*Result, error) {
	return delaysOf(ctx, env, slices.Concat([]string{"lists", "nutch", "storm"}, refreshing, []string{"best-folds", "oracle"}))
}
