.PHONY: shards kafka trial bench-shards model kinds seeds accept-formats bench-formats targets flink hdfs beam bench-beam crash slow-sites real-sites software-sites fit bench-cover bench-scale bench-watch explore-large sites kill check vuln test race fuzz bench bench-crawl web2m bv-java bench-graph seed-goals seed-huge

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZTIME ?= 10s

check: ## gofmt, vet, staticcheck, the lint tests
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these'; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	FORAGE_TARGETS=windows/amd64 go test ./internal/lint

# Without a network to ask there is nothing to compare with, which is said and is no failure.
vuln: ## known vulnerabilities in what the program calls, as far as the Go vulnerability database can be reached
	@out=$$(go run $(GOVULNCHECK) ./... 2>&1) && { printf '%s\n' "$$out"; exit 0; }; printf '%s\n' "$$out"; \
	case "$$out" in *"fetching vulnerabilities: "*) echo 'vuln: NOT CHECKED: the vulnerability database cannot be reached from here';; *) exit 1;; esac

test:
	go test ./...

FLINK_JARS ?= /tmp/forage-flink
flink: ## forage-beam on Flink, in one process and as a cluster, with kills (needs java and mvn; minutes)
	mvn -q -B -f distributed/beam/cmd/forage-beam/testdata/flink dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(FLINK_JARS)
	cd distributed/beam && FORAGE_FLINK_JARS=$(FLINK_JARS) go test ./cmd/forage-beam -run Flink -v -timeout 40m

HDFS_JARS ?= /tmp/forage-hdfs
hdfs: ## forage-beam with its files in an HDFS of two nodes, with kills (needs java and mvn; two minutes)
	mvn -q -B -f distributed/beam/files/testdata/hdfs dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(HDFS_JARS)
	cd distributed/beam && FORAGE_HDFS_JARS=$(HDFS_JARS) go test ./files ./cmd/forage-beam ./pipeline -run '^Test(ReadBack|Discard|List|Commit|Missing|CreateFolder|Kill|TwoDriversOnStore)$$/hdfs' -v -timeout 20m

# A module of its own, which go ./... does not enter.
beam: ## distributed/beam: gofmt, vet, staticcheck, tests
	cd distributed/beam && go vet ./... && go run $(STATICCHECK) ./... && FORAGE_SHARED="$${FORAGE_SHARED:-$(CURDIR)/../shared}" go test ./...

shards: ## distributed/shards, a module of its own too: vet, staticcheck, tests; with a broker of Apache Kafka where FORAGE_KAFKA_JARS is set
	cd distributed/shards && go vet ./... && go run $(STATICCHECK) ./... && go test ./...

KAFKA_JARS ?= /tmp/forage-kafka
KAFKA_FETCH = mvn -q -B -f distributed/shards/cmd/forage-shard/testdata/kafka dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(KAFKA_JARS)
kafka: ## forage-shard with a broker of Apache Kafka: processes and the broker are killed and stopped (needs java and mvn; two minutes)
	$(KAFKA_FETCH)
	cd distributed/shards && FORAGE_KAFKA_JARS=$(KAFKA_JARS) go test ./cmd/forage-shard -run Kafka -v

# Without root no namespaces can be made, and the test leaves itself out.
trial: ## one crawl of 100,000 pages with all trouble there is, networks that are cut too, and what it takes (needs root, java and mvn; a quarter of an hour)
	$(KAFKA_FETCH)
	cd distributed/shards && FORAGE_LONG=1 FORAGE_KAFKA_JARS=$(KAFKA_JARS) go test ./cmd/forage-shard -run '^Test(Trial|CrawlDelay)$$' -count=1 -v -timeout 60m

bench-shards: ## pages a second of CPU of one process and of three, memory, lag, and how soon a partition is handed over
	cd distributed/shards && for b in Forage Crawl/processes=1 Crawl/processes=3 HandOver; do go test ./cmd/forage-shard -run '^$$' -bench $$b -benchtime 1x -timeout 20m || exit 1; done
	cd distributed/shards && go test ./checkpoint -run '^$$' -bench Write -benchtime 5x

model: ## who owns a partition, on finer clocks than the tests have: ten minutes, 4 GB
	cd distributed/shards && FORAGE_LONG=1 go test ./lease -run Model -v -timeout 60m

bench-beam: ## CPU of a cover on Prism, of as many pipelines that do nothing, and of the engine for one machine
	cd distributed/beam && FORAGE_SHARED="$${FORAGE_SHARED:-$(CURDIR)/../shared}" GOGC=400 go test ./pipeline -run '^$$' -bench WebGraph -benchtime 7x -count 3

