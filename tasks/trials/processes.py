"""Processes that try candidates side by side, and none of which outlives who started it."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from threading import Thread


def worker_processes(number: int) -> ProcessPoolExecutor:
    """A pool of new processes, which inherit nothing, and end when this one is gone."""
    spawning = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(number, mp_context=spawning, initializer=end_with_parent)


def end_with_parent() -> None:
    """End this process when the one that started it is gone: it would wait for ever, with rows."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()
