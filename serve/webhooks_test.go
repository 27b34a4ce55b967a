package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"forage/store"
	"forage/webhook"
)

// sending returns a sender to one target, which answers with a status. It does not run: what is tested by hand is sent.
func sending(t *testing.T, db *store.DB, status int) *webhook.Sender {
	t.Helper()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(target.Close)
	write := func(f func(*store.DB) error) error {
		if err := f(db); err != nil {
			return err
		}
		return db.Sync()
	}
	s, err := webhook.New(webhook.Options{DB: db, Write: write}, []webhook.Target{{
		Name: "team", URL: target.URL + "/secret", Secrets: []string{"whsec_MDEy"}, Types: []store.EventType{store.SiteReady}, Sites: []string{"a.test"}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWebhooks lists webhooks, tests one, and has it deliver again.
func TestWebhooks(t *testing.T) {
	db, _ := newStore(t)
	hooks := sending(t, db, http.StatusTeapot)
	srv := serving(t, Options{DB: db, Webhooks: hooks})
	base := srv.URL + "/api/v1/webhooks"
	tellReady(t, db, "a.test", 3)
	read := func(a answer, want int) (s webhook.TargetStatus) {
		t.Helper()
		if err := json.Unmarshal(a.body, &s); err != nil || a.status != want {
			t.Errorf("%d %s, %v", a.status, a.body, err)
		}
		return s
	}
	if s := read(ask(t, "GET", base+"/team", ""), 200); s.Name != "team" || *s.Backlog != 3 || s.State != "idle" || *s.URL == "" || s.Last != nil {
		t.Errorf("%+v", s)
	}
	var list struct{ Webhooks []webhook.TargetStatus }
	if a := ask(t, "GET", base, ""); a.status != 200 || json.Unmarshal(a.body, &list) != nil || len(list.Webhooks) != 1 {
		t.Errorf("%d %s", a.status, a.body)
	}
	var r webhook.Attempt
	if a := ask(t, "POST", base+"/team/test", ""); a.status != 200 || json.Unmarshal(a.body, &r) != nil || r.Status != http.StatusTeapot || r.Error == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if s := read(ask(t, "POST", base+"/team/redeliver", `{"events":[2]}`, "Content-Type: application/json"), 202); *s.Backlog != 4 {
		t.Errorf("%+v", s)
	}
	read(ask(t, "POST", base+"/team/enable", ""), 200)
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/team/redeliver", `{}`, 400}, {"/team/redeliver", `{"events":[9]}`, 400}, {"/team/redeliver", `{"after":9}`, 400}, {"/team/redeliver", `{"evnts":[1]}`, 422},
		{"/nobody/test", "", 404}, {"/nobody/redeliver", `{"dead":true}`, 404}, {"/nobody/enable", "", 404},
	} {
		wantProblem(t, c.path+" "+c.body, ask(t, "POST", base+c.path, c.body, "Content-Type: application/json"), c.status)
	}
	wantProblem(t, "a stranger's page", ask(t, "POST", base+"/team/test", "", "Origin: http://evil.example", "Sec-Fetch-Site: cross-site"), 403)
	wantProblem(t, "nobody", ask(t, "GET", base+"/nobody", ""), 404)

	without := serving(t, Options{DB: db})
	if a := ask(t, "GET", without.URL+"/api/v1/webhooks", ""); a.status != 200 || string(a.body) != `{"webhooks":[]}`+"\n" {
		t.Errorf("without webhooks: %d %s", a.status, a.body)
	}
	wantProblem(t, "without webhooks", ask(t, "GET", without.URL+"/api/v1/webhooks/team", ""), 404)
}
