// Package spell finds the name that somebody meant who wrote another one.
package spell

// Nearest returns the name that differs from name in fewest letters, at most two and fewer than
// it has; the first of several; "" if there is none.
func Nearest(name string, names []string) string {
	nearest, least := "", 3
	for _, n := range names {
		if d := distance(name, n); d < least && d < len(n) {
			nearest, least = n, d
		}
	}
	return nearest
}

// distance returns the Levenshtein distance of two short strings, in O(len(a)·len(b)).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
