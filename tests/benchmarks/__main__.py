"""`make bench`: speed as ratios of one run, and whole releases in their time and memory."""

from tests.benchmarks import (
    ambiguity,
    asking,
    attack_peers,
    attacked,
    attackers,
    bounds_and_noise,
    calibration,
    codings,
    composition,
    direct,
    disjoint_cover,
    estimates,
    forest,
    ke,
    lattice,
    least_ranges,
    measure,
    million,
    mondrian,
    patients,
    peers,
    presence,
    recoded,
    redistribution,
    rereleases,
    rewriting,
    same_people,
    startup,
    strangers,
    targets,
    whole,
    wide,
    workbench,
)

if __name__ == "__main__":
    startup.main()
    whole.main(["--adult", "--prefect"])
    peers.main()
    strangers.main()
    whole.main(["--csv", "build/bench/whole.csv"])
    wide.main()
    workbench.main()
    measure.main()
    ke.main()
    lattice.main()
    mondrian.main()
    forest.main()
    codings.main()
    recoded.main()
    rewriting.main()
    asking.main()
    direct.main()
    calibration.main()
    ambiguity.main()
    disjoint_cover.main()
    estimates.main(2)
    presence.main()
    targets.main()
    least_ranges.time_all()
    redistribution.main()
    composition.main()
    rereleases.main(["--versions", "3", "--people", "4000", "--queries", "20"])
    same_people.main([])
    million.main(people=200_000, versions=2)
    attackers.main()
    attacked.main()
    attack_peers.main()
    bounds_and_noise.main()
    patients.main()
