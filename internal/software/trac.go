package software

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// trac answers as an issue tracker of Trac's kind does: a ticket at /ticket/N, its attachments and
// the differences that its changes made, and lists of tickets in any order, with any columns and
// filters, each of them as HTML, RSS and two kinds of text. A ticket keeps its number, so that
// nothing is ever renamed; a deleted one answers 404.
type trac struct{ items []*item }

func newTrac(s *Site) server { return &trac{s.items} }

func (c *trac) path(st *state, it *item) string { return fmt.Sprintf("/ticket/%d", it.n) }

var (
	tcStatus     = []string{"accepted", "assigned", "closed", "new", "reopened"}
	tcComponents = []string{"core", "docs", "tools", "web"}
	tcPriorities = []string{"blocker", "critical", "major", "minor", "trivial"}
	tcColumns    = []string{"id", "summary", "status", "type", "priority", "milestone", "component", "owner", "reporter", "time", "changetime"}
	tcReports    = []string{"Active Tickets", "Active Tickets by Version", "Active Tickets by Milestone", "Accepted Tickets by Owner", "All Tickets by Milestone", "My Tickets", "Latest Tickets"}
)

func tcPerson(n int) string { return vocabulary[700+n%12] }

// A tcTicket is what the lists show of a ticket.
type tcTicket struct {
	it                                              *item
	status, component, priority, milestone, summary string
	owner, reporter                                 string
	changed                                         int64
}

func (c *trac) ticket(it *item, now int64) tcTicket {
	r := it.chance(2)
	t := tcTicket{it: it, summary: it.title(it.published), component: tcComponents[r.IntN(4)], priority: tcPriorities[r.IntN(5)], milestone: fmt.Sprintf("1.%d", r.IntN(5)),
		owner: tcPerson(r.IntN(12)), reporter: tcPerson(r.IntN(12)), changed: it.touched(now)}
	// Each change gives it another status, and most tickets are closed in the end.
	if it.revision(now) == 0 {
		t.status = "new"
	} else {
		t.status = tcStatus[it.chance(uint64(20+it.revision(now))).IntN(len(tcStatus))]
	}
	return t
}

func (t tcTicket) field(name string) string {
	switch name {
	case "id":
		return fmt.Sprintf("%06d", t.it.n)
	case "summary":
		return t.summary
	case "status":
		return t.status
	case "type":
		return []string{"defect", "enhancement", "task"}[t.it.n%3]
	case "priority":
		return t.priority
	case "milestone":
		return t.milestone
	case "component":
		return t.component
	case "owner":
		return t.owner
	case "reporter":
		return t.reporter
	case "time":
		return date(t.it.published, time.RFC3339)
	case "changetime":
		return date(t.changed, time.RFC3339)
	}
	return ""
}

// attachments of a ticket: one of three has some.
func (c *trac) attachments(it *item) []string {
	r := it.chance(3)
	if r.IntN(3) > 0 {
		return nil
	}
	return []string{"screen.png", "fix-" + strconv.Itoa(it.n) + ".diff"}[:1+r.IntN(2)]
}

var (
	tcTicketPath = regexp.MustCompile(`^/ticket/(\d+)$`)
	tcFilePath   = regexp.MustCompile(`^/(attachment|raw-attachment|zip-attachment)/ticket/(\d+)/([a-z0-9.-]*)$`)
	tcReportPath = regexp.MustCompile(`^/report/(\d+)$`)
)

