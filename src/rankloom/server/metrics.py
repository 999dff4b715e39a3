"""What the server counts about itself, as Prometheus reads it."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from time import time

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Requests and their times by route; safe in any thread.

    >>> metrics = Metrics()
    >>> metrics.seen("GET", "/api/health", 200, 0.003)
    >>> [line for line in metrics.text({}).splitlines() if line.startswith("rankloom_requests_total")]
    ['rankloom_requests_total{method="GET",route="/api/health",status="200"} 1']
    """

    def __init__(self) -> None:
        self.started = time()
        self.in_flight = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._times: dict[str, list[float]] = defaultdict(lambda: [0.0] * (len(BOUNDS) + 2))
        self._refused: Counter[str] = Counter()
        self._guard = threading.Lock()

    def seen(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        with self._guard:
            self._requests[method, route, status] += 1
            times = self._times[route]
            times[bisect_left(BOUNDS, seconds)] += 1
            times[-1] += seconds

    def refused(self, why: str) -> None:
        """Count a request that was refused."""
        with self._guard:
            self._refused[why] += 1

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All numbers in the text format of Prometheus; gauges are name -> (help, value)."""
        with self._guard:
            return "\n".join(self._lines(gauges)) + "\n"

    def _lines(self, gauges: Mapping[str, tuple[str, float]]) -> Iterator[str]:
        yield "# HELP rankloom_requests_total Requests by method, route and status."
        yield "# TYPE rankloom_requests_total counter"
        for (method, route, status), count in sorted(self._requests.items()):
            yield f'rankloom_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
        yield "# HELP rankloom_refused_total Requests that were refused before they were looked at, by reason."
        yield "# TYPE rankloom_refused_total counter"
        for why, count in sorted(self._refused.items()):
            yield f'rankloom_refused_total{{reason="{why}"}} {count}'
        yield "# HELP rankloom_request_seconds Time from request to the end of the response."
        yield "# TYPE rankloom_request_seconds histogram"
        for route, times in sorted(self._times.items()):
            total = 0.0
            for bound, times_there in zip((*BOUNDS, "+Inf"), times[:-1], strict=True):
                total += times_there
                yield f'rankloom_request_seconds_bucket{{route="{route}",le="{bound}"}} {total:.0f}'
            yield f'rankloom_request_seconds_sum{{route="{route}"}} {times[-1]:.6f}'
            yield f'rankloom_request_seconds_count{{route="{route}"}} {total:.0f}'
        shown = {
            "rankloom_in_flight": ("Requests being answered.", float(self.in_flight)),
            "rankloom_uptime_seconds": ("Seconds since the start.", time() - self.started),
            "rankloom_resident_bytes": ("Memory of the process.", float(resident_bytes())),
            **gauges,
        }
        for name, (text, value) in shown.items():
            yield f"# HELP {name} {text}"
            yield f"# TYPE {name} gauge"
            yield f"{name} {value:.10g}"


def resident_bytes() -> int:
    """The memory that this process has now, or its most where only that is known."""
    import resource

    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
