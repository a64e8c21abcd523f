"""Judges which float64 operations a GPU could not compute, from the answers of TensorFlow's kernel registry.

Three classes, never mixed: a float32 GPU kernel exists and no float64 one; no GPU kernel exists at any precision, which is no
fault of float64; no device has a float64 kernel at all.
"""

from __future__ import annotations

import math
import re

from f64doctor.amounts import bytes_in_words
from f64doctor.checks.showing import code_at, location_of, plural, related
from f64doctor.observe import Frame, Observations, Run, events, innermost
from f64doctor.report import Evidence, Finding, Grade, Remedy, Severity, Table

NAME = "device"
# Past this many lines the rest is told together.
MOST_LINES = 5
BYTES = {"float64": 8, "int64": 8, "complex128": 16, "uint64": 8, "float16": 2, "bfloat16": 2, "int16": 2, "bool": 1}
BYTES |= {"int8": 1, "uint8": 1, "uint16": 2}

_SPARSE_LOSS = re.compile(r"sparse_categorical_crossentropy|SparseCategoricalCrossentropy")
# What to write instead, where the same result has float64 GPU kernels.
_INSTEAD = {
    "SparseSoftmaxCrossEntropyWithLogits": (
        "one-hot labels with categorical_crossentropy: y = keras.utils.to_categorical(y)",
        "The loss is the same number; SoftmaxCrossEntropyWithLogits has a float64 GPU kernel.",
    ),
    "Bincount": (
        "tf.math.unsorted_segment_sum(weights, indices, size)",
        "It computes the same sums, and has a float64 GPU kernel.",
    ),
    "DenseBincount": (
        "tf.math.unsorted_segment_sum(weights, indices, size)",
        "It computes the same sums, and has a float64 GPU kernel.",
    ),
    "DepthToSpace": ("tf.reshape and tf.transpose", "Both have float64 GPU kernels, and the same result."),
    "SpaceToDepth": ("tf.reshape and tf.transpose", "Both have float64 GPU kernels, and the same result."),
}


def findings_of(
    observations: Observations, run: Run, accelerators: list[str], comparison: list[Evidence]
) -> list[Finding]:
    """One finding for each line with operations of the first class, one for all of the second, one for all of the third."""
    kernels = run.last(events.Kernels)
    if kernels is None:
        return []
    loud = _fails_without_soft_placement(run, accelerators)
    found = [
        _float32_only(observations, run, gaps, accelerators, loud, comparison)
        for gaps in _by_line(observations, run, [gap for gap in kernels.gaps if gap.cpu64 and gap.gpu32])
    ]
    nowhere = [gap for gap in kernels.gaps if not gap.cpu64 and (gap.cpu32 or gap.gpu32)]
    if nowhere and run.outcome in ("completed", "stopped"):
        found.append(_no_float64(observations, run, nowhere))
    if never := [gap for gap in kernels.gaps if gap.cpu64 and not gap.gpu32]:
        found.append(_no_gpu(observations, run, never))
    return found


def in_words(run: Run) -> str:
    """What the look-up found, as a clause: ``1 of 87 float64 operations would have no float64 GPU kernel``. Empty when nothing was looked up."""
    kernels = run.last(events.Kernels)
    if kernels is None or not kernels.nodes:
        return ""
    lacking = sum(gap.count for gap in kernels.gaps if gap.cpu64 and gap.gpu32)
    never = sum(gap.count for gap in kernels.gaps if gap.cpu64 and not gap.gpu32)
    of = f"of {plural(kernels.nodes, 'float64 operation')} would have no"
    if lacking:
        return f"{lacking} {of} float64 GPU kernel"
    if never:
        return f"{never} {of} GPU kernel at any precision"
    return f"a GPU would have a kernel for each of {plural(kernels.nodes, 'float64 operation')}"


def failing(run: Run) -> list[events.Kernel]:
    """The operations without a float64 GPU kernel that the exception of this run names."""
    kernels, failure = run.last(events.Kernels), run.failure
    if kernels is None or failure is None:
        return []
    return [gap for gap in kernels.gaps if gap.cpu64 and gap.gpu32 and gap.op in failure.message]


def copied(gap: events.Kernel) -> tuple[int, int, int]:
    """Tensors that cross between GPU and CPU when this operation runs on the CPU, their bytes, and bytes for each row where the batch is open."""
    tensors = [tensor for tensor in (*gap.inputs, *gap.outputs) if tensor.dtype not in ("resource", "variant")]
    fixed = row = 0
    for tensor in tensors:
        if tensor.shape is None:
            continue
        size = BYTES.get(tensor.dtype, 4) * math.prod(n for n in tensor.shape if n is not None)
        if None in tensor.shape:
            row += size
        else:
            fixed += size
    return len(tensors), fixed, row


