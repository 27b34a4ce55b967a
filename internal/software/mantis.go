package software

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mantis answers as an issue tracker of Mantis' kind does: a script for each purpose, an issue at
// /view.php?id=N. Orders and filters are set by addresses that change the visitor's settings and
// lead back to the list, so that to a crawler all of them show the same. An issue that was deleted
// answers 200 and says that it was not found. Issues keep their numbers.
type mantis struct{ items []*item }

func newMantis(s *Site) server { return &mantis{s.items} }

func (m *mantis) path(st *state, it *item) string { return fmt.Sprintf("/view.php?id=%d", it.n) }

var (
	mtStatus     = []string{"new", "feedback", "acknowledged", "confirmed", "assigned", "resolved", "closed"}
	mtCategories = []string{"api", "db schema", "email", "ui"}
)

func mtState(it *item, now int64) int {
	if it.revision(now) == 0 {
		return 0
	}
	return it.chance(uint64(20 + it.revision(now))).IntN(len(mtStatus))
}

func mtUser(n int) int { return 3 + n%12 }

// mtIssue finds the issue that an address is about, also one to return to.
var mtIssue = regexp.MustCompile(`(?:^|&|%3F|%26)(?:bug_)?id(?:=|%3D)(\d+)`)

func (m *mantis) answer(st *state, r *request) *answer {
	a := m.act(st, r)
	if about := mtIssue.FindStringSubmatch(r.raw); about != nil && r.path != "/view_user_page.php" {
		id, _ := strconv.Atoi(about[1])
		it := st.numbered(id)
		a.vain = it == nil || !it.lives(st.now)
	}
	return a
}

func (m *mantis) act(st *state, r *request) *answer {
	script, _, _ := strings.Cut(strings.TrimPrefix(r.path, "/"), "/")
	switch script {
	case "", "index.php":
		return &answer{status: 302, location: r.base + "/my_view_page.php"}
	case "view.php", "print_bug_page.php":
		id := r.int("id", r.int("bug_id", 0))
		it := st.numbered(id)
		if it == nil || !it.lives(st.now) {
			return m.error(r, 1100, fmt.Sprintf("Issue %d not found.", id))
		}
		return m.show(st, r, it, script == "view.php")
	case "view_all_bug_page.php", "print_all_bug_page.php":
		return m.list(st, r, script)
	case "view_all_set.php":
		return &answer{status: 302, location: r.base + "/view_all_bug_page.php"}
	case "search.php":
		// A temporary filter has another key each time.
		return &answer{status: 302, location: r.base + "/view_all_bug_page.php?filter=" + hash("filter", 0, int64(r.serial))}
	case "my_view_page.php":
		return m.overview(st, r)
	case "issues_rss.php":
		var entries []entry
		for _, it := range st.live[:min(25, len(st.live))] {
			entries = append(entries, entry{fmt.Sprintf("%07d: %s", it.n, it.title(it.published)), m.path(st, it), it.paragraphs(0)[0], it.published})
		}
		return rss(r.base, "Tracker - Issues", "/", entries)
	case "csv_export.php", "excel_xml_export.php", "file_download.php":
		return &answer{kind: "application/octet-stream", body: "id\n" + script}
	case "changelog_page.php", "roadmap_page.php":
		p := m.begin(r, "")
		p.f("<h2>Tracker - %s</h2>", script)
		for v := range 4 {
			p.f("<p><a href=\"/%s?version_id=%d\">1.%d</a> (<a href=\"/view_all_set.php?type=1&amp;temporary=y&amp;new_search=true&amp;target_version=1.%d\">View Issues</a>)</p>", script, v+1, v, v)
			for i, it := range st.live {
				if it.chance(3).IntN(4) == v && (r.int("version_id", v+1) == v+1) && i < 60 {
					p.f("- <a href=\"%s\" class=\"resolved\">%07d</a>: %s<br />", m.path(st, it), it.n, it.title(it.published))
				}
			}
		}
		return m.end(p, script)
	case "login_page.php", "signup_page.php", "lost_pwd_page.php", "bug_report_page.php", "view_filters_page.php", "summary_page.php", "bug_reminder_page.php", "account_page.php":
		p := m.begin(r, "noindex,follow")
		p.f("<form method=\"post\" action=\"login.php\"><input name=\"username\"><input type=\"hidden\" name=\"return\" value=\"%s\"></form>", url.QueryEscape(r.query.Get("return")))
		p.f("<a href=\"/signup_page.php\">Sign up</a> <a href=\"/lost_pwd_page.php\">Lost your password?</a>")
		return m.end(p, script)
	case "view_user_page.php":
		n := r.int("id", 0)
		p := m.begin(r, "")
		p.f("<h4>User: %s</h4><a href=\"/view_all_set.php?type=1&amp;temporary=y&amp;reporter_id=%d\">issues reported</a>", tcPerson(n), n)
		return m.end(p, "View User")
	case "bug_relationship_graph.php":
		p := m.begin(r, "")
		for _, g := range []string{"dependency", "relation"} {
			p.f("<a href=\"/bug_relationship_graph.php?bug_id=%d&amp;graph=%s\">%s graph</a>", r.int("bug_id", 0), g, g)
		}
		p.f("<a href=\"/view.php?id=%d\">View Issue</a>", r.int("bug_id", 0))
		return m.end(p, "Relationship Graph")
	case "tag_view_page.php":
		p := m.begin(r, "")
		n := r.int("tag_id", 0)
		p.f("<h4>Tag %d</h4><a href=\"/view_all_set.php?type=1&amp;temporary=y&amp;tag_string=%d\">Issues with this tag</a>", n, n)
		return m.end(p, "Tag")
	}
	return &answer{status: 404, body: "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1><p>The requested URL was not found on this server.</p></body></html>\n"}
}

