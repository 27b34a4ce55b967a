package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tools are the programs that serve and crawl the sites.
type tools struct {
	faketime, nginx, wget string
	bin                   string // folder of the Python programs
	app                   string // folder of node_modules
}

// common is what every site and every crawler beside forage needs.
var common = software{debian: []string{"nginx", "libfaketime", "wget", "php", "php-cgi"}, python: []string{"scrapy"}}

// install brings what the sites need: Debian's packages onto the machine, the others into cache.
func install(cache string, sites []*software) (t tools, err error) {
	need := append([]*software{&common}, sites...)
	var debian, python []string
	node := false
	for _, s := range need {
		debian, python, node = append(debian, s.debian...), append(python, s.python...), node || s.node
	}
	if err := installDebian(debian); err != nil {
		return t, err
	}
	venv := filepath.Join(cache, "venv")
	if err := installPython(venv, python); err != nil {
		return t, err
	}
	t.app = filepath.Join(cache, "app")
	if node {
		if err := installNode(t.app); err != nil {
			return t, err
		}
	}
	t.bin = filepath.Join(venv, "bin")
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(found) == 0 {
		return t, errors.New("libfaketimeMT.so.1 is not below /usr/lib: install the Debian package libfaketime")
	}
	t.faketime = found[0]
	for name, to := range map[string]*string{"nginx": &t.nginx, "wget": &t.wget} {
		if *to, err = lookPath(name); err != nil {
			return t, err
		}
	}
	return t, nil
}

// lookPath finds a program, also where Debian keeps those of administrators.
func lookPath(name string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	p, err := exec.LookPath("/usr/sbin/" + name)
	if err != nil {
		return "", fmt.Errorf("%s is not there: install the Debian package %[1]s", name)
	}
	return p, nil
}

func installDebian(packages []string) error {
	slices.Sort(packages)
	packages = slices.Compact(packages)
	var missing []string
	for _, p := range packages {
		out, err := exec.Command("dpkg-query", "-W", "-f", "${Status}", p).Output()
		if errors.Is(err, exec.ErrNotFound) {
			return errors.New("there is no dpkg-query: real-sites wants Debian or a system made from it")
		}
		if !strings.HasSuffix(string(out), " installed") {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	hint := fmt.Sprintf("install them by hand: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	if os.Geteuid() != 0 {
		return fmt.Errorf("packages are missing, and only root may install them; %s", hint)
	}
	fmt.Fprintln(os.Stderr, "installing", strings.Join(missing, " "))
	for _, args := range [][]string{{"update"}, append([]string{"install", "-y", "--no-install-recommends"}, missing...)} {
		cmd := exec.Command("apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s%s", args[0], err, tail(out), hint)
		}
	}
	return nil
}

func installPython(venv string, packages []string) error {
	slices.Sort(packages)
	packages = slices.Compact(packages)
	stamp := filepath.Join(venv, "installed")
	want := strings.Join(packages, " ")
	if b, err := os.ReadFile(stamp); err == nil {
		have := strings.Fields(string(b))
		if !slices.ContainsFunc(packages, func(p string) bool { return !slices.Contains(have, p) }) {
			return nil
		}
		want = string(b) + " " + want
	}
	fmt.Fprintln(os.Stderr, "installing", strings.Join(packages, " "))
	if out, err := exec.Command("python3", "-m", "venv", venv).CombinedOutput(); err != nil {
		return fmt.Errorf("python3 -m venv: %w\n%sinstall the Debian package python3-venv", err, tail(out))
	}
	if out, err := exec.Command(filepath.Join(venv, "bin", "pip"), append([]string{"install", "-q"}, packages...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("pip install %s: %w\n%s", strings.Join(packages, " "), err, tail(out))
	}
	return os.WriteFile(stamp, []byte(want), 0o666)
}

func installNode(dir string) error {
	stamp := filepath.Join(dir, "node_modules", ".package-lock.json")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	b, err := files.ReadFile("files/app/package.json")
	if err != nil {
		return err
	}
	manifest := filepath.Join(dir, "package.json")
	if old, err := os.ReadFile(manifest); err == nil && string(old) == string(b) {
		if _, err := os.Stat(stamp); err == nil {
			return nil
		}
	}
	if err := os.WriteFile(manifest, b, 0o666); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "installing the packages of files/app/package.json")
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("there is no npm: install Node.js 20 or later")
	}
	if err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, tail(out))
	}
	return nil
}
