"""Reads Keras's global precision without touching it: ``dtype_policy()`` latches the policy when it is called, so it is never called."""

from __future__ import annotations

import sys
from typing import Any, Optional


class KerasLibrary:
    """One of the packages that can be Keras here: ``keras`` (2 or 3) or ``tf_keras``; each has a floatx and a policy of its own."""

    def __init__(self, name: str, generation: int) -> None:
        self.name = name
        self.generation = generation

    def module(self, path: str) -> Any:
        """A submodule that the script has imported already, or None."""
        return sys.modules.get("{}.src.{}".format(self.name, path))

    def floatx(self) -> Optional[str]:
        """The current floatx, or None when it cannot be known."""
        config = self.module("backend.config") if self.generation == 3 else self.module("backend_config")
        value = getattr(config, "_FLOATX", None)
        return value if isinstance(value, str) else None

    def policy(self) -> Optional[str]:
        """The name of the global dtype policy, or None while nothing has latched it."""
        if self.generation == 3:
            state = self.module("backend.common.global_state")
            tracker = getattr(state, "GLOBAL_STATE_TRACKER", None)
            policy = getattr(tracker, "dtype_policy", None)
        else:
            policy = getattr(self.module("mixed_precision.policy"), "_global_policy", None)
        name = getattr(policy, "name", None)
        return name if isinstance(name, str) else None


def dtype_of(thing: Any) -> Optional[str]:
    """A dtype argument, policy, or dtype in words, or None."""
    if thing is None or isinstance(thing, str):
        return thing
    if isinstance(thing, dict):
        config = thing.get("config")
        inner = config.get("name") if isinstance(config, dict) else None
        return inner if isinstance(inner, str) else None
    name = getattr(thing, "name", None)
    if isinstance(name, str):
        return name
    name = getattr(thing, "__name__", None)
    return name if isinstance(name, str) else str(thing)
