"""Processes beside the test, which may be killed."""

import subprocess
import sys
from contextlib import contextmanager

OWN = """
import pathlib, sys, time
from app.db.database import Database
database = Database(sys.argv[1])
database.own(pathlib.Path(sys.argv[2]))
print("owned", flush=True)
time.sleep(60)
"""

WRITE = """
import sys
from sqlalchemy import text
from app.db.database import Database
database = Database(sys.argv[1], checkpoints=False)
for _ in range(int(sys.argv[2])):
    with database.write() as connection:
        connection.execute(text("UPDATE projects SET revision = revision + 1"))
        connection.execute(text("INSERT INTO requests (project_id, idempotency_key, fingerprint, created_at)"
                                " SELECT 'p', hex(randomblob(16)), zeroblob(20000), 0"))
database.close()
"""

READ = """
import sys
from sqlalchemy import text
from app.db.database import Database
database = Database(sys.argv[1], checkpoints=False, writes=False)
with database.read() as connection:
    print(connection.scalar(text("SELECT revision FROM projects")))
database.close()
"""


def command(script, *arguments):
    return [sys.executable, "-c", script, *map(str, arguments)]


@contextmanager
def owner(url, folder):
    """A process that owns the database until it is killed."""
    process = subprocess.Popen(command(OWN, url, folder), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "owned\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
