"""Make the lines of a new format, once: `python -m tests.corpus.freeze format-N`.

The folder stands in the unpacked corpus (`build/corpus/…`), and holds the specs and `queries.json`
before. What is made there is packed beside this module, and never made again.
"""

import json
import os
import sys
import tempfile
from dataclasses import replace
from datetime import date
from pathlib import Path

from sfumato.flows.cli.main import run
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.query.ask import answer
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.terms.opened import open_release
from tests.corpus.archives import pack
from tests.corpus.lines import CORPUS, PASSPHRASE, VERSIONS, FrozenLine

DAYS = {"format-3": {"0001": date(2026, 1, 31), "0002": date(2026, 2, 28)}}
"""Of which day versions tell, where they say so."""


def freeze(folder: Path) -> None:
    """Publish two versions of every line of a format, and keep what queries answer."""
    os.environ["SFUMATO_WORK"] = str(private_directory(folder / "private"))
    os.environ["SFUMATO_SIGNING_PASSPHRASE"] = PASSPHRASE
    run(["keys", "generate", "corpus"])
    for spec in sorted(folder.glob("*.yaml")):
        line = FrozenLine(folder, spec.stem)
        answers = {}
        for number, source in VERSIONS.items():
            with tempfile.TemporaryDirectory() as scratch:
                place, draw = Path(scratch) / "run", seeded_keys(int(number))
                published = line.run(source, place, draw, DAYS.get(folder.name, {}).get(number))
            opened = replace(open_release(published.directory), verified=True)
            documents = [document(answer(opened, sql)) for sql in line.queries]
            answers[number] = [
                {k: v for k, v in document.items() if k != "verified"} for document in documents
            ]
        path = folder / "answers" / f"{line.form}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
    for place in folder.glob("private/*/published-in"):
        place.unlink()  # it names a folder of the machine where the lines were made


if __name__ == "__main__":
    freeze(CORPUS / sys.argv[1])
    print(pack(CORPUS / sys.argv[1]))