func (c *trac) answer(st *state, r *request) *answer {
	if m := tcTicketPath.FindStringSubmatch(r.path); m != nil {
		n, _ := strconv.Atoi(m[1])
		it := st.numbered(n)
		if it == nil || !it.lives(st.now) {
			return c.missing(st, r, fmt.Sprintf("Ticket %d does not exist.", n))
		}
		return c.show(st, r, it)
	}
	if m := tcFilePath.FindStringSubmatch(r.path); m != nil {
		n, _ := strconv.Atoi(m[2])
		it := st.numbered(n)
		if it == nil || !it.lives(st.now) || m[3] != "" && !slices.Contains(c.attachments(it), m[3]) {
			return c.missing(st, r, "Attachment does not exist.")
		}
		if m[1] != "attachment" {
			return &answer{kind: "application/octet-stream", body: m[3] + strings.Repeat(" bytes", 40)}
		}
		p := c.begin(st, r, m[3])
		p.f("<h1><a href=\"/ticket/%d\">Ticket #%d</a>: %s</h1><div id=\"preview\">File %s, added by %s</div><a href=\"/raw-attachment/ticket/%d/%s\">download</a>", n, n, m[3], m[3], tcPerson(n), n, m[3])
		return c.end(p, m[3])
	}
	if m := tcReportPath.FindStringSubmatch(r.path); m != nil {
		n, _ := strconv.Atoi(m[1])
		if n < 1 || n > len(tcReports) {
			return c.missing(st, r, fmt.Sprintf("Report {%d} does not exist.", n))
		}
		return c.list(st, r, tcReports[n-1], true)
	}
	switch r.path {
	case "/":
		return r.redirect(302, "/wiki")
	case "/robots.txt":
		return c.missing(st, r, "No handler matched request to /robots.txt")
	case "/query":
		return c.list(st, r, "Custom Query", false)
	case "/wiki", "/wiki/WikiStart", "/wiki/TitleIndex", "/wiki/RecentChanges":
		name := strings.TrimPrefix(strings.TrimPrefix(r.path, "/wiki"), "/")
		name = cmp.Or(name, "WikiStart")
		p := c.begin(st, r, name)
		if r.query.Has("action") || r.query.Has("version") {
			p.meta("<meta name=\"ROBOTS\" content=\"NOINDEX, NOFOLLOW\" />")
		}
		p.f("<h1>%s</h1><p>Welcome. See <a class=\"wiki\" href=\"/wiki/TitleIndex\">TitleIndex</a>, <a href=\"/wiki/RecentChanges\">RecentChanges</a>, the <a href=\"/roadmap\">roadmap</a> and <a href=\"/query?status=!closed\">open tickets</a>.</p>", name)
		for _, a := range []string{"history", "diff&amp;version=1", "edit"} {
			p.f("<a href=\"/wiki/%s?action=%s\">%s</a>", name, a, strings.Split(a, "&")[0])
		}
		return c.end(p, name)
	case "/report":
		p := c.begin(st, r, "Available Reports")
		p.f("<h1>Available Reports</h1>")
		for _, s := range []string{"report", "title"} {
			p.f("<a href=\"/report?sort=%s&amp;asc=1\">%s</a><a href=\"/report?sort=%s&amp;asc=0\">%s</a>", s, s, s, s)
		}
		for i, n := range tcReports {
			p.f("<h2><a href=\"/report/%d\" title=\"View report\"><em>{%d}</em> %s</a></h2>", i+1, i+1, n)
		}
		return c.end(p, "Available Reports")
	case "/roadmap":
		p := c.begin(st, r, "Roadmap")
		for i := range 5 {
			p.f("<h2><a href=\"/milestone/1.%d\">Milestone: <em>1.%d</em></a></h2>", i, i)
			for _, s := range []string{"closed", "!closed"} {
				p.f("<a href=\"/query?status=%s&amp;group=resolution&amp;milestone=1.%d\">%s</a>", s, i, s)
			}
		}
		return c.end(p, "Roadmap")
	case "/timeline":
		return c.timeline(st, r)
	case "/login", "/prefs", "/newticket", "/search", "/about":
		p := c.begin(st, r, r.path[1:])
		p.f("<h1>%s</h1><form method=\"post\"><input name=\"q\"></form>", r.path[1:])
		return c.end(p, r.path[1:])
	}
	if m, ok := strings.CutPrefix(r.path, "/milestone/"); ok {
		p := c.begin(st, r, m)
		p.f("<h1>Milestone %s</h1><table>", m)
		for _, by := range []string{"component", "owner", "priority", "status", "type"} {
			p.f("<a href=\"/milestone/%s?by=%s\">%s</a>", m, by, by)
		}
		for _, v := range tcComponents {
			p.f("<tr><th><a href=\"/query?milestone=%s&amp;component=%s&amp;order=priority\">%s</a></th></tr>", m, v, v)
		}
		p.f("</table>")
		return c.end(p, "Milestone "+m)
	}
	return c.missing(st, r, "No handler matched request to "+r.path)
}

func (c *trac) begin(st *state, r *request, title string) *page {
	p := &page{}
	p.meta("<link rel=\"search\" href=\"/search\" />\n<link rel=\"help\" href=\"/wiki/TracGuide\" />\n<link rel=\"start\" href=\"/wiki\" />")
	p.f("<div id=\"banner\"><a id=\"logo\" href=\"/\">Project</a><form id=\"search\" action=\"/search\" method=\"get\"><input name=\"q\"></form><div id=\"metanav\" class=\"nav\"><ul><li><a href=\"/login\">Login</a></li><li><a href=\"/prefs\">Preferences</a></li><li><a href=\"/about\">About Trac</a></li></ul></div></div>")
	p.f("<div id=\"mainnav\" class=\"nav\"><ul><li><a href=\"/wiki\">Wiki</a></li><li><a href=\"/timeline\">Timeline</a></li><li><a href=\"/roadmap\">Roadmap</a></li><li><a href=\"/report\">View Tickets</a></li><li><a href=\"/newticket\">New Ticket</a></li><li><a href=\"/search\">Search</a></li></ul></div>\n<div id=\"content\">")
	return p
}

