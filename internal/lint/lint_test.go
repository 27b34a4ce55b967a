package lint

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"forage/internal/shared"
)

// imports tells which packages of the project each package may import, tests apart. A package
// that is missing here may import none. A line without a list allows nothing.
var imports = map[string]string{
	"graph":                "",
	"graph/arcs":           "graph internal/atomicfile",
	"graph/bv":             "graph internal/atomicfile",
	"graph/gen":            "graph",
	"graph/graphtest":      "graph",
	"graph/labels":         "graph graph/arcs",
	"graph/open":           "graph graph/arcs graph/bv internal/machine",
	"cover":                "graph",
	"cover/sets":           "graph graph/arcs graph/bv cover",
	"cover/covertest":      "graph cover",
	"seed":                 "graph cover",
	"revisit":              "graph",
	"revisit/paper":        "graph revisit",
	"explore":              "graph",
	"explore/yield":        "",
	"retain":               "graph",
	"adopt":                "",
	"retain/history":       "graph retain snap",
	"frontier":             "graph",
	"store":                "graph internal/atomicfile internal/filelock internal/machine store/record",
	"store/record":         "graph",
	"simhash":              "",
	"snap":                 "",
	"snap/render":          "snap",
	"source":               "graph internal/atomicfile",
	"replay":               "snap snap/render",
	"fetch":                "fetch/http1 fetch/robots fetch/link fetch/sitemap fetch/use",
	"fetch/http1":          "",
	"fetch/fetchtest":      "",
	"fetch/robots":         "",
	"fetch/link":           "fetch/use simhash",
	"fetch/use":            "",
	"fetch/sitemap":        "fetch/link",
	"crawl/scope":          "graph store fetch/link",
	"crawl/document":       "store crawl/scope fetch fetch/link fetch/sitemap fetch/use",
	"crawl/novelty":        "graph store",
	"crawl/plan":           "graph revisit revisit/paper store crawl/scope", // which policies need full recrawls
	"crawl/keep":           "graph retain store",
	"crawl/ledger":         "graph revisit revisit/paper store crawl/scope crawl/plan",
	"crawl":                "adopt archive graph explore explore/yield retain revisit revisit/paper fetch fetch/use frontier store crawl/scope crawl/document crawl/keep crawl/ledger crawl/novelty crawl/plan text warc",
	"control":              "",
	"chart":                "",
	"report":               "cover crawl/plan fetch/use graph internal/printable retain revisit simhash store",
	"serve":                "chart fetch/link internal/printable report store text webhook",
	"watch":                "crawl crawl/plan crawl/scope fetch fetch/sitemap fetch/use internal/machine internal/units retain revisit revisit/paper store text webhook", // what a target is
	"webhook":              "fetch internal/printable report store text",
	"metrics":              "crawl crawl/plan fetch store webhook",
	"warc":                 "",
	"text":                 "fetch/link",
	"archive":              "internal/atomicfile internal/filelock internal/linesort warc",
	"ingest":               "crawl crawl/scope fetch internal/linesort snap snap/render store warc",
	"export":               "archive crawl/document fetch fetch/use graph graph/arcs graph/bv internal/atomicfile internal/linesort internal/printable report simhash snap store text warc", // fetch, crawl/document: to read answers of an archive as the crawl did
	"lab":                  "graph graph/arcs graph/bv graph/gen cover cover/sets seed explore explore/yield revisit revisit/paper retain snap crawl store internal/atomicfile",
	"explore/exploretest":  "graph explore",
	"explore/sample":       "graph graph/arcs explore source fetch",
	"inspect":              "fetch fetch/link fetch/robots fetch/sitemap fetch/use internal/printable",
	"internal/atomicfile":  "",
	"internal/disktest":    "",
	"internal/filelock":    "",
	"internal/heap":        "",
	"internal/linesort":    "internal/atomicfile",
	"internal/lint":        "",
	"internal/machine":     "",
	"internal/printable":   "",
	"internal/units":       "",
	"internal/race":        "",
	"internal/listing":     "fetch/use internal/printable report store", // what forage and forage-shard have in common
	"internal/served":      "report serve watch",                        // what forage and forage-shard have in common
	"internal/shared":      "",
	"internal/spell":       "",
	"internal/benchcover":  "graph graph/arcs graph/bv graph/gen cover cover/sets",
	"internal/crawlbench":  "",
	"internal/asked":       "",
	"internal/scalebench":  "internal/asked",
	"internal/formatbench": "archive graph internal/asked store text warc",
	"internal/formatcheck": "internal/shared",
	"internal/watchbench":  "internal/asked internal/atomicfile",
	"internal/software":    "",
	"internal/sitebench":   "crawl crawl/plan crawl/scope fetch fetch/fetchtest graph store internal/software",
	"internal/realsites":   "",
	"cmd/forage": "graph graph/arcs graph/bv graph/gen graph/labels graph/open internal/atomicfile internal/machine internal/printable internal/units cover cover/sets seed " +
		"explore explore/sample revisit revisit/paper retain retain/history snap source replay fetch fetch/robots fetch/link fetch/sitemap fetch/use " +
		"archive store crawl crawl/plan crawl/scope control export ingest inspect internal/listing internal/served lab metrics report serve text warc watch webhook",
}

