"""The classes of a labeled collection as concepts for the benchmark of cascades."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
    coarser: NDArray[Any] | None = None,
    machines: int = BaggedSVMs().per_descriptor,
    n_jobs: int = 1,
    random_state: Any = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> Iterator[ConceptOutputs]:
    """The largest classes as concepts, whose weak models are machines on single descriptors (section 5.1 of the paper).

    Half of the pictures train the machines, a fifth boosts, the rest is for the test. The fifth is small, so no rows
    are set apart to place cut-offs by. Every part has its share of each class.

    Parameters
    ----------
    collection : the pictures.
    n_concepts : how many.
    coarser : another class of each picture, of which the first are parts: these are concepts too.
    machines : of each descriptor.
    n_jobs, random_state : as for `BaggedSVMs`.
    progress : called after each machine.
    """
    vectors = {name: np.asarray(collection.vectors[name], dtype=np.float64) for name in CLASSICAL}
    labels = collection.labels
    random = check_random_state(random_state)
    names = np.unique(labels)
    parts = np.empty(len(labels), dtype=np.int64)
    for name in names:
        members = random.permutation(np.flatnonzero(labels == name))
        parts[members] = np.searchsorted([0.5, 0.7], (np.arange(len(members)) + 0.5) / len(members))
    members_of = {name: labels == name for name in names.tolist()}
    if coarser is not None:
        members_of |= {name: coarser == name for name in np.unique(coarser).tolist()}
    chosen = sorted(members_of, key=lambda name: -members_of[name].sum())[:n_concepts]
    done = 0
    total = len(chosen) * len(vectors) * machines

    def trained(name: str) -> None:
        nonlocal done
        done += 1
        progress(done, total, f"{name}: machines")

    for name in chosen:
        y = members_of[name].astype(np.float64)
        learn, boost, test = ({key: rows[parts == part] for key, rows in vectors.items()} for part in range(3))
        bagged = BaggedSVMs(machines, n_jobs=n_jobs, random_state=random.randint(2**31)).fit(
            learn, y[parts == 0], progress=partial(trained, name)
        )
        X = np.asarray(bagged.features(boost))
        boosted = RankingData(X, y[parts == 1], np.zeros(len(X)))
        yield ConceptOutputs(name, boosted, None, partial(bagged.features, test), y[parts == 2])