func (m *mantis) begin(r *request, robots string) *page {
	p := &page{class: "skin-3"}
	if robots != "" {
		p.meta("<meta name=\"robots\" content=\"%s\" />", robots)
	}
	p.meta("<link rel=\"alternate\" type=\"application/rss+xml\" title=\"RSS\" href=\"/issues_rss.php?key=0\" />\n<link rel=\"search\" type=\"application/opensearchdescription+xml\" title=\"Search\" href=\"/browser_search_plugin.php?type=text\" />")
	if r.path == "/login_page.php" || r.path == "/signup_page.php" || r.path == "/lost_pwd_page.php" { // they stand alone
		p.f("<div class=\"login-container\">")
		return p
	}
	p.f("<div id=\"navbar\"><a href=\"/my_view_page.php\" class=\"navbar-brand\">Tracker</a><a href=\"/login_page.php?return=%s\">Login</a> <a href=\"/signup_page.php\">Signup for a new account</a></div><div id=\"sidebar\"><ul>", url.QueryEscape(strings.TrimPrefix(r.path, "/")+map[bool]string{true: "?" + r.raw}[r.raw != ""]))
	for _, s := range []string{"my_view_page", "view_all_bug_page", "bug_report_page", "changelog_page", "roadmap_page", "summary_page"} {
		p.f("<li><a href=\"/%s.php\">%s</a></li>", s, s)
	}
	p.f("</ul></div><div class=\"main-content\">")
	return p
}

func (m *mantis) end(p *page, title string) *answer {
	p.f("</div><div class=\"footer\"><a href=\"https://www.mantisbt.org\">Powered by MantisBT</a></div>")
	return &answer{body: p.html("en", title+" - Tracker"), header: [][2]string{{"Cache-Control", "no-store, no-cache, must-revalidate"}}}
}

func (m *mantis) error(r *request, number int, text string) *answer {
	p := m.begin(r, "")
	p.f("<div class=\"alert alert-danger\"><p class=\"bold\">APPLICATION ERROR #%d</p><p>%s</p></div><p>Please use the \"Back\" button in your web browser to return to the previous page.</p>", number, text)
	return m.end(p, "Error")
}

