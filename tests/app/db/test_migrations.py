import re

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import CheckConstraint, delete, insert, inspect, select, text, update
from sqlalchemy.exc import IntegrityError

from app.db import encoders, jobs, tables
from app.db.database import Database
from app.db.errors import NewerRevision
from app.db.migrate import current_revision, downgrade, is_current, migrate
from app.db.projects import add_class, all_classes
from app.db.tables import events, metadata, projects, trainings
from tests.app.db.rows import add_encoder, add_event, add_project, count


def test_the_migrated_tables_are_those_of_the_metadata(database):
    with database.read() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []
        inspector = inspect(connection)
        for table in metadata.sorted_tables:
            assert words(inspector.get_check_constraints(table.name)) == words(checks_of(table))
            assert names(inspector.get_foreign_keys(table.name)) == {key.name for key in table.foreign_key_constraints}


def names(constraints):
    return {constraint["name"] for constraint in constraints}


def words(checks):
    """The words that each check lists, which every database writes in its own way."""
    return {check["name"]: set(re.findall(r"'(\w+)'", check["sqltext"])) for check in checks}


def checks_of(table):
    checks = [constraint for constraint in table.constraints if isinstance(constraint, CheckConstraint)]
    return [{"name": check.name, "sqltext": str(check.sqltext)} for check in checks]


def test_up_down_up_with_data(database_url):
    database = Database(database_url)
    assert current_revision(database) is None
    assert not is_current(database)
    for _ in range(2):
        migrate(database)
        assert current_revision(database) == "0007"
        assert is_current(database)
        with database.write() as connection:
            assert count(connection, events) == 0
            add_project(connection)
            add_event(connection)
        migrate(database)
        with database.read() as connection:
            assert count(connection, events) == 1
        downgrade(database)
        assert current_revision(database) is None
        with database.read() as connection:
            assert inspect(connection).get_table_names() == ["alembic_version"]
    database.close()


def test_jobs_count_more_than_fits_an_older_column(database):
    read = 5 * 2**30
    with database.write() as connection:
        add_project(connection)
        jobs.add(connection, "j", "p", "import", 1.0)
        jobs.change(connection, "j", done=read, total=2 * read)
    with database.read() as connection:
        row = jobs.get(connection, "p", "j")
    assert (row.done, row.total) == (read, 2 * read)
    downgrade(database, "0005")
    migrate(database)
    with database.read() as connection:
        assert jobs.get(connection, "p", "j").done > 0


def test_trees_come_and_go_while_classes_stay(database):
    with database.write() as connection:
        add_project(connection)
        bird = add_class(connection, "p", "bird")
        add_class(connection, "p", "robin", bird)
        add_event(connection)
    with database.read() as connection:
        assert [row.parent for row in all_classes(connection, "p")] == [None, bird]
    downgrade(database, "0002")
    with database.read() as connection:
        assert "parent" not in {column["name"] for column in inspect(connection).get_columns("classes")}
        assert list(connection.scalars(text("SELECT name FROM classes ORDER BY number"))) == ["bird", "robin"]
        assert count(connection, events) == 1
    migrate(database)
    with database.read() as connection:
        assert [(row.name, row.parent) for row in all_classes(connection, "p")] == [("bird", None), ("robin", None)]


def test_encoders_come_and_go_while_the_rest_stays(database):
    with database.write() as connection:
        add_project(connection)
        add_event(connection)
        add_encoder(connection)
    with database.read() as connection:
        assert encoders.get(connection, "none") is None
        assert encoders.without_states(connection, ["p", "none"]).keys() == {"p"}
        row = encoders.get(connection, "p")
        assert (row.kind, row.channels, bytes(row.state)) == ("text", [{"name": "words", "columns": 3}], b"\0\xff")
    downgrade(database, "0001")
    with database.read() as connection:
        assert "encoders" not in inspect(connection).get_table_names()
        assert count(connection, events) == count(connection, projects) == 1
    migrate(database)
    with database.read() as connection:
        assert encoders.get(connection, "p") is None
        assert count(connection, events) == 1


def test_a_project_has_one_encoder_of_a_known_kind(database):
    with database.write() as connection:
        add_project(connection)
        add_project(connection, "q")
        add_encoder(connection)
    for values in [{"project": "q", "kind": "sound"}, {"project": "none"}, {"project": "p"}]:
        with pytest.raises(IntegrityError), database.write() as connection:
            add_encoder(connection, **values)


