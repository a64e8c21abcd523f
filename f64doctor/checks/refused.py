"""Findings about the exception that ended the run: two dtypes that met, or an operation that takes no float64."""

from __future__ import annotations

import re

from f64doctor.catalogue import way_round
from f64doctor.checks.intent import NARROW
from f64doctor.checks.lineage import Lineage
from f64doctor.checks.mismatch import Mismatch, mismatch_of
from f64doctor.checks.parting import CPU_RUN, worked
from f64doctor.checks.precision import is_container, is_framework
from f64doctor.checks.showing import code_at, history, location_of, related, shape_words
from f64doctor.checks.traced import layer_of
from f64doctor.observe import Frame, Mention, Observations, Run, events, innermost
from f64doctor.report import Finding, Grade, Message, Remedy, Severity, Table

NAME = "casts"


def refused(observations: Observations, run: Run, lineage: Lineage) -> list[Finding]:
    """The run failed because two dtypes met, or because an operation does not take float64."""
    mismatch = mismatch_of(run)
    if mismatch is None or (
        mismatch.odd is not None and mismatch.odd.source == "input" and _was_fed(run, mismatch.odd)
    ):
        return []
    if mismatch.kind == "no-kernel" and worked(observations.run(CPU_RUN)):
        return []  # the CPU has the kernel: the device check says so
    failure = mismatch.failure
    layer = layer_of(run, failure.layer)
    raised = innermost(failure.frames)
    entry = _entries(run)
    inside_user_code = raised is not None and (raised.file, raised.line) not in entry
    message = Message(failure.type, _core_of(failure.message))
    if (
        layer is not None
        and is_framework(layer)
        and not is_container(layer)
        and not (inside_user_code and layer.cls == "Lambda")
    ):
        frame = innermost(layer.frames)
        return [_framework_refuses(observations, mismatch, layer, frame, raised, message)]
    if mismatch.odd is not None:
        return [_odd_operand(observations, lineage, mismatch, raised, entry, message)]
    frame = raised
    if mismatch.kind == "mismatch":
        return [_two_met(observations, mismatch, raised, message)]
    return [
        Finding(
            code="F404",
            check=NAME,
            title=f"{mismatch.operation or 'the operation'} does not take float64",
            severity=Severity.ERROR,
            grade=Grade.OBSERVED,
            summary=f"{mismatch.operation or 'This operation'} "
            + (
                "has no float64 kernel here."
                if mismatch.kind == "no-kernel"
                else "takes narrower floats only, on any device."
            ),
            location=location_of(observations, frame),
            evidence=[message, *(code_at(observations, frame) if frame else [])],
            remedies=[
                Remedy(
                    "use an operation that exists in float64, or compute this step from basic ones (matmul, reduce_mean, slicing)",
                    why="A cast to float32 around it would make the error go away, and the digits too.",
                )
            ],
        )
    ]


def _two_met(observations: Observations, mismatch: Mismatch, raised: Frame | None, message: Message) -> Finding:
    """Two dtypes met, and the run did not show which of the script's lines made the narrow one."""
    signature = _signature(observations, mismatch.failure.message)
    if signature is not None:
        return _signature_refuses(observations, signature, raised, message)
    package = _package_in(mismatch.failure.traceback)
    where = f"inside {package}, called here" if package else "here"
    return Finding(
        code="F409",
        check=NAME,
        title="two dtypes meet in one operation, and the run fails",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"float64 meets another dtype {where}: TensorFlow never converts by itself. Which line made the other one was not seen.",
        location=location_of(observations, raised),
        evidence=[message, *(code_at(observations, raised) if raised else [])],
        remedies=[
            Remedy(
                "give every number and tensor that goes in here its dtype: tf.constant(0.1, tf.float64) or np.float64(0.1) instead of 0.1",
                why="TensorFlow makes Python numbers float32 unless it is told otherwise, and so do packages built on it"
                + (f", as {package} does" if package else "")
                + "; set_floatx reaches Keras only.",
            )
        ],
    )


def _signature(observations: Observations, message: str) -> Mention | None:
    """The narrow dtype in an ``input_signature``, when the message says that arguments did not fit one."""
    if "Binding inputs to tf.function failed" not in message and "incompatible with input_signature" not in message:
        return None
    return next(
        (
            mention
            for mention in observations.source.mentions
            if mention.dtype in NARROW and mention.purpose != "dead" and "TensorSpec" in mention.call + mention.text
        ),
        None,
    )


def _signature_refuses(
    observations: Observations, signature: Mention, raised: Frame | None, message: Message
) -> Finding:
    frame = Frame(signature.file, signature.line, "", signature.text)
    return Finding(
        code="F409",
        check=NAME,
        title=f"the input_signature wants {signature.dtype}, it is given float64",
        severity=Severity.ERROR,
        grade=Grade.INFERRED,
        summary=f"The traced function accepts {signature.dtype} only, as its input_signature says, and is called with float64.",
        location=location_of(observations, frame),
        related=related(observations, raised, "called here"),
        evidence=[message, *code_at(observations, frame)],
        remedies=[
            Remedy(
                "write tf.float64 in the TensorSpec",
                why="A signature is a promise about dtypes: TensorFlow refuses what does not keep it, and converts nothing.",
                before=observations.text(signature.file, signature.line),
            )
        ],
    )


