"""Rows that look like UCI Adult and are about nobody, for demonstrations and measurements."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.csv

_VALUES: Mapping[str, tuple[Sequence[str], Sequence[float]]] = {
    "workclass": (
        [
            "Private",
            "Self-emp-not-inc",
            "Local-gov",
            "State-gov",
            "Self-emp-inc",
            "Federal-gov",
            "?",
        ],
        [70, 8, 6, 4, 4, 3, 5],
    ),
    "education": (
        [
            "HS-grad",
            "Some-college",
            "Bachelors",
            "Masters",
            "Assoc-voc",
            "11th",
            "Assoc-acdm",
            "10th",
            "7th-8th",
            "Prof-school",
            "9th",
            "Doctorate",
            "12th",
            "5th-6th",
        ],
        [32, 22, 16, 5, 4, 4, 3, 3, 2, 2, 2, 1, 1, 1],
    ),
    "marital-status": (
        ["Married-civ-spouse", "Never-married", "Divorced", "Separated", "Widowed"],
        [46, 33, 14, 3, 3],
    ),
    "occupation": (
        [
            "Prof-specialty",
            "Craft-repair",
            "Exec-managerial",
            "Adm-clerical",
            "Sales",
            "Other-service",
            "Machine-op-inspct",
            "Transport-moving",
            "Handlers-cleaners",
            "Farming-fishing",
            "Tech-support",
            "Protective-serv",
        ],
        [14, 14, 14, 13, 12, 11, 7, 5, 4, 3, 3, 2],
    ),
    "relationship": (
        ["Husband", "Not-in-family", "Own-child", "Unmarried", "Wife"],
        [40, 26, 16, 11, 5],
    ),
    "race": (
        ["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"],
        [85, 10, 3, 1, 1],
    ),
    "sex": (["Male", "Female"], [67, 33]),
    "native-country": (
        ["United-States", "Mexico", "?", "Philippines", "Germany", "Canada", "India", "Cuba"],
        [90, 3, 2, 1, 1, 1, 1, 1],
    ),
    "salary-class": (["<=50K", ">50K"], [76, 24]),
}
_ORDER = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "salary-class",
)  # fmt: skip


def census_like(rows: int, seed: int, share_with_loss: float = 0.047) -> pa.Table:
    """A table with UCI Adult's columns; losses rise with age, and so many rows have one."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(6.0, 6.5, rows), 17, 90).astype(np.int64)
    loss = (rng.normal(1500 + 8 * age, 350).clip(155, 4356) // 10 * 10).astype(np.int64)
    columns: dict[str, pa.Array] = {
        "age": pa.array(age),
        "fnlwgt": pa.array(rng.integers(12_000, 800_000, rows)),
        "education-num": pa.array(rng.integers(1, 17, rows)),
        "capital-gain": pa.array(np.zeros(rows, dtype=np.int64)),
        "capital-loss": pa.array(np.where(rng.random(rows) < share_with_loss, loss, 0)),
        "hours-per-week": pa.array(np.clip(rng.normal(40, 12, rows), 1, 99).astype(np.int64)),
    }
    for name, (values, weights) in _VALUES.items():
        shares = np.array(weights) / np.sum(weights)
        codes = rng.choice(len(values), rows, p=shares).astype(np.int32)
        columns[name] = pa.DictionaryArray.from_arrays(codes, pa.array(values)).dictionary_decode()
    return pa.table({name: columns[name] for name in _ORDER})
