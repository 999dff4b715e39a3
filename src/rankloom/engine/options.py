"""How a search is done: everything beside the query and the number of hits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search; those that explain or compare hits take the same.

    Parameters
    ----------
    offset : how many hits before the first are left out.
    user : whose marks of the query count.
    diffusion : whether neighbors count, once the neighbor graph is there.
    feedback : whether marks of the query count.
    explain : whether hits say what each expert, mark and neighbor added.
    collapse : show only the best of near duplicates.
    diversity : from 0 to 1, how much hits should differ.
    method : "experts", or a reranker of the best hits: "visual_rank", "bayesian", "smooth" (content-aware) ...
    """

    offset: int = 0
    user: str = ""
    diffusion: bool = True
    feedback: bool = True
    explain: bool = False
    collapse: bool = False
    diversity: float = 0.0
    method: str = "experts"

    def __post_init__(self) -> None:
        if self.offset < 0:
            raise ValueError(f"offset must not be negative, got {self.offset!r}")
        if not 0 <= self.diversity <= 1:
            raise ValueError(f"diversity must be from 0 to 1, got {self.diversity!r}")
        if self.method != "experts":
            from rankloom.reranking import RERANKERS

            if self.method not in RERANKERS:
                raise ValueError(f"unknown method {self.method!r}; known are experts, {', '.join(RERANKERS)}")
