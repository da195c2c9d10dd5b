"""Parts that applications of servers share: answers that are errors, bodies of limited size, routes about health."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from paddle.inference.serve.metrics import TYPE


class Direct(Starlette):
    """An application with a path that is asked so often that routing and layers of handlers would be noticed.

    Args:
        path: of one of the routes.
        answer: what answers a POST to it, and raises nothing but HTTPException.
        **settings: those of Starlette. Where they, or calls of ``add_middleware``, put something between, it is passed.
    """

    def __init__(self, path: str, answer: Callable[[Request], Awaitable[Response]], **settings: Any) -> None:
        super().__init__(**settings)
        self._path, self._answer = path, answer

    def build_middleware_stack(self) -> ASGIApp:
        """The application behind ``__call__``."""
        others = super().build_middleware_stack()
        if self.user_middleware:
            return others

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope["path"] != self._path or scope["method"] != "POST":
                await others(scope, receive, send)
                return
            request = Request(scope, receive)
            try:
                response = await self._answer(request)
            except HTTPException as error:
                response = await refused(request, error)
            await response(scope, receive, send)

        return app


def error_response(status: int, text: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Answer a request with a sentence."""
    return JSONResponse({"error": text}, status, dict(headers or {}))


async def refused(request: Request, error: Exception) -> Response:
    """Handler of Starlette's own errors: unknown paths and methods."""
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, str(error.detail), error.headers)


async def read_body(request: Request, most: int, seconds: float) -> bytes | None:
    """The body; None for one that is too large, of which some more is read: who is still writing sees no answer.

    Raises:
        HTTPException: the client hung up before its end, so that nobody sees the answer, or took too long.
    """
    # asyncio.wait_for is 17 us of a request, this is one: hardly any body is late.
    task, late = asyncio.current_task(), False

    def stop() -> None:
        nonlocal late
        late = True
        task.cancel()  # type: ignore[union-attr]

    timer = asyncio.get_running_loop().call_later(seconds, stop)
    try:
        return await _whole_body(request, most)
    except asyncio.CancelledError:
        # Since Python 3.11 a task counts its cancellations: it goes on, unless another than ours waits.
        if not late or getattr(task, "uncancel", int)():
            raise
        text = f"a whole body is required within {seconds:g} seconds"
        raise HTTPException(408, text, {"Connection": "close"}) from None
    finally:
        timer.cancel()


async def _whole_body(request: Request, most: int) -> bytes | None:
    length = request.headers.get("content-length", "")
    fits = not length.isdecimal() or int(length) <= most
    if not fits and request.headers.get("expect", "").lower() == "100-continue":  # it writes when it is asked to
        return None
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            fits = fits and size <= most
            if fits:
                parts.append(part)
            elif size > 2 * most:
                return None
    except ClientDisconnect as error:
        raise HTTPException(400, "a whole body is required, got a part of it") from error
    return b"".join(parts) if fits else None


def state_routes(is_ready: Callable[[], bool], metrics: Callable[[], str]) -> list[Route]:
    """Routes ``/health/live``, ``/health/ready`` and ``/metrics``."""

    async def live(request: Request) -> Response:
        return JSONResponse({"status": "live"})

    async def ready(request: Request) -> Response:
        return JSONResponse({"status": "ready"}) if is_ready() else error_response(503, "the server is shutting down")

    async def numbers(request: Request) -> Response:
        return PlainTextResponse(metrics(), media_type=TYPE)

    return [Route("/health/live", live), Route("/health/ready", ready), Route("/metrics", numbers)]
