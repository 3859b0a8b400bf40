"""A server as its users see it: short words for requests."""

import uuid

import numpy as np

from tests.app.live import ADMIN, eventually, has_ended


class Site:
    """Requests with a key."""

    patience = 60.0  # seconds that a job may take

    def __init__(self, http, service, key=ADMIN, path=""):
        self.http, self.service, self.key, self.path = http, service, key, path

    def call(self, method, path, status=200, headers=None, **options):
        headers = {"Authorization": f"Bearer {self.key}"} | (headers or {})
        answer = self.http.request(method, self.path + path, headers=headers, **options)
        assert answer.status_code == status, (answer.status_code, answer.text[:500])
        return (
            answer.json()
            if answer.content and "/json" in answer.headers["content-type"].replace("problem+", "")
            else answer
        )

    def get(self, path, status=200, **options):
        return self.call("GET", path, status, **options)

    def post(self, path, body=None, status=200, **options):
        return self.call("POST", path, status, json={} if body is None else body, **options)

    def patch(self, path, body, status=200, **options):
        return self.call("PATCH", path, status, json=body, **options)

    def delete(self, path, status=200):
        return self.call("DELETE", path, status)

    def project(self, classes=("a", "b"), **settings):
        """A new project."""
        settings = {"kernel": "hik", "retrain": "off", "explore": 0.0} | settings
        made = self.post("/v1/projects", {"name": "p", "classes": list(classes), "settings": settings}, 201)
        return Site(self.http, self.service, self.key, f"/v1/projects/{made['id']}")

    def as_other(self, role="annotator", name=None):
        """Somebody else at the same project."""
        body = {"name": name or uuid.uuid4().hex[:8], "role": role}
        key = Site(self.http, self.service).post("/v1/keys", body, 201)["key"]
        return Site(self.http, self.service, key, self.path)

    def add(self, x, first=0, data=None):
        """Items called k0, k1, ..."""
        items = [{"key": f"k{first + i}", "features": row.tolist()} for i, row in enumerate(np.asarray(x))]
        for item in items:
            item["data"] = (data or {}).get(item["key"])
        return self.post("/items", {"items": items}, 201)

    def label(self, labels, status=201, **more):
        """{key: label} as one post."""
        entries = [{"key": key, "label": label} for key, label in labels.items()]
        return self.post("/labels", {"labels": entries} | more, status)

    def answer(self, key, status=201, **entry):
        """One entry that need not be a label."""
        return self.post("/labels", {"labels": [{"key": key} | entry]}, status)

    def means(self, keys):
        """Means of items, keys x classes."""
        found = self.post("/predict", {"keys": list(keys)})["predictions"]
        return np.array([list(p["mean"].values()) for p in found])

    def wait(self, job):
        """Until a job has ended."""
        return eventually(lambda: self.get(f"/jobs/{job}"), has_ended, self.patience)
