"""The one orchestrator: plans the runs, observes them, makes the checks, and ends with the report. Every front end runs this."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from f64doctor import __version__
from f64doctor.progress import (
    CheckJudged,
    CheckStarted,
    EnvironmentKnown,
    Finished,
    Planned,
    Progress,
    RunEnded,
    RunProgress,
    RunStarted,
)
from f64doctor.report import (
    CheckResult,
    Environment,
    ExceptionReport,
    Finding,
    HeldBack,
    Report,
    RunReport,
    Status,
    StepReport,
    TargetReport,
)

if TYPE_CHECKING:
    from f64doctor.observe import Machine, Observations, Run
    from f64doctor.observe.events import HeldBack as HeldBackEvent
    from f64doctor.observe.facts import CardUse
    from f64doctor.settings import Settings
    from f64doctor.target import Target

AS_IS, CPU_ONLY = "as-is", "cpu-only"
GPU_WITHOUT_XLA, CPU_WITH_XLA, GPU_WITHOUT_TF32 = "gpu-without-xla", "cpu-with-xla", "gpu-without-tf32"
# What each run is for, in words for those who wait.
PURPOSES = {
    AS_IS: "the script as it is, under observation",
    CPU_ONLY: "the same with every accelerator hidden",
    GPU_WITHOUT_XLA: "as it is, without XLA: is it XLA that makes the difference?",
    CPU_WITH_XLA: "on the CPU, with XLA: does XLA fail there too?",
    GPU_WITHOUT_TF32: "as it is, without TF32: is it float32 that TF32 rounds?",
}
# What hides every accelerator: NVIDIA's, AMD's (two layers of it) and Intel's.
HIDDEN = {
    "CUDA_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "",
    "ROCR_VISIBLE_DEVICES": "",
    "ONEAPI_DEVICE_SELECTOR": "opencl:cpu",
}


class InterpreterError(Exception):
    """The target cannot be run by this interpreter; the message is one sentence that says what to do."""

    def __init__(self, sentence: str, exit_status: int) -> None:
        super().__init__(sentence)
        self.exit_status = exit_status


def interpreter_of(settings: Settings) -> str:
    """The interpreter that runs the target, as an absolute path. Raises ``InterpreterError`` when there is none."""
    wanted = settings.python or sys.executable
    found = shutil.which(os.path.expanduser(wanted))
    if found is None:
        raise InterpreterError(
            f"{wanted} is no interpreter that can be run: name the one that has your TensorFlow with --python", 2
        )
    return os.path.abspath(found)


def plan(target: Target, settings: Settings) -> Planned:
    """What would be done, before anything is done."""
    runs = (
        []
        if settings.no_run
        else [AS_IS, f"{CPU_ONLY} (when TensorFlow lists an accelerator), and up to three more when it disagrees"]
    )
    return Planned(
        target=_target_report(target),
        interpreter=interpreter_of(settings),
        runs=runs,
        steps=settings.steps,
        time_limit=settings.time_limit,
        allow_writes=settings.allow_writes,
    )


async def examine(target: Target, settings: Settings) -> AsyncGenerator[Progress, None]:
    """Examine a script: yields news as they come, ``Finished`` last. Raises ``InterpreterError`` before anything was run.

    Closing the iterator ends every process that was started.
    """
    from f64doctor.checks import ORDER, judge, ranked, verdict
    from f64doctor.observe import Limits, Observations
    from f64doctor.source import read_source

    began = time.monotonic()
    cwd = os.path.abspath(settings.cwd or os.getcwd())
    observations = Observations(script=target.path, cwd=cwd, limits=Limits(settings.steps, settings.time_limit))
    yield plan(target, settings)
    observations.source = await asyncio.to_thread(read_source, target.path, cwd)
    wanted = settings.wanted()
    results: dict[str, CheckResult] = {}
    findings: list[Finding] = []
    environment = Environment()

    def judged(name: str) -> CheckJudged:
        if name not in wanted:
            results[name] = CheckResult(name, Status.SKIPPED, "left out, as asked")
            return CheckJudged(results[name], [])
        results[name], found = judge(name, observations)
        findings.extend(found)
        return CheckJudged(results[name], found)

    if settings.no_run:
        observations.not_run = "only the source was read (--no-run)"
        for name in ORDER:
            yield judged(name)
    else:
        interpreter = interpreter_of(settings)
        await _has_tensorflow(interpreter, cwd, observations.source.imports_tensorflow)
        observations.machine = await asyncio.to_thread(_machine)
        environment = _environment(observations, interpreter)
        yield EnvironmentKnown(environment)
        for name in ORDER:
            yield CheckStarted(name)
        yield RunStarted(AS_IS, PURPOSES[AS_IS])
        async for news in _run(AS_IS, target, settings, interpreter, cwd, os.environ, observations):
            yield news
        environment = _environment(observations, interpreter)
        yield EnvironmentKnown(environment)
        for name in ("inputs", "layers"):
            yield judged(name)
        if "device" in wanted:
            async with aclosing(_device_runs(target, settings, interpreter, cwd, observations)) as device_news:
                async for news in device_news:
                    yield news
        for name in ORDER:
            if name not in results:
                yield judged(name)
    ordered = ranked(findings, ORDER, observations)
    in_order = [results[name] for name in ORDER]
    yield Finished(
        Report(
            target=_target_report(target),
            environment=environment,
            verdict=verdict(observations, in_order, ordered),
            checks=in_order,
            findings=ordered,
            runs=[run_report(run, observations) for run in observations.runs],
            f64doctor=__version__,
            seconds=round(time.monotonic() - began, 3),
        )
    )


def _machine() -> Machine:
    from f64doctor.machine import read_machine

    return read_machine()


# -- the runs


async def _device_runs(
    target: Target, settings: Settings, interpreter: str, cwd: str, observations: Observations
) -> AsyncGenerator[Progress, None]:
    """The run without accelerators and, when it disagrees with the first, those that tell why."""
    from f64doctor.checks.parting import follow_ups

    if observations.machine.gpus and _lists_accelerator(observations) is False:
        observations.machine = await asyncio.to_thread(_with_missing_libraries, observations, interpreter)
    if not _has_accelerator(observations):
        return
    names = [CPU_ONLY]
    while names:
        name = names.pop(0)
        yield RunStarted(name, PURPOSES[name])
        process = _run(name, target, settings, interpreter, cwd, surroundings(name, os.environ), observations)
        async with aclosing(process) as run_news:
            async for news in run_news:
                yield news
        if name == CPU_ONLY:
            names = follow_ups(observations)


def surroundings(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables for the run of that name."""
    variables = dict(environment)
    if name in (CPU_ONLY, CPU_WITH_XLA):
        variables.update(HIDDEN)
    if name == GPU_WITHOUT_XLA:
        variables.pop("TF_XLA_FLAGS", None)
    if name == GPU_WITHOUT_TF32:
        variables["NVIDIA_TF32_OVERRIDE"] = "0"
    return variables


