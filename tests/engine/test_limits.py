"""A replicate over its time ends, where it can be asked and where it cannot."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from p0sim.engine.limits import ReplicateTimeout, time_limit


def spin() -> None:
    while True:
        pass


@pytest.mark.parametrize("work", [spin, lambda: time.sleep(30)], ids=["busy", "asleep"])
def test_main_thread_is_woken_from_work_and_sleep(work):
    started = time.monotonic()
    with pytest.raises(ReplicateTimeout), time_limit(0.05):
        work()
    assert time.monotonic() - started < 20


def test_other_threads_are_stopped_too():
    ended = []

    def work() -> None:
        try:
            with time_limit(0.05):
                spin()
        except ReplicateTimeout:
            ended.append(True)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20)
    assert ended == [True]


def test_handlers_for_exceptions_do_not_swallow_it():
    assert not issubclass(ReplicateTimeout, Exception)


def test_work_within_its_time_is_left_alone_and_the_alarm_is_gone():
    before = signal.getsignal(signal.SIGALRM)
    with time_limit(0.05):
        done = 1
    time.sleep(0.1)
    assert done
    assert signal.getsignal(signal.SIGALRM) is before


def test_no_time_left_is_over_at_once():
    with pytest.raises(ReplicateTimeout), time_limit(0):
        pytest.fail("the block must not run")


STUCK = """
import signal
from p0sim.engine import limits
limits.GRACE_SECONDS = 0.2
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # as a library that never returns
with limits.time_limit(0.1, process_is_ours={ours}):
    signal.sigtimedwait([signal.SIGUSR1], 3)
print("came back")
"""


@pytest.mark.parametrize(("ours", "said"), [(True, ""), (False, "came back\n")])
def test_a_process_of_ours_that_does_not_listen_is_ended(ours, said):
    """Control: a process that is not ours is let be."""
    done = subprocess.run(
        [sys.executable, "-c", STUCK.format(ours=ours)], capture_output=True, text=True, check=False
    )
    assert done.stdout == said
    assert (done.returncode != 0) == ours
