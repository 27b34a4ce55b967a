"""Has pywb replay captures as they were: CDXJ FOLDER, and on stdin a line "TIMESTAMP URL" each; tells each answer as a line of JSON."""
from gevent import monkey

monkey.patch_all()

import hashlib
import io
import json
import logging
import sys
import tempfile
from urllib.parse import unquote_to_bytes
from wsgiref.util import setup_testing_defaults

from pywb.apps.frontendapp import FrontEndApp

logging.disable(logging.CRITICAL)
cdxj, folder = sys.argv[1:]
with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
    json.dump({"collections": {"all": {"index_paths": cdxj, "archive_paths": folder + "/"}}}, config)
    config.flush()
    app = FrontEndApp(config_file=config.name)


def ask(path):
    path, _, query = path.partition("?")
    env = {}
    setup_testing_defaults(env)
    env.update(
        REQUEST_METHOD="GET", SCRIPT_NAME="", PATH_INFO=unquote_to_bytes(path).decode("latin-1"), QUERY_STRING=query, REQUEST_URI=path + ("?" + query if query else ""),
        HTTP_HOST="replay.test", SERVER_NAME="replay.test", HTTP_ACCEPT_ENCODING="gzip, br",
    )
    env["wsgi.errors"] = io.StringIO()
    got = {}

    def start(status, headers, exc=None):
        got["status"] = status.split()[0]
        got["headers"] = {k.lower(): v for k, v in headers}

    body = b"".join(app(env, start))
    return got, body


for line in sys.stdin:
    at, url = line.rstrip("\n").split(" ", 1)
    got, body = ask("/all/%sid_/%s" % (at, url))
    print(json.dumps({
        "status": got["status"], "location": got["headers"].get("location", ""), "at": got["headers"].get("memento-datetime", ""),
        "sha1": hashlib.sha1(body).hexdigest(), "length": len(body), "begins": body[:200].decode("latin-1"),
    }), flush=True)
