#!/bin/sh
# Makes store.tar.gz, a store of format 1, and beside it what the release that wrote it tells
# of it: the last release of that format crawls three sites that grow (serve.go), once fully
# and then in five cycles, of which the last one is killed in the middle. At the end it checks
# that this release refuses the store once it is migrated. Run it in any folder; it takes a
# minute, needs the ports 18471 to 18473, and gives the same but for the times of requests.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
commit=c41f402
work=$(mktemp -d)
server=
cleanup() {
	[ -z "$server" ] || kill "$server" || true
	git -C "$root" worktree remove --force "$work/src" || true
	rm -rf "$work"
}
trap cleanup EXIT

git -C "$root" worktree add --quiet --detach "$work/src" $commit
(cd "$work/src" && go build -o "$work/forage" ./cmd/forage)
(cd "$root" && go build -o "$work/serve" "$here/serve.go" && go build -o "$work/migrate" "$here/migrate.go")
"$work/serve" &
server=$!
sleep 1

dir=$work/store
at() { curl -s -X POST "http://127.0.0.1:18471/-/version?at=$1" >/dev/null; }
revisit() {
	at "$1"
	when=2024-01-0$(($1 + 1))T00:00:00Z
	shift
	"$work/forage" revisit "$@" --dir "$dir" --at "$when" --parallel 1 --delay 0 --allow-private 127.0.0.0/8
}
"$work/forage" crawl http://127.0.0.1:18471/ http://127.0.0.1:18472/ http://127.0.0.1:18473/ \
	--dir "$dir" --at 2024-01-01T00:00:00Z --parallel 1 --delay 0 --allow-private 127.0.0.0/8
revisit 1 --budget 3
revisit 2 --budget 50%
revisit 3 --full
revisit 4 127.0.0.1:18471 127.0.0.1:18473 --budget 2
# The third site does not answer its lists any more: this one waits for them until it is killed.
at 5
"$work/forage" revisit --dir "$dir" --at 2024-01-06T00:00:00Z --parallel 2 --delay 0 --budget 4 \
	--allow-private 127.0.0.0/8 &
crawl=$!
until curl -s http://127.0.0.1:18471/-/version | grep -q ' [1-9]'; do sleep 1; done
sleep 5
kill -9 $crawl
wait $crawl || true

tell() { "$work/forage" "$@" --dir "$dir"; }
tell pages --json --all-documents --include-unknown --duplicates >"$here/pages.jsonl"
tell status --json >"$here/status.json"
tell check --json >"$here/check.json"
for path in 18471/ 18471/article/9 18472/article/2 18473/news/1 18473/article/5; do
	tell explain --json "http://127.0.0.1:$path"
done >"$here/explain.jsonl"
tell export graph -o "$work/graph.tsv"
cp "$work/graph.tsv" "$here/graph.tsv"
cp "$work/graph.tsv.urls" "$here/graph.tsv.urls"
rm -f "$dir/forage.sock"
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$work" -c store | gzip -n9 >"$here/store.tar.gz"

"$work/migrate" "$dir"
if "$work/forage" status --dir "$dir" 2>"$work/refused"; then
	echo "the old release opens the migrated store" >&2
	exit 1
fi
grep 'its format is version 2, this program knows 1: use a newer forage' "$work/refused"
ls -l "$here"
