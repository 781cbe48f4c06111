"""What is stored of the machine."""

from __future__ import annotations

from p0sim.engine.machine import describe_machine


def test_machine_names_the_thread_variables_that_are_set(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert describe_machine()["threads"]["environment"]["OMP_NUM_THREADS"] == "3"
