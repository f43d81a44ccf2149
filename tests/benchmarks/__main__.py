"""`make bench`: speed as ratios of one run, and time and peak memory of each stage."""

from tests.benchmarks import (
    ambiguity,
    disjoint_cover,
    forest,
    ke,
    lattice,
    measure,
    mondrian,
    presence,
    recoded,
    redistribution,
    rewriting,
    stages,
    targets,
)

if __name__ == "__main__":
    measure.main()
    ke.main()
    lattice.main()
    mondrian.main()
    forest.main()
    recoded.main()
    rewriting.main()
    ambiguity.main()
    disjoint_cover.main()
    presence.main()
    targets.main()
    redistribution.main()
    stages.main()
