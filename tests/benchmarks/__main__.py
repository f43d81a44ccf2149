"""`make bench`: speed as ratios of one run, and time and peak memory of each stage."""

from tests.benchmarks import forest, ke, lattice, measure, mondrian, recoded, rewriting, stages

if __name__ == "__main__":
    measure.main()
    ke.main()
    lattice.main()
    mondrian.main()
    forest.main()
    recoded.main()
    rewriting.main()
    stages.main()
