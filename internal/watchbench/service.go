package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"forage/internal/atomicfile"
)

// A service is forage watch as a process of its own.
type service struct {
	cmd    *exec.Cmd
	base   string // without a slash at the end
	stderr bytes.Buffer
	took   time.Duration // until it had told its address
}

// start starts a service on the store dir with the text of a configuration.
func (b *bench) start(dir, config string) (*service, error) {
	file := filepath.Join(b.tmp, "forage.yaml")
	if err := atomicfile.Write(file, []byte(config)); err != nil {
		return nil, err
	}
	s := &service{cmd: exec.Command(b.forage, "watch", "--config", file, "--dir", dir, "--delay", "0", "--allow-private", "127.0.0.0/8")}
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return nil, errors.Join(fmt.Errorf("no address: %s", tail(s.stderr.String())), s.cmd.Wait())
	}
	s.base, s.took = strings.TrimSuffix(lines.Text(), "/"), time.Since(began)
	go io.Copy(io.Discard, out)
	return s, nil
}

func tail(text string) string { return text[max(0, len(text)-1000):] }

// stop ends the service and returns how long that took.
func (s *service) stop() (took time.Duration, err error) {
	began := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	err = s.cmd.Wait()
	if err != nil {
		err = fmt.Errorf("watch: %w: %s", err, tail(s.stderr.String()))
	}
	return time.Since(began), err
}

// get returns an answer that is to be 200.
func (s *service) get(path string) ([]byte, error) {
	r, err := http.Get(s.base + path)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, r.Status, tail(string(b)))
	}
	return b, err
}

// A watched site is what the API tells of one.
type watched struct {
	Site          string
	Running       bool
	Late, Skipped int
	State         string
}

// sites returns all sites.
func (s *service) sites() (all []watched, err error) {
	for path := "/api/v1/sites?limit=1000"; path != ""; {
		text, err := s.get(path)
		if err != nil {
			return nil, err
		}
		var part struct {
			Sites []watched
			Next  string
		}
		if err := json.Unmarshal(text, &part); err != nil {
			return nil, err
		}
		all = append(all, part.Sites...)
		if path = part.Next; path != "" {
			path = "/api/v1/sites?limit=1000&after=" + path
		}
	}
	return all, nil
}

// ready waits until all sites were visited for the first time, and nothing runs.
func (s *service) ready(n int, limit time.Duration) error {
	for end := time.Now().Add(limit); ; time.Sleep(time.Second) {
		all, err := s.sites()
		if err != nil {
			return err
		}
		done := 0
		for _, w := range all {
			if w.State == "done" && !w.Running {
				done++
			}
		}
		if done == n {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("after %s %d of %d sites are ready", limit, done, n)
		}
	}
}

// A use is what a process has taken so far.
type use struct {
	cpu      time.Duration
	resident int64 // bytes, now
}

// use reads what the service has taken.
func (s *service) use() (u use, err error) {
	stat, err1 := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	status, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err := errors.Join(err1, err2); err != nil {
		return u, err
	}
	var user, system int64 // of a hundredth of a second each, fields 14 and 15; the name, field 2, is in parentheses
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return u, errors.New("/proc/PID/stat has too few fields")
	}
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return u, err
	}
	u.cpu = time.Duration(user+system) * 10 * time.Millisecond
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kB int64
	_, err = fmt.Sscan(rest, &kB)
	u.resident = kB << 10
	return u, err
}
