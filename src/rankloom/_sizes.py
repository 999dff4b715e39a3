"""Numbers of items beyond which the engine works otherwise; the help of commands says them without loading it."""

EXACT_SEARCH = 200_000  # searches look at all items
EXACT_GRAPH = 20_000  # the neighbor graph is exact; beyond, neighbors are looked for among candidates
WHOLE_DIFFUSION = 100_000  # scores are diffused over the whole graph; beyond, only near the items that they start from
