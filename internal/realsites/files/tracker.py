"""tracker.py ENVIRONMENT CHANGE: carries out the change of the JSON file CHANGE in a Trac environment,
where an article is a ticket. Prints a line "OP ID PATH" for each."""

import json
import os
import sys
from datetime import datetime

from trac.env import Environment
from trac.ticket.model import Component, Ticket
from trac.util.datefmt import utc

env = Environment(sys.argv[1])
with open(sys.argv[2]) as f:
    change = json.load(f)
kept = os.path.join(sys.argv[1], "tickets.json")  # the ticket of each article
tickets = {}
if os.path.exists(kept):
    with open(kept) as f:
        tickets = {int(k): v for k, v in json.load(f).items()}


def when(s):
    return datetime.strptime(s[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=utc)


def text(a):
    paragraphs = list(a["paragraphs"])
    for i, to in enumerate(a["links"] or []):
        if to in tickets and i < len(paragraphs):
            paragraphs[i] += f" See #{tickets[to]}."
    return "\n\n".join(paragraphs)


components = {c.name for c in Component.select(env)}
for a in change["publish"] or []:
    if a["category"] not in components:
        c = Component(env)
        c.name = a["category"]
        c.insert()
        components.add(a["category"])
    t = Ticket(env)
    t["summary"] = a["title"]
    t["description"] = text(a)
    t["reporter"] = a["author"]
    t["component"] = a["category"]
    t["keywords"] = " ".join(a["tags"])
    t["type"], t["status"], t["priority"] = "defect", "new", "major"
    tickets[a["id"]] = t.insert(when(a["date"]))
    for c in a["comments"] or []:
        t.save_changes(c["author"], c["text"], when(c["date"]))
    print("publish", a["id"], f"/ticket/{t.id}")
for a in change["edit"] or []:
    t = Ticket(env, tickets[a["id"]])
    t["description"] = text(a)
    t.save_changes(a["author"], "", when(change["now"]))
    print("edit", a["id"], f"/ticket/{t.id}")
for i in change["delete"] or []:
    t = Ticket(env, tickets.pop(i))
    print("delete", i, f"/ticket/{t.id}")
    t.delete()
with open(kept, "w") as f:
    json.dump(tickets, f)
