"""One struct for each fact that a probe can send. A fact that is not known is None, never a guess."""

from __future__ import annotations

import msgspec


class Frame(msgspec.Struct, frozen=True):
    """A line of the user's code on the stack: absolute path, line from 1, function name, source text."""

    file: str
    line: int
    function: str = ""
    text: str = ""


class Values(msgspec.Struct, frozen=True):
    """What the numbers of an array say about the precision that they have been through.

    ``nontrivial`` counts the sampled values that need more than 16 significant bits (the others fit in float32 by nature:
    integers, pixels, short binary fractions); ``exact`` counts those of them that equal their float32 rounding.
    ``bits`` is the largest number of significant bits in use (1-53). ``fixed_point`` is true when all sampled values are
    multiples of one quantum and at most 24 bits wide, as 24-bit audio is. ``fractional`` counts the values that are no integers, ``decimals`` is
    the largest number of significant decimal digits that a value needs (0-17; None: not counted). ``laundered_columns`` are the columns of a matrix
    that have been through float32 while others have not. ``max_relative_error`` and ``max_absolute_error`` are what
    rounding to float32 does (or did) to them.
    """

    size: int
    sampled: int
    nontrivial: int
    exact: int
    bits: int
    fixed_point: bool = False
    fractional: int = 0
    decimals: int | None = None
    laundered_columns: list[int] = []
    max_magnitude: float | None = None
    max_relative_error: float | None = None
    max_absolute_error: float | None = None

    @property
    def laundered(self) -> bool:
        """True when the values have been through float32: all that could tell are float32-exact, and they use its width."""
        return self.nontrivial > 0 and self.exact == self.nontrivial and self.bits >= 20


class Event(msgspec.Struct, frozen=True, tag_field="event", kw_only=True):
    """Anything that a probe sends; ``t`` is seconds since the probe began."""

    t: float = 0.0


class Hello(Event, frozen=True, tag="hello"):
    """The first event: who runs what, where."""

    protocol: int
    pid: int
    python: str
    executable: str
    script: str
    cwd: str
    argv: list[str] = []


class Library(Event, frozen=True, tag="library"):
    """TensorFlow, a Keras or NumPy was imported by the script."""

    name: str
    version: str | None = None
    path: str | None = None
    floatx: str | None = None
    backend: str | None = None
    keras_home: str | None = None
    built_with_cuda: bool | None = None
    frames: list[Frame] = []


class Setting(Event, frozen=True, tag="setting"):
    """The script asked for a precision, or for something that decides it.

    ``kind``: floatx, policy, environment, clear_session. ``before``/``value``: the setting before and after. ``floatx`` and ``policy``
    are the library's state after it (policy None: nothing has latched it yet); for KERAS_HOME, ``floatx`` is what the keras.json in that folder says.
    """

    kind: str
    value: str | None = None
    before: str | None = None
    name: str = ""
    floatx: str | None = None
    policy: str | None = None
    library: str = "keras"
    frames: list[Frame] = []


class Latch(Event, frozen=True, tag="latch"):
    """Keras created its global dtype policy from the floatx of this moment and will keep it."""

    policy: str
    floatx: str | None
    by: str
    library: str = "keras"
    frames: list[Frame] = []


class Created(Event, frozen=True, tag="created"):
    """A Keras object came to be. ``role``: layer, input, model, loss, metric, optimizer, weight. ``explicit`` is the dtype argument, if one was given.

    ``loaded`` names the function that rebuilt it from a file or configuration (load_model, clone_model, …).
    """

    role: str
    cls: str
    name: str
    serial: int
    module: str = ""
    dtype: str | None = None
    compute_dtype: str | None = None
    explicit: str | None = None
    loaded: str | None = None
    owner: int | None = None
    floatx: str | None = None
    policy: str | None = None
    library: str = "keras"
    frames: list[Frame] = []


class Loaded(Event, frozen=True, tag="loaded"):
    """Weights came from a file or from another model. Counts by dtype; ``values`` of the float64 ones together, after the loading."""

    call: str
    model: str = ""
    weights: dict[str, int] = {}
    values: Values | None = None
    frames: list[Frame] = []


class Array(Event, frozen=True, tag="array"):
    """A line of the user's code made or named an array, tensor, variable or dataset.

    ``how``: ``assigned`` to ``name``, or the result of a ``called`` expression. ``before`` is the dtype of what the call converted.
    ``uses`` are the names that the statement reads; ``frames`` is the chain of calls that led there, outermost first,
    so that the last one is the line itself; ``last_line`` is where its statement ends. ``scope`` is the function's qualified name, empty at module level.
    ``same_as`` is the serial of an earlier array event for the same object (or the object it is a view of).
    """

    serial: int
    how: str
    kind: str
    dtype: str
    name: str = ""
    text: str = ""
    call: str = ""
    before: str | None = None
    before_values: Values | None = None
    shape: list[int | None] | None = None
    values: Values | None = None
    scope: str = ""
    last_line: int = 0
    uses: list[str] = []
    same_as: int | None = None
    frames: list[Frame] = []


