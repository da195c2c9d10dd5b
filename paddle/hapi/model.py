"""``Model``: training, evaluation and prediction without a loop of one's own."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

import paddle
from paddle import _lazy
from paddle import distributed as dist
from paddle._public import public
from paddle.amp import GradScaler, auto_cast, decorate
from paddle.callbacks.callback import Callback
from paddle.callbacks.callback_list import CallbackList, config_callbacks
from paddle.framework.grad_mode import no_grad
from paddle.framework.io import NAME_TABLE, load_saved, save_data
from paddle.framework.mode import in_dynamic_mode
from paddle.hapi._batches import (
    Fields,
    flat,
    input_specs,
    length,
    listed,
    loader,
    rows,
    single,
    specs_seen,
    tensors,
)
from paddle.hapi._mixed_precision import MixedPrecision, mixed_precision
from paddle.hapi._static import StaticRuns
from paddle.hapi.summary import summary
from paddle.io.loader import DataLoader
from paddle.jit.saving import save as save_for_inference
from paddle.metric.metrics import Metric
from paddle.nn.layer.layers import Layer
from paddle.static.input import InputSpec
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import outside
from umiak.util.errors import op_error

PARAMETERS, OPTIMIZER = ".pdparams", ".pdopt"
_FORMS = (PARAMETERS, OPTIMIZER, ".pdmodel")


@public("paddle paddle.hapi")
class Model:
    """A network with what trains and judges it: loss, optimizer and metrics.

    :meth:`prepare` gives it these, :meth:`fit` trains, :meth:`evaluate` and :meth:`predict` run over data;
    ``train_batch``, ``eval_batch`` and ``predict_batch`` take one batch each. Batches are lists of fields, first the
    inputs and then the labels.

    Under a launcher of several ranks, each trains with its part of the data, and gradients are averaged over ranks
    (:class:`paddle.DataParallel`).

    In static mode the network and the model are made after ``paddle.enable_static``. Network, loss and what metrics
    compute become programs; all methods are as in dynamic mode, except that each batch is a step of the optimizer
    (no ``update=False``), and that there is one rank.

    Args:
        network: the layer; one captured by ``paddle.jit.to_static`` as well.
        inputs: an :class:`paddle.static.InputSpec`, a list of them, or a dict by the parameters of ``forward``. They
            say how many fields of a batch are inputs. None: as many as ``forward`` has positional parameters; in
            static mode they are needed.
        labels: the same for labels; None: all other fields, in static mode none.

    Attributes:
        network: the layer.
        mode: ``"train"``, ``"eval"`` or ``"predict"``: what was called last.
        stop_training: a callback sets it to end ``fit`` after the present epoch.

    Raises:
        TypeError: ``network`` is no layer, or specs are none.
        ValueError: no ``inputs`` in static mode.

    Example:
        >>> import paddle
        >>> net = paddle.nn.Linear(2, 1)
        >>> model = paddle.Model(net)
        >>> model.prepare(paddle.optimizer.SGD(0.1, parameters=net.parameters()), paddle.nn.MSELoss())
        >>> data = paddle.io.TensorDataset([paddle.ones([4, 2]), paddle.zeros([4, 1])])
        >>> model.fit(data, epochs=20, verbose=0)
        >>> round(float(model.evaluate(data, verbose=0)["loss"][0]), 3)
        0.0
    """

    mode: str
    network: Layer
    stop_training: bool

    def __init__(self, network: Layer, inputs: Any = None, labels: Any = None) -> None:
        if not isinstance(network, Layer):
            raise op_error(TypeError, "Model", "a layer as network", repr(network))
        self.mode = "train"
        self.network = network
        self.stop_training = False
        self._inputs = input_specs("Model", inputs, network)
        self._seen: list[InputSpec] | None = None  # inputs of batches, where no others are known
        self._labels = input_specs("Model", labels, network)
        self._fields = Fields(network, self._inputs, self._labels)
        self._optimizer: Any = None
        self._loss: Callable[..., Any] | None = None
        self._metrics: list[Metric] = []
        self._amp = MixedPrecision()
        self._scaler: GradScaler | None = None
        self._prepared = False
        self._parallel: Layer | None = None  # the network over several ranks
        self._samples_left: int | None = None  # of an evaluation over ranks, which fills its last batch up
        self._static: StaticRuns | None = None
        if not in_dynamic_mode():
            if self._inputs is None:
                hint = "Say what it takes: paddle.Model(network, inputs=[paddle.static.InputSpec(shape, dtype, name)])"
                raise op_error(ValueError, "Model", "inputs in static mode", None, hint)
            self._static = StaticRuns(network, self._inputs, self._labels)

    # --- what it is made of ----------------------------------------------------------------------------------------

    def prepare(self, optimizer: Any = None, loss: Any = None, metrics: Any = None, amp_configs: Any = None) -> None:
        """Set what trains and judges the network.

        Args:
            optimizer: an optimizer over the network's parameters; None: it is only evaluated.
            loss: a layer or function of all outputs and all labels that gives a tensor of one element, or several,
                which are added. None: there is no loss, only metrics.
            metrics: a :class:`paddle.metric.Metric` or a list of them.
            amp_configs: an AMP level, ``"O0"``, ``"O1"`` or ``"O2"``, or a dict with ``"level"``, the lists of
                :class:`paddle.amp.auto_cast` and the options of :class:`paddle.amp.GradScaler`. ``"O2"`` casts the
                network to float16 and keeps parameters in float32 in the optimizer. In static mode also
                ``"custom_black_varnames"``, variables whose readers compute in float32, and ``"use_fp16_guard"``:
                ``"O2"`` casts what :func:`paddle.static.amp.fp16_guard` marks alone. None: no AMP.

        Raises:
            TypeError: a loss that cannot be called, or metrics that are none.
            ValueError: unknown options of AMP.
            RuntimeError: static mode on several ranks.
        """
        if loss is not None and not callable(loss):
            raise op_error(TypeError, "Model.prepare", "loss as a layer or function", repr(loss))
        if optimizer is not None and not (hasattr(optimizer, "step") or hasattr(optimizer, "minimize")):
            raise op_error(TypeError, "Model.prepare", "an optimizer", repr(optimizer))
        for metric in listed(metrics):
            if not isinstance(metric, Metric):
                raise op_error(TypeError, "Model.prepare", "instances of paddle.metric.Metric", repr(metric))
        amp = mixed_precision(amp_configs, self._static is not None)
        if self._static is not None and dist.get_world_size() > 1:
            got = f"{dist.get_world_size()}"
            raise op_error(RuntimeError, "Model.prepare", "one rank in static mode", got, "Train in dynamic mode")
        self._optimizer = optimizer
        self._loss = loss
        self._metrics = listed(metrics)
        self._amp = amp
        self._prepared = True
        if self._static is not None:
            self._static.prepare(optimizer, loss, self._metrics, amp)
            return
        self._scaler = None if amp.level == "O0" else GradScaler(**amp.scaler)
        if amp.level == "O2":
            if optimizer is None:
                self.network = decorate(self.network, level="O2")
            else:
                self.network, self._optimizer = decorate(self.network, optimizer, level="O2", master_weight=True)
        if dist.get_world_size() > 1:
            dist.init_parallel_env()
            if any(not p.stop_gradient for p in self.network.parameters()):
                self._parallel = paddle.DataParallel(self.network)

    def parameters(self, *args: Any, **kwargs: Any) -> list[Tensor]:
        """Parameters of the network.

        Args:
            *args: for the network's ``parameters``.
            **kwargs: for the network's ``parameters``.

        Returns:
            A list of tensors.

        Example:
            >>> import paddle
            >>> [p.shape for p in paddle.Model(paddle.nn.Linear(2, 1)).parameters()]
            [paddle.Size([2, 1]), paddle.Size([1])]
        """
        return self.network.parameters(*args, **kwargs)

    def summary(self, input_size: Any = None, dtype: Any = None) -> dict[str, int]:
        """Print a table of the network's layers, see :func:`paddle.summary`.

        Args:
            input_size: a shape, a list of shapes, or input specs; None: ``inputs`` of the model.
            dtype: dtypes of the inputs; None: float32, or those of the specs.

        Returns:
            ``{"total_params": ..., "trainable_params": ...}``.

        Raises:
            ValueError: no sizes, and no ``inputs``.
        """
        if input_size is None and self._inputs is None:
            raise op_error(ValueError, "Model.summary", "input_size, or a Model with inputs", "neither")
        return summary(self.network, self._inputs if input_size is None else input_size, dtype)

    # --- one batch -------------------------------------------------------------------------------------------------

    def train_batch(self, inputs: Any, labels: Any = None, update: bool = True) -> Any:
        """Train with a batch.

        Args:
            inputs: a tensor or array, or a list of them.
            labels: the same; None for none.
            update: let the optimizer step. False adds to the gradients only.

        Returns:
            A list of losses (arrays without dims); with metrics a tuple of it and a list of what they give for this
            batch.

        Raises:
            RuntimeError: no :meth:`prepare` with an optimizer and a loss.
            ValueError: a loss of more than one element, or ``update=False`` in static mode.

        Example:
            >>> import paddle
            >>> net = paddle.nn.Linear(2, 1)
            >>> model = paddle.Model(net)
            >>> model.prepare(paddle.optimizer.SGD(0.1, parameters=net.parameters()), paddle.nn.MSELoss())
            >>> len(model.train_batch([paddle.ones([4, 2])], [paddle.zeros([4, 1])]))
            1
        """
        self._require_training("Model.train_batch")
        self._enter("train", begins=True)
        return self._train_batch(self._given(inputs), self._given(labels), update)

    def _given(self, fields: Any) -> list[Any]:
        """Fields of a batch as the network is called with them; those of programs are fed as they are."""
        return tensors(fields) if self._static is None else listed(fields)

    def _note(self, inputs: list[Any]) -> None:
        """Keep how the inputs of a batch look, which no specs say."""
        if self._inputs is None:
            self._seen = specs_seen(self._seen, inputs)

    def _require_training(self, op_name: str) -> None:
        if self._optimizer is None or self._loss is None:
            missing = "neither" if self._optimizer is None and self._loss is None else "only one"
            hint = "Call model.prepare(optimizer, loss) first"
            raise op_error(RuntimeError, op_name, "a model prepared with an optimizer and a loss", missing, hint)

    def _require_evaluation(self, op_name: str) -> None:
        if not self._prepared or (self._loss is None and not self._metrics):
            hint = "Call model.prepare(loss=..., metrics=...) first"
            raise op_error(RuntimeError, op_name, "a model prepared with a loss or metrics", "neither", hint)

    def _enter(self, mode: str, begins: bool = False) -> None:
        """Put the network into training or evaluation mode; one layer after the other only where a run begins."""
        if self._static is not None:  # its programs were recorded in these modes
            self.mode = mode
            return
        trains = mode == "train"
        if begins or self.mode != mode or self.network.training != trains:
            self.mode = mode
            if trains:
                self.network.train()
            else:
                self.network.eval()

    def _casts(self, mode: str) -> AbstractContextManager[Any]:
        """Mixed precision of a call: the loss, too. A network of level O2 needs it outside of training as well."""
        if self._amp.level == "O0" or (mode != "train" and self._amp.level == "O1"):
            return nullcontext()
        return auto_cast(level=self._amp.level, **self._amp.lists)

    def _losses(self, outputs: list[Any], labels: list[Any]) -> list[Tensor]:
        assert self._loss is not None
        return single(listed(self._loss(*outputs, *labels)))

    def _train_batch(self, inputs: list[Any], labels: list[Any], update: bool) -> Any:
        self._enter("train")
        if self._static is not None:
            if not update:
                hint = "Make larger batches, or train in dynamic mode"
                raise op_error(ValueError, "Model", "a step for each batch in static mode", "update=False", hint)
            return self._static.train(inputs, labels)
        network = self._parallel or self.network
        self._note(inputs)
        with self._casts("train"):
            outputs = listed(network(*inputs))
            losses = self._losses(outputs, labels)
        total = losses[0] if len(losses) == 1 else paddle.add_n(losses)
        if self._scaler is None:
            total.backward()
        else:
            self._scaler.scale(total).backward()
        if update:
            if self._scaler is None:
                self._optimizer.step()
            else:
                self._scaler.step(self._optimizer)
                self._scaler.update()
            self._optimizer.clear_grad()
        return self._judged(outputs, labels, losses)

    def _judged(self, outputs: list[Any], labels: list[Any], losses: list[Tensor]) -> Any:
        """Result of a batch: the losses, and what each metric gives for it."""
        values = [loss.numpy().reshape(()) for loss in losses]
        metrics = []
        with no_grad():
            for metric in self._metrics:
                found = listed(metric.compute(*outputs, *labels))
                metrics.append(metric.update(*(_array(x) for x in found)))
        if values and metrics:
            return values, metrics
        return metrics or values

    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        """Evaluate a batch.

        Args:
            inputs: a tensor or array, or a list of them.
            labels: the same; None for none.

        Returns:
            As :meth:`train_batch`; without a loss, what metrics give alone.

        Raises:
            RuntimeError: no :meth:`prepare` with a loss or metrics.

        Example:
            >>> import paddle
            >>> model = paddle.Model(paddle.nn.Linear(2, 1))
            >>> model.prepare(loss=paddle.nn.MSELoss())
            >>> len(model.eval_batch([paddle.ones([4, 2])], [paddle.zeros([4, 1])]))
            1
        """
        self._require_evaluation("Model.eval_batch")
        self._enter("eval", begins=True)
        return self._eval_batch(self._given(inputs), self._given(labels))

    def _eval_batch(self, inputs: list[Any], labels: list[Any]) -> Any:
        self._enter("eval")
        if self._static is not None:
            return self._static.evaluate(inputs, labels)
        self._note(inputs)
        with no_grad(), self._casts("eval"):
            outputs = listed(self.network(*inputs))
            losses = self._losses(outputs, labels) if self._loss is not None else []
        if self._samples_left is not None:
            outputs, labels = self._of_all_ranks(outputs, labels)
        return self._judged(outputs, labels, losses)

    def predict_batch(self, inputs: Any) -> list[np.ndarray]:
        """Run the network with a batch.

        Args:
            inputs: a tensor or array, or a list of them.

        Returns:
            A list of arrays, one for each output.

        Example:
            >>> import paddle
            >>> paddle.Model(paddle.nn.Linear(2, 1)).predict_batch([paddle.ones([4, 2])])[0].shape
            (4, 1)
        """
        self._enter("predict", begins=True)
        return self._predict_batch(self._given(inputs))

    def _predict_batch(self, inputs: list[Any]) -> list[np.ndarray]:
        self._enter("predict")
        if self._static is not None:
            return self._static.predict(inputs)
        self._note(inputs)
        with no_grad(), self._casts("predict"):
            outputs = flat(self.network(*inputs))
        if self._samples_left is not None:
            outputs, _ = self._of_all_ranks(outputs, [])
        return [_array(x) for x in outputs]

    def _of_all_ranks(self, outputs: list[Any], labels: list[Any]) -> tuple[list[Any], list[Any]]:
        """A batch of all ranks in the data's order, without what the sampler repeated to fill it up."""
        assert self._samples_left is not None
        parts = [_gathered(x) for x in (*outputs, *labels)]
        keep = min(self._samples_left, rows(parts))
        self._samples_left -= keep
        parts = [x[:keep] if isinstance(x, Tensor) and x.ndim else x for x in parts]
        return parts[: len(outputs)], parts[len(outputs) :]

    # --- over data -------------------------------------------------------------------------------------------------

    def fit(
        self,
        train_data: Any = None,
        eval_data: Any = None,
        batch_size: int | list[int] = 1,
        epochs: int = 1,
        eval_freq: int = 1,
        log_freq: int = 10,
        save_dir: str | None = None,
        save_freq: int = 1,
        verbose: int = 2,
        drop_last: bool = False,
        shuffle: bool = True,
        num_workers: int = 0,
        callbacks: Sequence[Callback] | Callback | None = None,
        accumulate_grad_batches: int = 1,
        num_iters: int | None = None,
    ) -> None:
        """Train with data, epoch by epoch.

        An exception, also one of a callback and ``KeyboardInterrupt``, leaves the model as the last step made it:
        it can be saved or trained on.

        Args:
            train_data: a dataset, a :class:`paddle.io.DataLoader`, or an iterable of batches.
            eval_data: data to evaluate with after epochs; None: no evaluation.
            batch_size: samples in a batch of each rank; a list of two: of training and evaluation. For datasets alone.
            epochs: passes over the data.
            eval_freq: epochs between two evaluations, the first after the first epoch.
            log_freq: batches between two updates of the progress bar.
            save_dir: the folder for checkpoints after epochs (``0``, ``1``, …) and at the end (``final``); None: none.
            save_freq: epochs between two checkpoints.
            verbose: 0 prints nothing, 1 a progress bar, 2 lines, 3 lines with times of reading and of batches.
            drop_last: leave out a last batch that is not full. For datasets alone, as are shuffle and num_workers.
            shuffle: draw an order for each epoch, the same in each run.
            num_workers: processes that read samples; 0: this one does.
            callbacks: a callback or several.
            accumulate_grad_batches: batches whose gradients are added for a step. The last step of an epoch has what
                is left.
            num_iters: batches to train with in all, instead of ``epochs``; None: ``epochs`` counts.

        Raises:
            RuntimeError: no :meth:`prepare` with an optimizer and a loss.
            ValueError: no data, batches with too few fields, numbers below 1, or ``accumulate_grad_batches`` in static
                mode.
            TypeError: data or callbacks of another kind.
        """
        op_name = "Model.fit"
        self._require_training(op_name)
        if train_data is None:
            raise op_error(ValueError, op_name, "train_data", None)
        sizes = listed(batch_size)
        if len(sizes) > 2:
            raise op_error(ValueError, op_name, "batch_size as a number or a list of two", batch_size)
        for name, value in (
            ("accumulate_grad_batches", accumulate_grad_batches),
            ("eval_freq", eval_freq),
            ("log_freq", log_freq),
            ("save_freq", save_freq),
            *([] if num_iters is None else [("num_iters", num_iters)]),
        ):
            if value < 1:
                raise op_error(ValueError, op_name, f"{name} of 1 or more", value)
        if self._static is not None and accumulate_grad_batches != 1:
            hint = "Make larger batches, or train in dynamic mode"
            raise op_error(
                ValueError, op_name, "accumulate_grad_batches 1 in static mode", accumulate_grad_batches, hint
            )
        train = loader(op_name, train_data, sizes[0], shuffle, drop_last, num_workers)
        evaluation = None if eval_data is None else loader(op_name, eval_data, sizes[-1], num_workers=num_workers)
        steps = length(train)
        if steps == 0:
            raise op_error(ValueError, op_name, "at least one batch of train_data", "none")
        if num_iters is not None and steps:
            epochs = num_iters // steps + 1  # one more than needed where it is a multiple, as callbacks are told
            steps = min(num_iters, steps)
        calls = config_callbacks(
            callbacks,
            model=self,
            epochs=epochs,
            steps=steps,
            log_freq=log_freq,
            save_freq=save_freq,
            save_dir=save_dir,
            verbose=verbose,
            metrics=self._metrics_name(),
        )
        run = _Run(self, calls, accumulate_grad_batches, num_iters)
        self.stop_training = False
        try:
            calls.on_begin("train")
            for epoch in range(epochs):
                calls.on_epoch_begin(epoch)
                run.train(train, epoch, length(train))
                calls.on_epoch_end(epoch, run.logs)
                if evaluation is not None and epoch % eval_freq == 0:
                    run.evaluate(op_name, evaluation, None)
                if self.stop_training or run.left == 0:
                    break
            calls.on_end("train", run.logs)
        except BaseException:
            self._forget_gradients()
            raise

    def _forget_gradients(self) -> None:
        """After a batch that has not ended: the next one must not add to its gradients."""
        if self._static is not None:
            return
        self._optimizer.clear_grad()
        if self._scaler is not None:
            self._scaler._forget()

    def evaluate(
        self,
        eval_data: Any,
        batch_size: int = 1,
        log_freq: int = 10,
        verbose: int = 2,
        num_workers: int = 0,
        callbacks: Sequence[Callback] | Callback | None = None,
        num_iters: int | None = None,
    ) -> dict[str, Any]:
        """Evaluate with data. Metrics are those of all ranks.

        Args:
            eval_data: a dataset, a :class:`paddle.io.DataLoader`, or an iterable of batches.
            batch_size: samples in a batch of each rank. For datasets alone.
            log_freq: batches between two updates of the progress bar.
            verbose: 0 prints nothing, 1 a progress bar, 2 lines, 3 lines with times of reading and of batches.
            num_workers: processes that read samples; 0: this one does. For datasets alone.
            callbacks: a callback or several.
            num_iters: batches at most; None: all.

        Returns:
            A dict: under ``"loss"`` the losses of the last batch, and the metrics of all, by their names.

        Raises:
            RuntimeError: no :meth:`prepare` with a loss or metrics.
            ValueError: no data, or batches with too few fields.
            TypeError: data or callbacks of another kind.

        Example:
            >>> import paddle
            >>> model = paddle.Model(paddle.nn.Linear(2, 1))
            >>> model.prepare(loss=paddle.nn.MSELoss())
            >>> data = paddle.io.TensorDataset([paddle.zeros([4, 2]), paddle.zeros([4, 1])])
            >>> model.evaluate(data, verbose=0)
            {'loss': [0.0]}
        """
        op_name = "Model.evaluate"
        self._require_evaluation(op_name)
        source = loader(op_name, eval_data, batch_size, num_workers=num_workers)
        calls = config_callbacks(
            callbacks, model=self, log_freq=log_freq, verbose=verbose, metrics=self._metrics_name(), mode="eval"
        )
        run = _Run(self, calls)
        run.evaluate(op_name, source, num_iters)
        return {name: run.logs[name] for name in self._metrics_name()}

    def predict(
        self,
        test_data: Any,
        batch_size: int = 1,
        num_workers: int = 0,
        stack_outputs: bool = False,
        verbose: int = 1,
        callbacks: Sequence[Callback] | Callback | None = None,
    ) -> list[Any]:
        """Run the network with data. Fields of batches that are no inputs are left out.

        Args:
            test_data: a dataset, a :class:`paddle.io.DataLoader`, or an iterable of batches.
            batch_size: samples in a batch of each rank. For datasets alone.
            num_workers: processes that read samples; 0: this one does. For datasets alone.
            stack_outputs: join the batches of an output to one array. A batch of one axis, or of none, is a row of it.
            verbose: 0 prints nothing, 1 a progress bar, 2 lines, 3 lines with times of reading and of batches.
            callbacks: a callback or several.

        Returns:
            A list with an element for each output: a tuple of arrays, one for each batch, or one array.

        Raises:
            ValueError: no data, batches with too few fields, or with ``stack_outputs`` batches of different sizes.
            TypeError: data or callbacks of another kind.

        Example:
            >>> import paddle
            >>> model = paddle.Model(paddle.nn.Linear(2, 1))
            >>> data = paddle.io.TensorDataset([paddle.zeros([4, 2])])
            >>> model.predict(data, batch_size=2, stack_outputs=True, verbose=0)[0].shape
            (4, 1)
        """
        op_name = "Model.predict"
        source = loader(op_name, test_data, batch_size, num_workers=num_workers)
        calls = config_callbacks(callbacks, model=self, verbose=verbose, mode="predict")
        batches = _Run(self, calls).predict(source)
        if stack_outputs:
            return [_joined(op_name, i, parts) for i, parts in enumerate(zip(*batches))]
        return list(zip(*batches))

    def _reset_metrics(self) -> None:
        for metric in self._metrics:
            metric.reset()

    def _metrics_name(self) -> list[str]:
        names = ["loss"] if self._loss is not None else []
        return names + [name for metric in self._metrics for name in listed(metric.name())]

    def _accumulated(self) -> list[Any]:
        return [value for metric in self._metrics for value in listed(metric.accumulate())]

    # --- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str, training: bool = True) -> None:
        """Save the network's parameters as ``path.pdparams`` and the optimizer's state as ``path.pdopt``.

        With ``training=False`` the network is saved for inference, as ``paddle.jit.save`` does. Of several ranks the
        first saves. An optimizer without a state (SGD before its schedule) has no file.

        Args:
            path: folder and name of the files without their ending; the folder is made.
            training: False asks for the form for inference, ``path.json`` and ``path.pdiparams``. Inputs are those of
                the model, or as its batches had them: of any size where these differed, and along the first dim.

        Raises:
            ValueError: a path without a name.
            RuntimeError: ``training=False`` of a model without ``inputs`` that has not run with tensors.
            CaptureError: ``training=False`` of a network that is not one program.

        Example:
            >>> import os, paddle, tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     paddle.Model(paddle.nn.Linear(2, 1)).save(os.path.join(folder, "a"))
            ...     os.listdir(folder)
            ['a.pdparams']
        """
        path = os.fspath(path)
        if not os.path.basename(path):
            raise op_error(ValueError, "Model.save", "a path that ends in a name", repr(path))
        specs = self._seen if self._inputs is None else self._inputs
        if not training and not specs:
            hint = "Say what it takes: paddle.Model(network, inputs=[paddle.static.InputSpec(shape, dtype, name)])"
            required = "inputs of the Model, or batches of tensors before, for training=False"
            unlike = "batches whose inputs differ in number, rank or dtype, or are no tensors"
            got = "none" if self._seen is None else unlike
            raise op_error(RuntimeError, "Model.save", required, got, hint)
        if dist.get_rank() != 0:
            return
        if not training:
            if self._static is not None:
                self._static.save_for_inference(path)
            else:
                save_for_inference(self.network, path, input_spec=specs)
            return
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        if self._static is not None:
            parameters, state = self._static.values(), self._static.optimizer_state()
        else:
            parameters = self.network.state_dict()
            state = self._optimizer.state_dict() if self._optimizer is not None else {}
        with outside():
            save_data(parameters, path + PARAMETERS)
            if state:
                save_data(state, path + OPTIMIZER)

    def load(self, path: str, skip_mismatch: bool = False, reset_optimizer: bool = False) -> None:
        """Load what :meth:`save` has written.

        The optimizer's state belongs to parameters by their place in the network, also where their own names differ.

        Args:
            path: folder and name of the files, with or without an ending.
            skip_mismatch: leave parameters as they are, with a warning, that the file has with another shape or not
                at all.
            reset_optimizer: leave the optimizer as it is.

        Raises:
            FileNotFoundError: there is no ``path.pdparams``.
            ValueError: a parameter is missing or has another shape.

        Example:
            >>> import os, paddle, tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     path = os.path.join(folder, "a")
            ...     paddle.Model(paddle.nn.Linear(2, 1)).save(path)
            ...     paddle.Model(paddle.nn.Linear(2, 1)).load(path)
        """
        path = os.fspath(path)
        root, ending = os.path.splitext(path)
        path = root if ending in _FORMS else path
        if not os.path.isfile(path + PARAMETERS):
            raise op_error(FileNotFoundError, "Model.load", "a saved model", f"no file {path + PARAMETERS}")
        with outside():
            saved = load_saved(path + PARAMETERS, keep_name_table=True)
        names = saved.pop(NAME_TABLE, {})
        here = self.network.state_dict()
        found = {}
        for name, value in here.items():
            reason = _mismatch(name, value, saved)
            if reason is None:
                found[name] = saved[name]
            elif skip_mismatch:
                warnings.warn(f"[Model.load] leaves {name} as it is: {reason}", UserWarning, stacklevel=2)
            else:
                hint = "skip_mismatch=True leaves such parameters as they are"
                raise op_error(ValueError, "Model.load", "the network's parameters in the file", reason, hint)
        if self._static is None:
            self.network.set_state_dict({**here, **found})
        else:
            self._static.set_values(found)
        if self._optimizer is None or reset_optimizer or not os.path.isfile(path + OPTIMIZER):
            return
        renamed = {old: here[name].name for name, old in names.items() if name in here}
        with outside():
            state = _renamed(load_saved(path + OPTIMIZER), renamed)
        if self._static is None:
            self._optimizer.set_state_dict(state)
        else:
            self._static.set_optimizer_state(state)


