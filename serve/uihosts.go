package serve

import "net/http"

// hostsShown is how many hosts a page lists.
const hostsShown = 100

// uiHosts is the list of hosts: why and until when each waits.
func (s *server) uiHosts(r *http.Request, f *uiFrame) (string, error) {
	f.Title, f.Here = "Hosts", "hosts"
	q := r.URL.Query()
	page := struct {
		After string
		All   bool // also those that do not wait
		*hostList
	}{After: q.Get("after"), All: q.Get("show") == "all"}
	var err error
	page.hostList, err = s.someHosts(page.After, hostsShown, !page.All)
	f.Page = &page
	return "hosts", err
}
