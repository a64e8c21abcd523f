"""Questions to NVIDIA's driver and libraries that can crash whoever asks: each is asked in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def ask(script: str, *arguments: str, interpreter: str = sys.executable, seconds: float = 20.0) -> dict[str, Any]:
    """The JSON that one of the scripts beside this file prints, or ``{"trouble": …}``."""
    try:
        done = subprocess.run(
            [interpreter, str(HERE / script), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"trouble": f"no answer within {seconds:g} s"}
    except (OSError, ValueError) as error:
        return {"trouble": str(error)}
    return answer if isinstance(answer, dict) else {"trouble": "no answer"}


def read_driver() -> dict[str, Any]:
    """What the CUDA driver says of its cards."""
    return ask("ask_driver.py")


def read_missing_libraries(interpreter: str, cuda: str | None, cudnn: str | None) -> dict[str, str]:
    """The CUDA libraries that this interpreter's TensorFlow needs and the linker does not load, with the linker's words."""
    answer = ask("ask_libraries.py", major(cuda), major(cudnn), interpreter=interpreter).get("missing")
    return {str(name): str(said)[:300] for name, said in answer.items()} if isinstance(answer, dict) else {}


def major(version: str | None) -> str:
    """``12`` of ``12.5.1``, empty when it is not known."""
    first = (version or "").partition(".")[0]
    return first if first.isdigit() else ""


@cache
def rate_table() -> dict[str, Any]:
    """The table of float32 to float64 rates by compute capability, with its source."""
    body: dict[str, Any] = json.loads((HERE / "fp64_rates.json").read_text(encoding="utf-8"))
    return body


def rate_of(capability: str | None) -> int | None:
    """How many times faster than float64 a card of this compute capability computes float32; None when the table does not know it."""
    rate = rate_table()["rates"].get(capability or "")
    return rate if isinstance(rate, int) else None
