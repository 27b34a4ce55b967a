.PHONY: check test race fuzz bench web2m

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 10s

check: ## gofmt, vet, staticcheck, the lint tests
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these'; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	go test ./internal/lint

test:
	go test ./...

race:
	go test -race ./...

fuzz: ## every fuzz target for FUZZTIME
	@for f in $$(grep -rl --include='*_test.go' '^func Fuzz' .); do \
		for n in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$f); do \
			echo "$$n ($$(dirname $$f))"; \
			go test ./$$(dirname $$f) -run '^$$' -fuzz "^$$n\$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

bench:
	go test -run '^$$' -bench . -benchmem ./...

web2m: ## the generator's large instance against its published checksum
	FORAGE_LONG=1 go test -run Web2m -v ./graph/gen
