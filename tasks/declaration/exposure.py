"""What versions of the same people tell together, in counts of people, where that is accepted."""

from typing import Annotated

from pydantic import Field, model_validator

from sfumato.tasks.schema.part import Part

Count = Annotated[int, Field(ge=0)]


class FacedPeople(Part):
    """How many of some people face one value alone, and how many fewer than were asked for."""

    people: Count
    one: Count
    few: Count

    @model_validator(mode="after")
    def _are_parts_of_each_other(self) -> "FacedPeople":
        if not self.one <= self.few <= self.people:
            raise ValueError("its counts of people contradict each other")
        return self


class ColumnExposure(Part):
    """What is told of one sensitive column.

    Attributes:
        column: its name.
        asked: how many different values everybody should face.
        intersection: people by the values that all their groups have in common.
        newcomers: who came between two versions, by the values that came with them.
        leavers: who left between two versions, by the values that left with them.
    """

    column: str
    asked: Annotated[int, Field(ge=2)]
    intersection: FacedPeople
    newcomers: FacedPeople
    leavers: FacedPeople


class JointExposure(Part):
    """What a version tells together with others that its publisher knows.

    Attributes:
        versions: how many there are, this one included.
        lines: of how many lines, this one included.
        columns: by sensitive column, those that some other version has, too.
    """

    versions: Annotated[int, Field(ge=1)]
    lines: Annotated[int, Field(ge=1)]
    columns: tuple[ColumnExposure, ...]
