"""Records what the probe tells of scripts, so that checks can be tested in milliseconds.

    python tests/record.py FOLDER [FOLDER …]     # each with train.py and expect.json

Each recording holds the run's events and what is expected of the verdict. The paths of the scratch copy are replaced by /job, those
of the environment by /venv, and those of this repository by /f64doctor.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

from f64doctor.runs import run_target

RECORDED = Path(__file__).parent / "recorded"


async def record(case: Path) -> None:
    """Run one script under observation and write its recording."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "job"
        shutil.copytree(case, work, ignore=shutil.ignore_patterns("expect.json", "__pycache__"))
        run = None
        async for news in run_target(
            "as-is",
            sys.executable,
            str(work / "train.py"),
            [],
            cwd=str(work),
            environment=os.environ,
            steps=3,
            time_limit=300.0,
        ):
            run = news.run
        assert run is not None
        run.log, run.notices = "", []
        expect = json.loads((case / "expect.json").read_text())
        kept = {key: expect[key] for key in ("healthy", "check", "where", "fault") if key in expect}
        text = msgspec.json.encode(run).decode().replace(os.path.realpath(work), "/job").replace(str(work), "/job")
        text = text.replace(sys.prefix, "/venv").replace(str(Path(__file__).resolve().parent.parent), "/f64doctor")
    body = json.dumps({"expect": kept, "run": json.loads(text)}, separators=(",", ":"), ensure_ascii=False)
    RECORDED.mkdir(exist_ok=True)
    with gzip.GzipFile(RECORDED / f"{case.name}.json.gz", "wb", mtime=0) as file:
        file.write(body.encode())


def main() -> None:
    """Record every folder named on the command line."""
    for argument in sys.argv[1:]:
        asyncio.run(record(Path(argument)))


if __name__ == "__main__":
    main()
