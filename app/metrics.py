"""What can be counted, for Prometheus."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from app.services.registry.service import Service

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts requests; asks the service for the rest when it is scraped."""

    def __init__(self, service: Callable[[], Service]) -> None:
        self.registry = CollectorRegistry()
        self._seconds = Histogram(
            "asknext_request_seconds",
            "Time to answer",
            ["method", "route", "status"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._refused = Counter("asknext_refused_total", "Requests beyond capacity", registry=self.registry)
        self._open = Gauge("asknext_open_requests", "Requests that are being answered", registry=self.registry)
        self._service = service
        self.registry.register(self)

    def watch(self, open_requests: Callable[[], int]) -> None:
        """Who knows how many requests are being answered."""
        self._open.set_function(open_requests)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._seconds.labels(method, route, str(status)).observe(seconds)

    def refused(self) -> None:
        """A request was told to come again."""
        self._refused.inc()

    def collect(self) -> Iterable[Metric]:
        """Of each project."""
        gauges = {
            name: GaugeMetricFamily(f"asknext_{name}", text, labels=["project"])
            for name, text in (
                ("model_lag", "Label events that the published model does not know yet"),
                ("labels", "Items with a label in the model"),
                ("items", "Items"),
                ("leases", "Leases"),
                ("waiting", "Requests that wait for the writer"),
                ("fallbacks", "Times that the model failed, since the start"),
                ("solver_rounds", "Rounds of conjugate gradients for the last change"),
                ("degraded", "1 while questions are drawn at random"),
                ("commit_seconds", "Time of the last commit"),
            )
        }
        solver = GaugeMetricFamily("asknext_solver", "The posterior in use", labels=["project", "solver"])
        for running in self._service().all_running():
            project, view = running.project, running.project.view
            values = {
                "model_lag": project.ledger.sequence - view.sequence,
                "labels": view.n_labels,
                "items": view.n_items,
                "leases": len(project.leases.leases),
                "waiting": running.writer.waiting,
                "fallbacks": project.fallbacks,
                "solver_rounds": view.model.rounds if view.model is not None else 0,
                "degraded": int(view.degraded is not None),
                "commit_seconds": running.writer.commit_seconds,
            }
            for name, value in values.items():
                gauges[name].add_metric([project.id], value)
            if view.model is not None:
                solver.add_metric([project.id, view.model.solver], 1)
        return [*gauges.values(), solver]
