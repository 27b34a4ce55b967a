// Package watch is the service: it watches sites for months.
//
// Config is what a file says, Parse reads it. When says when a site is due; it is pure: times are arguments.
package watch
