// Package gen makes graphs: web-like ones, R-MAT, copying models. Every generator gives the
// same graph for the same parameters and seed on every machine and for any number of threads.
//
// Start with Weblike, the graph that this project's measurements of large web graphs use.
package gen