def _copies_in_words(gaps: list[events.Kernel]) -> str:
    counts = [(gap.count, *copied(gap)) for gap in gaps]
    tensors = sum(count * number for count, number, _, _ in counts)
    fixed = sum(count * size for count, _, size, _ in counts)
    row = sum(count * size for count, _, _, size in counts)
    sizes = [bytes_in_words(fixed)] if fixed else []
    sizes += [f"{bytes_in_words(row)} for each row of the batch"] if row else []
    return plural(tensors, "tensor") + (f" ({' and '.join(sizes)})" if sizes else "")


def _fails_without_soft_placement(run: Run, accelerators: list[str]) -> bool:
    """Whether an operation without a GPU kernel would end the script on a machine with a GPU, which this is not."""
    settings = run.last(events.DeviceSettings)
    return not accelerators and settings is not None and settings.soft_placement is False


def _compiled_here(run: Run) -> bool:
    """Whether every training call was compiled by XLA."""
    fits = run.all(events.Fit)
    return bool(fits) and all(fit.jit_compile for fit in fits)


def _by_line(observations: Observations, run: Run, gaps: list[events.Kernel]) -> list[list[events.Kernel]]:
    """The operations grouped by the user's line; those of gradients go with what they are the gradients of."""
    groups: dict[tuple[str, int], list[events.Kernel]] = {}
    for gap in (gap for gap in gaps if not gap.backward):
        frame = _line_of(observations, run, gap)
        groups.setdefault((frame.file, frame.line) if frame else ("", 0), []).append(gap)
    backward = [gap for gap in gaps if gap.backward]
    if not groups and backward:
        return [backward]
    for group in list(groups.values())[:1]:
        group.extend(backward)
    found = list(groups.values())
    return (
        [*found[: MOST_LINES - 1], [gap for group in found[MOST_LINES - 1 :] for gap in group]]
        if len(found) > MOST_LINES
        else found
    )


def _line_of(observations: Observations, run: Run, gap: events.Kernel) -> Frame | None:
    """The line to change: where the layer or the loss was made that brings the operation in, else the line that computes it."""
    if gap.by == "user":
        return innermost(gap.frames)
    if gap.layer is not None:
        layer = next((c for c in run.all(events.Created) if c.role == "layer" and c.serial == gap.layer), None)
        if layer is not None and layer.frames:
            return layer.frames[-1]
    if gap.op == "SparseSoftmaxCrossEntropyWithLogits":
        losses = [created for created in run.all(events.Created) if created.role == "loss" and created.frames]
        own = [loss for loss in losses if "sparse" in (loss.cls + loss.name).lower() and loss.loaded is None]
        compiled = [loss for loss in losses if loss.loaded == "compile"]
        for loss in (*own[-1:], *compiled[-1:]):
            return loss.frames[-1]
        if (written := _where_written(observations, _SPARSE_LOSS)) is not None:
            return written
    if not gap.frames and run.failure is not None:
        return innermost(run.failure.frames)
    return innermost(gap.frames)


def _where_written(observations: Observations, words: re.Pattern[str]) -> Frame | None:
    """The one line of the user's code with these words, or None when there are none or several: Keras 2 makes its losses in fit."""
    found = [
        Frame(file.path, number, text=line.strip())
        for file in observations.source.files
        for number, line in enumerate(file.lines, 1)
        if words.search(line.partition("#")[0]) and "import" not in line.split("(")[0]
    ]
    return found[0] if len(found) == 1 else None


def _table(observations: Observations, gaps: list[events.Kernel], source: str) -> Table:
    rows = []
    for gap in gaps:
        frame = innermost(gap.frames)
        where = f"{observations.shown(frame.file)}:{frame.line}" if frame else "–"
        part = gap.layer_name or ("gradient" if gap.backward else "")
        answers = [_yes(gap.cpu64), "no", _yes(gap.gpu32), _yes(gap.xla64)]
        rows.append([gap.op, str(gap.count), *answers, f"{where} {part}".strip()])
    title = "kernels, as TensorFlow's registry lists them"
    if source.startswith("table"):
        title = f"kernels of TensorFlow {source.removeprefix('table ')} (this build lists none for GPUs)"
    columns = ["operation", "count", "CPU f64", "GPU f64", "GPU f32", "XLA f64", "line"]
    return Table(title, columns, rows)


def _yes(answer: bool | None) -> str:
    return "?" if answer is None else "yes" if answer else "no"