# Packages that start goroutines or share memory among them. The lab and the programs that measure run
# whole histories and sites, minutes under the detector, by what has tests of its own here.
RACED = $$(grep -rlE --include='*.go' --exclude='*_test.go' --exclude-dir=testdata --exclude-dir=distributed '^[[:space:]]*go (func|[a-zA-Z.]+)\(|"sync(/atomic)?"' . | xargs -n 1 dirname | sort -u | \
	grep -vxE '\./(lab|internal/(crawlbench|realsites|scalebench|sitebench|software|watchbench))')
# At its end each process waits for a second for late reports, and the tests start hundreds: not here.
# Tests leave themselves out that take minutes (internal/race).
race: ## the race detector
	GORACE=atexit_sleep_ms=0 go test -race -timeout 20m $(RACED)
	cd distributed/beam && GORACE=atexit_sleep_ms=0 go test -race ./files ./pipeline
	cd distributed/shards && GORACE=atexit_sleep_ms=0 go test -race ./group ./latest ./node ./topics && GORACE=atexit_sleep_ms=0 go test -race ./cmd/forage-shard -run '^Test(Serve|MaxTotal)$$'

targets: ## types of all code on each system that programs are released for
	FORAGE_TARGETS=all go test ./internal/lint -run TestTargets

# At the end of -fuzztime Go 1.26 may take its own deadline for a failure, though no input failed
# (go.dev/issue/75804, mended in Go 1.27). It then prints the lines of LATE and no others; a
# finding prints more: what failed, with which input. Shortening what is merely interesting is
# cut down: else it takes most of a short time.
LATE = fuzz: elapsed: .*|--- FAIL: Fuzz[A-Za-z0-9_]* \(.*\)|    context deadline exceeded|FAIL
# Coverage guides by the project's own packages: -fuzz at the build would compile all others, the
# standard library too, once more, and count there.
fuzz: ## every fuzz target for FUZZTIME
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT; cache=$$(go env GOCACHE)/fuzz/forage; \
	for p in $$(grep -rl --include='*_test.go' --exclude-dir=distributed '^func Fuzz' . | xargs -n 1 dirname | sort -u); do \
		go test -c -gcflags='forage/...=-d=libfuzzer' -o "$$dir/fuzz.test" $$p || exit 1; \
		for n in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$p/*_test.go); do \
			echo "$$n ($$p)"; \
			out=$$(cd $$p && "$$dir/fuzz.test" -test.run '^$$' -test.fuzz "^$$n\$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 50x -test.fuzzcachedir "$$cache/$$p" 2>&1); failed=$$?; \
			printf '%s\n' "$$out"; \
			[ $$failed = 0 ] && continue; \
			printf '%s\n' "$$out" | grep -qx '    context deadline exceeded' || exit 1; \
			printf '%s\n' "$$out" | grep -qvxE '$(LATE)' && exit 1; \
			echo "$$n found nothing until its time was over"; \
		done; \
	done

bench:
	go test -run '^$$' -bench . -benchmem ./...

web2m: ## the generator's large instance against its published checksum
	FORAGE_LONG=1 go test -run Web2m -v ./graph/gen

seed-goals: ## what layered, reach and greedy of the first hop reach on 10^6 nodes, and what they cost
	FORAGE_LONG=1 go test ./seed -run Goals -bench Layered -v

seed-huge: ## layered seeds of a graph of 10^8 nodes and 10^9 arcs: 2 GB below BENCH_DIR, 6 GB of memory to make it
	mkdir -p $(BENCH_DIR)
	go run ./cmd/forage graph generate weblike --nodes 100000000 --degree 7 --seed 42 --json -o $(BENCH_DIR)/huge.graph
	go run ./cmd/forage seed $(BENCH_DIR)/huge.graph --method layered --depth 3 --l0-top-indegree 500 --json

WEBGRAPH_JARS ?= /tmp/forage-webgraph
bv-java: ## WebGraph's own programs read what graph/bv writes, and the other way round (needs java and mvn)
	mvn -q -B -f graph/bv/testdata/java dependency:copy-dependencies -DoutputDirectory=$(WEBGRAPH_JARS)
	FORAGE_WEBGRAPH_JARS=$(WEBGRAPH_JARS) go test ./graph/bv -run WebGraphJava -v

bench-crawl: ## pages per CPU second of forage crawl beside a bare loop, on loopback, http and https
	go run ./internal/crawlbench -pages 50000 -runs 3
	go run ./internal/crawlbench -pages 50000 -runs 3 -https

bench-scale: ## how far one machine goes, beside what is asked: an hour or more; ONLY= names one row, QUICK=1 divides sizes by ten
	go run ./internal/scalebench $(if $(ONLY),-only $(ONLY)) $(if $(QUICK),-quick)

bench-watch: ## what the service takes and how soon it tells, beside what is asked: half an hour; ONLY= names one row, QUICK=1 divides sizes by ten
	go run ./internal/watchbench $(if $(ONLY),-only $(ONLY)) $(if $(QUICK),-quick)

bench-formats: ## what it takes to keep what is fetched and to write it in formats of others, and to take in what is in these, beside what is asked: minutes; ONLY= names one row, QUICK=1 divides sizes by ten
	go run ./internal/formatbench $(if $(ONLY),-only $(ONLY)) $(if $(QUICK),-quick)

accept-formats: ## what is written in formats of others, from outside: crawled, killed 50 times, read by warcio, jwarc, pywb, DuckDB (CONTRIBUTING.md)
	FORAGE_ACCEPT=all FORAGE_KILLS=50 go test ./internal/formatcheck -count=1 -v -timeout 60m

sites: ## every history of the data beside the project and every policy: first visits, recrawls, budgets, what policies keep
	FORAGE_SITES=all FORAGE_SHARED_REQUIRED=1 go test ./crawl ./lab ./snap -run 'RealHistories|Recrawls|Budget|Partial|LiveCrawl|CoverageEstimate|LearnedAnew|PoliciesKept|^TestStates$$' -timeout 120m

kinds: ## every kind of site of the tests, as internal/software makes them
	FORAGE_SITES=all go test ./crawl ./internal/sitebench ./internal/software -run '^Test(Summary|Least|Few|Links|Earlier)$$'

seeds: ## random runs by the hundred of what else takes some: archives, increments of texts, explorers, links, degrees
	FORAGE_LONG=1 go test ./archive ./cmd/forage ./explore ./fetch/link ./graph/gen -run '^Test(Histories|Increments|BestAgainstScan|FastPathAgainstSlow|ParetoDegreesAgainstDefinition)$$' -timeout 30m

slow-sites: ## a thousand sites, of which five are slow
	FORAGE_LONG=1 go test ./crawl -run SlowSites -v

software-sites: ## sites as WordPress, MediaWiki, shops, … serve them: first visits, weekly cycles, what was told
	go run ./internal/sitebench

real-sites: ## WordPress, MediaWiki and others on loopback, visited and revisited (Debian; as root it installs what is missing); SITES= names some
	go run ./internal/realsites measure $(SITES)

fit: ## the numbers of the default revisit policy, from the histories of commits beside the project: ten folds and the whole, minutes
	go run ./cmd/forage lab fit revisit --data $(or $(FORAGE_SHARED),../shared)/data/sites3 --folds 10 -o lab/folds
	mv lab/folds/prior.json revisit/prior.json

kill: ## 100 times kill -9 at random moments
	FORAGE_KILLS=100 go test ./crawl -run Kill -v -timeout 30m

crash: ## 1,000 kills, 10,000 power cuts, a hundred random runs of the store, each write and sync failing in turn, a bit flipped in every byte of every file of a small store, files cut and missing, full disks
	FORAGE_CRASH=1 go test ./store -run 'Simulation|Sound|PowerCuts|BitFlips|Truncated|MissingFiles|DiskFails|Faults' -v -timeout 120m
	FORAGE_CRASH=1 go test ./cmd/forage -run 'DamagedStore|FullDisk|PowerCut|ReadOnly|OtherUser' -v -timeout 30m
	FORAGE_KILLS=1000 go test ./crawl -run Kill -v -timeout 180m

bench-cover: ## what the set cover engines reach; makes graphs of 1 GB below BENCH_DIR
	go run ./internal/benchcover -shared $(or $(FORAGE_SHARED),../shared) -dir $(BENCH_DIR)

BENCH_DIR ?= /tmp/bench-cover

bench-graph: ## text to CSR, BV decoding and writing, building and transposing, PageRank
	go test -run '^$$' -bench . ./graph ./graph/arcs ./graph/bv

explore-large: ## mod and de on a generated graph of 10^8 links, 1% of queries
	FORAGE_LONG=1 go test ./explore -run TestLarge -v -timeout 60m
