"""The classes of a labeled collection as concepts for the benchmark of cascades."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rankloom.concepts.bagging import BaggedSVMs
from rankloom.core import RankingData
from rankloom.descriptors import CLASSICAL
from rankloom.experiments.labeled import LabeledCollection
from rankloom.experiments.papers.cascade import ConceptOutputs


def concepts_of(
    collection: LabeledCollection,
    n_concepts: int,
    *,
    machines: int = BaggedSVMs().per_descriptor,
    n_jobs: int = 1,
    random_state: Any = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> Iterator[ConceptOutputs]:
    """Concepts whose weak models are machines on single descriptors (section 5.1 of the paper).

    Half of the pictures train the machines, a fifth boosts and places cut-offs, the rest is for the test. The fifth is
    small, so it does both; every part has its share of each class. Each descriptor gets so many `machines`, and
    `progress` is called after each of them.
    """
    vectors = {name: np.asarray(collection.vectors[name], dtype=np.float64) for name in CLASSICAL}
    labels = collection.labels
    random = check_random_state(random_state)
    names, counts = np.unique(labels, return_counts=True)
    parts = np.empty(len(labels), dtype=np.int64)
    for name in names:
        members = random.permutation(np.flatnonzero(labels == name))
        parts[members] = np.searchsorted([0.5, 0.7], (np.arange(len(members)) + 0.5) / len(members))
    chosen = names[np.argsort(-counts, kind="stable")][:n_concepts]
    done = 0
    total = len(chosen) * len(vectors) * machines

    def trained(name: str) -> None:
        nonlocal done
        done += 1
        progress(done, total, f"{name}: machines")

    for name in chosen.tolist():
        y = (labels == name).astype(np.float64)
        learn, boost, test = ({key: rows[parts == part] for key, rows in vectors.items()} for part in range(3))
        bagged = BaggedSVMs(machines, n_jobs=n_jobs, random_state=random.randint(2**31)).fit(
            learn, y[parts == 0], progress=partial(trained, name)
        )
        X = np.asarray(bagged.features(boost))
        held = RankingData(X, y[parts == 1], np.zeros(len(X)))
        yield ConceptOutputs(name, held, held, partial(bagged.features, test), y[parts == 2])
