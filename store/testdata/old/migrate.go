//go:build ignore

// Migrate brings the store in a folder to the format of this release.
package main

import (
	"log"
	"os"

	"forage/store"
)

func main() {
	db, err := store.Open(os.Args[1], store.Options{MustExist: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
}