class Feed(Event, frozen=True, tag="feed"):
    """What was handed to a model. ``made`` is the serial of the array event for the same object, ``path`` its place in a nest.

    ``loader`` is the user's function that yields the batches, when a generator or dataset object was handed over; ``uses`` are the names that it reads.
    ``kind`` is that of the object, ``batch`` for an array that Keras took from the loader, or ``loss`` for what a loop of the script's own
    differentiates. ``call`` is ``step`` for what enters, or is captured by, a traced function of the script's that updates weights.
    ``takes``: the dtype to which this call converts it before the model sees it (None: as it is).
    """

    call: str
    argument: str
    kind: str
    dtype: str
    model: str = ""
    path: str = ""
    shape: list[int | None] | None = None
    values: Values | None = None
    takes: str | None = None
    floatx: str | None = None
    made: int | None = None
    uses: list[str] = []
    scope: str = ""
    loader: Frame | None = None
    library: str = "keras"
    frames: list[Frame] = []


class Fit(Event, frozen=True, tag="fit"):
    """A training or evaluation call began. Variable counts by dtype; ``layers``, ``losses`` and ``metrics`` are the serials of the model's.

    ``monitored`` are the logged values by which callbacks stop training, save models or change the learning rate.
    """

    call: str
    serial: int
    model: str
    cls: str
    library: str = "keras"
    floatx: str | None = None
    policy: str | None = None
    layers: list[int] = []
    losses: list[int] = []
    metrics: list[int] = []
    weights: dict[str, int] = {}
    slots: dict[str, int] = {}
    weight_bytes: int = 0
    jit_compile: bool | None = None
    optimizer: str | None = None
    monitored: list[str] = []
    frames: list[Frame] = []


class Step(Event, frozen=True, tag="step"):
    """A training step ended. ``seconds`` is its wall time, the first one with tracing."""

    number: int
    loop: str
    fit: int | None = None
    loss: float | None = None
    seconds: float | None = None


class Narrowing(msgspec.Struct, frozen=True):
    """An operation of a traced function where float64 becomes narrower, or where narrower numbers join a float64 computation.

    ``kind``: ``narrows`` (a double goes in, a narrower float comes out) or ``joins`` (a float32 value is widened). For ``joins``, ``source``
    is the kind of value (constant, variable, captured, random, island) and ``frames`` the line that made it. ``constant`` in full: what was written is
    lost. ``by``: user, package, framework. ``reaches``: weights, loss, output, metric, nothing, or unknown.
    """

    kind: str
    op: str
    type: str
    source_dtype: str
    result_dtype: str
    by: str
    reaches: str
    source: str = ""
    package: str = ""
    package_version: str = ""
    shape: list[int | None] | None = None
    layer: int | None = None
    layer_name: str = ""
    made: int | None = None
    values: Values | None = None
    constant: float | None = None
    frames: list[Frame] = []


class Graph(Event, frozen=True, tag="graph"):
    """A traced function: how many operations give which dtype, and where it narrows."""

    name: str
    operations: int
    dtypes: dict[str, int] = {}
    serial: int = 0
    role: str = "function"
    narrowings: list[Narrowing] = []
    frames: list[Frame] = []


class Rounding(msgspec.Struct, frozen=True):
    """What the values that one narrowing operation takes lose: relative errors of rounding them to float32, and the share that is not exact."""

    op: str
    values: int
    largest: float = 0.0
    median: float = 0.0
    share: float = 0.0
    shape: list[int | None] = []


class GradientChange(msgspec.Struct, frozen=True):
    """How far a gradient is from what it would be without the narrowing: the largest difference, relative to its largest entry ``scale``."""

    variable: str
    scale: float = 0.0
    relative: float | None = None


class Damage(Event, frozen=True, tag="damage"):
    """A traced step, computed again on a batch as traced and with every float made double. ``why_not``: why that could not be done.

    ``graphs``: serials of the graph events of this step (one that makes its variables is traced twice).
    ``basis``: which batch, in words. ``loss``, ``loss_promoted``: the mean of what was differentiated.
    ``left``: types of the operations that have no float64 form and stay float32 in the promoted copy.
    """

    graphs: list[int] = []
    name: str = ""
    seconds: float = 0.0
    basis: str = ""
    loss: float | None = None
    loss_promoted: float | None = None
    left: list[str] = []
    gradients: list[GradientChange] = []
    narrowings: list[Rounding] = []
    why_not: str = ""