// everywhere are the packages that any other may import: they decide nothing and import nothing.
var everywhere = []string{"internal/heap", "internal/spell"}

// modules are the third-party modules that the project may import, each with its reason.
var modules = map[string]string{
	"github.com/spf13/cobra":              "command line: help, completions, suggestions",
	"github.com/spf13/pflag":              "flag values of our own (sizes, budgets), as cobra wants them",
	"github.com/cockroachdb/pebble/v2":    "the store: a key-value engine with crash tests of its own",
	"github.com/klauspost/compress":       "zstd, and gzip and deflate faster than the standard library's",
	"github.com/andybalholm/brotli":       "br content encoding",
	"github.com/nlnwa/whatwg-url":         "URL parsing as browsers do it",
	"github.com/danielgtaylor/huma/v2":    "the API of the service, and its OpenAPI made from the handlers",
	"github.com/prometheus/client_golang": "metrics in the format of Prometheus; the store's engine has it, too",
	"github.com/prometheus/common":        "the same, as text",
	"golang.org/x/net":                    "HTML tokenizer, charset detection, public suffix list",
	"golang.org/x/text":                   "character encodings",
	"golang.org/x/term":                   "whether stderr is a terminal, and how wide",
	"golang.org/x/sys":                    "memory maps, peak memory, locks",
	"github.com/cespare/xxhash/v2":        "fast 64-bit hashes that are the same everywhere",
	"github.com/goccy/go-yaml":            "forage.yaml, with line and column of what is wrong",
	"github.com/parquet-go/parquet-go":    "tables as Parquet, 5.0 MB of the program",
	"github.com/yuin/goldmark":            "in tests of text alone: what readers of Markdown make of it",
	"github.com/rogpeppe/go-internal":     "script tests of the whole program",
}

// apart are the modules inside this one, which import it and what it must not depend on.
var apart = map[string]string{"distributed/beam": "github.com/apache/beam", "distributed/shards": "github.com/twmb/franz-go"}

