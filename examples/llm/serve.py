"""Serve a language model over HTTP: ``python serve.py MODEL --port 8080``, until it is told to stop.

``POST /v1/completions`` and ``/v1/chat/completions`` take and give what clients of such services know; with
``"stream": true`` tokens come as they are written, as server-sent events.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any

from asking import Ask, Malformed
from config import BadModel
from engine import Refused
from formats import CHAT, COMPLETION, Format
from loading import Loaded, add_options, load
from options import integer
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request as Call
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from text import Stream

from paddle.inference.serve.http import error_response, read_body, refused, state_routes
from paddle.inference.serve.metrics import Counter, Gauge, exposition
from paddle.inference.serve.process import DONE, NO_MODEL, NO_PORT, listen, run_until_told

LOG = logging.getLogger("llm")
MOST_BYTES = 4 << 20  # of a request
BODY_SECONDS = 60.0  # until it is whole


class Server:
    """A loaded model, a thread that steps its engine, and numbers about both."""

    def __init__(self, loaded: Loaded, name: str, waiting: int) -> None:
        self.loaded, self.name, self.most_waiting = loaded, name, waiting
        self.ready = True
        self.answers = Counter("status")
        self.numbers = count(1)
        # So many bodies of a path are read at a time: templates that take long leave threads for the other path.
        self.parsing = {form.id: asyncio.Semaphore(4) for form in (COMPLETION, CHAT)}
        self._thread = threading.Thread(target=loaded.engine.serve, name="engine", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take no more; end when all is written."""
        self.ready = False
        self.loaded.engine.close()
        self._thread.join()
        self.loaded.template.close()

    def metrics(self) -> str:
        engine, sums = self.loaded.engine, self.loaded.engine.statistics
        gauges = {
            "llm_tokens": ("Tokens written.", lambda: sums.tokens),
            "llm_prompt_tokens": ("Tokens of prompts computed.", lambda: sums.prompt_tokens),
            "llm_model_seconds": ("Time in the model.", lambda: sums.seconds),
            "llm_preemptions": ("Requests that gave their blocks back and went on later.", lambda: sums.preemptions),
            "llm_reused_tokens": ("Tokens of prompts that were in the cache already.", lambda: sums.reused_tokens),
            "llm_running_requests": ("Requests that have blocks.", lambda: len(engine.running)),
            "llm_waiting_requests": ("Requests that wait for blocks.", lambda: len(engine.waiting)),
            "llm_free_blocks": ("Blocks of the cache that are free.", lambda: engine.pool.free),
            "llm_blocks": ("Blocks of the cache.", lambda: engine.pool.count),
            "llm_weight_bytes": ("Memory of weights.", lambda: self.loaded.weight_bytes),
            "llm_cache_bytes": ("Memory of the cache.", lambda: self.loaded.cache_bytes),
        }
        rows: dict[str, Any] = {"llm_answers_total": ("Answers by status.", self.answers)}
        return exposition(rows | {name: (text, Gauge(ask)) for name, (text, ask) in gauges.items()})

    async def pieces(self, ask: Ask) -> AsyncIterator[tuple[str, str | None]]:
        """Texts as they are written, and the reason of the end. Who stops to listen cancels the request."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[tuple[list[int], Any]]()
        request, stream = ask.request, Stream(self.loaded.tokenizer, ask.stops)
        request.told = lambda tokens, reason: loop.call_soon_threadsafe(queue.put_nowait, (tokens, reason))
        began = time.monotonic()
        self.loaded.engine.submit(request)
        try:
            while True:
                tokens, reason = await queue.get()
                if isinstance(reason, Exception):
                    raise RuntimeError(f"the model failed: {type(reason).__name__}: {reason}") from reason
                text = stream.add(tokens) if reason is None else stream.finish()
                if stream.stopped:
                    reason = "stop"
                if text or reason:
                    yield text, reason
                if reason:
                    return
        finally:
            request.cancel()
            seconds = time.monotonic() - began
            rate = len(request.output) / seconds
            LOG.info("%d tokens, %.1f per second, %s", len(request.output), rate, request.reason or "left")


async def completed(call: Call, server: Server, form: Format) -> Response:
    if call.headers.get("content-type", "application/json").partition(";")[0].strip().lower() != "application/json":
        return error_response(415, f"a body of application/json is required, got {call.headers['content-type']!r}")
    body = await read_body(call, MOST_BYTES, BODY_SECONDS)
    if body is None:
        return error_response(413, f"a body of {MOST_BYTES} bytes at most is required", {"Connection": "close"})
    try:
        async with server.parsing[form.id]:
            ask = await run_in_threadpool(form.parse, body, server.loaded)
        server.loaded.engine.check(ask.request)
    except (Malformed, Refused) as error:
        return error_response(400, str(error))
    except RuntimeError as error:
        return error_response(500, str(error))
    if not server.ready:
        return error_response(503, "the server is shutting down", {"Retry-After": "1"})
    if len(server.loaded.engine.waiting) >= server.most_waiting:
        return error_response(503, f"{server.most_waiting} requests wait already", {"Retry-After": "1"})
    head = {"id": f"{form.id}-{next(server.numbers)}", "created": int(time.time()), "model": server.name}

    def answer(text: str, reason: str | None, event: bool = False) -> dict[str, Any]:
        out = form.answer(head, (form.piece if event else form.choice)(text), reason, event)
        if reason:
            used = len(ask.request.prompt), len(ask.request.output)
            out["usage"] = {"prompt_tokens": used[0], "completion_tokens": used[1], "total_tokens": sum(used)}
        return out

    async def events() -> AsyncIterator[bytes]:
        try:
            if form.first:
                yield b"data: " + json.dumps(form.answer(head, form.first, None, True)).encode() + b"\n\n"
            async with contextlib.aclosing(server.pieces(ask)) as pieces:
                async for text, reason in pieces:
                    yield b"data: " + json.dumps(answer(text, reason, True)).encode() + b"\n\n"
        except RuntimeError as error:
            yield b"data: " + json.dumps({"error": str(error)}).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"

    if ask.stream:
        return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})

    async def whole() -> dict[str, Any]:
        async with contextlib.aclosing(server.pieces(ask)) as pieces:
            written = [piece async for piece in pieces]
        return answer("".join(text for text, _ in written), written[-1][1])

    async def left() -> None:
        while (await call.receive())["type"] != "http.disconnect":
            pass

    writing, leaving = asyncio.ensure_future(whole()), asyncio.ensure_future(left())
    await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
    for task in (writing, leaving):
        task.cancel()
    try:
        return JSONResponse(await writing)
    except asyncio.CancelledError:  # nobody is there to read it
        return error_response(499, "the client has left")
    except RuntimeError as error:
        return error_response(500, str(error))


def application(server: Server) -> Starlette:
    """The ASGI application."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await run_in_threadpool(server.close)

    def completions(form: Format) -> Callable[[Call], Awaitable[Response]]:
        async def endpoint(call: Call) -> Response:
            response = await completed(call, server, form)
            server.answers.add(str(response.status_code))
            return response

        return endpoint

    async def models(call: Call) -> Response:
        config = server.loaded.config
        sizes = {"context": config.max_position_embeddings, "vocabulary": config.vocab_size}
        return JSONResponse({"object": "list", "data": [{"id": server.name, "object": "model", **sizes}]})

    return Starlette(
        routes=[
            *state_routes(lambda: server.ready, server.metrics),
            Route("/v1/models", models),
            Route("/v1/completions", completions(COMPLETION), methods=["POST"]),
            Route("/v1/chat/completions", completions(CHAT), methods=["POST"]),
        ],
        exception_handlers={HTTPException: refused},
        lifespan=lifespan,
    )


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add_options(p)
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=8080, help="0 for any that is free")
    p.add_argument("--max-waiting", type=integer(0), default=256, help="requests that may wait")
    p.add_argument("--grace", type=integer(0), default=30, help="seconds for requests in hand when told to stop")
    args = p.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    try:
        loaded = load(args)
    except BadModel as error:
        print(f"the model cannot be loaded: {error}", file=sys.stderr)
        return NO_MODEL
    try:
        listening = listen(args.host, args.port)
    except (OSError, OverflowError) as error:
        print(f"the address {args.host}:{args.port} cannot be had: {error}", file=sys.stderr)
        return NO_PORT
    LOG.info("%s", loaded.memory())
    server = Server(loaded, args.model.resolve().name, args.max_waiting)
    run_until_told(application(server), listening, args.host, args.grace)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
