package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forage/internal/race"
)

// TestImportKill kills imports of each kind again and again while they write: the same command goes on, and what it comes to
// is what an import comes to that was not killed.
func TestImportKill(t *testing.T) {
	race.Skip(t)
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	var list, index strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&list, "http://h%d.test/list/of/urls/with/some/length/%d\n", i%3, i)
		fmt.Fprintf(&index, "k 20140101000000 {\"url\": \"http://h%d.test/list/of/urls/with/some/length/%d\", \"mime\": \"text/html\", \"status\": \"200\"}\n", i%3, i)
	}
	urls, cdxj := filepath.Join(dir, "urls"), filepath.Join(dir, "index.cdxj")
	for path, text := range map[string]string{urls: list.String(), cdxj: index.String()} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for kind, file := range map[string]string{"urls": urls, "cdxj": cdxj} {
		t.Run(kind, func(t *testing.T) {
			result := func(store string) string {
				t.Helper()
				for _, args := range [][]string{{"check"}, {"export", "urls", "--all", "-o", store + ".txt"}} {
					if out, err := exec.Command("forage", append(args, "--dir", store)...).CombinedOutput(); err != nil {
						t.Fatalf("%v: %v: %s", args, err, out)
					}
				}
				text, err := os.ReadFile(store + ".txt")
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			once, often := filepath.Join(dir, kind+"-once"), filepath.Join(dir, kind+"-often")
			if out, err := exec.Command("forage", "import", kind, file, "--dir", once).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			kills := 0
			for size := int64(1 << 20); ; size += 2 << 20 { // what the store has then
				var out bytes.Buffer
				cmd := exec.Command("forage", "import", kind, file, "--dir", often, "--json")
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				var err error
				look := time.NewTicker(time.Millisecond)
				for running := true; running; {
					select {
					case err = <-ended:
						running = false
					case <-look.C:
						if bytesIn(often) >= size {
							cmd.Process.Kill()
							err = <-ended
							running = false
						}
					}
				}
				look.Stop()
				if err == nil {
					break
				}
				if cmd.ProcessState.ExitCode() >= 0 {
					t.Fatalf("%v: %s", err, &out)
				}
				kills++
			}
			if kills == 0 {
				t.Error("no import was killed")
			}
			if result(often) != result(once) {
				t.Error("what was killed differs")
			}
			out, err := exec.Command("forage", "import", kind, file, "--dir", often, "--json").Output()
			if err != nil || !strings.Contains(string(out), `"records":0,`) || !strings.Contains(string(out), `"cycles":[]`) {
				t.Errorf("once more: %s, %v", out, err)
			}
		})
	}
}

// bytesIn is how many bytes the files of a folder have together.
func bytesIn(dir string) (n int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
