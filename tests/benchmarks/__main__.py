"""`make bench`: speed as ratios of one run, and time and peak memory of each stage."""

from tests.benchmarks import (
    ambiguity,
    asking,
    attackers,
    composition,
    disjoint_cover,
    forest,
    ke,
    lattice,
    measure,
    million,
    mondrian,
    presence,
    recoded,
    redistribution,
    rereleases,
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
    asking.main()
    ambiguity.main()
    disjoint_cover.main()
    presence.main()
    targets.main()
    redistribution.main()
    composition.main()
    rereleases.main(["--versions", "3", "--people", "4000", "--queries", "20"])
    million.main(people=200_000, versions=2)
    attackers.main()
    stages.main()