def _source(run: Run) -> str:
    kernels = run.last(events.Kernels)
    return kernels.source if kernels is not None else ""


def _names(gaps: list[events.Kernel]) -> str:
    names = list(dict.fromkeys(gap.op for gap in gaps))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _float32_only(
    observations: Observations,
    run: Run,
    gaps: list[events.Kernel],
    accelerators: list[str],
    loud: bool,
    comparison: list[Evidence],
) -> Finding:
    frame = _line_of(observations, run, gaps[0])
    names = _names(gaps)
    named = {gap.op for gap in failing(run)} & {gap.op for gap in gaps}
    compiled = all(gap.xla64 for gap in gaps)
    severity, grade = Severity.INFO, Grade.INFERRED
    copies = _copies_in_words(gaps)
    if named and accelerators and comparison:
        severity, grade = Severity.ERROR, Grade.OBSERVED
        said = f"{', '.join(sorted(named))} has a GPU kernel for float32 and none for float64: the run ends there, and works on the CPU."
    elif loud:
        severity = Severity.WARNING
        said = f"{names} has a GPU kernel for float32 and none for float64. Soft placement is off: on a machine with a GPU this fails."
    elif accelerators and compiled and _compiled_here(run):
        said = f"{names} has no float64 GPU kernel; XLA compiles it here, so that nothing leaves the GPU."
    elif accelerators:
        said = f"{names} has no float64 GPU kernel: unless XLA compiles it, each step runs it on the CPU and copies {copies}, silently."
    else:
        said = (
            f"{names} has a GPU kernel for float32 and none for float64: on a GPU it runs on the CPU, silently, unless XLA compiles it;"
            f" {copies} are copied each time."
        )
    first = next((gap for gap in gaps if gap.op in _INSTEAD), None)
    remedies = [Remedy(_INSTEAD[first.op][0], why=_INSTEAD[first.op][1])] if first is not None else []
    if compiled:
        remedies.append(
            Remedy(
                "compile the model with jit_compile=True (Keras 3 does so by itself on a GPU)",
                why="XLA makes its own kernel for it, in float64, so nothing leaves the GPU.",
            )
        )
    if severity is not Severity.INFO or not remedies:
        remedies.append(
            Remedy(
                'put this part on the CPU: with tf.device("/CPU:0")'
                + (", or allow it: tf.config.set_soft_device_placement(True)" if loud or named else ""),
                why="The CPU has the float64 kernel; what it costs are the copies.",
            )
        )
    computed = innermost(gaps[0].frames)
    return Finding(
        code="F304",
        check=NAME,
        title="an operation has no float64 kernel on GPUs, only a float32 one",
        severity=severity,
        grade=grade,
        summary=said,
        location=location_of(observations, frame),
        related=related(observations, computed, "computed here") if computed != frame else [],
        evidence=[
            *(comparison if named else []),
            _table(observations, gaps, _source(run)),
            *(code_at(observations, frame) if frame else []),
        ],
        remedies=remedies,
    )


def _no_gpu(observations: Observations, run: Run, gaps: list[events.Kernel]) -> Finding:
    frame = _line_of(observations, run, gaps[0])
    return Finding(
        code="F305",
        check=NAME,
        title="an operation has no GPU kernel at any precision",
        severity=Severity.INFO,
        grade=Grade.INFERRED,
        summary=f"{_names(gaps)} runs on the CPU in every precision, so float64 is not the reason: on a GPU {_copies_in_words(gaps)} are copied each time.",
        location=location_of(observations, frame),
        evidence=[_table(observations, gaps, _source(run))],
    )


def _no_float64(observations: Observations, run: Run, gaps: list[events.Kernel]) -> Finding:
    frame = _line_of(observations, run, gaps[0])
    through_xla = all(gap.xla64 for gap in gaps)
    how = (
        "it works here because XLA compiles it"
        if through_xla
        else "it was traced, and never ran outside of XLA in this run"
    )
    return Finding(
        code="F306",
        check=NAME,
        title="an operation has no float64 kernel on any device",
        severity=Severity.INFO,
        grade=Grade.INFERRED,
        summary=f"{_names(gaps)} has float32 kernels only, on the CPU too; {how}.",
        location=location_of(observations, frame),
        evidence=[_table(observations, gaps, _source(run)), *(code_at(observations, frame) if frame else [])],
        remedies=[
            Remedy(
                "keep jit_compile=True on every device, or compute this step from basic operations (reshape, reduce_mean)",
                why="Without XLA it ends with “No OpKernel was registered”, on the CPU as on a GPU.",
            )
        ],
    )