func (c *trac) end(p *page, title string) *answer {
	p.f("</div>\n<div id=\"footer\"><a href=\"http://trac.edgewall.org/\">Powered by Trac</a></div>")
	return &answer{body: p.html("en-US", title+" - Project"), header: [][2]string{{"Cache-Control", "must-revalidate"}, {"Expires", "Fri, 01 Jan 1999 00:00:00 GMT"}}}
}

func (c *trac) missing(st *state, r *request, text string) *answer {
	p := c.begin(st, r, "Error")
	p.f("<h1>Error: Not Found</h1><p class=\"message\">%s</p>", text)
	a := c.end(p, "Error")
	a.status = 404
	return a
}

func (c *trac) show(st *state, r *request, it *item) *answer {
	self := c.path(st, it)
	t := c.ticket(it, st.now)
	switch format := r.query.Get("format"); format {
	case "csv", "tab":
		return &answer{kind: "text/" + format + "; charset=utf-8", body: fmt.Sprintf("id,summary,status\n%d,%s,%s\n", it.n, t.summary, t.status)}
	case "rss":
		var entries []entry
		for i, e := range it.edits[:it.revision(st.now)] {
			entries = append(entries, entry{"status changed", fmt.Sprintf("%s#comment:%d", self, i+1), it.paragraphs(i + 1)[0], e})
		}
		return rss(r.base, fmt.Sprintf("Project: Ticket #%d", it.n), self, entries)
	}
	p := c.begin(st, r, t.summary)
	switch r.query.Get("action") {
	case "diff", "comment-diff", "history":
		p.meta("<meta name=\"ROBOTS\" content=\"NOINDEX, NOFOLLOW\" />")
		v := max(1, min(it.revision(st.now), r.int("version", 1)))
		p.f("<h1>Changes between version %d and version %d of <a href=\"%s\">Ticket #%d</a></h1><div class=\"diff\">%s</div>", v-1, v, self, it.n, it.paragraphs(v)[0])
		if v > 1 {
			p.f("<a class=\"prev\" href=\"%s?action=diff&amp;version=%d\">&larr; Previous Change</a>", self, v-1)
		}
		return c.end(p, "Changes")
	}
	p.meta("<link rel=\"alternate\" type=\"application/rss+xml\" class=\"rss\" href=\"%s?format=rss\" title=\"RSS Feed\" />\n<link rel=\"alternate\" type=\"text/csv\" href=\"%s?format=csv\" title=\"Comma-delimited Text\" />\n<link rel=\"alternate\" type=\"text/tab-separated-values\" href=\"%s?format=tab\" title=\"Tab-delimited Text\" />", self, self, self)
	at := slices.Index(st.live, it)
	p.f("<div id=\"ctxtnav\"><ul>")
	if at+1 < len(st.live) {
		p.f("<li><a class=\"prev\" href=\"%s\">&larr; Previous Ticket</a></li>", c.path(st, st.live[at+1]))
	}
	if at > 0 {
		p.f("<li><a class=\"next\" href=\"%s\">Next Ticket &rarr;</a></li>", c.path(st, st.live[at-1]))
	}
	p.f("</ul></div><h1 id=\"trac-ticket-title\"><a href=\"%s\">#%d</a> <span class=\"status\">%s</span> <span class=\"summary\">%s</span></h1><table class=\"properties\">", self, it.n, t.status, t.summary)
	for _, f := range []string{"reporter", "owner", "priority", "milestone", "component", "type"} {
		p.f("<tr><th>%s</th><td><a href=\"/query?status=!closed&amp;%s=%s\">%s</a></td></tr>", f, f, t.field(f), t.field(f))
	}
	p.f("</table><div class=\"description\">")
	p.text(it, 0)
	for i, to := range related(c.items, it, st.now) {
		if i == 2 {
			break
		}
		if !to.lives(st.now) {
			p.f("<a class=\"missing ticket\">#%d</a>", to.n)
			continue
		}
		p.f("<a class=\"new ticket\" href=\"%s\" title=\"%s\">#%d</a>", c.path(st, to), to.title(to.published), to.n)
	}
	p.f("</div><h3>Attachments</h3><dl>")
	for _, f := range c.attachments(it) {
		p.f("<dt><a href=\"/attachment/ticket/%d/%s\" title=\"View attachment\">%s</a><a href=\"/raw-attachment/ticket/%d/%s\" class=\"trac-rawlink\" title=\"Download\"></a></dt>", it.n, f, f, it.n, f)
	}
	p.f("</dl><h2>Change History</h2>")
	for i, e := range it.edits[:it.revision(st.now)] {
		p.f("<div class=\"change\" id=\"trac-change-%d\"><h3><a href=\"#comment:%d\">comment:%d</a> by %s, <a class=\"timeline\" href=\"/timeline?from=%s&amp;precision=second\">%s</a></h3><li>description modified (<a href=\"%s?action=diff&amp;version=%d\">diff</a>)</li><p>%s</p><a href=\"%s?replyto=%d#comment\">Reply</a></div>",
			i+1, i+1, i+1, tcPerson(it.n+i), url.QueryEscape(date(e, time.RFC3339)), date(e, "Jan 2, 2006"), self, i+1, it.paragraphs(i + 1)[0], self, i+1)
	}
	p.f("<p>Note: See <a href=\"/wiki/TracTickets\">TracTickets</a> for help on using tickets.</p>")
	a := c.end(p, fmt.Sprintf("#%d (%s)", it.n, t.summary))
	a.item = it
	return a
}

