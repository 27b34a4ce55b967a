package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"forage/internal/race"
)

// browserPath finds a Chromium, "" where there is none.
func browserPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// consoleLine is what a browser logs of a console: errors, and what the Content-Security-Policy refused.
var consoleLine = regexp.MustCompile(`(?m)^.*(?:CONSOLE|Content Security Policy|Uncaught).*$`)

// ofBrowser are addresses that a browser asks for by itself.
var ofBrowser = regexp.MustCompile(`^https?://(clients2|accounts|android\.clients|redirector)\.google\.com/|^https?://(update|content-autofill|optimizationguide-pa|safebrowsing)\.googleapis\.com/|^https?://edgedl\.me\.gvt1\.com/`)

// TestBrowser opens each page in a browser, the main ones also narrow and dark: nothing is said on the console, and no host but
// ours is asked. With FORAGE_SCREENSHOTS the pictures are kept in that folder.
func TestBrowser(t *testing.T) {
	race.Skip(t)
	browser := browserPath()
	if browser == "" {
		t.Skip("there is no Chromium: install one to have the pages opened in it")
	}
	_, name, base, w := uiBlog(t)
	w.sites = append(w.sites, Site{Name: "b.test", Settings: Settings{URL: "http://b.test/"}})
	events := get[eventList](t, base+"/api/v1/events?limit=10&type=page.new")
	keep, profile := os.Getenv("FORAGE_SCREENSHOTS"), t.TempDir() // making a profile takes as long as a page
	_, _, several := servePartitions(t, Options{})
	for page, path := range map[string]string{
		"partitions": several + "/", "partition": several + "/partition-00001/", "elsewhere": several + "/sites/2.test",
		"overview": "/", "pages": "/pages", "sites": "/sites", "site": sitePath(name), "new-site": "/sites/b.test", "hosts": "/hosts?show=all", "add": "/add",
		"url": "/url?" + url.Values{"url": {*events.Events[0].URL}}.Encode(), "login": "/login", "error": "/sites/none",
	} {
		at, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if at, err = at.Parse(path); err != nil {
			t.Fatal(err)
		}
		looks := []string{"light"}
		if page == "overview" || page == "partitions" || page == "site" || page == "pages" {
			looks = append(looks, "phone")
		}
		for _, look := range looks {
			args := map[string][]string{"light": {"--window-size=1280,1600", "--blink-settings=preferredColorScheme=1"}, "phone": {"--window-size=500,1600", "--blink-settings=preferredColorScheme=0"}}[look]
			t.Run(page+"-"+look, func(t *testing.T) {
				dir := t.TempDir()
				log, shot := filepath.Join(dir, "net.json"), filepath.Join(dir, "shot.png")
				if keep != "" {
					shot = filepath.Join(keep, page+"-"+look+".png")
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, browser, append(args, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
					"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--user-data-dir="+profile,
					"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr", "--log-level=0", "--log-net-log="+log, "--timeout=5000", "--screenshot="+shot, at.String())...)
				cmd.WaitDelay = 5 * time.Second
				var said bytes.Buffer
				cmd.Stdout, cmd.Stderr = &said, &said
				if err := cmd.Run(); err != nil {
					t.Fatalf("%s %s: %v\n%s", browser, at, err, said.Bytes())
				}
				if info, err := os.Stat(shot); err != nil || info.Size() < 2000 {
					t.Fatalf("no picture: %v\n%s", err, said.Bytes())
				}
				for _, line := range consoleLine.FindAllString(said.String(), -1) {
					if (page == "error" || page == "elsewhere") && strings.Contains(line, "404") { // it is told of the status of the page itself
						continue
					}
					t.Errorf("the console says: %s", line)
				}
				for _, u := range requested(t, log) {
					if !strings.HasPrefix(u, "http://"+at.Host+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "chrome") && !ofBrowser.MatchString(u) {
						t.Errorf("%s asks for %s", at, u)
					}
				}
			})
		}
	}
}

// requested are the URLs that a browser asked for, from its log of the network.
func requested(t *testing.T, path string) (urls []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`"url":("(?:[^"\\]|\\.)*")`).FindAllSubmatch(b, -1)
	for _, m := range found {
		var u string
		if err := json.Unmarshal(m[1], &u); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, u)
	}
	if len(urls) == 0 {
		t.Fatalf("the log has no request: %.500s", b)
	}
	return urls
}
