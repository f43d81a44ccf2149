"""Make the lines of a new format, once: `python -m tests.corpus.freeze format-N`.

The folder holds the specs and `queries.json` before; what is made there is never made again.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from sfumato.tasks.declaration.opened import open_release
from sfumato.tasks.microdata.randomness import seeded_keys
from sfumato.tasks.query.ask import answer, document
from tests.corpus.lines import CORPUS, VERSIONS, FrozenLine


def freeze(folder: Path) -> None:
    """Publish two versions of every line of a format, and keep what queries answer."""
    os.environ["SFUMATO_WORK"] = str(folder / "private")
    for spec in sorted(folder.glob("*.yaml")):
        line = FrozenLine(folder, spec.stem)
        answers = {}
        for number, source in VERSIONS.items():
            with tempfile.TemporaryDirectory() as scratch:
                published = line.run(source, Path(scratch) / "run", seeded_keys(int(number)))
            opened = open_release(published.directory)
            answers[number] = [document(answer(opened, sql)) for sql in line.queries]
        path = folder / "answers" / f"{line.form}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    freeze(CORPUS / sys.argv[1])
