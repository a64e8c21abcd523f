"""Reads TensorFlow's and Keras's messages about dtypes that do not agree: the operation, the operand that is odd, the class of error."""

from __future__ import annotations

import re

import msgspec

from f64doctor.observe import Run, events

_OPERATION = re.compile(r"of '(\w+)' Op|cannot compute (\w+) as|support Op '?(\w+)'?|Op<name=(\w+);|\[Op:(\w+)\]")
_MISMATCHES = (
    re.compile(r"of '\w+' Op has type \w+ that does not match"),
    re.compile(r"cannot compute \w+ as input #\d+\(zero-based\) was expected to be a \w+ tensor but is a \w+ tensor"),
    re.compile(r"Tensor conversion requested dtype \w+ for Tensor with dtype \w+"),
    re.compile(r"Incompatible type conversion requested to type"),
    re.compile(r"has type \w+ \(.*\) that (?:is|was) invalid|Expected \w+, (?:but )?got .* of type"),
    re.compile(r"pyfunc_\d+ returned\s+\w+, but expects|expects \w+, which is the DType"),
    re.compile(r"Binding inputs to tf\.function failed|Python inputs incompatible with input_signature"),
    re.compile(
        r"must be of the same (?:type|dtype)|same dtype|dtypes? .*(?:mismatch|do not match|must match)", re.IGNORECASE
    ),
    re.compile(r"must have (?:the )?same (?:type|dtype)", re.IGNORECASE),
)
_NOT_ALLOWED = re.compile(
    r"not in (?:the )?list of allowed values|could not find device for node|Could not find device for node"
)
_NO_KERNEL = re.compile(
    r"No OpKernel was registered to support Op|Could not find device for node|no supported kernel for|Detected unsupported operations"
)
_FLOAT_WORDS = re.compile(r"float|double|half|DT_(?:DOUBLE|FLOAT|HALF)|int\d\d")


class Mismatch(msgspec.Struct, frozen=True):
    """``kind``: mismatch (two dtypes in one operation), not-allowed (the operation refuses float64), no-kernel (nothing computes it in float64)."""

    kind: str
    failure: events.Failure
    operation: str
    odd: events.Operand | None


def mismatch_of(run: Run) -> Mismatch | None:
    """The dtype error that ended a run, or None when it ended otherwise."""
    failure = run.failure
    if failure is None:
        return None
    message = failure.message
    found = _OPERATION.search(message)
    operation = next((group for group in found.groups() if group), "") if found else ""
    if _NO_KERNEL.search(message) and re.search(r"DT_DOUBLE|double|float64", message):
        return Mismatch("no-kernel", failure, operation, None)
    if _NOT_ALLOWED.search(message) and re.search(r"float64|double|DT_DOUBLE", message):
        return Mismatch("not-allowed", failure, operation, None)
    if any(pattern.search(message) for pattern in _MISMATCHES) and _FLOAT_WORDS.search(message):
        return Mismatch("mismatch", failure, operation, _odd_one(failure.operands, message))
    return None


def _odd_one(operands: list[events.Operand], message: str) -> events.Operand | None:
    """The operand that is not float64: the float32 one before an integer, a named one before the others."""
    others = [operand for operand in operands if operand.dtype not in ("float64", "resource", "string", "variant")]
    if not others or (operands and all(operand.dtype == others[0].dtype for operand in operands)):
        return others[0] if others and len(operands) == 1 else None
    words = message.replace("double", "float64")
    named = [
        operand
        for operand in others
        if operand.dtype in words or (operand.dtype == "float32" and "float tensor" in words)
    ]
    ranked = sorted(
        named or others,
        key=lambda operand: (not operand.dtype.startswith(("float", "bfloat")), operand.source == "input"),
    )
    return ranked[0]
