// Package link finds the links of a page and gives URLs their identity.
//
// Parse and Base.Resolve turn what stands in a page into the one form under which a URL is
// known. The package fetches nothing and runs no script.
package link
