"""The application behind the door: addresses, forms, progress, and errors as pages."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route, Router

from sfumato.expectations.machine.fault import failure_of
from sfumato.expectations.shared.errors import InputError, SfumatoError, SpecError
from sfumato.flows.workbench import reading, start
from sfumato.flows.workbench.desk import ChangedOutsideError
from sfumato.flows.workbench.pages import WorkStep, places_of, render, render_step, static_file
from sfumato.flows.workbench.results import file_of_job
from sfumato.flows.workbench.steps import STEPS
from sfumato.flows.workbench.visit import Bench, Sent, Visit

_MOST_BYTES = 1 << 24  # of a form
_MOST_FIELDS = 50_000
_LOOK_SECONDS = 0.3
_FORM = "application/x-www-form-urlencoded"
_SEE_OTHER, _NOT_FOUND, _CONFLICT, _REFUSED = 303, 404, 409, 422
_PRIVATE_PAGES = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'unsafe-inline'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""The policy of pages that reports and releases have; each page's own policy is narrower."""
_BY_NAME = {step.name: step for step in STEPS}


def application(bench: Bench) -> Starlette:
    """Return the application, all of it below the secret path."""
    pages = Pages(bench)
    routes = [
        Route("/", pages.home),
        Route("/table", pages.table),
        Route("/table", pages.read, methods=["POST"]),
        Route("/draft", pages.draft, methods=["POST"]),
        Route("/dropped/{name}", pages.drop, methods=["PUT"]),
        Route("/place", pages.place_dropped, methods=["POST"]),
        Route("/static/{name}", pages.static),
        Route("/jobs/{job}", pages.job),
        Route("/jobs/{job}/events", pages.events),
        Route("/jobs/{job}/stop", pages.stop, methods=["POST"]),
        Route("/private/{job}/{path:path}", pages.private),
        Route("/undo/{step}/{spec:path}", pages.undo, methods=["POST"]),
        Route("/{step}/{spec:path}", pages.step),
        Route("/{step}/{spec:path}", pages.act, methods=["POST"]),
    ]
    missing = {_NOT_FOUND: pages.no_page}
    below = Router(routes, redirect_slashes=False)
    return Starlette(routes=[Mount(bench.place, below)], exception_handlers=missing)


