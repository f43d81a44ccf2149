"""`make bench`: speed as ratios of one run, and time and peak memory of each stage."""

from tests.benchmarks import ke, measure, stages

if __name__ == "__main__":
    measure.main()
    ke.main()
    stages.main()
