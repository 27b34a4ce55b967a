// Package formatcheck holds tests of what forage writes in formats of others, from outside: the program crawls servers that keep a log of
// what they said, and warcio, jwarc, gzip, pywb and DuckDB read what is left. Nothing here uses the packages that write it.
//
// The tests want an interpreter that has warcio, pywb, duckdb and pytz (FORAGE_PYTHON), and for one of the checks the jar of jwarc
// (FORAGE_JWARC); they are skipped without. FORAGE_ACCEPT=all has them take more histories, and FORAGE_KILLS says how many processes are
// killed: make accept-formats.
package formatcheck
