"""The judge of the precision cases, against cases worked out by hand."""

import pytest
from benchmarks import precision

NOTHING = {"personaPrelude": [], "pinnedFacts": [], "relevantBeliefs": [], "openQuestions": []}


def got(**lists):
    """The lists of an answer; those not named are empty."""
    return {**NOTHING, **lists}


class TestFaults:
    def test_what_is_recalled_has_to_be_exactly_what_is_expected(self):
        expect = {"relevantBeliefs": {"shouldOnlyInclude": ["a", "b"]}}
        assert precision.faults(expect, got(relevantBeliefs=["b", "a"])) == {}
        wrong = precision.faults(expect, got(relevantBeliefs=["a", "c"]))
        assert wrong == {"relevantBeliefs": ["missing b", "unexpected c"]}

    def test_nothing_expected_is_an_expectation(self):
        expect = {"relevantBeliefs": {"shouldOnlyInclude": []}}
        assert precision.faults(expect, NOTHING) == {}
        assert precision.faults(expect, got(relevantBeliefs=["a"]))

    def test_a_pinned_fact_is_there_too_but_may_not_be_forbidden(self):
        expect = {"relevantBeliefs": {"mustInclude": ["a"], "mustExclude": ["b"]}}
        assert precision.faults(expect, got(pinnedFacts=["a"])) == {}
        assert precision.faults(expect, got(pinnedFacts=["a", "b"])) == {"relevantBeliefs": ["forbidden b"]}

    def test_noise_and_prelude(self):
        expect = {
            "noiseCheck": {"mustNotSurface": ["x"]},
            "personaPrelude": {"nonEmpty": True, "contains": ["direct"], "mustNotContain": ["Haskell"]},
        }
        assert precision.faults(expect, got(personaPrelude=["direct answers"])) == {}
        wrong = precision.faults(expect, got(relevantBeliefs=["x"], personaPrelude=["Haskell"]))
        assert set(wrong) == {"noise", "personaPrelude"}

    @pytest.mark.parametrize(("shown", "share"), [(["a"], 1.0), (["a", "c"], 0.5), (["c"], 0.0), ([], 0.0)])
    def test_precision_is_the_expected_share_of_what_is_shown(self, shown, share):
        case = {"caseId": "one", "expect": {"relevantBeliefs": {"shouldOnlyInclude": ["a"]}}}
        assert precision.verdict(case, got(relevantBeliefs=shown))["precision"] == share

    def test_silence_where_nothing_is_expected_has_no_precision(self):
        case = {"caseId": "one", "expect": {"relevantBeliefs": {"shouldOnlyInclude": []}}}
        assert precision.verdict(case, NOTHING)["precision"] is None
