"""Team drafts by brute force, and the running test under the stopping that it allows."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta, binomtest, chisquare

from rankloom.evaluation.interleaving import Credit, Preference, credit, team_draft

rankings = st.lists(st.integers(0, 12), unique=True, max_size=9)


class TestTeamDraft:
    @settings(deadline=None)
    @given(rankings, rankings, st.integers(1, 15), st.integers(0, 10**6))
    def test_properties(self, first, second, k, seed):
        items, teams = team_draft(first, second, k, seed)
        assert len(items) == len(teams) == min(k, len({*first, *second}))
        assert len(set(items)) == len(items)
        assert set(items) <= {*first, *second}
        ahead = np.cumsum(np.where(teams == 1, 1, np.where(teams == 2, -1, 0)))
        assert np.abs(ahead).max(initial=0) <= 1
        if first and second and k >= 2:
            assert first[0] in items[:2]
            assert second[0] in items[:2]
        for item, team in zip(items, teams.tolist(), strict=True):
            if team:
                assert item in (first, second)[team - 1]
        # A team is filled from the top: what a ranking has above its item is in the list already.
        for place, (item, team) in enumerate(zip(items, teams.tolist(), strict=True)):
            if team:
                mine = (first, second)[team - 1]
                assert set(mine[: mine.index(item)]) <= set(items[:place])
        filler = np.flatnonzero(teams == 0)
        assert np.array_equal(filler, np.arange(len(teams) - len(filler), len(teams)))

    def test_the_same_seed_gives_the_same_list(self):
        lists = [[*"abcdef"], [*"fcbdag"]]
        assert team_draft(*lists, 6, 5)[0] == team_draft(*lists, 6, 5)[0]
        assert len({tuple(team_draft(*lists, 6, seed)[0]) for seed in range(30)}) > 3

    @pytest.mark.parametrize(
        ("first", "second", "k"),
        [("abc", "bca", 3), ("abcd", "dcba", 4), ("ab", "cd", 4), ("abc", "abc", 3), ("abcde", "ebxya", 5)],
    )
    def test_distribution_by_brute_force(self, first, second, k):
        """Every sequence of coins of the printed algorithm has the same probability."""
        expected: Counter = Counter()
        n_coins = k
        for coins in itertools.product((0, 1), repeat=n_coins):
            expected[printed_algorithm(first, second, k, coins)] += 1 / 2**n_coins
        n = 4000
        random = np.random.RandomState(7)
        found: Counter = Counter()
        for _ in range(n):
            items, teams = team_draft([*first], [*second], k, random)
            found["".join(items), tuple(teams.tolist())] += 1
        assert set(found) == set(expected)
        keys = sorted(expected)
        if len(keys) > 1:
            assert chisquare([found[key] for key in keys], [n * expected[key] for key in keys]).pvalue > 1e-3

    def test_equal_rankings_earn_the_same(self):
        """By brute force: whatever people mark, neither of two equal rankings is ahead on average."""
        marks = np.array([5.0, 3.0, 0.0, 1.0, 1.0])
        total = np.zeros(2)
        for coins in itertools.product((0, 1), repeat=5):
            _, teams = printed_algorithm("abcde", "abcde", 5, coins)
            total += credit(teams, marks)
        assert total[0] == total[1]

    def test_errors(self):
        with pytest.raises(ValueError, match="first has the item 'a' twice"):
            team_draft(["a", "a"], ["b"], 2)
        with pytest.raises(ValueError, match="second must be a sequence of ids"):
            team_draft(["a"], "ab", 2)
        for k in (0, -1, 2.0, True):
            with pytest.raises(ValueError, match="k must be a whole number"):
                team_draft(["a"], ["b"], k)
        assert team_draft([], [], 3)[0] == []


def printed_algorithm(first, second, k, coins):
    """Algorithm 2 of the paper, word by word, with given coins; then the list is filled up."""
    interleaved, team_a, team_b, order = [], [], [], []
    coins = iter(coins)
    while (
        len(interleaved) < k
        and any(one not in interleaved for one in first)
        and any(one not in interleaved for one in second)
    ):
        if len(team_a) < len(team_b) or (len(team_a) == len(team_b) and next(coins) == 0):
            top = next(one for one in first if one not in interleaved)
            team_a.append(top)
            order.append(1)
        else:
            top = next(one for one in second if one not in interleaved)
            team_b.append(top)
            order.append(2)
        interleaved.append(top)
    for one in (*first, *second):
        if len(interleaved) < k and one not in interleaved:
            interleaved.append(one)
            order.append(0)
    return "".join(interleaved), tuple(order)


class TestCredit:
    def test_sums_by_team(self):
        assert credit([1, 2, 0, 1], [1.0, 0.5, 9.0, -2.0]) == Credit(-1.0, 0.5)
        assert credit([], []) == Credit(0.0, 0.0)

    def test_errors(self):
        with pytest.raises(ValueError, match="2 teams, 1 grades"):
            credit([1, 2], [1])
        with pytest.raises(ValueError, match="teams must be 0, 1 or 2"):
            credit([1, 3], [1, 1])
        with pytest.raises(ValueError, match="NaN"):
            credit([1], [np.nan])

    def test_a_better_ranking_wins(self):
        """Users who mark what is relevant: the ranking that has it higher up gets more wins."""
        random = np.random.RandomState(0)
        so_far = Preference()
        for _ in range(300):
            relevant = set(random.choice(20, 5, replace=False).tolist())
            noisy = {spread: (random.rand(20) * spread - np.isin(np.arange(20), [*relevant])).argsort().tolist()
                     for spread in (1.2, 3.0)}  # fmt: skip
            items, teams = team_draft(noisy[1.2], noisy[3.0], 6, random)
            so_far = so_far.after(credit(teams, [item in relevant for item in items]))
        assert so_far.wins + so_far.losses + so_far.ties == 300
        assert so_far.verdict == "first"


def paths(share, n_runs, n_queries, seed):
    wins = np.cumsum(np.random.default_rng(seed).random((n_runs, n_queries)) < share, axis=1)
    return wins, np.arange(1, n_queries + 1) - wins


class TestPreference:
    @pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (3, 5), (30, 12), (0, 9)])
    def test_e_value_is_the_integral(self, wins, losses):
        value = quad(lambda p: p**wins * (1 - p) ** losses * beta.pdf(p, 2, 2), 0, 1)[0] * 2 ** (wins + losses)
        assert Preference(wins, losses).e_value == pytest.approx(value, rel=1e-9)
        assert Preference(wins, losses).p_value == pytest.approx(min(1.0, 1 / value))
        assert Preference(losses, wins, 7).e_value == Preference(wins, losses).e_value

    def test_it_is_a_martingale(self):
        """The mean over the next query, a win or a loss alike, is the value now."""
        for wins, losses in itertools.product(range(0, 40, 3), repeat=2):
            now = Preference(wins, losses).e_value
            after = (Preference(wins + 1, losses).e_value + Preference(wins, losses + 1).e_value) / 2
            assert after == pytest.approx(now, rel=1e-12)

    @pytest.mark.slow
    def test_wrong_verdicts_are_rare_although_one_looks_after_each_query(self):
        wins, losses = paths(0.5, 1500, 600, 1)
        table = {(w, n - w): Preference(w, n - w).verdict != "undecided" for n in range(1, 601) for w in range(n + 1)}
        runs = zip(wins.tolist(), losses.tolist(), strict=True)
        wrong = [any(table[counts] for counts in zip(*run, strict=True)) for run in runs]
        # 5% at most by Ville; a test of that claim itself
        assert binomtest(sum(wrong), len(wrong), 0.05, alternative="greater").pvalue > 1e-3
        # An ordinary test at 5%, read as often, is wrong in a third of the runs and more.
        ordinary = np.abs(wins - losses) / np.sqrt(wins + losses) > 1.96
        assert ordinary[:, 9:].any(axis=1).mean() > 0.3

    @pytest.mark.slow
    @pytest.mark.parametrize(("share", "n_queries"), [(0.9, 30), (0.7, 120), (0.6, 600)])
    def test_power(self, share, n_queries):
        """A preference is found within these queries in nine of ten runs, and never the other way round."""
        wins, losses = paths(share, 300, n_queries, 2)
        verdicts = []
        for run in zip(wins.tolist(), losses.tolist(), strict=True):
            found = (Preference(*counts).verdict for counts in zip(*run, strict=True))
            verdicts.append(next((verdict for verdict in found if verdict != "undecided"), "undecided"))
        assert verdicts.count("first") >= 0.9 * len(verdicts)
        assert verdicts.count("second") <= 0.02 * len(verdicts)

    @pytest.mark.parametrize("share", [0.5, 0.65, 0.95])
    def test_interval_covers_at_all_times(self, share):
        wins, losses = paths(share, 200, 80, 3)
        known: dict = {}
        missed = 0
        for run in zip(wins.tolist(), losses.tolist(), strict=True):
            for counts in zip(*run, strict=True):
                if counts not in known:
                    known[counts] = Preference(*counts).interval
                if not known[counts][0] <= share <= known[counts][1]:
                    missed += 1
                    break
        assert binomtest(missed, 200, 0.05, alternative="greater").pvalue > 1e-3

    def test_interval_and_verdict_agree(self):
        for wins, losses in itertools.product((0, 1, 5, 10, 20, 40, 100, 3000), repeat=2):
            found = Preference(wins, losses)
            low, high = found.interval
            assert 0 <= low < high <= 1
            assert (found.verdict == "undecided") == (low <= 0.5 <= high)
            if wins + losses:
                assert low <= wins / (wins + losses) <= high
            mirrored = Preference(losses, wins).interval
            assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)

    def test_interval_by_a_grid(self):
        grid = np.linspace(1e-4, 1 - 1e-4, 99_999)
        for wins, losses in ((3, 5), (30, 12), (0, 9)):
            mixture = quad(lambda p: p**wins * (1 - p) ** losses * beta.pdf(p, 2, 2), 0, 1)[0]  # noqa: B023
            inside = grid[grid**wins * (1 - grid) ** losses >= 0.05 * mixture]
            low, high = Preference(wins, losses).interval
            assert low == pytest.approx(inside[0], abs=2e-4)
            assert high == pytest.approx(inside[-1], abs=2e-4)

    def test_many_queries(self):
        found = Preference(10**7, 10**6)
        assert math.isfinite(found.e_value)
        assert found.p_value == 0.0
        assert found.verdict == "first"
        assert found.interval[0] > 0.9
        assert Preference(10**7, 10**7).verdict == "undecided"

    def test_ties_do_not_count(self):
        assert Preference(9, 1, 500).e_value == Preference(9, 1).e_value
        assert Preference(0, 0, 500).interval == (0.0, 1.0)

    def test_errors(self):
        for wrong in (-1, 1.5, True):
            with pytest.raises(ValueError, match="losses must be a whole number"):
                _ = Preference(3, wrong).e_value
        with pytest.raises(ValueError, match="alpha must lie between"):
            _ = Preference(3, 1, alpha=0.0).interval
