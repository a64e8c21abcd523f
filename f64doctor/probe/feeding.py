"""Watches what enters a model, each training and evaluation call, its steps, and the script's own training loops."""

from __future__ import annotations

import sys
import time
from typing import Any, Optional

from . import arrays, rewire, stack
from .bounds import Bounds
from .graphs import GraphsWatch
from .imports import ImportWatch
from .instrument import Compiler
from .kept_batches import Fit, Loading, batch_of_call, batch_of_fit, data_of, leaves_in_order
from .keras_state import KerasLibrary
from .model_facts import all_layers, bytes_of, count_dtypes, losses_of, metrics_of, variables_of
from .objects import ObjectsWatch
from .recorder import Recorder
from .wire import Wire

# The arguments of each call that carry data, in the order of their positions after self.
_DATA = {
    "fit": ("x", "y"),
    "evaluate": ("x", "y"),
    "predict": ("x",),
    "train_on_batch": ("x", "y", "sample_weight", "class_weight"),
    "test_on_batch": ("x", "y", "sample_weight"),
    "predict_on_batch": ("x",),
}
_DATA_BY_NAME = ("x", "y", "sample_weight", "class_weight", "validation_data")
# These round arrays and tensors to floatx before the model sees them; the others hand them on as they are.
_ROUNDING = ("fit", "evaluate", "predict")
# The parameters behind ``callbacks`` in the signatures, for calls that give so many by position.
_AFTER_CALLBACKS = {
    "fit": ("validation_split", "validation_data", "shuffle", "class_weight", "sample_weight"),
    "evaluate": ("return_dict",),
}
FEEDS_OF_A_LINE = 3
# So many calls of one line are looked at; past the first few only what is new is told: another dtype, or values that have been through float32.
LOOKS_AT_A_LINE = 60