def test_a_migration_that_fails_leaves_nothing_behind(database_url):
    database = Database(database_url)
    with database.write() as connection:
        connection.execute(text("CREATE TABLE events (x INTEGER)"))
    with pytest.raises(Exception, match="already exists"):
        migrate(database)
    with database.read() as connection:
        assert inspect(connection).get_table_names() == ["events"]
    database.close()


PLANS = {"sqlite": "EXPLAIN QUERY PLAN ", "postgresql": "EXPLAIN "}


@pytest.mark.parametrize("table", ["jobs", "trainings"])
def test_jobs_and_trainings_are_found_by_their_project(database, table):
    """Of many projects with many each, the newest of one."""
    made = {"jobs": tables.jobs, "trainings": trainings}[table]
    values = {"project_id": "p", "created_at": 0.0}
    more = {"kind": "train", "state": "done"} if table == "jobs" else {}
    more |= {} if table == "jobs" else {"at_event": 0, "at_item": 0, "parameters": {}, "report": {}}
    with database.write() as connection:
        for project in ("p", "q"):
            add_project(connection, project)
        rows = [values | more | {"id": str(n) if table == "jobs" else n} for n in range(5000)]
        rows[0]["project_id"] = "q"
        connection.execute(insert(made), rows)
        if database.dialect == "postgresql":
            connection.execute(text(f"ANALYZE {table}"))
    with database.read() as connection:
        query = f"SELECT * FROM {table} WHERE project_id = 'q' ORDER BY id DESC LIMIT 1"
        plan = str(connection.execute(text(PLANS[database.dialect] + query)).all())
    assert f"ix_{table}_project_id_id" in plan


def test_tables_of_a_newer_version_are_left_alone(database):
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NewerRevision, match="revision 9999, which a newer version of AskNext made"):
        migrate(database)
    assert current_revision(database) == "9999"


def test_from_another_folder(database_url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    database = Database(database_url)
    migrate(database)
    assert is_current(database)
    database.close()


@pytest.mark.parametrize(
    "statement",
    [
        update(events).values(note="changed"),
        delete(events),
        delete(events).where(events.c.sequence == 1),
        text("DELETE FROM projects"),
    ],
)
def test_events_are_append_only(database, statement):
    with database.write() as connection:
        add_project(connection)
        add_event(connection)
    with pytest.raises(IntegrityError, match=r"append-only|(?i:foreign key)"), database.write() as connection:
        connection.execute(statement)
    with database.read() as connection:
        assert connection.scalar(select(events.c.note)) is None
        assert count(connection, events) == 1


OVERWRITE = {
    "sqlite": """
        INSERT OR REPLACE INTO events (sequence, project_id, item, key_id, kind, drawn, created_at)
        VALUES (1, 'p', 7, 'k', 'label', false, 0)""",
    "postgresql": """
        INSERT INTO events (sequence, project_id, item, key_id, kind, drawn, created_at)
        VALUES (1, 'p', 7, 'k', 'label', false, 0) ON CONFLICT (sequence) DO UPDATE SET item = 7""",
}


def test_an_insert_cannot_overwrite_an_event(database):
    with database.write() as connection:
        add_project(connection)
        add_event(connection)
    with pytest.raises(IntegrityError, match="append-only"), database.write() as connection:
        connection.execute(text(OVERWRITE[database.dialect]))
    with database.read() as connection:
        assert connection.scalar(select(events.c.item)) == 0


def test_events_cannot_be_truncated(postgresql_database):
    with pytest.raises(IntegrityError, match="append-only"), postgresql_database.write() as connection:
        connection.execute(text("TRUNCATE events"))


def test_a_number_of_an_event_is_never_used_again(database):
    with database.write() as connection:
        add_project(connection)
        add_event(connection)

    def fail():
        with database.write() as connection:
            add_event(connection)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.write() as connection:
        add_event(connection)
    with database.read() as connection:
        numbers = list(connection.scalars(select(events.c.sequence).order_by(events.c.sequence)))
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 2


def test_unknown_words_are_refused(database):
    with database.write() as connection:
        add_project(connection)
    with pytest.raises(IntegrityError, match="ck_events_kind"), database.write() as connection:
        add_event(connection, kind="guess")
    with database.read() as connection:
        assert connection.execute(select(projects.c.settings, projects.c.revision)).one() == ({"a": [1]}, 1)