func (m *mantis) show(st *state, r *request, it *item, full bool) *answer {
	robots := ""
	if !full {
		robots = "noindex,follow"
	}
	p := m.begin(r, robots)
	state := mtState(it, st.now)
	p.f("<h4>View Issue Details</h4>")
	if full {
		p.f("<a href=\"/view.php?id=%d#bugnotes\">Jump to Notes</a> <a href=\"/bug_reminder_page.php?bug_id=%d\">Send a reminder</a> <a href=\"/print_bug_page.php?bug_id=%d\">Print</a> <a href=\"/bug_relationship_graph.php?bug_id=%d&amp;graph=relation\">Relation Graph</a>", it.n, it.n, it.n, it.n)
	}
	c := it.chance(2).IntN(len(mtCategories))
	p.f("<table><tr><td>%07d</td><td>%s</td><td>%s</td><td>%s</td></tr><tr><td><a href=\"/view_user_page.php?id=%d\">%s</a></td><td>%s</td></tr></table><h5>%s</h5>",
		it.n, mtCategories[c], date(it.published, "2006-01-02 15:04"), date(it.touched(st.now), "2006-01-02 15:04"), mtUser(it.n), tcPerson(mtUser(it.n)), mtStatus[state], it.title(it.published))
	p.text(it, 0)
	p.f("<a href=\"/tag_view_page.php?tag_id=%d\">%s</a>", 1+it.n%9, vocabulary[720+it.n%9])
	for i, to := range related(m.items, it, st.now) {
		if i < 2 && full {
			p.f("<tr><td>related to</td><td><a href=\"%s\">%07d</a></td><td>%s</td></tr>", m.path(st, to), to.n, to.title(to.published))
		}
	}
	if it.n%4 == 0 {
		p.f("<a href=\"/file_download.php?file_id=%d&amp;type=bug\">trace.txt</a>", it.n)
	}
	for i, e := range it.edits[:it.revision(st.now)] {
		p.f("<div class=\"bugnote\" id=\"c%d\"><a href=\"/view.php?id=%d#c%d\">~%07d</a> <a href=\"/view_user_page.php?id=%d\">%s</a> %s<p>%s</p></div>", it.n*10+i, it.n, it.n*10+i, it.n*10+i, mtUser(it.n+i), tcPerson(mtUser(it.n+i)), date(e, "2006-01-02 15:04"), it.paragraphs(i + 1)[0])
	}
	a := m.end(p, fmt.Sprintf("%07d: %s", it.n, it.title(it.published)))
	a.item = it
	return a
}

// list is the issues by their last change, with what would order them otherwise.
func (m *mantis) list(st *state, r *request, script string) *answer {
	all := slices.Clone(st.live)
	slices.SortStableFunc(all, func(a, b *item) int { return int(b.touched(st.now) - a.touched(st.now)) })
	some, pages := slice(all, r.int("page_number", 1), 50)
	p := m.begin(r, "noindex,follow")
	p.f("<h4>Viewing Issues</h4>")
	for _, f := range []string{"reporter_id", "handler_id", "severity", "status", "category", "tag_string"} {
		p.f("<a href=\"/view_filters_page.php?for_screen=1&amp;target_field=%s%%5B%%5D\">%s</a>", f, f)
	}
	p.f("<a href=\"/print_all_bug_page.php\">Print Reports</a> <a href=\"/csv_export.php\">CSV Export</a> <a href=\"/excel_xml_export.php\">Excel Export</a>")
	for n := 1; n <= pages && pages > 1; n++ {
		p.f("<a href=\"/view_all_bug_page.php?page_number=%d\">%d</a>", n, n)
	}
	p.f("<table id=\"buglist\"><tr>")
	for _, c := range []string{"priority", "id", "bugnotes_count", "category_id", "severity", "status", "last_updated", "summary"} {
		for _, d := range []string{"ASC", "DESC"} {
			p.f("<th><a href=\"/view_all_set.php?type=2&amp;sort=%s&amp;dir=%s\">%s</a></th>", c, d, c)
		}
	}
	p.f("</tr>")
	for _, it := range some {
		p.f("<tr><td><a href=\"%s\">%07d</a></td><td>%s</td><td>%s</td><td>%s</td></tr>", m.path(st, it), it.n, mtStatus[mtState(it, st.now)], date(it.touched(st.now), time.DateOnly), it.title(it.published))
	}
	p.f("</table>")
	a := m.end(p, "View Issues")
	a.vain = len(some) == 0 && len(all) > 0
	return a
}

func (m *mantis) overview(st *state, r *request) *answer {
	p := m.begin(r, "")
	box := func(title string, status int, all []*item) {
		p.f("<h4><a href=\"/view_all_set.php?type=1&amp;temporary=y&amp;new_search=true&amp;status=%s\">%s</a></h4><table>", strconv.Itoa(status*10+10), title)
		for _, it := range all[:min(10, len(all))] {
			p.f("<tr><td><a href=\"%s\">%07d</a></td><td>%s</td></tr>", m.path(st, it), it.n, it.title(it.published))
		}
		p.f("</table>")
	}
	box("Unassigned", 0, st.where(func(it *item) bool { return mtState(it, st.now) == 0 }))
	box("Resolved", 5, st.where(func(it *item) bool { return mtState(it, st.now) == 5 }))
	changed := slices.Clone(st.live)
	slices.SortStableFunc(changed, func(a, b *item) int { return int(b.touched(st.now) - a.touched(st.now)) })
	box("Recently Modified", 1, changed)
	for _, c := range mtCategories {
		p.f("<a href=\"/search.php?project_id=1&amp;category_id=%s&amp;sticky=off&amp;hide_status=90\">%s</a>", url.QueryEscape(c), c)
	}
	return m.end(p, "My View")
}