class Pages:
    """The pages of one run of the workbench; each method answers an address."""

    def __init__(self, bench: Bench) -> None:
        """Take what all pages share."""
        self._bench = bench

    async def home(self, _request: Request) -> Response:
        """Show the tables and specs of the folder."""
        return await self._page(lambda: render("home", self._bench, **start.home(self._bench)))

    async def table(self, request: Request) -> Response:
        """Show how a table is read, and ask what its draft needs."""
        name = request.query_params.get("file", "")
        return await self._page(
            lambda: render("reading", self._bench, **reading.table_view(self._bench, name))
        )

    async def read(self, request: Request) -> Response:
        """Read a table in another way."""
        return await self._change(request, lambda sent: reading.read_again(self._bench, sent))

    async def draft(self, request: Request) -> Response:
        """Start the draft of a spec."""
        return await self._change(request, lambda sent: start.draft(self._bench, sent))

    async def drop(self, request: Request) -> Response:
        """Take a dropped file into the work directory, piece by piece."""
        name = request.path_params["name"]
        return await self._answer(lambda: start.receive(self._bench, name, request.stream()))

    async def place_dropped(self, request: Request) -> Response:
        """Put a dropped file where the steward says."""
        return await self._change(request, lambda sent: start.place_dropped(self._bench, sent))

    async def static(self, request: Request) -> Response:
        """Return a file that pages need."""
        content = static_file(request.path_params["name"])
        if content is None:
            return await self.no_page(request, None)
        return Response(content[0], media_type=content[1])

    async def job(self, request: Request) -> Response:
        """Show the progress of a command, or what became of it."""
        job = self._bench.jobs.job(request.path_params["job"])
        if job is None:
            return await self.no_page(request, None)
        if job.state == "done" and "stay" not in request.query_params:
            target = start.target_of(self._bench, job)
            return RedirectResponse(target, _SEE_OTHER)
        reason = reading.in_fields(job.message) if job.kind == "init" else job.message
        steps = places_of(self._bench, STEPS, job.spec) if job.kind != "init" else ()
        view = {"job": job, "reason": reason, "steps": steps}
        return await self._page(lambda: render("job", self._bench, **view))

    async def events(self, request: Request) -> Response:
        """Send what a command writes, as server-sent events, until it ends."""
        job = self._bench.jobs.job(request.path_params["job"])
        if job is None:
            return await self.no_page(request, None)
        events = _progress(job, request)
        return StreamingResponse(events, media_type="text/event-stream")

    async def stop(self, request: Request) -> Response:
        """Stop a command."""
        job = self._bench.jobs.job(request.path_params["job"])
        if job is None:
            return await self.no_page(request, None)
        self._bench.jobs.stop(job)
        return RedirectResponse(f"{self._bench.place}/jobs/{job.id}", _SEE_OTHER)

    async def private(self, request: Request) -> Response:
        """Return a file of a private report, or of the page as it would be published."""
        job = self._bench.jobs.job(request.path_params["job"])
        path: Path | None = None
        if job is not None:
            path = await run_in_threadpool(file_of_job, job, request.path_params["path"])
        if path is None:
            return await self.no_page(request, None)
        return FileResponse(path, headers={"content-security-policy": _PRIVATE_PAGES})

    async def undo(self, request: Request) -> Response:
        """Undo the latest change of a spec."""
        step, name = request.path_params["step"], request.path_params["spec"]

        def put_back(sent: Sent) -> str:
            self._bench.desk.undo(name, sent.get("digest"))
            return self._bench.address(step, name)

        return await self._change(request, put_back)

    async def step(self, request: Request) -> Response:
        """Show a step of a spec, or only the part of its page that was asked for."""
        step = _BY_NAME.get(request.path_params["step"])
        if step is None:
            return await self.no_page(request, None)
        sent = Sent(tuple(request.query_params.multi_items()))
        return await self._page(lambda: self._show(step, request.path_params["spec"], sent))

    async def act(self, request: Request) -> Response:
        """Do what a form of a step asks for."""
        step, name = _BY_NAME.get(request.path_params["step"]), request.path_params["spec"]
        if step is None:
            return await self.no_page(request, None)

        def run(sent: Sent) -> str:
            action = step.actions.get(sent.get("action"))
            if action is None:
                raise SpecError("there is no such action. Reload the page, and try again")
            visit = Visit(self._bench, step.name, self._bench.desk.open(name), sent)
            return action(visit) or visit.here

        return await self._change(request, run, lambda text: self._show(step, name, Sent(), text))

    async def no_page(self, _request: Request, _error: Any) -> Response:
        """Show that there is no such page."""
        text = "There is no such page. Go back, or begin with the tables and specs."
        return HTMLResponse(render("problem", self._bench, problem=text), _NOT_FOUND)

    def _show(self, step: WorkStep, name: str, sent: Sent, problem: str = "") -> str:
        visit = Visit(self._bench, step.name, self._bench.desk.open(name), sent)
        try:
            show = step.show if step.of_two is None or not visit.spec.table_names else step.of_two
            view = show(visit)
        except SfumatoError as error:
            return render_step(step, STEPS, visit, problem=problem or str(error), broken=True)
        return render_step(step, STEPS, visit, problem=problem, **{"broken": False, **view})

    async def _page(self, make: Callable[[], str], status: int = 200) -> Response:
        """Return a page that is made in a thread, or the page of the error that it met."""
        try:
            return HTMLResponse(await run_in_threadpool(make), status)
        except Exception as error:  # noqa: BLE001 - messages of others may quote the data
            text = str(error if isinstance(error, SfumatoError) else failure_of(error))
            return HTMLResponse(render("problem", self._bench, problem=text), _REFUSED)

    async def _change(
        self,
        request: Request,
        change: Callable[[Sent], str],
        show: Callable[[str], str] | None = None,
    ) -> Response:
        """Go to the address that a change returns, or show why it was not made.

        Args:
            request: a form.
            change: makes the change that the form asks for.
            show: returns the page that shows why not; a page without a step if there is none.
        """

        async def run() -> str:
            return await run_in_threadpool(change, await _read_form(request))

        return await self._answer(run, show)

    async def _answer(
        self, change: Callable[[], Awaitable[str]], show: Callable[[str], str] | None = None
    ) -> Response:
        try:
            return RedirectResponse(await change(), _SEE_OTHER)
        except Exception as error:  # noqa: BLE001 - messages of others may quote the data
            text = str(error if isinstance(error, SfumatoError) else failure_of(error))
            status = _CONFLICT if isinstance(error, ChangedOutsideError) else _REFUSED
            if show is None:
                return HTMLResponse(render("problem", self._bench, problem=text), status)
            return await self._page(partial(show, text), status)


async def _read_form(request: Request) -> Sent:
    """Return the fields of a form; nothing of it is written to a disk.

    Raises:
        SpecError: where it is no form.
        InputError: where it is too long.
    """
    if request.headers.get("content-type", "").partition(";")[0] != _FORM:
        raise SpecError("the request is not a form. Use the forms of the workbench")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BYTES:
            raise InputError("the form is too long. Put long texts into a file")
    text = body.decode("utf-8", "replace")
    if text.count("&") >= _MOST_FIELDS:
        raise InputError("the form has too many fields. Change the spec as text, or in an editor")
    pairs = parse_qsl(text, keep_blank_values=True)
    return Sent(tuple((name, value.replace("\r\n", "\n")) for name, value in pairs))


async def _progress(job: Any, request: Request) -> AsyncIterator[str]:
    """Yield an event for each line that a command writes, and one when it has ended."""
    number = 0
    while True:
        is_over = not job.is_running
        for line in job.lines[number:]:
            number += 1
            yield f"event: line\ndata: {json.dumps(line)}\n\n"
        if is_over:
            yield f"event: end\ndata: {quote(job.state)}\n\n"
            return
        if await request.is_disconnected():
            return
        await asyncio.sleep(_LOOK_SECONDS)