// list is a query or a report.
func (c *trac) list(st *state, r *request, title string, report bool) *answer {
	var all []tcTicket
	for _, it := range st.live {
		t := c.ticket(it, st.now)
		keep := true
		for _, f := range tcColumns {
			for _, v := range r.query[f] {
				if no, not := strings.CutPrefix(v, "!"); not {
					keep = keep && t.field(f) != no
				} else {
					keep = keep && slices.Contains(r.query[f], t.field(f))
				}
			}
		}
		if report && !strings.HasPrefix(title, "All") && !strings.HasPrefix(title, "Latest") {
			keep = keep && t.status != "closed"
		}
		if keep {
			all = append(all, t)
		}
	}
	order := cmp.Or(r.query.Get("order"), r.query.Get("sort"), "priority")
	if title == "Latest Tickets" {
		order = cmp.Or(r.query.Get("sort"), "time")
	}
	slices.SortStableFunc(all, func(a, b tcTicket) int { return strings.Compare(a.field(order), b.field(order)) })
	if r.query.Get("desc") == "1" || r.query.Get("asc") == "0" || title == "Latest Tickets" {
		slices.Reverse(all)
	}
	// with is the address of this list with parameters changed: name, value, …
	with := func(params ...string) string {
		v := url.Values{}
		for k, x := range r.query {
			if k != "page" && k != "format" {
				v[k] = x
			}
		}
		for i := 0; i < len(params); i += 2 {
			if params[i+1] == "" {
				v.Del(params[i])
			} else {
				v.Set(params[i], params[i+1])
			}
		}
		if len(v) == 0 {
			return r.path
		}
		return r.path + "?" + strings.ReplaceAll(v.Encode(), "&", "&amp;")
	}
	const size = 100
	some, pages := slice(all, r.int("page", 1), min(size, max(1, r.int("max", 25))))
	switch r.query.Get("format") {
	case "rss":
		var entries []entry
		for _, t := range some {
			entries = append(entries, entry{fmt.Sprintf("#%d: %s", t.it.n, t.summary), c.path(st, t.it), t.it.paragraphs(0)[0], t.it.published})
		}
		return rss(r.base, "Project: "+title, r.path, entries)
	case "csv", "tab":
		var b strings.Builder
		for _, t := range all {
			fmt.Fprintf(&b, "%d,%s,%s\n", t.it.n, t.summary, t.status)
		}
		return &answer{kind: "text/" + r.query.Get("format") + "; charset=utf-8", body: b.String()}
	}
	p := c.begin(st, r, title)
	p.meta("<link rel=\"alternate\" type=\"application/rss+xml\" class=\"rss\" href=\"%s\" title=\"RSS Feed\" />\n<link rel=\"alternate\" type=\"text/csv\" href=\"%s\" title=\"Comma-delimited Text\" />\n<link rel=\"alternate\" type=\"text/tab-separated-values\" href=\"%s\" title=\"Tab-delimited Text\" />", with("format", "rss"), with("format", "csv"), with("format", "tab"))
	p.f("<h1>%s <span class=\"numrows\">(%d matches)</span></h1><form method=\"get\">", title, len(all))
	columns := r.query["col"]
	if len(columns) == 0 {
		columns = tcColumns[:7]
	}
	sort := "order"
	if report {
		sort = "sort"
	}
	p.f("</form><table class=\"listing tickets\"><thead><tr>")
	for _, col := range columns {
		params := []string{sort, col}
		if report {
			params = append(params, "asc", map[bool]string{true: "0", false: "1"}[order == col && r.query.Get("asc") == "1"])
		} else if order == col && r.query.Get("desc") != "1" {
			params = append(params, "desc", "1")
		} else {
			params = append(params, "desc", "")
		}
		p.f("<th><a title=\"Sort by %s\" href=\"%s\">%s</a></th>", col, with(params...), col)
	}
	p.f("</tr></thead><tbody>")
	for _, t := range some {
		p.f("<tr><td class=\"id\"><a href=\"%s\" title=\"View ticket\">#%d</a></td><td class=\"summary\"><a href=\"%s\" title=\"View ticket\">%s</a></td>", c.path(st, t.it), t.it.n, c.path(st, t.it), t.summary)
		for _, col := range columns {
			switch col {
			case "milestone":
				p.f("<td><a href=\"/milestone/%s\">%s</a></td>", t.milestone, t.milestone)
			case "id", "summary":
			default:
				p.f("<td>%s</td>", t.field(col))
			}
		}
		p.f("</tr>")
	}
	p.f("</tbody></table>")
	for n := 1; n <= pages && pages > 1; n++ {
		p.f("<a class=\"paging\" href=\"%s\">%d</a>", with("page", fmt.Sprint(n)), n)
	}
	if !report {
		for _, g := range []string{"component", "milestone", "owner", "priority", "status"} {
			p.f("<a href=\"%s\">group by %s</a>", with("group", g), g)
		}
	}
	p.f("<p>Download in other formats: <a rel=\"nofollow\" href=\"%s\" class=\"rss\">RSS Feed</a> <a rel=\"nofollow\" href=\"%s\" class=\"csv\">Comma-delimited Text</a> <a rel=\"nofollow\" href=\"%s\" class=\"tab\">Tab-delimited Text</a></p>", with("format", "rss"), with("format", "csv"), with("format", "tab"))
	a := c.end(p, title)
	a.vain = len(some) == 0 && len(all) > 0
	return a
}

