"""The kernel registry is asked as TensorFlow would ask it, and a table answers where the registry is blind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from f64doctor.probe import kernels
from f64doctor.probe.kernels import _answers, read_table

FLOAT, DOUBLE, INT32, INT64 = 1, 2, 3, 9


def kernel(device: str, label: str = "", **allowed: list[int]) -> Any:
    constraints = [
        SimpleNamespace(name=name, allowed_values=SimpleNamespace(list=SimpleNamespace(type=types)))
        for name, types in allowed.items()
    ]
    return SimpleNamespace(device_type=device, label=label, constraint=constraints)


REGISTERED = [
    kernel("CPU", T=[DOUBLE], Tlabels=[INT64]),
    kernel("GPU", T=[FLOAT], Tlabels=[INT64]),
    kernel("XLA_GPU_JIT", T=[FLOAT, DOUBLE], Tlabels=[INT32, INT64]),
]


@pytest.mark.parametrize(
    ("device", "types", "answer"),
    [
        ("CPU", {"T": [DOUBLE], "Tlabels": [INT64]}, True),
        ("GPU", {"T": [DOUBLE], "Tlabels": [INT64]}, False),
        ("GPU", {"T": [FLOAT], "Tlabels": [INT64]}, True),
        ("GPU", {"T": [FLOAT], "Tlabels": [INT32]}, False),
        ("XLA_GPU_JIT", {"T": [DOUBLE], "Tlabels": [INT32]}, True),
    ],
)
def test_every_dtype_of_a_kernel_must_fit(device: str, types: dict[str, list[int]], answer: bool) -> None:
    assert _answers(REGISTERED, types, device) is answer


def test_kernels_for_any_device_count_for_real_ones_and_not_for_xla() -> None:
    anywhere = [kernel("DEFAULT")]
    assert _answers(anywhere, {"T": [DOUBLE]}, "GPU")
    assert not _answers(anywhere, {"T": [DOUBLE]}, "XLA_GPU_JIT")


def test_kernels_with_a_label_are_for_those_who_ask_for_it() -> None:
    assert not _answers([kernel("GPU", "special", T=[DOUBLE])], {"T": [DOUBLE]}, "GPU")


@pytest.mark.parametrize(
    ("version", "nearest"),
    [
        ("2.15.1", "2.15"),
        ("2.13.0", "2.15"),
        ("2.16.2", "2.15"),
        ("2.17.0", "2.18"),
        ("2.21.0", "2.21"),
        ("2.30.0-rc1", "2.21"),
        ("", "2.15"),
    ],
)
def test_the_table_of_the_nearest_version_is_read(version: str, nearest: str) -> None:
    assert read_table(version)[1] == nearest


@pytest.mark.parametrize("version", ["2.15.1", "2.18.1", "2.21.0"])
def test_the_table_keeps_the_three_classes_apart(version: str) -> None:
    table, _ = read_table(version)
    assert table["SparseSoftmaxCrossEntropyWithLogits", "T"] == "float32_only"
    assert table["DepthToSpace", "T"] == "float32_only"
    assert table["CTCLoss", "T"] == "no_gpu"
    assert table["AvgPool3D", "T"] == "no_float64"
    assert ("MatMul", "T") not in table


# -- one watch with a registry of ours


class Tape(list[Any]):
    """A wire that keeps what is sent."""

    def send(self, event: str, **facts: Any) -> None:
        self.append((event, facts))

    def trouble(self, where: str, error: BaseException) -> None:
        self.append(("trouble", {"where": where}))


def operation(kind: str, dtype: str = "float64", name: str = "x") -> Any:
    number = {"float64": DOUBLE, "float32": FLOAT}[dtype]
    value = SimpleNamespace(type=number, HasField=lambda field: field == "type")
    tensor = SimpleNamespace(dtype=SimpleNamespace(name=dtype), shape=SimpleNamespace(as_list=lambda: [None, 3]))
    return SimpleNamespace(
        type=kind,
        name=name,
        inputs=[tensor],
        outputs=[tensor],
        traceback=[],
        node_def=SimpleNamespace(attr={"T": value}),
    )


def watch(registered: dict[str, list[Any]], tape: Tape) -> kernels.KernelsWatch:
    made = kernels.KernelsWatch(tape)  # type: ignore[arg-type]
    made._registry = lambda kind: SimpleNamespace(kernel=registered.get(kind, []))
    made._source = "registry"
    return made


GRAPH = SimpleNamespace(name="step")


def nobody(_: Any, __: int) -> tuple[None, str]:
    return None, ""


def test_only_what_no_gpu_computes_in_float64_is_told() -> None:
    tape = Tape()
    watching = watch(
        {
            "MatMul": [kernel("GPU", T=[DOUBLE])],
            "Odd": [kernel("CPU", T=[DOUBLE]), kernel("GPU", T=[FLOAT])],
            "Never": [kernel("CPU", T=[FLOAT, DOUBLE])],
        },
        tape,
    )
    operations = [operation(kind) for kind in ("MatMul", "Odd", "Odd", "Never")] + [operation("Odd", "float32")]
    watching.collect(GRAPH, operations, nobody)
    watching.tell()
    (event, facts) = tape[-1]
    assert (event, facts["nodes"], facts["kinds"]) == ("kernels", 4, 3)
    told = {gap["op"]: (gap["count"], gap["cpu64"], gap["gpu32"]) for gap in facts["gaps"]}
    assert told == {"Odd": (2, True, True), "Never": (1, True, False)}


def test_the_same_graph_traced_twice_counts_once() -> None:
    tape = Tape()
    watching = watch({"Odd": [kernel("CPU", T=[DOUBLE]), kernel("GPU", T=[FLOAT])]}, tape)
    for _ in range(3):
        watching.collect(GRAPH, [operation("Odd")], nobody)
    watching.tell()
    assert (tape[-1][1]["nodes"], tape[-1][1]["gaps"][0]["count"]) == (1, 1)


def test_data_pipelines_run_on_the_cpu_anyway() -> None:
    tape = Tape()
    watching = watch({"Odd": [kernel("CPU", T=[DOUBLE])]}, tape)
    watching.collect(SimpleNamespace(name="Dataset_map_f"), [operation("Odd")], nobody)
    watching.tell()
    assert tape == []


def test_no_script_can_make_the_event_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MOST_GAPS", 5)
    monkeypatch.setattr(kernels, "MOST_KINDS", 8)
    tape = Tape()
    watching = watch({f"Odd{n}": [kernel("CPU", T=[DOUBLE])] for n in range(20)}, tape)
    watching.collect(GRAPH, [operation(f"Odd{n}") for n in range(20)], nobody)
    watching.tell()
    assert (len(tape[-1][1]["gaps"]), tape[-1][1]["unasked"]) == (5, 12)


def test_an_unknown_operation_is_no_gap() -> None:
    tape = Tape()
    watching = watch({}, tape)
    watching.collect(GRAPH, [operation("UsersOwnOp")], nobody)
    watching.tell()
    assert tape[-1][1]["gaps"] == []


@pytest.mark.parametrize(
    "message",
    [
        "Could not find device for node: {{node Odd}} = Odd[T=DT_DOUBLE, Tlabels=DT_INT64]\nAll kernels registered",
        "No OpKernel was registered to support Op 'Odd' used by {{node x}} with these attrs: [T=DT_DOUBLE]",
        "Could not satisfy device specification '/device:GPU:0'. enable_soft_placement=0. Supported device types [CPU]. [Op:Odd] name: ",
    ],
)
def test_the_operation_that_an_exception_names_is_looked_up(message: str) -> None:
    tape = Tape()
    watching = watch({"Odd": [kernel("CPU", T=[DOUBLE]), kernel("GPU", T=[FLOAT])]}, tape)
    watching.raised(RuntimeError(message))
    watching.tell()
    assert [(gap["op"], gap["gpu32"]) for gap in tape[-1][1]["gaps"]] == [("Odd", True)]


def test_an_exception_that_names_none_costs_nothing() -> None:
    tape = Tape()
    watching = watch({}, tape)
    watching.raised(ValueError("bad shape"))
    watching.tell()
    assert tape == []
