"""Expected occurrences by a loop: those of arrays, to the last bit."""

import numpy as np
from hypothesis import given

from sfumato.expectations.groups.counting import cover
from sfumato.expectations.measures.occurrences import occurrences
from sfumato.tasks.forms import ambiguous
from sfumato.tasks.forms.ambiguous import expected_occurrences, fit_by_loop, fit_occurrences
from tests.expectations.test_occurrences import releases


@given(releases())
def test_a_loop_finds_what_arrays_do(release):
    fitted = fit_occurrences(*release, fit=fit_by_loop)
    assert fitted.tobytes() == occurrences(*release).tobytes()


def test_a_compiled_loop_finds_what_arrays_do(monkeypatch):
    rng = np.random.default_rng(4)
    group = np.sort(rng.integers(0, 700, 9_000))
    codes = np.minimum(rng.geometric(0.02, len(group)), 300) - 1
    sizes, admitted = np.bincount(group), cover(group, codes, 300)
    monkeypatch.setattr(ambiguous, "_LARGE", len(admitted.value))
    monkeypatch.setattr(ambiguous, "occurrences", None)  # so that it is the loop
    fitted = expected_occurrences(sizes, admitted)
    assert fitted.tobytes() == occurrences(sizes, admitted).tobytes()
    assert len(set(fitted.tolist())) > 1_000
