"""A directory behind http on this machine's loopback, which counts what is asked of it."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path


class Served:
    """An address, what was asked, and files that are answered otherwise than they are."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked: list[str] = []
        self.instead: dict[str, bytes | int | str] = {}


class _Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments, served, **named):
        self.served = served
        super().__init__(*arguments, **named)

    def do_GET(self):
        self.served.asked.append(self.path)
        name = self.path.rpartition("/")[2]
        instead = self.served.instead.get(name)
        if instead is None:
            super().do_GET()
        elif isinstance(instead, int):
            self.send_error(instead)
        elif isinstance(instead, str):
            self.send_response(302)
            self.send_header("Location", instead)
            self.end_headers()
        else:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(instead)

    def log_message(self, *_):
        pass


@contextmanager
def serve_directory(directory: Path) -> Iterator[Served]:
    """Serve a directory for as long as a `with` block runs."""
    made = Served("")
    handler = partial(_Handler, served=made, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        made.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
