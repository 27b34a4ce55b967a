"""Tells each record of WARC files as a line of JSON, as warcio reads them: FILE..."""
import hashlib
import json
import re
import sys

from warcio.archiveiterator import ArchiveIterator

for path in sys.argv[1:]:
    with open(path, "rb") as f:
        for rec in ArchiveIterator(f, no_record_parse=True):
            h = rec.rec_headers
            body, head = rec.raw_stream.read(), b""
            if body and h.get_header("Content-Type").startswith("application/http"):
                end = re.search(rb"\r?\n\r?\n", body).end()
                head, body = body[:end], body[end:]
            told = {
                "file": path,
                "type": rec.rec_type,
                "id": h.get_header("WARC-Record-ID"),
                "url": h.get_header("WARC-Target-URI"),
                "date": h.get_header("WARC-Date"),
                "to": h.get_header("WARC-Concurrent-To"),
                "profile": (h.get_header("WARC-Profile") or "").rsplit("/", 1)[-1],
                "refers": "%s %s" % (h.get_header("WARC-Refers-To-Target-URI"), h.get_header("WARC-Refers-To-Date")),
                "truncated": h.get_header("WARC-Truncated") or "",
                "protocol": h.get_header("WARC-Protocol") or "",
                "ip": h.get_header("WARC-IP-Address") or "",
                "sha1": hashlib.sha1(body).hexdigest(),
                "length": len(body),
            }
            if head:
                told["head"] = head.decode("latin-1")
                told["status"] = told["head"].split("\n")[0].split()[1]
            if rec.rec_type in ("metadata", "warcinfo"):
                told["text"] = body.decode("utf-8")
            print(json.dumps(told))
