"""Writes screenshots of the wizard from sample reports: SVG always, PNG where a converter is installed."""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

from rich.cells import cell_len

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from f64doctor.report import Report  # noqa: E402
from f64doctor.tui.app import DoctorApp  # noqa: E402
from tests.tui.samples import FAILED_REPORT, HEALTHY_REPORT, PLAN, RAISED_REPORT, FakeCheckup  # noqa: E402

SIZES = ((80, 24), (120, 40))


async def intake(size: tuple[int, int], ascii_only: bool) -> str:
    """The first screen."""
    app = DoctorApp(PLAN, FakeCheckup(FAILED_REPORT).start, ascii_only=ascii_only)
    return await _picture(app, size, ())


async def running(size: tuple[int, int], ascii_only: bool) -> str:
    """A checkup whose run is in its third step."""
    app = DoctorApp(PLAN, FakeCheckup(FAILED_REPORT, stop_after=7).start, confirm=False, ascii_only=ascii_only)
    return await _picture(app, size, ())


async def finished(report: Report, keys: tuple[str, ...], size: tuple[int, int], ascii_only: bool) -> str:
    """A report that is there, after some keys."""
    return await _picture(DoctorApp.of_report(report, ascii_only=ascii_only), size, keys)


async def _picture(app: DoctorApp, size: tuple[int, int], keys: tuple[str, ...]) -> str:
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.2)
        await pilot.press(*keys)
        await pilot.pause(0.1)
        return without_outer_spaces(app.export_screenshot(title="f64doctor"))


def without_outer_spaces(svg: str) -> str:
    """``svg`` with every text moved past its leading spaces: some converters drop them instead of drawing them."""

    def trimmed(found: re.Match[str]) -> str:
        before, x, middle, length, after, text = found.groups()
        bare = text.replace("&#160;", " ")
        if not bare.strip():
            return ""
        cell = float(length) / cell_len(unescape(bare))
        shown = bare.strip()
        moved = float(x) + cell * (len(bare) - len(bare.lstrip()))
        width = cell * cell_len(unescape(shown))
        return f"{before}{moved:.1f}{middle}{width:.1f}{after}{shown.replace(' ', '&#160;')}</text>"

    return re.sub(
        r'(<text class="[^"]*-r\d+" x=")([\d.]+)(" y="[\d.]+" textLength=")([\d.]+)("[^>]*>)([^<\n]+)</text>',
        trimmed,
        svg,
    )


def convert(svg: Path) -> None:
    """Makes a PNG beside ``svg`` when there is a converter."""
    png = str(svg.with_suffix(".png"))
    if rsvg := shutil.which("rsvg-convert"):
        subprocess.run([rsvg, "--zoom", "1.5", "-o", png, str(svg)], check=False)
    elif cairosvg := shutil.which("cairosvg"):
        subprocess.run([cairosvg, str(svg), "-o", png, "--scale", "1.5"], check=False)


async def make(folder: Path, sizes: tuple[tuple[int, int], ...], ascii_only: bool, png: bool) -> None:
    """All pictures in all sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    for size in sizes:
        pictures = {
            "intake": await intake(size, ascii_only),
            "running": await running(size, ascii_only),
            "layers": await finished(FAILED_REPORT, (), size, ascii_only),
            "casts": await finished(RAISED_REPORT, (), size, ascii_only),
            "verdict": await finished(FAILED_REPORT, ("6",), size, ascii_only),
            "healthy": await finished(HEALTHY_REPORT, (), size, ascii_only),
            "help": await finished(FAILED_REPORT, ("question_mark",), size, ascii_only),
        }
        for name, svg in pictures.items():
            path = folder / f"{name}-{size[0]}x{size[1]}.svg"
            path.write_text(svg, encoding="utf-8")
            if png:
                convert(path)
            print(path)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=HERE)
    parser.add_argument("--size", action="append", help="as 80x24; may be given more than once")
    parser.add_argument("--ascii", action="store_true")
    parser.add_argument("--no-png", action="store_true", help="SVG only, also where a converter is installed")
    arguments = parser.parse_args()
    given = tuple(
        (int(width), int(height)) for width, _, height in (text.partition("x") for text in arguments.size or ())
    )
    asyncio.run(make(arguments.folder, given or SIZES, arguments.ascii, not arguments.no_png))


if __name__ == "__main__":
    main()
