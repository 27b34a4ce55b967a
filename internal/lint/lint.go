// Package lint holds the rules of the house as tests: who may import whom, which modules are
// allowed, what decisions must not touch, and that every citation is listed.
package lint
