"""`make bench`: speed as ratios of one run, and time and peak memory of each stage."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import ke
import measure
import stages

if __name__ == "__main__":
    measure.main()
    ke.main()
    stages.main()
