"""Training on two worker processes, one of which is killed in the middle."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from rankloom.cluster import ClusterData, ClusterError, connected, fit
from rankloom.cluster.parts import DaskParts
from rankloom.core import RankingData
from rankloom.datasets import make_ranking, save_table
from rankloom.evaluation.metrics import evaluate
from rankloom.rankers import load_ranker, make_ranker
from tests.cluster.conftest import kill_a_worker
from tests.shell import rankloom

pytestmark = pytest.mark.slow

DATA = make_ranking(330, n_features=6, random_state=2)
PARTS = 4


RANKERS = [
    make_ranker("lr"),
    make_ranker("rlr", shift="global"),
    make_ranker("frlr"),
    make_ranker("ranksvm"),
    make_ranker("listnet"),
    make_ranker("ranknet"),
]


class KillingParts(DaskParts):
    """Parts whose second sum finds a worker dead that has held some of them; all rankers wait for that."""

    own = threading.local()  # the sums of a ranker, which has a thread to itself
    met: threading.Barrier

    def total(self, function, *args):
        self.own.sums += 1
        if self.own.sums == 2:
            self.met.wait(300)
        return super().total(function, *args)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Whole queries a file."""
    folder = tmp_path_factory.mktemp("grouped")
    for part in range(PARTS):
        save_table(DATA.take(DATA.qid % PARTS == part), folder / f"part-{part}.parquet")
    return folder


@pytest.fixture(scope="module")
def data(folder, client):
    return ClusterData.read(f"{folder}/*.parquet", client)


def test_the_weights_are_those_of_a_single_machine(data, client):
    KillingParts.met = threading.Barrier(len(RANKERS), partial(kill_a_worker, client))
    killing = data._replace(parts=KillingParts(client, data.parts.futures))

    def fitted_and_sums(ranker):
        KillingParts.own.sums = 0
        return fit(clone(ranker), killing, client), KillingParts.own.sums

    with ThreadPoolExecutor(len(RANKERS)) as threads:
        results = [*threads.map(fitted_and_sums, RANKERS)]
    for ranker, (fitted, sums) in zip(RANKERS, results, strict=True):
        whole = clone(ranker).fit(DATA.X, DATA.y, qid=DATA.qid)
        assert np.abs(fitted.coef_ - whole.coef_).max() <= 1e-9 * np.abs(whole.coef_).max(), ranker
        assert fitted.n_queries_ == whole.n_queries_ == 330
        assert fitted.n_iter_ == whole.n_iter_
        assert sums > 2


def test_queries_spread_over_files_are_brought_together(client, tmp_path):
    named = RankingData(DATA.X, DATA.y, np.array([f"query {qid}" for qid in DATA.qid]), None, list("abcdef"))
    for part in range(3):
        save_table(named.take(np.arange(len(named)) % 3 == part), tmp_path / f"part-{part}.parquet")
    data = ClusterData.read(tmp_path, client)
    assert (data.regrouped, data.n_queries, data.n_rows, data.feature_names) == (True, 330, len(named), list("abcdef"))
    seen = [{*part.qid.tolist()} for part in data.parts.call(_itself)]
    assert sum(map(len, seen)) == len(set.union(*seen)) == 330
    whole = make_ranker("ranksvm").fit(named.X, named.y, qid=named.qid)
    fitted = fit(make_ranker("ranksvm"), data, client)
    assert np.abs(fitted.coef_ - whole.coef_).max() <= 1e-9 * np.abs(whole.coef_).max()


def _itself(part):
    return part


@pytest.mark.parametrize("name", ["opr", "opar1", "opar2", "ogdr", "arow"])
def test_online_rankers_mix_their_weights(name, data, client, tmp_path):
    single = make_ranker(name, n_epochs=3).fit(DATA.X, DATA.y, qid=DATA.qid)
    mixed = fit(make_ranker(name, n_epochs=3), data, client)
    lost = evaluate(DATA.y, single.predict(DATA.X), DATA.qid, ["AP"])["AP"] - _quality(mixed)
    assert lost < 0.02  # over ten draws of other data it was at most 0.0031, see docs/scale.md
    assert mixed.report().n_preferences == single.report().n_preferences
    assert mixed.report().bound is None
    save_table(DATA, tmp_path / "all.parquet")
    alone = fit(make_ranker(name, n_epochs=3), tmp_path / "all.parquet", client)
    assert alone.coef_.tolist() == single.coef_.tolist()
    assert alone.report() == single.report()


def test_trees_are_trained_by_lightgbm(data, client):
    single = make_ranker("lambdamart", n_estimators=20).fit(DATA.X, DATA.y, qid=DATA.qid)
    trees = fit(make_ranker("lambdamart", n_estimators=20), data, client)
    assert trees.model_.count("Tree=") == 20
    assert _quality(trees) > _quality(single) - 0.02


def _quality(ranker):
    return evaluate(DATA.y, ranker.predict(DATA.X), DATA.qid, ["AP"])["AP"]


def test_what_cannot_be_trained_is_said(folder, client, tmp_path):
    with pytest.raises(ValueError, match="RankBoost is not trained on a cluster; those that are: lr, rlr"):
        fit(make_ranker("rankboost"), folder, client)
    with pytest.raises(ValueError, match="ListNet with hidden units is not trained on a cluster"):
        fit(make_ranker("listnet", hidden=3), folder, client)
    with pytest.raises(FileNotFoundError, match="no file matches"):
        fit(make_ranker("rlr"), tmp_path / "*.parquet", client)
    with pytest.raises(ValueError, match="a cluster reads Parquet files"):
        fit(make_ranker("rlr"), tmp_path / "a.csv", client)
    save_table(RankingData(DATA.X[:, :5], DATA.y, DATA.qid), tmp_path / "narrow.parquet")
    with pytest.raises(ValueError, match=r"narrow.parquet has other feature columns than .*part-0.parquet: 'f6' is in"):
        fit(make_ranker("rlr"), [folder / "part-0.parquet", tmp_path / "narrow.parquet"], client)
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match=r"torn\.parquet"):
        fit(make_ranker("rlr"), tmp_path / "torn.parquet", client)


def test_addresses_of_clusters_are_checked(monkeypatch):
    monkeypatch.setattr("rankloom.cluster.connecting.CONNECT_SECONDS", 0.2)
    with (
        pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass
    with pytest.raises(ValueError, match="as in local:2"), connected("local"):
        pass


def test_the_command_fits_on_a_cluster_what_it_fits_here(folder, client, tmp_path):
    address = client.scheduler.address
    told = rankloom("fit", folder, "-r", "frlr", "-o", tmp_path / "a.json", "--cluster", address, "--json").stdout
    rankloom("fit", f"{folder}/*.parquet", "-r", "frlr", "-o", tmp_path / "b.json")
    record = json.loads(told)
    assert (record["queries"], record["rows"], record["features"]) == (330, len(DATA), 6)
    there, here = load_ranker(tmp_path / "a.json"), load_ranker(tmp_path / "b.json")
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9)
    assert list(there.feature_names_in_) == list(here.feature_names_in_) == [f"f{j}" for j in range(1, 7)]
    told = rankloom("fit", folder, "-o", tmp_path / "c.json", "--cluster", address, "--sparse", code=1).output
    assert told == "Error: --cluster reads Parquet files into memory; --stream and --sparse do not go with it\n"
    options = ("--set", "tol=0.001", "--validation", folder / "part-0.parquet", "--cluster", address)
    told = rankloom("fit", folder, "-o", tmp_path / "d.json", *options).stdout
    assert "rlr (tol=0.001, nu=" in told
    assert "validation AP: 0." in told