def _package_in(traceback: str) -> str:
    """The last installed package on a traceback that is neither TensorFlow nor Keras, or nothing."""
    names = re.findall(r"(?:site|dist)-packages[/\\]([A-Za-z_]\w*)[/\\]", traceback)
    return next((name for name in reversed(names) if name not in ("tensorflow", "keras", "tf_keras", "numpy")), "")


def _was_fed(run: Run, operand: events.Operand) -> bool:
    return any(feed.dtype == operand.dtype for feed in run.all(events.Feed))


def _framework_refuses(
    observations: Observations,
    mismatch: Mismatch,
    layer: events.Created,
    frame: Frame | None,
    raised: Frame | None,
    message: Message,
) -> Finding:
    return Finding(
        code="F405",
        check=NAME,
        title=f"{layer.cls} of this Keras does not work in float64",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=(
            f"{layer.cls} “{layer.name}” fails in float64: "
            + (
                f"{mismatch.operation} has no float64 kernel."
                if mismatch.kind != "mismatch"
                else "inside, it mixes float32 constants with float64 tensors."
            )
        ),
        location=location_of(observations, frame),
        related=related(observations, raised, "raised from here") if raised != frame else [],
        evidence=[message, *(code_at(observations, frame) if frame else [])],
        remedies=[
            Remedy(
                f"instead of {layer.cls}: "
                + (way_round(layer.cls) or "operations that exist in float64, or its work outside the model in NumPy"),
                why="The fault is in the framework: no setting of the script makes this layer work in float64.",
                before=observations.location(frame).snippet if frame else "",
            )
        ],
    )


def _odd_operand(
    observations: Observations,
    lineage: Lineage,
    mismatch: Mismatch,
    raised: Frame | None,
    entry: set[tuple[str, int]],
    message: Message,
) -> Finding:
    odd = mismatch.odd
    assert odd is not None
    made = lineage.get(odd.made)
    behind = lineage.ancestors([made]) if made is not None else []
    maker = lineage.first_with(behind, frozenset({odd.dtype})) if made is not None else None
    frame: Frame | None = None
    if maker is not None:
        frame = innermost(maker.frames)
    if frame is None and odd.frames and odd.source != "input":
        last = odd.frames[-1]
        frame = (
            last
            if (last.file, last.line) not in entry
            or raised is None
            or (raised.file, raised.line) == (last.file, last.line)
            else None
        )
    frame = frame or raised
    text = observations.location(frame).snippet if frame else ""
    written = "float32" in text
    what = {
        "constant": "a constant is float32, as this line asks" if written else "a constant without a dtype is float32",
        "random": "random numbers without a dtype are float32",
        "variable": "a variable was made in float32",
        "captured": "a tensor was made in float32",
        "cast": "a cast to float32",
    }.get(odd.source, f"a {odd.dtype} operand")
    return Finding(
        code="F406",
        check=NAME,
        title=f"{odd.dtype} meets float64 in {mismatch.operation or 'one operation'}, and the run fails",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"{what[0].upper()}{what[1:]}: operand {odd.name!r} {shape_words(odd.shape)} of "
        f"{mismatch.operation or 'the operation'} is {odd.dtype}, the other float64.",
        location=location_of(observations, frame),
        related=related(observations, raised, "raised here")
        if raised is not None and frame is not None and (raised.file, raised.line) != (frame.file, frame.line)
        else [],
        evidence=[
            message,
            Table(
                "operands",
                ["operand", "dtype", "shape", "made by"],
                [[o.name, o.dtype, shape_words(o.shape), o.source] for o in mismatch.failure.operands[:6]],
            ),
            *([history(observations, behind, maker, None)] if behind else []),
            *(code_at(observations, frame) if frame else []),
        ],
        remedies=[_dtype_remedy(text, maker.call if maker is not None else "")],
    )


def _dtype_remedy(text: str, call: str) -> Remedy:
    why = "TensorFlow gives Python numbers float32 unless it is told otherwise; set_floatx reaches Keras only."
    if "cast" in text and "float32" in text:
        return Remedy(
            "cast to the dtype of what it meets (x.dtype, self.compute_dtype) instead of float32", why=why, before=text
        )
    if "where(" in text:
        return Remedy(
            "give the numbers a dtype: tf.where(c, tf.constant(a, x.dtype), tf.constant(b, x.dtype))",
            why=why,
            before=text,
        )
    if "float32" in text:
        return Remedy(
            "write float64 instead of float32 here, or better the dtype of what it meets (x.dtype, self.compute_dtype)",
            why="The dtype is written: no setting changes it.",
            before=text,
        )
    return Remedy(
        "pass dtype: tf.float64, or better the dtype of what it meets (x.dtype, self.compute_dtype)",
        why=why,
        before=text,
    )


def _core_of(message: str) -> str:
    lines = [line for line in message.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines() if line.strip()]
    return "\n".join(lines)[:900]


def _entries(run: Run) -> set[tuple[str, int]]:
    """The user's lines that hand over to Keras: below them the work is Keras's own."""
    found = set()
    for event in run.events:
        if isinstance(event, (events.Feed, events.Fit)) and event.frames:
            found.add((event.frames[-1].file, event.frames[-1].line))
    return found
