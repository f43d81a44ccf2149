"""Every reader of source files by the name that its format has in a spec."""

from collections.abc import Mapping

from sfumato.tasks.microdata.readers import columnar, delimited, excel
from sfumato.tasks.microdata.readers.reader import Reader
from sfumato.tasks.microdata.readers.statistical import spss, stata

READERS: Mapping[str, Reader] = {
    "csv": delimited,
    "parquet": columnar,
    "excel": excel,
    "stata": stata,
    "spss": spss,
}