// timeline shows the days before a date, and leads to those before them without end.
func (c *trac) timeline(st *state, r *request) *answer {
	from := st.now
	if t, err := time.Parse("2006-01-02", r.query.Get("from")); err == nil {
		from = t.Unix() + 24*3600
	} else if t, err := time.Parse(time.RFC3339, r.query.Get("from")); err == nil {
		from = t.Unix() + 24*3600
	}
	from = min(from, st.now)
	days := int64(min(90, max(1, r.int("daysback", 7))))
	var entries []entry
	for _, it := range st.live {
		add := func(t int64, what string) {
			if t <= from && t > from-days*24*3600 {
				entries = append(entries, entry{fmt.Sprintf("Ticket #%d (%s) %s", it.n, it.title(it.published), what), c.path(st, it), it.paragraphs(0)[0], t})
			}
		}
		add(it.published, "created")
		for _, e := range it.edits {
			if e <= st.now {
				add(e, "updated")
			}
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return int(b.time - a.time) })
	if r.query.Get("format") == "rss" {
		return rss(r.base, "Project", "/timeline", entries)
	}
	p := c.begin(st, r, "Timeline")
	p.meta("<link rel=\"alternate\" type=\"application/rss+xml\" class=\"rss\" href=\"/timeline?ticket=on&amp;max=50&amp;daysback=90&amp;format=rss\" title=\"RSS Feed\" />")
	p.f("<h1>Timeline</h1><ul><li><a class=\"prev\" href=\"/timeline?from=%s&amp;daysback=%d\">&larr; Previous Period</a></li>", date(from-days*24*3600, "2006-01-02"), days)
	if from < st.now {
		p.f("<li><a class=\"next\" href=\"/timeline?from=%s&amp;daysback=%d\">Next Period &rarr;</a></li>", date(min(st.now, from+days*24*3600), "2006-01-02"), days)
	}
	p.f("</ul><dl>")
	for _, e := range entries {
		p.f("<dt><a href=\"%s\">%s</a></dt><dd>%s</dd>", e.link, e.title, e.text)
	}
	p.f("</dl>")
	return c.end(p, "Timeline")
}
