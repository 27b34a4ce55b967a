package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// targets are the systems that programs are released for, the one that tests run on among them.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// TestTargets checks the types of the program on systems that tests do not run on: all of its own code, and of what that imports
// the declarations. Nothing is compiled, which a vet for each of them would do. FORAGE_TARGETS names the one to take, or is "all".
func TestTargets(t *testing.T) {
	which := os.Getenv("FORAGE_TARGETS")
	if which == "" {
		t.Skip("takes seconds for each: make check has FORAGE_TARGETS=windows/amd64, make targets all")
	}
	if which != "all" && !slices.Contains(targets, which) {
		t.Fatalf("FORAGE_TARGETS=%s is none of %s", which, strings.Join(targets, ", "))
	}
	for _, target := range targets {
		if which != "all" && target != which {
			continue
		}
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			own, errs := checkTypes(t, target)
			for _, err := range errs {
				t.Error(err)
			}
			if own < 30 {
				t.Errorf("%d packages of the project were checked", own)
			}
		})
	}
}

// checkTypes returns how many packages of the project the program has on a target, and what is wrong with their types.
func checkTypes(t *testing.T, target string) (own int, errs []error) {
	t.Helper()
	system, arch, _ := strings.Cut(target, "/")
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap", "forage/cmd/forage")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	done := importer{"unsafe": types.Unsafe}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			ImportMap       map[string]string
		}
		if err := d.Decode(&p); err == io.EOF {
			return own, errs
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		ours := strings.HasPrefix(p.ImportPath, "forage/")
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		c := types.Config{
			Importer: mapped{done, p.ImportMap}, Sizes: types.SizesFor("gc", arch), IgnoreFuncBodies: !ours, FakeImportC: true,
			Error: func(err error) {
				if ours {
					errs = append(errs, err)
				}
			},
		}
		done[p.ImportPath], _ = c.Check(p.ImportPath, fset, files, nil) // its errors are told above
		if ours {
			own++
		}
	}
}

// An importer knows the packages that were checked before.
type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) {
	if p := i[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was not checked before what imports it", path)
}

// mapped is an importer for a package whose imports have other names, as those of the standard library that it brings along.
type mapped struct {
	importer
	names map[string]string
}

func (m mapped) Import(path string) (*types.Package, error) {
	if name, ok := m.names[path]; ok {
		path = name
	}
	return m.importer.Import(path)
}
