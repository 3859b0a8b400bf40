"""L7: one process owns the models of a database."""

import time

import pytest

from tests.app.live import Process, eventually, in_thread
from tests.app.reliability.people import Books, Site
from tests.app.reliability.servers import scaled


@pytest.mark.alone
def test_a_second_process_is_refused_until_the_first_dies(serve, database_url, tmp_path):
    first, books = serve(database_url), Books()
    with Site(first.address, 50, 2) as site:
        assert books.post(site, 0, "before", site.keys[0], "red").status_code == 201
        second = Process(database_url, tmp_path / "elsewhere")
        with pytest.raises(RuntimeError, match=r"already serves.*database.*stop it first"):
            second.start()
        assert second.process.returncode == 1
        second.process.stderr.close()
        assert "Traceback" not in "".join(second.lines)
        assert books.post(site, 1, "beside", site.keys[1], "red").status_code == 201
        first.kill()
        begun = time.monotonic()
        heir = serve(database_url, data_dir="elsewhere")
        assert time.monotonic() - begun < scaled(60.0, 10.0)
        first.address = heir.address
        for one in (site.admin, *site.people):
            one.base_url = heir.address
        assert books.post(site, 0, "after", site.keys[2], "red").status_code == 201
        assert len(books.check(site)) == 3


def test_a_lock_file_that_somebody_removed_is_made_again(sqlite_url, tmp_path):
    books = Books()
    with in_thread(sqlite_url, tmp_path / "data") as (address, service), Site(address, 10, 1) as site:
        for n, file in enumerate((tmp_path / "asknext.db.owner", tmp_path / "data" / "owner.lock")):
            file.unlink()
            eventually(file.exists)
            eventually(lambda: site.admin.get("/health/ready").status_code == 200)
            assert books.post(site, 0, f"after-{n}", site.keys[n], "red").status_code == 201
        assert service.database.still_owned()
        assert len(books.check(site)) == 2
