"""All readers of source files by the name of their format in a spec."""

from collections.abc import Mapping

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.microdata.readers.reader import Reader

READERS: Mapping[str, Reader] = Entries(
    "sfumato.tasks.microdata.readers",
    {
        "csv": "delimited",
        "parquet": "columnar",
        "excel": "excel",
        "stata": "statistical:stata",
        "spss": "statistical:spss",
    },
)
