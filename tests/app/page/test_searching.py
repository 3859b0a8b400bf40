"""A project that is to find all items of one class, in the browser."""

import numpy as np
from playwright.sync_api import expect

RELEVANT = np.arange(60) % 12 == 3


def features(i):
    return ([4.0, 4.0, 0.0] if RELEVANT[i] else [0.0, 1.0, 4.0]) + np.random.default_rng(i).random(3)


def test_a_search_from_the_settings_to_its_end(person, site, make_project):
    data = {f"s{i}": {"text": f"study {i}"} for i in range(60)}
    project = make_project(
        "Screening", ["relevant", "other"], data, lambda i: features(i).tolist(), kernel="hik", retrain="off"
    )
    lead = person(role="admin")
    lead.sign_in(project=project, view="manage")
    lead.page.get_by_label("Goal").select_option("Find all items of one class")
    lead.page.get_by_role("button", name="Save", exact=True).click()
    expect(lead.page.get_by_text("needs the name of the class that is to be found")).to_be_visible()
    lead.complaints.clear()  # the browser's own, of the answer 422
    lead.page.get_by_label("Wanted class").fill("relevant")
    lead.page.get_by_label("Share to be found").fill("0.8")
    lead.page.get_by_label("Labels until a sample").fill("4")
    lead.page.get_by_role("button", name="Save", exact=True).click()
    expect(lead.page.get_by_text("Saved", exact=True)).to_be_visible()

    ann = person()
    labels = [{"key": "s3", "label": "relevant"}, {"key": "s0", "label": "other"}]
    site.post(f"/v1/projects/{project}/labels", {"labels": labels}, 201)
    ann.open("Screening")
    expect(ann.page.locator("#why")).to_contain_text("most likely of all to be one that you are looking for")
    expect(ann.page.locator("#search")).to_have_text("Keep labelling: 1 found. The most likely items come first.")
    item = ann.wait()
    for _ in range(12):  # four finds, four labels without one, and what the page had asked for before it knew
        if "how many are left" in ann.page.locator("#why").inner_text():
            break
        item = ann.press("1" if RELEVANT[int(item[1:])] else "2")
    ann.saved()
    expect(ann.page.locator("#why")).to_contain_text("to find out how many are left")

    lead.visit(project=project, view="look")
    panel = lead.page.get_by_role("region", name="Have you found enough?")
    expect(panel.locator(".verdict")).to_contain_text("Keep labelling: 5 found. If none of the next")
    expect(panel.get_by_role("img", name="Recall curve: 5 found with")).to_be_visible()
    expect(panel.locator(".facts")).to_contain_text("Enough from")
    rest = [{"key": f"s{i}", "label": "other"} for i in range(60) if not RELEVANT[i]]
    site.post(f"/v1/projects/{project}/labels", {"labels": rest}, 201)
    lead.page.reload()
    expect(panel.locator(".verdict.good")).to_have_text("Done: all items are labelled, 5 found.")
