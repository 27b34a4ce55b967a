package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"forage/replay"
	"forage/snap"
)

// TestWatchWebhook kills a service again and again in the middle of a delivery: the webhook has every event, in order, each
// with one id, one body and a signature. Then commands beside the service look at it and have it deliver again.
func TestWatchWebhook(t *testing.T) {
	site, err := replay.New(snap.Blog(rand.New(rand.NewPCG(2, 0)), 6), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(site)
	defer web.Close()

	const secret = "0123456789abcdef0123456789abcdef"
	var mu sync.Mutex // guards what follows
	w, highest := (*watching)(nil), uint64(0)
	bodies, again := map[string]string{}, 0
	moved, killed, repeated := make(chan uint64, 1<<16), make(chan *watching, 1<<16), make(chan string, 1<<16)
	hook := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender was killed
		}
		id := r.Header.Get("webhook-id")
		m := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(m, "%s.%s.%s", id, r.Header.Get("webhook-timestamp"), body)
		if want := "v1," + base64.StdEncoding.EncodeToString(m.Sum(nil)); r.Header.Get("webhook-signature") != want {
			t.Errorf("%s: signature %q, want %q", id, r.Header.Get("webhook-signature"), want)
		}
		var e struct {
			ID  string
			Seq uint64
		}
		if err := json.Unmarshal(body, &e); err != nil || e.ID != id {
			t.Errorf("%s: body %s, %v", id, body, err)
		}
		if strings.HasPrefix(id, "test-") {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		was, known := bodies[id]
		if !known {
			bodies[id] = string(body)
			if highest++; e.Seq != highest {
				t.Errorf("event %d comes after %d", e.Seq, highest-1)
				highest = e.Seq
			}
			moved <- highest
			if highest%4 == 0 && w != nil { // in the middle of a delivery
				w.Process.Kill()
				killed <- w
				w = nil
			}
			return
		}
		if again++; was != string(body) {
			t.Errorf("%s: %s, and then %s", id, was, body)
		}
		repeated <- id
	}))
	defer hook.Close()

	dir := t.TempDir()
	data, file := filepath.Join(dir, "store"), filepath.Join(dir, "forage.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "listen: 127.0.0.1:0\nsites:\n  - {url: %s/, every: 1s, budget: 1000, period: 1, max-new: 0}\n"+
		"webhooks:\n  - {name: team, url: %s/x, secret: whsec_%s}\n  - {name: refused, url: %s/y, types: site.ready, header: {a: b}}\n",
		web.URL, hook.URL, base64.StdEncoding.EncodeToString([]byte(secret)), "http://127.0.0.1:1"), 0o666); err != nil {
		t.Fatal(err)
	}
	start := func() {
		fresh := startWatch(t, "--config", file, "--dir", data, "--delay", "0", "--allow-private", "127.0.0.0/8")
		mu.Lock()
		w = fresh
		mu.Unlock()
	}
	// reach waits for an event, and starts the service when it was killed.
	kills := 0
	reach := func(seq uint64) {
		t.Helper()
		for n := uint64(0); n < seq; {
			select {
			case n = <-moved:
			case dead := <-killed:
				dead.Wait()
				kills++
				start()
			}
		}
	}
	start()
	reach(1)
	for week := 1; week < 6; week++ {
		mu.Lock()
		had := highest
		mu.Unlock()
		if err := site.Switch(week); err != nil {
			t.Fatal(err)
		}
		reach(had + 3)
	}
	mu.Lock()
	running := w
	w = nil // nobody kills it any more
	mu.Unlock()
	if running == nil {
		(<-killed).Wait()
		start()
		mu.Lock()
		running, w = w, nil
		mu.Unlock()
	}
	if kills < 3 || again == 0 {
		t.Errorf("it was killed %d times, and %d events came again", kills, again)
	}

	forage := func(want int, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := run(context.Background(), &out, &errs, append(args, "--dir", data)); code != want {
			t.Errorf("%q: exit %d, want %d: %s", args, code, want, errs.String())
		}
		return out.String() + errs.String()
	}
	list := func() map[string]map[string]any {
		t.Helper()
		all := map[string]map[string]any{}
		for line := range strings.Lines(forage(0, "webhooks", "list", "--json")) {
			var s map[string]any
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				t.Fatal(err)
			}
			all[s["name"].(string)] = s
		}
		return all
	}
	for list()["team"]["behind"] != 0.0 { // what the last cycles told
	}
	if l := list(); len(l) != 2 || l["team"]["url"] != hook.URL+"/…" || l["refused"]["state"] != "failing" && l["refused"]["state"] != "sending" || l["refused"]["backlog"] != 1.0 {
		t.Errorf("list: %v", l)
	}
	res, err := http.Get(running.base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || !strings.Contains(string(shown), "forage_deliveries_total{result=\"accepted\",webhook=\"team\"}") {
		t.Errorf("/metrics: %s, %v", shown, err)
	}
	if text := forage(0, "webhooks", "test", "team"); !strings.Contains(text, "accepted with 200") {
		t.Errorf("test says %q", text)
	}
	if text := forage(exitFailed, "webhooks", "test", "refused", "--json"); !strings.Contains(text, `"status":0`) || !strings.Contains(text, "port 1 is blocked") {
		t.Errorf("test says %q", text)
	}
	forage(exitUsage, "webhooks", "test", "nobody")
	forage(exitUsage, "webhooks", "redeliver", "team")
	forage(exitUsage, "webhooks", "redeliver", "team", "0")
	forage(0, "webhooks", "enable", "team")
	for len(repeated) > 0 {
		<-repeated
	}
	if text := forage(0, "webhooks", "redeliver", "team", "1", "2"); !strings.HasPrefix(text, "2 events will be sent again") {
		t.Errorf("redeliver says %q", text)
	}
	for _, want := range []string{"1-", "2-"} {
		if id := <-repeated; !strings.HasPrefix(id, want) {
			t.Errorf("%s is sent again, want %s", id, want)
		}
	}
	if err := running.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if l := list(); l["team"]["state"] != "stopped" || l["team"]["position"] != float64(highest) {
		t.Errorf("list without a service: %v; the highest was %d", l["team"], highest)
	}
	if text := forage(0, "webhooks", "list"); !strings.Contains(text, "team") || !strings.Contains(text, "stopped") {
		t.Errorf("list says %q", text)
	}
	if text := forage(exitFailed, "webhooks", "test", "team"); !strings.Contains(text, "no service is running") {
		t.Errorf("test says %q", text)
	}
	forage(0, "check")
}
