"""Python files that a study file names: read once, checked, then run from their text alone."""

from __future__ import annotations

import hashlib
import inspect
import linecache
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.abc import ExecutionLoader
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from p0sim.errors import InvalidStudyError
from p0sim.validation import advice, shown

FORM = 'FILE.py:FUNCTION, for example "my_study.py:replicate"'
DIGITS = 16
_LOADING = threading.RLock()


@dataclass(frozen=True)
class Source:
    r"""A function in a Python file, held as text.

    The text travels to the workers and is run there, once a process; the file itself is read
    once. Files beside it that it imports do not travel: put what is needed into the one file, or
    install it as a package.

    Attributes
    ----------
    reference : str
        As the study file writes it: "my_study.py:replicate".
    text : str
        The whole file.

    Examples
    --------
    >>> source = Source("mine.py:fit", "def fit(data, rng):\n    return {}\n")
    >>> source.file, source.name, source.function()(None, None)
    ('mine.py', 'fit', {})
    """

    reference: str
    text: str = field(repr=False)

    @classmethod
    def read(
        cls,
        reference: str,
        folder: Path,
        place: str,
        sources: Mapping[str, str] | None = None,
    ) -> Source:
        """Read a file, run it, and check the function that is asked for.

        Parameters
        ----------
        reference : str
            FILE.py:FUNCTION; the file is relative to `folder`.
        folder : Path
            Where the study file stands.
        place : str
            Where the reference stands, for the error message: "[methods.mine] call".
        sources : mapping of str to str, optional
            Stored texts by file name. Where given, nothing is read from disk.

        Raises
        ------
        InvalidStudyError
            If there is no such file or function, the file cannot be run, or the function is a
            lambda or does not take two arguments; in one line, with advice.
        """
        try:
            source = cls(reference, _text(_split(reference)[0], folder, sources))
            _check_function(source)
        except InvalidStudyError as error:
            raise InvalidStudyError(f"{place}: {error}") from None
        return source

    @property
    def file(self) -> str:
        """Name of the file, as the study file writes it."""
        return _split(self.reference)[0]

    @property
    def name(self) -> str:
        """Name of the function."""
        return _split(self.reference)[1]

    @property
    def digest(self) -> str:
        """Hash of the text: a changed file is another study."""
        return digest_of(self.text.encode())

    def function(self) -> Callable[..., Any]:
        """The function, from a module that is made of the text once a process.

        Raises
        ------
        InvalidStudyError
            If the text cannot be run or holds no such function.
        """
        with _LOADING:
            module = _load(self.file, self.text)
        if not hasattr(module, self.name):
            raise InvalidStudyError(_no_such_function(self, module))
        function: Callable[..., Any] = getattr(module, self.name)
        return function

    def tried(self, *arguments: Any) -> Any:
        """What the function gives, before anything is run in earnest.

        Raises
        ------
        InvalidStudyError
            In one line, with the line of the file, if it raises anything.
        """
        function = self.function()
        try:
            return function(*arguments)
        # Other people's code may raise anything; it is told, with its line, and nothing runs.
        except (Exception, SystemExit) as error:
            raise InvalidStudyError(_what_went_wrong(self.file, error)) from None


def is_reference(text: str) -> bool:
    """Whether a text speaks of a Python file.

    Examples
    --------
    >>> is_reference("my_study.py:replicate"), is_reference("private_p0")
    (True, False)
    """
    return ":" in text or text.endswith(".py")


def _split(reference: str) -> tuple[str, str]:
    file, _, name = reference.rpartition(":")
    if not file or not name.isidentifier():
        raise InvalidStudyError(f"must be {FORM}; got {reference!r}")
    return file, name


def _text(file: str, folder: Path, sources: Mapping[str, str] | None) -> str:
    if sources is not None:
        if file not in sources:
            stored = ", ".join(sources) or "none"
            raise InvalidStudyError(f"the text of {file} must be among those stored; got {stored}")
        return sources[file]
    try:
        return (folder / file).read_text("utf-8-sig")
    except OSError as error:
        where = f"it is looked for in {folder.absolute()}"
        raise InvalidStudyError(f"{file} cannot be read: {error.strerror}; {where}") from None
    except UnicodeDecodeError as error:
        raise InvalidStudyError(f"{file} must be UTF-8 text: {error}") from None


def _check_function(source: Source) -> None:
    function = source.function()
    called = f"{source.name} in {source.file}"
    if not callable(function):
        raise InvalidStudyError(f"{called} must be a function; got {shown(function)}")
    if getattr(function, "__name__", "") == "<lambda>":
        raise InvalidStudyError(f"{called} must not be a lambda; give it a name with def")
    try:
        inspect.signature(function).bind(None, None)
    except (TypeError, ValueError) as error:
        raise InvalidStudyError(f"{called} must accept two positional arguments: {error}") from None


def _no_such_function(source: Source, module: ModuleType) -> str:
    known = [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    ]
    if not known:
        return f"{source.file} has no function {source.name!r}; it has none at all"
    return f"{source.file} has no function {source.name!r}; {advice(source.name, known)}"


@cache
def _load(file: str, text: str) -> ModuleType:
    name = f"p0sim_source_{digest_of(f'{file}:{text}'.encode())}"
    loader = _TextLoader(file, text)
    module = module_from_spec(ModuleSpec(name, loader, origin=file))
    module.__file__ = file
    # pickle and dataclasses look modules up by name
    sys.modules[name] = module
    # without a time of change the lines shown are these, whatever a file of that name holds now
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        loader.exec_module(module)
    # Other people's code may raise anything; it is told, with its line, and nothing runs.
    except (Exception, SystemExit) as error:
        raise InvalidStudyError(_what_went_wrong(file, error)) from None
    return module


class _TextLoader(ExecutionLoader):
    """Makes a module from text; debuggers ask it for the lines."""

    def __init__(self, file: str, text: str) -> None:
        self._file, self._text = file, text

    def get_filename(self, fullname: str) -> str:
        return self._file

    def get_source(self, fullname: str) -> str:
        return self._text


def _what_went_wrong(file: str, error: BaseException) -> str:
    said = " ".join(f"{type(error).__name__}: {_message(error)}".split())
    advice = ""
    if isinstance(error, ModuleNotFoundError):
        advice = "; files beside it are not sent to workers: join them into one, or install them"
    return f"{file}{_line(file, error)} cannot be run: {said}{advice}"


def _message(error: BaseException) -> str:
    # str() of a syntax error repeats file and line
    return error.msg if isinstance(error, SyntaxError) else str(error)


def _line(file: str, error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno)
    return f", line {lines[-1]}," if lines else ""


def digest_of(content: bytes) -> str:
    """Hash by which a changed file makes another study."""
    return hashlib.sha256(content).hexdigest()[:DIGITS]
