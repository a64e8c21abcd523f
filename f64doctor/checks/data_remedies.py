"""What to change so that data stay float64, and where they were handed over: shared by the findings about data and settings."""

from __future__ import annotations

import ast

from f64doctor.checks.showing import related
from f64doctor.observe import Frame, Observations, events, innermost
from f64doctor.report import Related, Remedy


def set_floatx_remedy(observations: Observations) -> Remedy:
    """The setting that a float64 script begins with, behind the import that the script has."""
    line, text, setter = _keras_import(observations.lines(observations.script))
    place = f"behind line {line}, {text}" if line else "right after the import of keras"
    return Remedy(
        title=f'call {setter}("float64") {place}',
        why="fit, evaluate and predict convert arrays to floatx, and keras.Input, losses, metrics and new layers take their dtype from it;"
        ' a dtype="float64" on each layer reaches none of these.',
        before=text if line else "",
        after=f'{text}\n\n{setter}("float64")',
    )


def _keras_import(lines: list[str]) -> tuple[int, str, str]:
    """The line by which a script gets its Keras, its text, and how set_floatx is called by that name; line 0 when there is none."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        tree = ast.Module([], [])
    tensorflow: tuple[int, str, str] | None = None
    for node in tree.body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        text = lines[node.lineno - 1].strip()
        for name in node.names:
            bound = name.asname or name.name.split(".")[0]
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if isinstance(node, ast.Import) and name.name == "keras":
                return node.lineno, text, f"{bound}.backend.set_floatx"
            if name.name in ("keras", "tf_keras") and module in (None, "tensorflow"):
                return node.lineno, text, f"{bound}.backend.set_floatx"
            if isinstance(node, ast.Import) and name.name == "tensorflow":
                tensorflow = tensorflow or (node.lineno, text, f"{bound}.keras.backend.set_floatx")
    return tensorflow or (0, "import keras", "keras.config.set_floatx")


def feed_related(observations: Observations, feed: events.Feed, maker: Frame | None) -> list[Related]:
    """The line that handed the data over, when it is not the one that made them."""
    frame = innermost(feed.frames)
    if frame is None or (maker is not None and (frame.file, frame.line) == (maker.file, maker.line)):
        return []
    return related(observations, frame, f"handed to {feed.call} as {feed.argument}{feed.path}")


def keep_double(observations: Observations, frame: Frame | None, maker: events.Array | None) -> Remedy:
    """What to write instead at the line that narrowed the data."""
    text = observations.location(frame).snippet if frame is not None else ""
    why = "A cast back to float64 restores the dtype, not the digits; what must not be lost may never be float32."
    if maker is None:
        return Remedy("make this array float64 where it comes from", why=why)
    if "floatx()" in maker.text:
        return Remedy(
            'call set_floatx("float64") before this line runs (before the module is imported), or do not cast to floatx() here',
            why="The line runs while floatx is still float32; changing floatx later does not change the array. " + why,
        )
    if maker.before == "float64":
        return Remedy(f"keep float64 here: drop the conversion in “{maker.text[:80]}”", why=why, before=text)
    return Remedy(f"make it float64 here: dtype float64 in “{maker.text[:80]}”", why=why, before=text)