// modulesApart are what the modules apart require, by module, each with its reason.
var modulesApart = map[string]map[string]string{"distributed/beam": {
	"forage":                                  "the program's own packages",
	"cloud.google.com/go/storage":             "gs://: the client that Beam has as well",
	"github.com/apache/beam/sdks/v2":          "pipelines, and the runner that needs nothing",
	"github.com/aws/aws-sdk-go-v2":            "s3://: the client of Beam's own file system for it; forage-beam grows from 68 to 84 MB by this and hdfs://",
	"github.com/aws/aws-sdk-go-v2/config":     "s3://: credentials, region and endpoint as Amazon's programs find them",
	"github.com/aws/aws-sdk-go-v2/service/s3": "s3://: the requests",
	"github.com/aws/smithy-go":                "s3://: the errors of the requests",
	"github.com/colinmarc/hdfs/v2":            "hdfs://, which Beam's SDK for Go does not read",
	"github.com/fsouza/fake-gcs-server":       "in tests alone: a server that speaks the protocol of Google Cloud Storage",
	"github.com/johannesboyne/gofakes3":       "in tests alone: a server that speaks the protocol of S3",
	"github.com/spf13/cobra":                  "command line, as the program's",
	"google.golang.org/api":                   "gs://: the errors and pages of its answers",
	"google.golang.org/grpc":                  "the protocols of job servers and pools",
}, "distributed/shards": {
	"forage":                                  "the program's own packages",
	"github.com/aws/aws-sdk-go-v2":            "s3://: parameters of the client; forage-shard grows from 40.5 to 49.3 MB by it",
	"github.com/aws/aws-sdk-go-v2/config":     "s3://: credentials, region and endpoint as Amazon's programs find them",
	"github.com/aws/aws-sdk-go-v2/service/s3": "s3://: the requests",
	"github.com/aws/smithy-go":                "s3://: the errors of the requests",
	"github.com/fsouza/fake-gcs-server":       "in tests alone: a server that speaks the protocol of Google Cloud Storage, as others read it",
	"github.com/johannesboyne/gofakes3":       "in tests alone: a server that speaks the protocol of S3",
	"github.com/cespare/xxhash/v2":            "to which partition a host belongs, as anybody else can work it out",
	"github.com/cockroachdb/pebble/v2":        "in tests alone: a checkpoint, record by record",
	"github.com/spf13/cobra":                  "command line, as the program's",
	"github.com/twmb/franz-go":                "Kafka's protocol: records and transactions",
	"github.com/twmb/franz-go/pkg/kfake":      "in tests alone: a broker in memory",
	"github.com/twmb/franz-go/pkg/kmsg":       "Kafka's protocol: the requests of a group, one by one",
	"golang.org/x/oauth2":                     "gs://: Google's credentials; forage-shard grows from 49.2 to 49.5 MB by it and our own client, and to twice its size by Google's",
	"golang.org/x/sys":                        "the clock that runs on while a process is stopped",
}}

// TestModulesApart: what a module of its own brings with it is nowhere among what the program is built
// from, not even indirectly, and go ./... does not enter it.
func TestModulesApart(t *testing.T) {
	root := shared.Root(t)
	cmd := exec.Command("go", "list", "-m", "all")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	graph := string(out)
	if !strings.Contains(graph, "github.com/spf13/cobra ") {
		t.Fatalf("no list of modules: %.200q", graph)
	}
	for dir, brings := range apart {
		file, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(dir), "go.mod"))
		if err != nil || !bytes.HasPrefix(file, []byte("module forage/"+dir+"\n")) || !bytes.Contains(file, []byte(brings)) {
			t.Errorf("%s is no module of its own that requires %s: %v", dir, brings, err)
		}
		if strings.Contains(graph, brings) {
			t.Errorf("%s is among the modules of the program", brings)
		}
		direct := regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllSubmatch(file, -1)
		for _, m := range direct {
			if modulesApart[dir][string(m[1])] == "" {
				t.Errorf("%s requires %s, which is not in the table", dir, m[1])
			}
		}
		if len(direct) != len(modulesApart[dir]) {
			t.Errorf("%s requires %d modules, and the table has %d: remove the line that it does not need", dir, len(direct), len(modulesApart[dir]))
		}
		for _, p := range packages(t) {
			if p.ImportPath == "forage/"+dir || strings.HasPrefix(p.ImportPath, "forage/"+dir+"/") {
				t.Errorf("%s is part of the program's module", p.ImportPath)
			}
		}
	}
}

// decisions are pure: they open no socket and no file, read no clock, and use no global chance.
var decisions = []string{"adopt", "seed", "explore", "explore/yield", "revisit", "revisit/paper", "retain", "cover"}

var impure = []string{"net", "net/http", "os", "os/exec", "io/ioutil", "log", "log/slog", "syscall"}

type listed struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
	GoFiles                            []string
}

