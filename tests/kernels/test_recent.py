"""Values that are kept for a while."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from mascot.kernels.recent import Recent


def test_the_one_not_asked_for_the_longest_goes() -> None:
    made: list[str] = []
    recent = Recent[str](2)

    def ask(name: str) -> str:
        return recent.get(name, lambda: made.append(name) or name.upper())

    assert [ask(name) for name in ("a", "b", "a", "c", "a", "b")] == ["A", "B", "A", "C", "A", "B"]
    assert made == ["a", "b", "c", "b"]
    assert list(recent) == ["A", "B"]


def test_threads_that_ask_together_wait_for_one() -> None:
    made: list[int] = []
    recent = Recent[int](4)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: recent.get("all", lambda: made.append(1) or len(made)), range(64)))
    assert (found, made) == ([1] * 64, [1])
