"""What a refusal must look like: one line with the argument, the rule and the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def refusal(call: Callable[[], Any], *words: str, error: type[Exception] = ValueError) -> str:
    """The message of the error that `call` raises: one line that holds all the words."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message.strip(), message
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"
    return message