class _Run:
    """A call of ``fit``, ``evaluate`` or ``predict``: its callbacks, and the logs that they get."""

    def __init__(self, model: Model, calls: CallbackList, accumulate: int = 1, num_iters: int | None = None) -> None:
        self.model = model
        self.calls = calls
        self.accumulate = accumulate
        self.left = num_iters  # batches to train with
        self.logs: dict[str, Any] = {}
        self.ranks = dist.get_world_size()

    def train(self, source: Any, epoch: int, steps: int | None) -> None:
        model = self.model
        model._reset_metrics()
        model._samples_left = None
        names = model._metrics_name()
        model._enter("train", begins=True)
        any_batch = waits = False  # there are gradients that no step has used
        for step, inputs, labels in self._batches("Model.fit", "train", source, self.left):
            any_batch = True
            self.left = None if self.left is None else self.left - 1
            update = (step + 1) % self.accumulate == 0 or step + 1 == steps
            self._note(names, model._train_batch(inputs, labels, update))
            waits = not update
            self._end("train", step, inputs)
        if not any_batch:
            hint = "A generator can be read once: give a DataLoader, or a list"
            got = f"none in epoch {epoch + 1}"
            raise op_error(ValueError, "Model.fit", "at least one batch of train_data", got, hint)
        if waits:
            self._step()

    def _step(self) -> None:
        """Let the optimizer use gradients that are left of the last batches."""
        model = self.model
        if model._scaler is None:
            model._optimizer.step()
        else:
            model._scaler.step(model._optimizer)
            model._scaler.update()
        model._optimizer.clear_grad()

    def evaluate(self, op_name: str, source: Any, num_iters: int | None) -> None:
        model = self.model
        names = model._metrics_name()
        model._reset_metrics()
        steps = length(source)
        if num_iters is not None and steps is not None:
            steps = min(steps, num_iters)
        self.calls.on_begin("eval", {"steps": steps, "metrics": names})
        self._begin_ranks(source)
        model._enter("eval", begins=True)
        any_batch = False
        try:
            for step, inputs, labels in self._batches(op_name, "eval", source, num_iters):
                any_batch = True
                self._note(names, model._eval_batch(inputs, labels))
                self._end("eval", step, inputs)
        finally:
            model._samples_left = None
        if not any_batch:
            raise op_error(ValueError, op_name, "at least one batch of eval_data", "none")
        self.calls.on_end("eval", self.logs)

    def predict(self, source: Any) -> list[list[np.ndarray]]:
        out = []
        self.calls.on_begin("predict", {"steps": length(source)})
        self._begin_ranks(source)
        self.model._enter("predict", begins=True)
        try:
            for step, inputs, _ in self._batches("Model.predict", "predict", source, None):
                out.append(self.model._predict_batch(inputs))
                self._end("predict", step, inputs)
        finally:
            self.model._samples_left = None
        self.calls.on_end("predict", self.logs)
        return out

    def _begin_ranks(self, source: Any) -> None:
        if self.ranks > 1 and isinstance(source, DataLoader) and hasattr(source.dataset, "__len__"):
            self.model._samples_left = len(source.dataset)

    def _batches(
        self, op_name: str, mode: str, source: Any, most: int | None
    ) -> Iterator[tuple[int, list[Any], list[Any]]]:
        """Batches with their numbers, at most so many; callbacks know of each before it runs."""
        wants_labels = mode != "predict" and (self.model._loss is not None or bool(self.model._metrics))
        split = self.model._fields.split
        for step, batch in enumerate(source):
            inputs, labels = split(op_name, batch, wants_labels)
            self.calls.on_batch_begin(mode, step, self.logs)
            yield step, self.model._given(inputs), self.model._given(labels)
            if step + 1 == most:
                return

    def _note(self, names: list[str], result: Any) -> None:
        """Put losses and metrics into the logs."""
        model = self.model
        values = model._accumulated()
        if model._loss is not None:
            losses = result[0] if model._metrics else result
            values.insert(0, [float(loss) for loss in losses])
        self.logs.update(zip(names, values))

    def _end(self, mode: str, step: int, inputs: list[Any]) -> None:
        self.logs["step"] = step
        self.logs["batch_size"] = rows(inputs) * self.ranks
        self.calls.on_batch_end(mode, step, self.logs)


