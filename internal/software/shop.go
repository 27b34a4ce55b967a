package software

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// shop answers as shops do whose catalogue can be filtered: a product is found under each of its
// categories and at its own address, which is the canonical one; lists take any combination of
// filters, orders and sizes; links put things into the cart or a list when they are followed; and
// whoever sends no cookie has the number of a session in every link, another one each time.
type shop struct {
	session   string // the parameter with the number of the session
	canonical bool   // filtered lists name their category as canonical
	sitemaps  bool
}

func newShop(*Site) server      { return &shop{session: "sid", sitemaps: true} }
func newShopVisit(*Site) server { return &shop{session: "visit", canonical: true} }

const (
	shopTops, shopSubs = 4, 4
	shopSize           = 12
)

var (
	shopColours = []string{"black", "blue", "green", "red", "white"}
	shopSizes   = []string{"l", "m", "s", "xl"}
	shopOrders  = []string{"name", "position", "price"}
)

func shopTop(i int) string    { return vocabulary[120+i] }
func shopSub(i, k int) string { return vocabulary[130+i*shopSubs+k] }

// categories of a product: one or two, each a top and what is below it.
func (s *shop) categories(it *item) []string {
	r := it.chance(2)
	var out []string
	for range 1 + r.IntN(2) {
		i, k := r.IntN(shopTops), r.IntN(shopSubs)
		if c := shopTop(i) + "/" + shopSub(i, k); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

func (s *shop) colour(it *item) string { return shopColours[it.chance(3).IntN(len(shopColours))] }
func (s *shop) size(it *item) string   { return shopSizes[it.chance(4).IntN(len(shopSizes))] }

// price in cents; each edit changes it.
func (s *shop) price(it *item, now int64) int {
	return 500 + it.chance(uint64(60+it.revision(now))).IntN(20000)
}

func (s *shop) path(st *state, it *item) string { return "/" + it.slug(st.now, "-") + ".html" }

func (s *shop) answer(st *state, r *request) *answer {
	a := s.route(st, r)
	if r.cookie == "" {
		a.header = append(a.header, [2]string{"Set-Cookie", fmt.Sprintf("%s=%s; path=/; HttpOnly", sessionCookie, s.number(r))})
	}
	a.header = append(a.header, [2]string{"Cache-Control", "no-store, no-cache, must-revalidate"})
	return a
}

// number of the session that a request without a cookie begins.
func (s *shop) number(r *request) string {
	return fmt.Sprintf("%016x%016x", r.serial*0x9e3779b97f4a7c15, r.serial*0xd1342543de82ef95+1)
}

// link adds the session to an address.
func (s *shop) link(r *request, path string) string {
	if r.cookie != "" {
		return path
	}
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	return strings.ReplaceAll(path+sep+s.session+"="+s.number(r), "&", "&amp;")
}

func (s *shop) route(st *state, r *request) *answer {
	switch {
	case r.path == "/robots.txt":
		text := "User-agent: *\nDisallow: /checkout/\nDisallow: /admin/\n"
		if s.sitemaps {
			text += "Sitemap: " + r.base + "/sitemap.xml\n"
		}
		return robots(text)
	case r.path == "/sitemap.xml" && s.sitemaps:
		return s.sitemap(st, r)
	case r.path == "/rss/new":
		var entries []entry
		for _, it := range st.live[:min(10, len(st.live))] {
			entries = append(entries, entry{it.title(st.now), s.path(st, it), it.paragraphs(0)[0], it.published})
		}
		return rss(r.base, "Shop: new products", "/", entries)
	case r.path == "/":
		return s.home(st, r)
	case r.path == "/search":
		return s.list(st, r, "", st.where(func(it *item) bool { return strings.Contains(it.title(st.now), r.query.Get("q")) }))
	case r.path == "/cart" || r.path == "/wishlist" || r.path == "/compare" || r.path == "/login" || r.path == "/register" || r.path == "/contact":
		p := s.begin(st, r, "")
		p.meta("<meta name=\"robots\" content=\"noindex,follow\">")
		p.f("<h1>%s</h1><p>Nothing is in here yet.</p><form method=\"post\"><input name=\"mail\"></form>", strings.ToUpper(r.path[1:2])+r.path[2:])
		return s.end(st, r, p, r.path[1:])
	case strings.HasPrefix(r.path, "/cart/add/"), strings.HasPrefix(r.path, "/wishlist/add/"), strings.HasPrefix(r.path, "/compare/add/"):
		to, _, _ := strings.Cut(r.path[1:], "/")
		return &answer{status: 302, location: r.base + strings.ReplaceAll(s.link(r, "/"+to), "&amp;", "&")}
	case strings.HasPrefix(r.path, "/currency/"):
		return &answer{status: 302, location: r.base + strings.ReplaceAll(s.link(r, cmp.Or(r.query.Get("return"), "/")), "&amp;", "&")}
	case strings.HasPrefix(r.path, "/review/"), strings.HasPrefix(r.path, "/send/"):
		id, _ := strconv.Atoi(r.path[strings.LastIndex(r.path, "/")+1:])
		it := st.numbered(id)
		if it == nil || !it.lives(st.now) {
			return s.missing(st, r)
		}
		p := s.begin(st, r, "")
		p.f("<h1>%s</h1><p>Tell others about <a href=\"%s\">%s</a>.</p><form method=\"post\"><textarea name=\"text\"></textarea></form>", strings.Split(r.path, "/")[1], s.link(r, s.path(st, it)), it.title(st.now))
		return s.end(st, r, p, "Write about "+it.title(st.now))
	}
	segments := strings.Split(strings.Trim(r.path, "/"), "/")
	if slug, ok := strings.CutSuffix(segments[len(segments)-1], ".html"); ok {
		return s.product(st, r, slug, strings.Join(segments[:len(segments)-1], "/"))
	}
	name := strings.Join(segments, "/")
	if !s.isCategory(name) {
		return s.missing(st, r)
	}
	return s.list(st, r, name, st.where(func(it *item) bool {
		return slices.ContainsFunc(s.categories(it), func(c string) bool { return c == name || strings.HasPrefix(c, name+"/") })
	}))
}

func (s *shop) isCategory(name string) bool {
	for i := range shopTops {
		if name == shopTop(i) {
			return true
		}
		for k := range shopSubs {
			if name == shopTop(i)+"/"+shopSub(i, k) {
				return true
			}
		}
	}
	return false
}

func (s *shop) begin(st *state, r *request, canonical string) *page {
	p := &page{class: "shop"}
	if canonical != "" {
		p.meta("<link rel=\"canonical\" href=\"%s%s\">", r.base, canonical)
	}
	p.meta("<link rel=\"alternate\" type=\"application/rss+xml\" title=\"New products\" href=\"%s/rss/new\">", r.base)
	p.f("<header><a class=\"logo\" href=\"%s\">Shop</a><form action=\"/search\"><input name=\"q\"></form>", s.link(r, "/"))
	for _, l := range []string{"login", "register", "wishlist", "compare", "cart"} {
		p.f("<a href=\"%s\">%s</a>", s.link(r, "/"+l), l)
	}
	for _, c := range []string{"eur", "gbp", "usd"} {
		p.f("<a href=\"%s\">%s</a>", s.link(r, "/currency/"+c+"?return="+url.QueryEscape(r.path)), strings.ToUpper(c))
	}
	p.f("</header>\n<nav><ul>")
	for i := range shopTops {
		p.f("<li><a href=\"%s\">%s</a><ul>", s.link(r, "/"+shopTop(i)), shopTop(i))
		for k := range shopSubs {
			p.f("<li><a href=\"%s\">%s</a></li>", s.link(r, "/"+shopTop(i)+"/"+shopSub(i, k)), shopSub(i, k))
		}
		p.f("</ul></li>")
	}
	p.f("</ul></nav>\n<main>")
	return p
}

func (s *shop) end(st *state, r *request, p *page, title string) *answer {
	p.f("</main>\n<footer><a href=\"%s\">Contact</a></footer>", s.link(r, "/contact"))
	return &answer{body: p.html("en", title+" | Shop")}
}

func (s *shop) missing(st *state, r *request) *answer {
	p := s.begin(st, r, "")
	p.f("<h1>Page not found</h1><p>The page you requested was not found, and we have a fine guess why.</p>")
	a := s.end(st, r, p, "404 Not Found")
	a.status = 404
	return a
}

// tile writes a product in a list. from is the category that it is shown in, "" for none.
func (s *shop) tile(st *state, r *request, p *page, it *item, from string) {
	at := s.path(st, it)
	if from != "" {
		at = "/" + from + at
	}
	p.f("<li class=\"product\"><a href=\"%s\">%s</a> <span class=\"price\">%.2f</span>", s.link(r, at), it.title(st.now), float64(s.price(it, st.now))/100)
	p.f("<a class=\"button\" href=\"%s\">Add to Cart</a> <a href=\"%s\">Add to Wishlist</a> <a href=\"%s\">Add to Compare</a></li>",
		s.link(r, fmt.Sprintf("/cart/add/%d", it.n)), s.link(r, fmt.Sprintf("/wishlist/add/%d", it.n)), s.link(r, fmt.Sprintf("/compare/add/%d", it.n)))
}

func (s *shop) home(st *state, r *request) *answer {
	p := s.begin(st, r, "/")
	p.f("<h1>Welcome</h1><h2>New products</h2><ul>")
	for _, it := range st.live[:min(8, len(st.live))] {
		s.tile(st, r, p, it, "")
	}
	p.f("</ul>")
	return s.end(st, r, p, "Home")
}

func (s *shop) product(st *state, r *request, slug, under string) *answer {
	it, now := st.named(slug, "-")
	if it == nil || under != "" && !s.isCategory(under) {
		return s.missing(st, r)
	}
	if !it.lives(st.now) {
		a := s.missing(st, r)
		switch it.gone {
		case removed:
			a.status = 410
		case soft:
			p := s.begin(st, r, "")
			p.f("<h1>Not available</h1><p>This product is no longer available. Please have a look at our other products.</p>")
			a = s.end(st, r, p, "Product not found")
			a.vain = true
		}
		return a
	}
	if !now {
		if it.moved == notFound {
			return s.missing(st, r)
		}
		return &answer{status: 301, location: r.base + strings.ReplaceAll(s.link(r, s.path(st, it)), "&amp;", "&")}
	}
	p := s.begin(st, r, s.path(st, it))
	p.f("<p class=\"breadcrumbs\"><a href=\"%s\">Home</a>", s.link(r, "/"))
	if under != "" {
		p.f(" / <a href=\"%s\">%s</a>", s.link(r, "/"+under), under)
	}
	p.f("</p><h1>%s</h1><p class=\"price\">%.2f</p><p>Colour: %s. Size: %s.</p>", it.title(st.now), float64(s.price(it, st.now))/100, s.colour(it), s.size(it))
	p.text(it, 0)
	for _, l := range []string{"cart/add", "wishlist/add", "compare/add", "review", "send"} {
		p.f("<a href=\"%s\">%s</a>", s.link(r, fmt.Sprintf("/%s/%d", l, it.n)), l)
	}
	p.f("<h2>You may also like</h2><ul>")
	c := s.categories(it)[0]
	near := st.where(func(o *item) bool { return o != it && slices.Contains(s.categories(o), c) })
	for i := range min(4, len(near)) {
		s.tile(st, r, p, near[(it.n+i)%len(near)], c)
	}
	p.f("</ul>")
	a := s.end(st, r, p, it.title(st.now))
	a.item = it
	return a
}

// list shows the products of a category that the filters leave, in the order asked for.
func (s *shop) list(st *state, r *request, name string, all []*item) *answer {
	q := r.query
	// A filter takes several values, joined by commas.
	chosen := func(param string) []string {
		if q.Get(param) == "" {
			return nil
		}
		return strings.Split(q.Get(param), ",")
	}
	colours, sizes := chosen("colour"), chosen("size")
	all = slices.DeleteFunc(slices.Clone(all), func(it *item) bool {
		return colours != nil && !slices.Contains(colours, s.colour(it)) || sizes != nil && !slices.Contains(sizes, s.size(it)) ||
			q.Has("max") && s.price(it, st.now) > 100*r.int("max", 0)
	})
	switch q.Get("order") {
	case "name":
		slices.SortFunc(all, func(a, b *item) int { return strings.Compare(a.title(st.now), b.title(st.now)) })
	case "price":
		slices.SortFunc(all, func(a, b *item) int { return cmp.Compare(s.price(a, st.now), s.price(b, st.now)) })
	}
	if q.Get("dir") == "desc" {
		slices.Reverse(all)
	}
	limit := min(max(1, r.int("limit", shopSize)), 48)
	some, pages := slice(all, r.int("p", 1), limit)
	canonical := ""
	if s.canonical {
		canonical = r.path
	}
	p := s.begin(st, r, canonical)
	// with is the address of this list with one parameter changed.
	with := func(param, value string) string {
		v := url.Values{}
		for k := range q {
			if k != s.session && k != "p" {
				v.Set(k, q.Get(k))
			}
		}
		if value == "" {
			v.Del(param)
		} else {
			v.Set(param, value)
		}
		if len(v) == 0 {
			return s.link(r, r.path)
		}
		return s.link(r, r.path+"?"+v.Encode())
	}
	title := cmp.Or(name, "Search")
	p.f("<h1>%s</h1><aside>", title)
	facet := func(param string, values, chosen []string) {
		p.f("<h3>%s</h3><ul>", param)
		for _, v := range values {
			set := slices.Clone(chosen)
			if i := slices.Index(set, v); i >= 0 {
				set = slices.Delete(set, i, i+1)
			} else {
				set = append(set, v)
			}
			slices.Sort(set)
			p.f("<li><a href=\"%s\">%s</a></li>", with(param, strings.Join(set, ",")), v)
		}
		p.f("</ul>")
	}
	facet("colour", shopColours, colours)
	facet("size", shopSizes, sizes)
	for _, m := range []string{"25", "50", "100"} {
		p.f("<a href=\"%s\">up to %s</a>", with("max", m), m)
	}
	p.f("</aside><div class=\"toolbar\">%d items. Show", len(all))
	for _, l := range []string{"12", "24", "48"} {
		p.f("<a href=\"%s\">%s</a>", with("limit", l), l)
	}
	for _, o := range shopOrders {
		p.f("<a href=\"%s\">by %s</a>", with("order", o), o)
	}
	dir := "desc"
	if q.Get("dir") == "desc" {
		dir = "asc"
	}
	p.f("<a href=\"%s\">other way round</a> <a href=\"%s\">list</a> <a href=\"%s\">grid</a></div><ul class=\"products\">", with("dir", dir), with("mode", "list"), with("mode", "grid"))
	for _, it := range some {
		s.tile(st, r, p, it, name)
	}
	p.f("</ul>")
	if len(some) == 0 {
		p.f("<p>We can't find products matching the selection.</p>")
	}
	for n := 1; n <= pages && pages > 1; n++ {
		p.f("<a class=\"page\" href=\"%s\">%d</a>", with("p", fmt.Sprint(n)), n)
	}
	a := s.end(st, r, p, title)
	a.vain = len(some) == 0 && len(all) > 0
	return a
}

// sitemap lists seven of ten products, and none of the last three days: it is made now and then.
func (s *shop) sitemap(st *state, r *request) *answer {
	paths := []string{"/"}
	for i := range shopTops {
		paths = append(paths, "/"+shopTop(i))
	}
	for _, it := range st.live {
		if it.chance(9).IntN(10) < 7 && it.published < st.now-3*24*3600 {
			paths = append(paths, s.path(st, it))
		}
	}
	return urlset(r.base, paths, nil)
}
