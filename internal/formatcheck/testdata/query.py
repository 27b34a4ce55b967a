"""Has DuckDB answer queries on tables: FOLDER TABLE,..., and a query each; tells each answer as a line of JSON, a list of rows."""
import json
import sys

import duckdb

db = duckdb.connect()
for name in sys.argv[2].split(","):
    db.execute(f"create view \"{name}\" as from '{sys.argv[1]}/{name}*.parquet'")
for q in sys.argv[3:]:
    print(json.dumps(db.execute(q).fetchall(), default=str))