class FeedingWatch:
    """Sends ``feed``, ``fit`` and ``step`` events, and bounds the training calls."""

    def __init__(
        self,
        wire: Wire,
        imports: ImportWatch,
        recorder: Recorder,
        objects: ObjectsWatch,
        graphs: GraphsWatch,
        compiler: Compiler,
        bounds: Bounds,
    ) -> None:
        self._wire = wire
        self._imports = imports
        self._recorder = recorder
        self._objects = objects
        self._graphs = graphs
        self._compiler = compiler
        self._bounds = bounds
        self._told: dict[tuple[str, int, str], int] = {}
        self._fits = 0
        self._signatures: set[Any] = set()
        self._loading: Optional[Loading] = None
        graphs.data = self

    def watch(self, library: KerasLibrary) -> None:
        """Watch the training calls of one Keras as its modules are imported."""
        base = library.name + ".src."
        if library.generation == 3:
            self._imports.after(
                base + "backend.tensorflow.trainer", lambda m: self._trainer(library, m.TensorFlowTrainer)
            )
            self._imports.after(
                base + "optimizers.base_optimizer", lambda m: self._optimizer(m.BaseOptimizer, ("apply",))
            )
        else:
            self._imports.after(base + "engine.training", lambda m: self._trainer(library, m.Model))
            self._imports.after(
                base + "optimizers.optimizer", lambda m: self._optimizer(m._BaseOptimizer, ("apply_gradients",))
            )
            self._imports.after(
                base + "optimizers.legacy.optimizer_v2", lambda m: self._optimizer(m.OptimizerV2, ("apply_gradients",))
            )

    # -- fit, evaluate, predict, …

    def _trainer(self, library: KerasLibrary, trainer: type) -> None:
        for call in _DATA:
            self._watch_call(library, trainer, call)

    def _watch_call(self, library: KerasLibrary, trainer: type, call: str) -> None:
        watch = self

        def around(original: Any, model: Any, args: Any, kwargs: Any) -> Any:
            nested = watch._bounds.in_fit > 0
            if not watch._wire.in_charge:
                return original(model, *args, **kwargs)
            frames = stack.user_frames()
            if not nested:
                watch._feeds(library, model, call, args, kwargs, frames)
            fit: Optional[Fit] = None
            if call in ("fit", "evaluate", "predict"):
                fit = watch._begin(library, model, call, frames, nested)
            if fit is not None and call == "fit":
                fit.data = data_of(args, kwargs)
            if fit is not None and call != "predict":
                args, kwargs = watch._bounded(library, model, call, args, kwargs, fit, nested)
            if call == "train_on_batch":
                watch._bounds.before_update(("train_on_batch", id(model)))
            watch._bounds.in_fit += 1
            try:
                result = original(model, *args, **kwargs)
            finally:
                watch._bounds.in_fit -= 1
                if fit is not None:
                    fit.data = None
                    watch._end(fit)
                if not nested:
                    watch._loading = None
                    watch._graphs.examine()
            if call == "train_on_batch":
                watch._bounds.after_update(("train_on_batch", id(model)), _scalar(result))
            return result

        rewire.wrap_method(trainer, call, around)

    def _begin(self, library: KerasLibrary, model: Any, call: str, frames: list[dict[str, Any]], nested: bool) -> "Fit":
        if not nested:
            self._fits += 1
        fit = Fit(self._fits, library, model, call, frames)
        fit.nested = nested
        return fit

    def _bounded(
        self, library: KerasLibrary, model: Any, call: str, args: Any, kwargs: Any, fit: "Fit", nested: bool
    ) -> tuple[Any, Any]:
        """The arguments with the counting callback added, where that is possible."""
        callbacks = sys.modules.get(
            library.name + ".src.callbacks.callback" if library.generation == 3 else library.name + ".src.callbacks"
        )
        base = getattr(callbacks, "Callback", None)
        # In the validation inside a fit Keras hands its own list of callbacks on, ours among them.
        if base is None or nested:
            return args, kwargs
        counter = _counter_class(base)(self, fit)
        place = 5 if call == "fit" else 6
        given = args[place] if len(args) > place else kwargs.get("callbacks")
        kwargs = dict(kwargs)
        if len(args) > place:
            kwargs.update(zip(_AFTER_CALLBACKS[call], args[place + 1 :]))
            args = args[:place]
        listed = given if isinstance(given, (list, tuple)) else [given]
        fit.monitored = [
            str(m) for m in (getattr(callback, "monitor", None) for callback in listed) if isinstance(m, str)
        ]
        if given is None:
            kwargs["callbacks"] = [counter]
        elif isinstance(given, (list, tuple)):
            kwargs["callbacks"] = [*given, counter]
        elif hasattr(given, "append"):
            given.append(counter)
        elif isinstance(given, base):
            kwargs["callbacks"] = [given, counter]
        return args, kwargs

    def step_ended(self, fit: "Fit", loss: Optional[float]) -> bool:
        """A training step of a fit is over; whether it shall be the last one."""
        fit.done += 1
        now = time.perf_counter()
        if fit.done <= 1000:
            self._wire.send("step", number=fit.done, loop="fit", fit=fit.serial, loss=loss, seconds=now - fit.last)
        fit.last = now
        if fit.done == 1:
            self._graphs.examine()
            self._tell_fit(fit)
            self._measure(lambda inputs: batch_of_fit(fit, self._loading, inputs))
        if self._bounds.reached(fit.done):
            self._bounds.tell("each fit was ended after {} steps".format(self._bounds.steps))
            return True
        return False

    def evaluation_step_ended(self, done: int) -> bool:
        """A step of an evaluation is over; whether it shall be the last one."""
        if self._bounds.reached(done):
            self._bounds.tell("each evaluation was ended after {} steps".format(self._bounds.steps))
            return True
        return False

    def _end(self, fit: "Fit") -> None:
        if not fit.told:
            self._tell_fit(fit)

    def _tell_fit(self, fit: "Fit") -> None:
        if fit.told or fit.nested:
            return
        fit.told = True
        try:
            model = fit.model
            optimizer = getattr(model, "optimizer", None)
            self._wire.send(
                "fit",
                call=fit.call,
                serial=fit.serial,
                model=str(getattr(model, "name", "")),
                cls=type(model).__name__,
                library=fit.library.name,
                floatx=fit.library.floatx(),
                policy=fit.library.policy(),
                layers=[s for s in (self._objects.serial_of(layer) for layer in all_layers(model)) if s is not None],
                losses=[s for s in (self._objects.serial_of(loss) for loss in losses_of(model)) if s is not None],
                metrics=[s for s in (self._objects.serial_of(metric) for metric in metrics_of(model)) if s is not None],
                weights=count_dtypes(getattr(model, "weights", ())),
                slots=count_dtypes(variables_of(optimizer)),
                weight_bytes=bytes_of(getattr(model, "weights", ())),
                jit_compile=_flag(getattr(model, "jit_compile", getattr(model, "_jit_compile", None))),
                optimizer=type(optimizer).__name__ if optimizer is not None else None,
                monitored=fit.monitored,
                frames=fit.frames,
            )
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self._wire.trouble("telling a " + fit.call, error)

    # -- what is handed over

    def _feeds(
        self, library: KerasLibrary, model: Any, call: str, args: Any, kwargs: Any, frames: list[dict[str, Any]]
    ) -> None:
        try:
            data = dict(zip(_DATA[call], args))
            data.update({name: kwargs[name] for name in _DATA_BY_NAME if name in kwargs})
            self._tell_feeds(library, model, call, call, data, frames)
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self._wire.trouble("looking at what enters " + call, error)

    def _tell_feeds(
        self,
        library: KerasLibrary,
        model: Any,
        call: str,
        function: str,
        data: dict[str, Any],
        frames: list[dict[str, Any]],
    ) -> None:
        if not frames:
            return
        here = frames[-1]
        told = self._fresh(here, call)
        if self._told[(here["file"], here["line"], call)] > LOOKS_AT_A_LINE:
            return
        reads = (
            self._compiler.arguments(here["file"], here["line"], function)
            if stack.owner(here["file"]) == stack.USER
            else {}
        )
        for argument, value in data.items():
            position = str(_DATA.get(call, ("x",)).index(argument)) if argument in _DATA.get(call, ("x",)) else argument
            for path, leaf in list(arrays.named_leaves(value))[:64]:
                described = arrays.describe_numbers(leaf)
                if described is None:
                    if leaf is None or not _is_loader(leaf):
                        continue
                    described = arrays.Described("loader", "unknown", None)
                loader, names, scope = self._loader(leaf) if described.kind == "loader" else (None, None, None)
                if described.kind == "loader" and argument == "x":
                    self._loading = Loading(library, model, call, frames, loader, names, scope)
                if not self._is_new((here["file"], here["line"], call, argument, path), described) and not told:
                    continue
                converts = call in _ROUNDING and described.kind in ("ndarray", "tensor", "frame", "scalar", "list")
                self._send_feed(
                    described,
                    library=library,
                    model=model,
                    call=call,
                    argument=argument,
                    path=path,
                    takes=converts,
                    made=self._recorder.makers.of(leaf),
                    uses=reads.get(argument, reads.get(position, [])) if names is None else names,
                    scope=scope if scope is not None else here["function"] if here["function"] != "<module>" else "",
                    loader=loader,
                    frames=frames,
                )

    def _send_feed(
        self, described: arrays.Described, library: KerasLibrary, model: Any, takes: bool, **facts: Any
    ) -> None:
        floatx = library.floatx()
        self._wire.send(
            "feed",
            kind=facts.pop("kind", described.kind),
            dtype=described.dtype,
            model=str(getattr(model, "name", "")),
            shape=described.shape,
            values=described.values(),
            takes=floatx if takes and described.dtype in arrays.FLOATS else None,
            floatx=floatx,
            library=library.name,
            **facts,
        )

    def took_batch(self, data: dict[str, Any], most: int) -> None:
        """Keras took a batch from the loader of the present call; the first ``most`` of a call are told."""
        loading = self._loading
        if loading is None or loading.batches >= most:
            return
        loading.batches += 1
        if loading.first is None:
            loading.first = tuple(data.values())
        for argument, value in data.items():
            for path, leaf in list(arrays.named_leaves(value))[:64]:
                described = arrays.describe_numbers(leaf)
                if described is None:
                    continue
                self._send_feed(
                    described,
                    library=loading.library,
                    model=loading.model,
                    kind="batch",
                    call=loading.call,
                    argument=argument,
                    path=path,
                    takes=loading.library.generation == 2,
                    made=self._recorder.makers.of(leaf),
                    uses=loading.names,
                    scope=loading.scope,
                    loader=loading.loader,
                    frames=loading.frames,
                )

    def _loader(self, value: Any) -> tuple[Optional[dict[str, Any]], Optional[list[str]], Optional[str]]:
        """The user's function that yields the batches, the names that it reads, and its scope; None where Keras or a package yields them."""
        code = getattr(value, "gi_code", None) or getattr(getattr(type(value), "__getitem__", None), "__code__", None)
        if code is None or stack.owner(code.co_filename) != stack.USER:
            return None, None, None
        frame = stack.frame_facts(code.co_filename, code.co_firstlineno, code.co_name)
        scope = code.co_name if hasattr(value, "gi_code") else type(value).__name__ + "." + code.co_name
        return frame, self._compiler.names_in(frame["file"], code.co_firstlineno, code.co_name), scope

    def direct_call(self, library: KerasLibrary, model: Any, args: Any, kwargs: Any) -> None:
        """The script itself calls a layer or model on data."""
        try:
            frames = stack.user_frames()
            data = {"x": args[0]} if args else {k: v for k, v in kwargs.items() if k != "training"}
            concrete = {}
            for name, value in data.items():
                first = next((leaf for _, leaf in arrays.named_leaves(value)), None)
                described = arrays.describe(first)
                if described is not None and described.kind not in ("symbolic", "variable"):
                    concrete[name] = value
            if concrete:
                self._tell_feeds(library, model, "call", "", concrete, frames)
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self._wire.trouble("looking at what a layer is called on", error)

    # -- the script's own loops

    def function_called(self, function: Any, args: Any, kwargs: Any) -> None:
        """The script called a traced function of its own that updates weights."""
        try:
            frames = stack.user_frames()
            name = str(getattr(function, "__name__", "") or getattr(function, "_name", "") or "function")
            if not frames or not self._fresh(frames[-1], name):
                return
            here = frames[-1]
            reads = self._compiler.arguments(here["file"], here["line"], name)
            parameters = list(getattr(getattr(function, "python_function", None), "__code__", _Nothing).co_varnames)
            if parameters[:1] == ["self"]:
                del parameters[0]
            if self._graphs.damage.pending():
                kept = leaves_in_order((list(args), kwargs))
                self._measure(lambda inputs: batch_of_call(kept, inputs))
            given = [(str(i), parameters[i] if i < len(parameters) else str(i), value) for i, value in enumerate(args)]
            given += [(key, key, value) for key, value in kwargs.items()]
            for position, argument, value in given:
                self._arrays_of(value, argument, "step", reads.get(position, []), frames)
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self._wire.trouble("looking at what enters a function", error)

    def _measure(self, feeds_of: Any) -> None:
        if self._graphs.damage.pending():
            self._graphs.damage.measure(feeds_of)

    def captured(self, tensors: list[Any]) -> None:
        """A traced function holds these tensors from outside; those that a line of the user's made are data."""
        try:
            frames = stack.user_frames()
            for tensor in tensors[:200]:
                if hasattr(tensor, "numpy") and self._recorder.makers.of(tensor) is not None and frames:
                    self._arrays_of(tensor, "captured", "step", [], frames)
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self._wire.trouble("looking at what a function captured", error)

    def differentiated(self, target: Any) -> None:
        """The script took the gradient of this with respect to variables: what it was made from is what is trained on."""
        try:
            frames = stack.user_frames()
            made = self._recorder.makers.of(target)
            described = arrays.describe(target)
            if not frames or made is None or described is None or not self._fresh(frames[-1], "gradient"):
                return
            scope = frames[-1]["function"] if frames[-1]["function"] != "<module>" else ""
            self._wire.send(
                "feed",
                kind="loss",
                dtype=described.dtype,
                call="gradient",
                argument="loss",
                shape=described.shape,
                made=made,
                scope=scope,
                frames=frames,
            )
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self._wire.trouble("looking at what a loss was made from", error)

    def _is_new(self, place: Any, described: arrays.Described) -> bool:
        """Whether this place was not yet seen to take data of this dtype and exactness."""
        values = described.values()
        exact = values is not None and values["exact"] == values["nontrivial"] > 0
        signature = (place, described.dtype, exact)
        if signature in self._signatures:
            return False
        self._signatures.add(signature)
        return True

    def _fresh(self, here: dict[str, Any], call: str) -> bool:
        """Whether a line has not yet told all that one line may tell."""
        key = (here["file"], here["line"], call)
        self._told[key] = self._told.get(key, 0) + 1
        return self._told[key] <= FEEDS_OF_A_LINE

    def _arrays_of(self, value: Any, argument: str, call: str, uses: list[str], frames: list[dict[str, Any]]) -> None:
        """Tell the arrays and eager tensors of a nest that enters a function of the script's own."""
        here = frames[-1]
        for path, leaf in list(arrays.named_leaves(value))[:64]:
            described = arrays.describe(leaf)
            if described is None or described.kind in ("symbolic", "variable", "file"):
                continue
            if described.dtype in ("resource", "variant", "string"):
                continue
            self._wire.send(
                "feed",
                kind=described.kind,
                dtype=described.dtype,
                call=call,
                argument=argument,
                path=path,
                shape=described.shape,
                values=described.values(),
                made=self._recorder.makers.of(leaf),
                uses=uses,
                scope=here["function"] if here["function"] != "<module>" else "",
                frames=frames,
            )

    def _optimizer(self, cls: type, names: tuple[str, ...]) -> None:
        watch = self

        def around(original: Any, optimizer: Any, args: Any, kwargs: Any) -> Any:
            if watch._bounds.in_fit or not watch._wire.in_charge:
                return original(optimizer, *args, **kwargs)
            if watch._graphs.tracing():
                watch._graphs.mark_update()
                return original(optimizer, *args, **kwargs)
            loop = ("optimizer", id(optimizer))
            watch._bounds.before_update(loop)
            result = original(optimizer, *args, **kwargs)
            watch._bounds.after_update(loop)
            return result

        for name in names:
            rewire.wrap_method(cls, name, around)