def _array(x: Any) -> Any:
    return x.numpy() if isinstance(x, Tensor) else x


def _joined(op_name: str, output: int, parts: Sequence[Any]) -> np.ndarray:
    """The batches of an output below one another."""
    sizes = {np.shape(part)[1:] if np.ndim(part) > 1 else np.shape(part) for part in parts}
    if len(sizes) > 1:
        raise op_error(
            ValueError, op_name, f"batches of output {output} with equal rows, to stack them", sorted(sizes),
            "A batch of one axis is a row: give outputs an axis of samples and one more, or stack them yourself.",
        )  # fmt: skip
    return np.vstack(parts)


def _gathered(x: Any) -> Any:
    """A tensor's parts of all ranks, joined."""
    if not isinstance(x, Tensor) or not x.ndim:
        return x
    parts: list[Tensor] = []
    dist.all_gather(parts, x.contiguous())
    return paddle.concat(parts)


def _mismatch(name: str, value: Tensor, saved: dict[str, Any]) -> str | None:
    """Reason why a saved parameter cannot be taken; None if it can."""
    if name not in saved:
        return f"{name} is not in the file"
    if list(saved[name].shape) != list(value.shape):
        return f"{name} has shape {list(saved[name].shape)} in the file and {list(value.shape)} in the network"
    return None


def _renamed(state: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """An optimizer's state with other names of parameters, which its keys begin with."""
    if all(old == new for old, new in names.items()):
        return state
    by_length = sorted(names, key=len, reverse=True)

    def new(key: str) -> str:
        old = next((n for n in by_length if key == n or key.startswith(n + "_")), None)
        return key if old is None else names[old] + key[len(old) :]

    out = {new(key): value for key, value in state.items()}
    if isinstance(out.get("master_weights"), dict):
        out["master_weights"] = {new(key): value for key, value in out["master_weights"].items()}
    return out


__getattr__, __dir__ = _lazy.attributes_of(__name__)
