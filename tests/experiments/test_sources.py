"""Python files of the user's own: run from their text, refused with advice."""

from __future__ import annotations

import pickle
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest

from p0sim.errors import InvalidStudyError
from p0sim.experiments.sources import Source

PLACE = "[methods.mine] call"
GOOD = "def fit(data, rng):\n    return data\n"


def read(text, folder, reference="mine.py:fit", **options):
    (folder / "mine.py").write_text(text, "utf-8")
    return Source.read(reference, folder, PLACE, **options)


def test_the_function_is_that_of_the_file(tmp_path):
    source = read(GOOD, tmp_path)
    assert (source.file, source.name, source.text) == ("mine.py", "fit", GOOD)
    assert source.function()("data", None) == "data"


def test_a_file_is_run_once_a_process_and_shared_by_its_functions(tmp_path):
    text = "runs = []\nruns.append(1)\ndef fit(a, b): return runs\ndef fit2(a, b): return runs\n"
    first, second = read(text, tmp_path), read(text, tmp_path, "mine.py:fit2")
    again = pickle.loads(pickle.dumps(first))
    assert first.function()(0, 0) is second.function()(0, 0) is again.function()(0, 0)
    assert first.function()(0, 0) == [1]


def test_threads_that_ask_at_once_get_one_function():
    text = f"import time\ntime.sleep(0.05)\n{GOOD}"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: Source("slow.py:fit", text).function(), range(8)))
    assert len(set(map(id, made))) == 1


def test_stored_texts_stand_in_for_the_disk(tmp_path):
    stored = {"mine.py": "def fit(data, rng):\n    return 'stored'\n"}
    assert read(GOOD, tmp_path, sources=stored).function()(0, 0) == "stored"
    with pytest.raises(InvalidStudyError, match=r"text of mine.py must be among .*; got other.py"):
        read(GOOD, tmp_path, sources={"other.py": GOOD})


def test_line_ends_and_byte_order_marks_are_not_another_text(tmp_path):
    (tmp_path / "mine.py").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert Source.read("mine.py:fit", tmp_path, PLACE).digest == Source("mine.py:fit", GOOD).digest


def test_a_comment_is_another_text():
    assert Source("mine.py:fit", GOOD + "# why\n").digest != Source("mine.py:fit", GOOD).digest


def test_dataclasses_and_pickles_work_inside(tmp_path):
    text = (
        "from __future__ import annotations\n"
        "import pickle\n"
        "from dataclasses import dataclass\n"
        "from typing import ClassVar\n"
        "@dataclass\n"
        "class Point:\n"
        "    x: int\n"
        "    scale: ClassVar[int] = 2\n"
        "def fit(data, rng):\n"
        "    return pickle.loads(pickle.dumps(Point(3))), __file__\n"
    )
    point, file = read(text, tmp_path).function()(None, None)
    assert (point.x, file) == (3, "mine.py")


def test_a_traceback_shows_the_lines_that_ran(tmp_path, monkeypatch):
    """Also where a file of that name has changed on disk since."""
    function = read("def fit(data, rng):\n    return 1 / 0  # here\n", tmp_path).function()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("# another\n# text\n")
    with pytest.raises(ZeroDivisionError) as caught:
        function(None, None)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno, last.line) == ("mine.py", 2, "return 1 / 0  # here")


def test_nothing_is_left_on_the_path(tmp_path):
    before = list(sys.path)
    read(GOOD, tmp_path)
    assert sys.path == before
    assert "mine" not in sys.modules


@pytest.mark.parametrize(
    "text",
    [
        "def fit(a, b, c=1): ...",
        "def fit(*args): ...",
        "from functools import partial\ndef f(a, b, c): ...\nfit = partial(f, 1)",
    ],
)
def test_whatever_takes_two_positional_arguments_will_do(text, tmp_path):
    assert callable(read(text, tmp_path).function())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fit = lambda data, rng: {}", "fit in mine.py must not be a lambda; give it a name with"),
        ("fit = 3", "fit in mine.py must be a function; got 3"),
        ("def fit(data): ...", "fit in mine.py must accept two positional arguments: too many"),
        ("def fit(a, b, c): ...", "two positional arguments: missing a required argument: 'c'"),
        ("def fit(data, *, rng): ...", "must accept two positional arguments"),
        ("def fitt(a, b): ...", "mine.py has no function 'fit'; did you mean 'fitt'?"),
        ("from math import floor", "mine.py has no function 'fit'; it has none at all"),
        ("x = 1\n\n1 / 0\n", "mine.py, line 3, cannot be run: ZeroDivisionError: division by"),
        ("x = 1\ndef fit(:\n", "mine.py, line 2, cannot be run: SyntaxError: "),
        ("import sys\nsys.exit('no')\n", "mine.py, line 2, cannot be run: SystemExit: no"),
        ("import beside_it\n", "No module named 'beside_it'; files beside it are not sent to"),
        (
            "def f():\n    raise ValueError('a\\nb')\nf()\n",
            "mine.py, line 2, cannot be run: ValueError: a b",
        ),
        ("x = '\0'", "mine.py"),
    ],
)
def test_a_file_without_a_good_function_is_refused_in_one_line(text, message, tmp_path):
    (tmp_path / "beside_it.py").touch()
    with pytest.raises(InvalidStudyError) as caught:
        read(text, tmp_path)
    assert str(caught.value).startswith(f"{PLACE}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("mine.py", "[methods.mine] call: must be FILE.py:FUNCTION, for example "),
        ("mine.py:", "must be FILE.py:FUNCTION"),
        (":fit", "must be FILE.py:FUNCTION"),
        ("mine.py:Class.fit", "must be FILE.py:FUNCTION"),
        ("nothing.py:fit", "nothing.py cannot be read: No such file or directory; it is looked"),
        (".:fit", ". cannot be read: Is a directory"),
        ("latin.py:fit", "latin.py must be UTF-8 text"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused_with_advice(reference, message, tmp_path):
    (tmp_path / "latin.py").write_bytes("# caf\xe9\n".encode("latin-1"))
    with pytest.raises(InvalidStudyError) as caught:
        read(GOOD, tmp_path, reference)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
