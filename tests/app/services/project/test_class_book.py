import threading

from app.services.project.classes import AddClass, MergeClass, check_labels
from tests.app.services.projects import open_project, service_in

N_CLASSES = 15


def test_other_threads_read_classes_while_they_change(tmp_path):
    with service_in(tmp_path) as service:
        running = open_project(service, n=2, open_classes=True)
        stop, errors, reads = threading.Event(), [], 0

        def read():
            nonlocal reads
            while not stop.is_set():
                book = running.project.classes
                try:
                    check_labels(running.project, ["a", "unheard of"])
                    assert all(book.name(number) for number in (*book.names, *book.merged))
                    assert book.number("unheard of") is None
                    assert len(book.nodes().given) == len(book.names)
                except Exception as error:
                    errors.append(error)
                    return
                reads += 1

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for n in range(N_CLASSES):
            running.writer.do(AddClass(running.project, f"class-{n}"))
            if n % 3 == 0:
                running.writer.do(MergeClass(running.project, f"class-{n}", "b"))
        stop.set()
        for reader in readers:
            reader.join()
        assert errors == []
        assert reads > 0


def test_a_book_that_somebody_reads_stays_as_it_is(tmp_path):
    with service_in(tmp_path) as service:
        running = open_project(service, n=2)
        before = running.project.classes
        running.writer.do(AddClass(running.project, "d"))
        running.writer.do(MergeClass(running.project, "a", "d"))
        assert (before.active(), dict(before.merged)) == (["a", "b", "c"], {})
        assert running.project.classes.active() == ["b", "c", "d"]