// packages returns what go list knows of the project.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles", "./...")
	cmd.Dir = shared.Root(t)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImportTable(t *testing.T) {
	known := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "forage/")
		known[name] = true
		allowed := append(strings.Fields(imports[name]), everywhere...)
		for _, imp := range p.Imports {
			if own, ok := strings.CutPrefix(imp, "forage/"); ok && (slices.Contains(everywhere, name) || !slices.Contains(allowed, own)) {
				t.Errorf("%s imports %s; the table allows it only %v", name, own, allowed)
			}
		}
	}
	for name := range imports {
		if !known[name] {
			t.Errorf("the table names %s, which is no package: remove the line", name)
		}
	}
}

func TestModules(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
				continue // standard library or the project
			}
			ok := false
			for m := range modules {
				if imp == m || strings.HasPrefix(imp, m+"/") {
					ok, used[m] = true, true
				}
			}
			if !ok {
				t.Errorf("%s imports %s: no allowed module holds it", p.ImportPath, imp)
			}
		}
	}
	for m := range modules {
		if !used[m] {
			t.Errorf("%s is allowed but nothing imports it: remove the line", m)
		}
	}
}

func TestDecisionsArePure(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "forage/")
		if !slices.Contains(decisions, name) {
			continue
		}
		for _, imp := range p.Imports {
			if slices.Contains(impure, imp) {
				t.Errorf("%s imports %s", name, imp)
			}
		}
		for _, file := range p.GoFiles {
			tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				pkg, ok := sel.X.(*ast.Ident)
				if !ok || pkg.Obj != nil {
					return true
				}
				switch call := pkg.Name + "." + sel.Sel.Name; {
				case pkg.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "Tick", "Sleep", "NewTimer", "NewTicker"}, sel.Sel.Name):
					t.Errorf("%s/%s calls %s", name, file, call)
				case pkg.Name == "rand" && !slices.Contains([]string{"Rand", "Source", "New", "NewPCG", "NewChaCha8", "NewZipf", "PCG", "ChaCha8", "Zipf"}, sel.Sel.Name):
					t.Errorf("%s/%s uses the global random source: %s", name, file, call)
				}
				return true
			})
		}
	}
}

// ownFiles are the packages that make files in another way than by internal/atomicfile, each with
// its reason. What a command says it has written must be on the disk.
var ownFiles = map[string]string{
	"archive":              "its files grow for days: they are synced before each commit of the store, the folder when one is made or closed",
	"internal/atomicfile":  "is that way",
	"store":                "the database syncs its own; the lock and copies of readers need not last; a backup is a folder, synced as one",
	"source":               "the journal grows line by line and is synced with the tables",
	"graph/arcs":           "sorts in temporary files",
	"cover/sets":           "covers in temporary files",
	"cmd/forage":           "--report-skipped grows line by line and is synced at its end; the demo's folder is temporary",
	"internal/crawlbench":  "measures",
	"internal/formatbench": "measures",
	"internal/realsites":   "sets up servers",
	"internal/disktest":    "makes disks",
}

func TestFilesAreSynced(t *testing.T) {
	makes := []string{"Create", "CreateTemp", "OpenFile", "WriteFile", "Rename", "Link"}
	used := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "forage/")
		for _, file := range p.GoFiles {
			tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Obj == nil && pkg.Name == "os" && slices.Contains(makes, sel.Sel.Name) {
					used[name] = true
					if ownFiles[name] == "" {
						t.Errorf("%s/%s makes a file with os.%s: atomicfile syncs it and its folder", name, file, sel.Sel.Name)
					}
				}
				return true
			})
		}
	}
	for name := range ownFiles {
		if !used[name] {
			t.Errorf("%s is listed but makes no file: remove the line", name)
		}
	}
}

var (
	citation = regexp.MustCompile(`\[([A-Z][A-Za-z]*[0-9]*[a-z]?)(?:, |\])(?:§|Alg\.|Lemma|Theorem|Table|Fig|Thm)`)
	key      = regexp.MustCompile(`(?m)^\| ([A-Za-z0-9]+) \|`)
)

func TestCitations(t *testing.T) {
	root := shared.Root(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range key.FindAllStringSubmatch(string(text), -1) {
		known[m[1]] = true
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		code, err := os.ReadFile(path)
		for _, m := range citation.FindAllStringSubmatch(string(code), -1) {
			if !known[m[1]] {
				t.Errorf("%s cites %s, which docs/papers.md does not list", path, m[0])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
