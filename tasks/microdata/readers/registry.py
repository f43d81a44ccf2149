"""Every reader of source files by the name that its format has in a spec."""

from collections.abc import Mapping

from sfumato.tasks.microdata.readers import columnar, delimited
from sfumato.tasks.microdata.readers.reader import Reader

READERS: Mapping[str, Reader] = {"csv": delimited, "parquet": columnar}