def _with_missing_libraries(observations: Observations, interpreter: str) -> Machine:
    """The machine, with what the linker does not find for this interpreter's TensorFlow."""
    import msgspec

    from f64doctor.machine import read_missing_libraries
    from f64doctor.observe import events

    run = observations.run()
    build = run.last(events.Build) if run is not None else None
    if build is None or not build.cuda:
        return observations.machine
    missing = read_missing_libraries(interpreter, build.cuda_version, build.cudnn_version)
    return msgspec.structs.replace(observations.machine, missing_libraries=missing)


async def _run(
    name: str,
    target: Target,
    settings: Settings,
    interpreter: str,
    cwd: str,
    environment: Mapping[str, str],
    observations: Observations,
) -> AsyncGenerator[Progress, None]:
    from f64doctor.machine import read_oom_kills
    from f64doctor.observe import events
    from f64doctor.runs import run_target

    kills = read_oom_kills()
    steps, loss, stage = 0, None, "starting"
    process = run_target(
        name,
        interpreter,
        target.path,
        list(target.args),
        cwd=cwd,
        environment=environment,
        steps=settings.steps,
        time_limit=settings.time_limit,
        hide_devices=name in (CPU_ONLY, CPU_WITH_XLA),
        jit={GPU_WITHOUT_XLA: False, CPU_WITH_XLA: True}.get(name),
        shown=target.shown if settings.cwd is None else target.path,
        allow_writes=settings.allow_writes,
    )
    async with aclosing(process) as news, _watched(observations) as card_use:
        async for item in news:
            for event in item.events:
                stage = _stage(event) or stage
                if isinstance(event, events.Step):
                    steps, loss = steps + 1, event.loss if event.loss is not None else loss
            if item.over:
                run = item.run
                after = read_oom_kills()
                run.cards = card_use()
                run.oom_kills = max(0, (after or 0) - (kills or 0))
                observations.runs.append(run)
                yield RunEnded(run_report(run, observations))
            else:
                yield RunProgress(name, item.seconds, steps, loss, item.resident_bytes, stage, item.log)


@asynccontextmanager
async def _watched(observations: Observations) -> AsyncGenerator[Callable[[], list[CardUse]], None]:
    """Watch the cards of this machine until the run is over."""
    from f64doctor.machine import watched

    with watched(max((gpu.index + 1 for gpu in observations.machine.gpus), default=0)) as card_use:
        yield card_use


def _stage(event: object) -> str:
    """What the script is doing, in a word or two, as far as an event tells."""
    from f64doctor.observe import events

    if isinstance(event, events.Library):
        return f"importing {event.name}" if event.name != "numpy" else "importing"
    if isinstance(event, events.Created):
        return "building the model"
    if isinstance(event, events.Feed):
        return f"{event.call}" if event.call != "call" else "computing"
    return "training" if isinstance(event, events.Step) else ""


def _has_accelerator(observations: Observations) -> bool:
    """Whether TensorFlow listed an accelerator, or, when it could not say, whether the driver shows a card."""
    listed = _lists_accelerator(observations)
    return bool(observations.machine.gpus) if listed is None else listed


