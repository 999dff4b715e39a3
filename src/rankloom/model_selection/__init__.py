"""Choice of parameters on held-out queries, comparisons over folds, and splitters that keep queries whole.

It knows rankers and ranking data, and nothing of pictures.
"""

from rankloom.model_selection.selection import (
    GRIDS,
    Fold,
    FoldResults,
    Selection,
    compare_folds,
    default_grid,
    make_fold,
    query_folds,
    read_folds,
    select,
)
from rankloom.model_selection.splitters import QueryKFold, QueryShuffleSplit

__all__ = [
    "GRIDS", "Fold", "FoldResults", "QueryKFold", "QueryShuffleSplit", "Selection", "compare_folds", "default_grid",
    "make_fold", "query_folds", "read_folds", "select",
]  # fmt: skip
