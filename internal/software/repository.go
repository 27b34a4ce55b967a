package software

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"slices"
	"strings"
)

// A repository is what the front ends of Git show: the items are its files.
type repository struct {
	items   []*item
	commits []commit // ascending by time
}

func newRepository(items []*item) *repository { return &repository{items, commitsOf(items)} }

// A commit adds, changes, moves or removes one file.
type commit struct {
	id   string // 40 hexadecimal digits
	time int64
	it   *item
	what string
}

// commitsOf are the commits that made the items what they are.
func commitsOf(items []*item) []commit {
	var out []commit
	for _, it := range items {
		add := func(t int64, what string) {
			out = append(out, commit{hash("commit", it.n, t), t, it, what})
		}
		add(it.published, "Add "+it.slug(it.published, "-"))
		for _, t := range it.edits {
			add(t, "Update "+it.slug(t, "-"))
		}
		for _, n := range it.names[1:] {
			add(n.since, "Rename to "+strings.Join(n.words, "-"))
		}
		if it.deleted != 0 {
			add(it.deleted, "Remove "+it.slug(it.deleted, "-"))
		}
	}
	slices.SortStableFunc(out, func(a, b commit) int { return cmp.Compare(a.time, b.time) })
	return out
}

// hash is what Git would name an object.
func hash(kind string, n int, t int64) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "%s %d %d", kind, n, t)))
}

// folder of a file: none for some, else one or two.
func folder(it *item) string {
	r := it.chance(2)
	top, sub := vocabulary[200+r.IntN(5)], vocabulary[210+r.IntN(4)]
	return []string{"", top + "/", top + "/", top + "/" + sub + "/"}[r.IntN(4)]
}

var fileEndings = []string{".c", ".h", ".md", ".sh"}

// file is the path of a file at a time.
func fileName(it *item, now int64) string {
	return folder(it) + it.slug(now, "-") + fileEndings[it.chance(3).IntN(len(fileEndings))]
}

// branch is the name of one of the branches that were left behind.
func branch(i int) string { return vocabulary[220+i] }

// branchTip is when the last commit was made to a branch: they stopped when the site was not yet visited.
func branchTip(i int) int64 { return Start.Unix() - int64(60*(i+1))*24*3600 }

// folderID names the contents of a folder at a time, which are those of the latest commit to it.
func (g *repository) folderID(path string, t int64) string {
	n, _ := slices.BinarySearchFunc(g.commits, t+1, func(k commit, t int64) int { return cmp.Compare(k.time, t) })
	for n--; n >= 0; n-- {
		k := &g.commits[n]
		if strings.HasPrefix(fileName(k.it, k.time), path+"/") {
			return hash("tree "+path, k.it.n, k.time)
		}
	}
	return hash("tree "+path, 0, 0)
}

// past are the commits up to now, the latest first.
func (g *repository) past(st *state) []commit {
	n, _ := slices.BinarySearchFunc(g.commits, st.now+1, func(k commit, t int64) int { return cmp.Compare(k.time, t) })
	out := slices.Clone(g.commits[:n])
	slices.Reverse(out)
	return out
}

// file returns the one that had a path at a time, nil for none.
func (g *repository) file(st *state, t int64, path string) *item {
	for _, it := range g.items {
		if it.lives(t) && it.published <= st.now && fileName(it, t) == path {
			return it
		}
	}
	return nil
}
