"""The ASGI application: a model's predictions, its state, and numbers about both."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from paddle.inference.predictor import Predictor
from paddle.inference.preparing import declared
from paddle.inference.serve.batching import Arrays, Batcher, Closed, Compute, Full, Queue
from paddle.inference.serve.bodies import FORMS, Declared, Malformed, checked, chosen
from paddle.inference.serve.http import Direct, error_response, read_body, refused, state_routes
from paddle.inference.serve.metrics import Metrics
from paddle.static.formats.graph import is_offsets, owner_of_offsets
from umiak.core.array import from_numpy, host_values
from umiak.ir.expr import Sym
from umiak.ir.program import reads_number
from umiak.runtime.program_tracer import Run

LOG = logging.getLogger("paddle.inference.serve")
PREDICT = "/v1/predict"


@dataclass(frozen=True)
class Limits:
    """Limits of one server. ``rows``: samples in a run of the model; 1: requests run one by one."""

    rows: int = 1
    delay: float = 0.002
    waiting: int = 256
    body: int = 64 << 20
    seconds: float = 60.0
    predictors: int = 1
    grace: float = 30.0  # seconds for what is being computed when the server is told to stop


class Model:
    """A predictor and its clones, behind a queue."""

    def __init__(self, predictor: Predictor, limits: Limits) -> None:
        self.limits = limits
        self.ready, self.ended = True, True
        prepared = predictor._prepared
        self.inputs = {
            name: Declared(declared(meta), meta.dtype)  # type: ignore[arg-type]
            for name, meta in prepared.metas.items()
        }
        self.outputs = list(prepared.outputs)  # with offsets of those that are packed sequences
        self.batched = limits.rows > 1 and takes_batches(predictor)
        if limits.rows > 1 and not self.batched:
            LOG.warning("the first axis of inputs and outputs is not that of samples: requests run one by one")
        queue = Queue(limits.rows, limits.delay, limits.waiting)
        self.metrics = Metrics(lambda: len(queue))
        clones = [predictor, *(predictor.clone() for _ in range(limits.predictors - 1))]
        self._batcher = Batcher(queue, [_compute(p) for p in clones], self.metrics.ran)

    async def predict(self, arrays: Arrays) -> Arrays:
        """Wait for the outputs of one request."""
        future = self._batcher.queue.put(arrays, self.batched)
        loop = asyncio.get_running_loop()
        results = loop.create_future()
        future.add_done_callback(lambda done: loop.call_soon_threadsafe(_settle, results, done))
        late = loop.call_later(self.limits.seconds, _fail, results, asyncio.TimeoutError())
        try:
            return await results
        finally:
            late.cancel()
            future.cancel()  # where it still waits, nobody wants it any more

    def close(self) -> None:
        """Answer what waits, and take no more. ``ended``: whether all runs have ended within the time for it."""
        self.ready = False
        self.ended = self._batcher.close(self.limits.grace)


def _settle(results: asyncio.Future, done: Future) -> None:
    if results.done():  # it took too long
        return
    if (error := done.exception()) is None:
        results.set_result(done.result())
    else:
        results.set_exception(error)


def _fail(results: asyncio.Future, error: Exception) -> None:
    if not results.done():
        results.set_exception(error)


def takes_batches(predictor: Predictor) -> bool:
    """Return whether the first axis of all inputs and outputs may have any size, and is one and the same."""
    if predictor._prepared.tail is not None or not isinstance(predictor._run, Run):
        return False  # data decide what is called, or an engine does, of which nothing is known
    if any(map(reads_number, predictor._run.program.walk())):
        return False  # data decide sizes
    if any(map(is_offsets, predictor._prepared.metas)):
        return False  # offsets count rows of one request
    firsts = [meta.shape[0] if meta.shape else None for meta in predictor._prepared.metas.values()]
    sizes = {s for s in firsts if type(s) is Sym}
    results: Any = predictor._run.program.outputs
    outputs = [y.meta.shape[0] if y.meta.shape else None for y in results]
    return len(sizes) > 0 and None not in firsts and all(type(s) is Sym for s in firsts) and set(outputs) <= sizes


def _compute(predictor: Predictor) -> Compute:
    place, prepared = predictor._prepared.config._place, predictor._prepared
    packed = any(map(is_offsets, prepared.outputs))

    def compute(arrays: Arrays) -> Arrays:
        results = predictor.run([from_numpy(np.asarray(x), place, copy=None) for x in arrays])
        if packed:
            values = predictor._slots.values
            results = [values[False, name] for name in prepared.outputs]
        return [host_values(y) for y in results or ()]

    def over_sequences(arrays: Arrays) -> Arrays:
        """Offsets of a packed input, ``x@LOD@0``, are another input of a request."""
        given = dict(zip(prepared.metas, arrays, strict=True))
        names = predictor.get_input_names()
        for name in names:
            levels = [x.tolist() for key, x in given.items() if is_offsets(key) and owner_of_offsets(key) == name]
            predictor.get_input_handle(name).set_lod(levels)
        return compute([given[name] for name in names])

    return over_sequences if any(map(is_offsets, prepared.metas)) else compute


def application(predictor: Predictor, limits: Limits = Limits()) -> Starlette:
    """Make an ASGI application of a predictor, for any server of such.

    Args:
        predictor: the model.
        limits: what it allows.
    """
    model = Model(predictor, limits)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await run_in_threadpool(model.close)

    async def described(request: Request) -> Response:
        inputs = [{"name": n, "shape": d.shape, "dtype": d.dtype.name} for n, d in model.inputs.items()]
        outputs = [{"name": n} for n in model.outputs]
        return JSONResponse({"inputs": inputs, "outputs": outputs, "batched": model.batched, "types": list(FORMS)})

    async def predicted(request: Request) -> Response:
        began = time.monotonic()
        try:
            response = await _answer(request, model)
        except HTTPException as error:  # of a body that did not come
            response = await refused(request, error)
        model.metrics.requests.add(str(response.status_code))
        model.metrics.request_seconds.add(time.monotonic() - began)
        return response

    app = Direct(
        PREDICT, predicted,
        routes=[
            *state_routes(lambda: model.ready, model.metrics.text),
            Route("/v1/model", described),
            Route(PREDICT, predicted, methods=["POST"]),
        ],
        exception_handlers={HTTPException: refused},
        lifespan=lifespan,
    )  # fmt: skip
    app.state.model = model
    return app


async def _answer(request: Request, model: Model) -> Response:
    own = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if own not in FORMS:
        return error_response(415, f"a body of one of the types {list(FORMS)} is required, got {own!r}")
    kind = chosen(request.headers.get("accept", ""), own)
    if kind is None:
        return error_response(406, f"answers have one of the types {list(FORMS)}, and none of these is accepted")
    body = await read_body(request, model.limits.body, model.limits.seconds)
    if body is None:
        return error_response(413, f"a body of {model.limits.body} bytes at most is required", {"Connection": "close"})
    wanted = request.query_params.getlist("output") or model.outputs
    if unknown := [name for name in wanted if name not in model.outputs]:
        return error_response(400, f"outputs of {model.outputs} are required, got {unknown}")

    def read() -> Arrays:
        arrays = FORMS[own].read(body, model.inputs, request.headers, model.limits.body)
        return checked(arrays, model.inputs)

    try:
        arrays = await _beside(len(body) > FORMS[own].long, read)
        results = dict(zip(model.outputs, await model.predict(arrays), strict=True))
        chosen_results = {name: results[name] for name in wanted}
        size = sum(x.nbytes for x in chosen_results.values())
        data, headers = await _beside(size > FORMS[kind].long, lambda: FORMS[kind].write(chosen_results))
    except Malformed as error:
        return error_response(400, str(error))
    except Full:
        return error_response(503, f"{model.limits.waiting} requests wait already", {"Retry-After": "1"})
    except Closed:
        return error_response(503, "the server is shutting down", {"Retry-After": "1"})
    except asyncio.TimeoutError:
        return error_response(504, f"the model did not answer within {model.limits.seconds:g} seconds")
    except ValueError as error:  # sizes or values that the model refuses
        return error_response(400, str(error))
    except Exception as error:  # whatever else a model raises: the server goes on
        LOG.exception("a run has failed")
        return error_response(500, f"the model failed: {type(error).__name__}: {error}")
    return Response(data, media_type=kind, headers=headers)


async def _beside(long: bool, function: Any) -> Any:
    """The result of a function, which runs in a thread where others would have to wait for it."""
    return await run_in_threadpool(function) if long else function()
