"""Starts, bounds, watches and ends the processes in which the target runs under the probe."""

from f64doctor.runs.process import RunNews, run_target
from f64doctor.runs.protocol import Reader, decode

__all__ = ["Reader", "RunNews", "decode", "run_target"]
