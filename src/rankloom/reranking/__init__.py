"""Visual reranking of one list: its graph of neighbors, VisualRank, Bayesian reranking, content-aware smoothing.

It knows scores and vectors of one list, and nothing of rankers or of where items come from.
"""

from rankloom.reranking.graph import Graph, knn_graph
from rankloom.reranking.methods import RERANKERS, rerank

__all__ = ["RERANKERS", "Graph", "knn_graph", "rerank"]
