package formatcheck

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// python returns an interpreter that has what the tests ask others with.
func python(t *testing.T) string {
	t.Helper()
	exe := os.Getenv("FORAGE_PYTHON")
	if exe == "" {
		t.Skip("needs an interpreter with warcio, pywb, duckdb and pytz: FORAGE_PYTHON names it")
	}
	return exe
}

// built is the folder of the program; "": it was not built.
var built string

// program builds forage, once. What go run has linked is kept for the next time, what go build has is not; it is copied here.
var program = sync.OnceValues(func() (path string, err error) {
	if built, err = os.MkdirTemp("", "formatcheck"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "forage")
	if out, err := exec.Command("go", "run", "-exec", "cp", "forage/cmd/forage", path).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// A user is somebody with a store and an archive.
type user struct {
	t           *testing.T
	dir, folder string // of the store, of the archive
	env         []string
}

func newUser(t *testing.T) *user {
	t.Helper()
	dir := t.TempDir()
	return &user{t: t, dir: filepath.Join(dir, "store"), folder: filepath.Join(dir, "warc")}
}

// command is one of forage on the user's store.
func (u *user) command(name string, args ...string) *exec.Cmd {
	u.t.Helper()
	path, err := program()
	if err != nil {
		u.t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{name, "--dir", u.dir}, args...)...)
	cmd.Env = append(os.Environ(), u.env...)
	return cmd
}

// fetching is a command that fetches into the user's archive.
func (u *user) fetching(name string, args ...string) *exec.Cmd {
	u.t.Helper()
	flags := []string{"--allow-private", "127.0.0.0/8", "--delay", "0", "--warc", u.folder, "--json"}
	return u.command(name, append(flags, args...)...)
}

// run returns what a command prints.
func (u *user) run(cmd *exec.Cmd) string {
	u.t.Helper()
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		u.t.Fatalf("%s: %v\n%s", cmd, err, &msg)
	}
	return out.String()
}

// tell reads lines of JSON.
func tell[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	for s := bufio.NewReader(strings.NewReader(text)); ; {
		line, err := s.ReadBytes('\n')
		if len(line) > 1 {
			var v T
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatalf("%v: %.300s", err, line)
			}
			all = append(all, v)
		}
		if err != nil {
			return all
		}
	}
}

// ask runs a program of testdata.
func ask(t *testing.T, input, name string, args ...string) string {
	t.Helper()
	var msg bytes.Buffer
	cmd := exec.Command(python(t), append([]string{filepath.Join("testdata", name)}, args...)...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &msg
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, &msg)
	}
	return string(out)
}

// A record is one of a WARC file, as warcio reads it.
type record struct {
	File, Type, ID, URL, Date, To, Profile, Refers, Truncated, Protocol, IP, SHA1, Status, Head, Text string
	Length                                                                                            int
}

// files are the WARC files of a folder, of which none may be open.
func (u *user) files() []string {
	u.t.Helper()
	files, err := filepath.Glob(filepath.Join(u.folder, "*.warc.gz"))
	if err != nil {
		u.t.Fatal(err)
	}
	entries, err := os.ReadDir(u.folder)
	if err != nil {
		u.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".open") || strings.HasSuffix(e.Name(), ".tmp") || strings.HasPrefix(e.Name(), ".forage-spool") {
			u.t.Errorf("%s is left", e.Name())
		}
	}
	slices.Sort(files)
	return files
}

// records reads the archive, each file of which must pass what others ask of it.
func (u *user) records() []record {
	u.t.Helper()
	files := u.files()
	for _, f := range files {
		if out, err := exec.Command("gzip", "-t", f).CombinedOutput(); err != nil {
			u.t.Errorf("gzip: %s: %v %s", f, err, out)
		}
	}
	if out, err := exec.Command(python(u.t), append([]string{"-m", "warcio.cli", "check"}, files...)...).CombinedOutput(); err != nil || len(out) > 0 {
		u.t.Errorf("warcio: %v %s", err, out)
	}
	if jar := os.Getenv("FORAGE_JWARC"); jar == "" {
		u.t.Log("jwarc has not read the files: FORAGE_JWARC names no jar")
	} else if out, err := exec.Command("java", append([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", jar, "validate"}, files...)...).CombinedOutput(); err != nil {
		u.t.Errorf("jwarc: %v %s", err, out)
	}
	all := tell[record](u.t, ask(u.t, "", "dump.py", files...))
	revisits := map[string]*record{}
	for i := range all {
		switch r := &all[i]; {
		case r.Type == "revisit":
			revisits[r.ID] = r
		case r.Type == "metadata": // has the head of an answer whose record is to be read as the page that it is about
			for line := range strings.Lines(r.Text) {
				head, ok := strings.CutPrefix(line, "head: ")
				if !ok {
					continue
				}
				v := revisits[r.To]
				if v == nil || v.Profile != "server-not-modified" {
					u.t.Errorf("a head for %s, that has its own: %+v", r.To, v)
					continue
				}
				if v.Head == "" {
					v.Status = strings.Fields(head)[1]
				}
				v.Head += head
			}
		}
	}
	return all
}

// answers are those of an archive as their server gave them. Each revisit must refer to a response.
func answers(t *testing.T, all []record) (list []said) {
	t.Helper()
	at := map[string]record{}
	for _, r := range all {
		if r.Type == "response" {
			at[r.URL+" "+r.Date] = r
		}
	}
	for _, r := range all {
		switch r.Type {
		case "response":
			list = append(list, said{r.URL, r.Status, r.SHA1, r.Length})
		case "revisit":
			first, ok := at[r.Refers]
			switch {
			case !ok:
				t.Errorf("%s of %s refers to %s, which is not there", r.Profile, r.URL, r.Refers)
			case r.Profile == "server-not-modified":
				list = append(list, said{r.URL, r.Status, nothing, 0})
			default:
				list = append(list, said{r.URL, r.Status, first.SHA1, first.Length})
			}
		}
	}
	return list
}

const nothing = "da39a3ee5e6b4b0d3255bfef95601890afd80709" // SHA-1 of no bytes

// lines are answers in a certain order.
func lines(all []said) string {
	var text []string
	for _, a := range all {
		text = append(text, fmt.Sprintf("%s %s %s %d", a.url, a.status, a.sha1, a.length))
	}
	slices.Sort(text)
	return strings.Join(text, "\n")
}

// difference tells which lines only one of two texts has.
func difference(got, want string) string {
	count := map[string]int{}
	for l := range strings.SplitSeq(got, "\n") {
		count[l]++
	}
	for l := range strings.SplitSeq(want, "\n") {
		count[l]--
	}
	var text []string
	for l, n := range count {
		if n != 0 {
			text = append(text, fmt.Sprintf("%+d %s", n, l))
		}
	}
	slices.Sort(text)
	return strings.Join(text[:min(len(text), 20)], "\n")
}