class EagerCast(Event, frozen=True, tag="eager_cast"):
    """A cast from double to something narrower that ran outside of any traced function. ``gradient``: what was cast is a gradient of variables."""

    source_dtype: str
    result_dtype: str
    by: str
    count: int = 1
    shape: list[int | None] | None = None
    values: Values | None = None
    in_tape: bool = False
    gradient: bool = False
    frames: list[Frame] = []


class Operand(msgspec.Struct, frozen=True):
    """An operand of the operation that failed: its dtype and shape, and the line that made it (frames, innermost last)."""

    name: str
    dtype: str
    shape: list[int | None] | None = None
    source: str = ""
    made: int | None = None
    frames: list[Frame] = []


class Failure(Event, frozen=True, tag="failure"):
    """The exception that ended the script. ``layer`` is the serial of the Keras layer in whose call it was raised."""

    type: str
    message: str
    module: str = ""
    frames: list[Frame] = []
    operands: list[Operand] = []
    layer: int | None = None
    layer_name: str = ""
    origin: str = ""
    traceback: str = ""


class Memory(Event, frozen=True, tag="memory"):
    """Memory of a device's allocator, or of the process (device ``process``). Bytes."""

    device: str
    current: int | None = None
    peak: int | None = None


class Devices(Event, frozen=True, tag="devices"):
    """What TensorFlow lists, for example ``/physical_device:GPU:0``."""

    names: list[str]
    details: dict[str, str] = {}


class HeldBack(Event, frozen=True, tag="held_back"):
    """Something that did not become real: ``kind`` is file, folder, deletion, upload or mail; ``what`` the path, the address or the recipients.

    ``gone`` is a file that was told of, and that the script itself deleted or renamed since.
    """

    kind: str
    what: str
    frames: list[Frame] = []


class TensorFact(msgspec.Struct, frozen=True):
    """Dtype and shape of one input or output of an operation; sizes that are not fixed are None."""

    dtype: str
    shape: list[int | None] | None = None


class Kernel(msgspec.Struct, frozen=True):
    """A float64 operation of a traced graph that no GPU kernel computes, and who else could: on the CPU, in float32, through XLA (None: not known).

    ``count``: how often it stands in one graph. ``by``, ``layer`` and ``frames`` as in ``Narrowing``; ``backward``: it belongs to a gradient.
    """

    op: str
    count: int = 1
    cpu64: bool = False
    gpu32: bool = False
    cpu32: bool = False
    xla64: bool | None = None
    inputs: list[TensorFact] = []
    outputs: list[TensorFact] = []
    by: str = "framework"
    package: str = ""
    backward: bool = False
    layer: int | None = None
    layer_name: str = ""
    frames: list[Frame] = []


class Kernels(Event, frozen=True, tag="kernels"):
    """The float64 operations of the traced graphs, looked up for the GPU.

    ``source``: registry, or the table with its version where the registry has no GPU kernels at all. ``nodes`` and ``kinds``: how many were looked up,
    ``unasked``: kinds past the bound. ``seconds``: what it cost.
    """

    source: str
    nodes: int = 0
    kinds: int = 0
    unasked: int = 0
    gaps: list[Kernel] = []
    seconds: float | None = None


class DeviceSettings(Event, frozen=True, tag="device_settings"):
    """What the script had asked of placement when it ended. ``seeded``: TensorFlow's global seed was set. ``variables``: those that decide about
    devices, as they were set from outside, before the script began.
    """

    visible: list[str] | None = None
    soft_placement: bool | None = None
    tf32: bool | None = None
    deterministic: bool | None = None
    seeded: bool | None = None
    variables: dict[str, str] = {}


class Build(Event, frozen=True, tag="build"):
    """How TensorFlow was built, and the installed distributions with their versions that bring TensorFlow or a device to it."""

    cuda: bool | None = None
    rocm: bool | None = None
    cuda_version: str | None = None
    cudnn_version: str | None = None
    compute_capabilities: list[str] | None = None
    distributions: dict[str, str] = {}


class Trouble(Event, frozen=True, tag="trouble"):
    """A part of the probe could not do its work; the script was not disturbed by it."""

    where: str
    message: str


class End(Event, frozen=True, tag="end"):
    """The script is over. ``outcome``: completed, stopped (by the bound), raised, exited."""

    outcome: str
    exit_code: int | None = None
    updates: int = 0
    bounded: list[str] = []


AnyEvent = (
    Hello
    | Library
    | Setting
    | Latch
    | Created
    | Loaded
    | Array
    | Feed
    | Fit
    | Step
    | Graph
    | Damage
    | EagerCast
    | Failure
    | Memory
    | Devices
    | HeldBack
    | Kernels
    | DeviceSettings
    | Build
    | Trouble
    | End
)
