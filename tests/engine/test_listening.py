"""Each thread hears its own warnings, and all of them."""

from __future__ import annotations

import threading
import warnings

import pytest

from p0sim.engine.listening import every_warning, listening


def warn(text: str, category: type[Warning] = RuntimeWarning) -> None:
    warnings.warn(text, category, stacklevel=1)


def test_a_warning_said_twice_at_one_place_is_heard_twice():
    with every_warning(), listening() as heard:
        for _ in range(2):
            warn("again")
    assert [str(each.message) for each in heard] == ["again", "again"]


def test_warnings_about_code_are_not_heard():
    with every_warning(), listening() as heard:
        warn("old", DeprecationWarning)
        warn("odd")
    assert [str(each.message) for each in heard] == ["odd"]


def test_threads_side_by_side_hear_their_own():
    """Both listen at once, and speak in turn."""
    barrier, heard = threading.Barrier(2, timeout=10), {}

    def speak(name: str) -> None:
        with listening() as mine:
            barrier.wait()
            for _ in range(50):
                warn(name)
            barrier.wait()
        heard[name] = [str(each.message) for each in mine]

    with every_warning():
        threads = [threading.Thread(target=speak, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert heard == {"a": ["a"] * 50, "b": ["b"] * 50}


def test_who_does_not_listen_has_warnings_as_before():
    with pytest.warns(RuntimeWarning, match="elsewhere"), every_warning():
        warn("elsewhere")
    with pytest.raises(RuntimeWarning, match="after"):
        warn("after")
