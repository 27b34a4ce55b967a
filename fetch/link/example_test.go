package link_test

import (
	"fmt"

	"forage/fetch/link"
)

func ExampleParse() {
	id, err := link.Parse("HTTP://user@Ex.test:80/%7Ea/./b/../c?x=%2f#top")
	fmt.Println(id, err)
	// Output: http://ex.test/~a/c?x=%2F <nil>
}

func ExampleExtractor() {
	var x link.Extractor
	p := x.Extract([]byte(`<title>News</title><ul class=nav><li><a href="1.html">First</a></ul>`), link.Options{URL: "http://ex.test/news/", Paths: true})
	fmt.Println(p.Title)
	for i := range p.Links {
		l := &p.Links[i]
		fmt.Println(l.Kind, l.URL, p.Path(l), p.Text(l))
	}
	// Output:
	// News
	// anchor http://ex.test/news/1.html ul.nav/li/a First
}
