from app.services.labelling.questions import Ask, AskTask
from app.services.model.training import TakeMaterial
from tests.app.services.projects import answers, open_project, service_in


def test_labels_of_an_upload_come_first_by_lot_and_those_that_were_asked_for_in_their_order(tmp_path):
    with service_in(tmp_path) as service:
        running = open_project(service)
        project, writer = running.project, running.writer
        writer.do(answers(running, "ann", i3="a"))
        asked = []
        for label in "abcab":
            key = writer.do(AskTask(project, "ann", Ask()))["items"][0]["key"]
            writer.do(answers(running, "ann", **{key: label}))
            asked.append(project.item_numbers[key])
        uploaded = [i for i in range(40) if i not in {3, *asked}][:20]
        writer.do(answers(running, "ann", **{f"i{i}": "abc"[place // 7] for place, i in enumerate(uploaded)}))
        labelling = writer.do(TakeMaterial(project)).labelling
        order = list(labelling.labels)
        assert order[21:] == asked
        assert order[:21] != sorted(order[:21])
        assert set(order[:21]) == {3, *uploaded}
        assert labelling.labels == {item: name for item, (name, _) in project.agreed_labels().items()}
        assert list(writer.do(TakeMaterial(project)).labelling.labels) == order