class _Nothing:
    co_varnames = ()


_counters: dict[type, type] = {}


def _counter_class(base: type) -> type:
    """The callback, derived from this Keras's own Callback, that counts steps and ends a call as Keras itself would."""
    known = _counters.get(base)
    if known is not None:
        return known

    class StepCounter(base):  # type: ignore[misc]
        def __init__(self, watch: FeedingWatch, fit: Fit) -> None:
            super().__init__()
            self._watch = watch
            self._fit = fit
            self._evaluated = 0

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            loss = _scalar(logs.get("loss")) if isinstance(logs, dict) else None
            if self._watch.step_ended(self._fit, loss):
                self.model.stop_training = True

        def on_test_begin(self, logs: Any = None) -> None:
            self._evaluated = 0

        def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
            self._evaluated += 1
            # Keras 3 looks at this flag; Keras 2 has none, and evaluates on.
            if hasattr(self.model, "stop_evaluating") and self._watch.evaluation_step_ended(self._evaluated):
                self.model.stop_evaluating = True

    _counters[base] = StepCounter
    return StepCounter


def _scalar(value: Any) -> Optional[float]:
    """A loss as a float, or None when it is none."""
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
    except Exception:  # noqa: BLE001 - tensors have errors of their own
        return None


def _flag(value: Any) -> Optional[bool]:
    return value if isinstance(value, bool) else None


def _is_loader(value: Any) -> bool:
    """Whether an object yields batches: a generator, a Sequence or PyDataset."""
    return hasattr(value, "__next__") or (hasattr(value, "__getitem__") and hasattr(value, "__len__"))