def _lists_accelerator(observations: Observations) -> bool | None:
    """Whether TensorFlow listed an accelerator; None when it did not come to say."""
    from f64doctor.observe import events

    run = observations.run()
    devices = run.last(events.Devices) if run is not None else None
    return None if devices is None else any(":CPU:" not in name for name in devices.names)


async def _has_tensorflow(interpreter: str, cwd: str, needed: bool) -> None:
    """Raise ``InterpreterError`` when the interpreter cannot run, or lacks the TensorFlow that the script needs."""
    question = (
        "import importlib.util as u, sys; print(sys.version_info[:2] >= (3, 9), u.find_spec('tensorflow') is not None)"
    )
    try:
        process = await asyncio.create_subprocess_exec(
            interpreter,
            "-c",
            question,
            cwd=cwd if os.path.isdir(cwd) else None,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            answer, _ = await asyncio.wait_for(process.communicate(), 60)
        except BaseException:
            if process.returncode is None:
                process.kill()
                await process.wait()
            raise
    except OSError as error:
        raise InterpreterError(f"{interpreter} could not be started: {error.strerror or error}", 2) from error
    except asyncio.TimeoutError:
        raise InterpreterError(f"{interpreter} did not answer within 60 s", 3) from None
    words = answer.decode("utf-8", "replace").split()
    if len(words) != 2:
        raise InterpreterError(
            f"{interpreter} is no Python interpreter, or it cannot start: try it with “{interpreter} -c 1”", 2
        )
    if words[0] != "True":
        raise InterpreterError(f"{interpreter} is older than Python 3.9, which the observer needs", 2)
    if needed and words[1] != "True":
        raise InterpreterError(
            f"{interpreter} has no TensorFlow: name the interpreter that has it with --python, or install it with"
            f" “{interpreter} -m pip install tensorflow”",
            3,
        )


# -- the report's parts


def _target_report(target: Target) -> TargetReport:
    return TargetReport(target.kind, target.shown, list(target.args))


def _environment(observations: Observations, interpreter: str) -> Environment:
    """Versions and devices as the run told them, cards and memory as this machine told them."""
    from f64doctor.observe import events

    run = observations.run()
    libraries = {library.name: library for library in run.all(events.Library)} if run is not None else {}
    hello = run.last(events.Hello) if run is not None else None
    devices = run.last(events.Devices) if run is not None else None
    keras = libraries.get("keras") or libraries.get("tf_keras")
    tensorflow, numpy = libraries.get("tensorflow"), libraries.get("numpy")
    return Environment(
        python=hello.python if hello is not None else None,
        executable=interpreter,
        tensorflow=tensorflow.version if tensorflow is not None else None,
        keras=keras.version if keras is not None else None,
        keras_backend=keras.backend if keras is not None else None,
        numpy=numpy.version if numpy is not None else None,
        platform=observations.machine.platform or None,
        devices=[f"{name} {devices.details.get(name, '')}".strip() for name in devices.names]
        if devices is not None
        else [],
        gpus=list(observations.machine.gpus),
        memory=observations.machine.memory,
    )


def run_report(run: Run, observations: Observations) -> RunReport:
    """A run as the report tells it."""
    from f64doctor.observe import events

    failure = run.failure
    end = run.last(events.End)
    bounded = list(end.bounded) if end is not None else []
    if run.outcome == "timed-out":
        bounded.append(f"the run was ended after {run.seconds:.0f} s, its time limit")
    peaks: dict[str, int] = {}
    for memory in run.all(events.Memory):
        if memory.device != "process" and memory.peak:
            peaks[memory.device] = max(memory.peak, peaks.get(memory.device, 0))
    process_peaks = [memory.peak for memory in run.all(events.Memory) if memory.device == "process" and memory.peak]
    return RunReport(
        name=run.name,
        outcome=run.outcome,
        seconds=round(run.seconds, 3),
        exit_code=run.exit_code,
        exception=None
        if failure is None
        else ExceptionReport(
            failure.type, failure.message[:2000], [observations.location(frame) for frame in failure.frames]
        ),
        log_tail=run.log,
        bounded=bounded,
        steps=[StepReport(step.number, step.loss, step.seconds) for step in run.all(events.Step)[:50]],
        peak_process_bytes=max([*process_peaks, *([run.peak_bytes] if run.peak_bytes else [])], default=None),
        peak_device_bytes=peaks,
        held_back=[
            HeldBack(
                held.kind,
                observations.shown(held.what) if held.what.startswith("/") else held.what,
                observations.location(held.frames[-1]) if held.frames else None,
            )
            for held in _still_held_back(run.all(events.HeldBack))
        ],
    )


def _still_held_back(told: list[HeldBackEvent]) -> list[HeldBackEvent]:
    """What was held back to the end: without files that the script only needed on its way."""
    held: dict[tuple[str, str], HeldBackEvent] = {}
    for event in told:
        if event.kind == "gone":
            held.pop(("file", event.what), None)
        else:
            held.setdefault((event.kind, event.what), event)
    return list(held.values())
