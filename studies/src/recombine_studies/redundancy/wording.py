"""What a reader is told beside the claims: what follows, what limits it, and what is not as published."""

from collections.abc import Mapping, Sequence

from recombine.base.words import interval_words, listing, measure, percent
from recombine_studies.claims import over_seeds
from recombine_studies.redundancy.checks import RIGHT
from recombine_studies.redundancy.drawing import mean_of
from recombine_studies.redundancy.grids import DIGITS, SCAN, TOY
from recombine_studies.redundancy.reading import (
    BySeed,
    at_step,
    gaps,
    influences,
    lasts,
    less,
    numbers,
    speeds,
    steps_of,
    syntax_gaps,
)
from recombine_studies.study import Evidence


def remarks(evidence: Evidence) -> Sequence[str]:
    """A few paragraphs."""
    return [_follows(evidence), _readings(evidence), _fades(evidence), _hangs(evidence), _limits(evidence)]


def _told(found: BySeed) -> str:
    one = over_seeds("", numbers(found), ">", 0.0)
    return "not known" if one.value is None else interval_words(one.value, one.low, one.high, share=False)


def _mean(found: BySeed) -> str:
    value = mean_of(found)
    return "not known" if value is None else measure(value)


def _share(found: BySeed) -> str:
    value = mean_of(found)
    return "not known" if value is None else percent(value)


def _follows(evidence: Evidence) -> str:
    gap = {name: gaps(evidence, DIGITS, name) for name in ("A", "B", "B-noise")}
    speed = {name: speeds(evidence, DIGITS, name) for name in ("A", "B", "B-noise")}
    return (
        f"Pairs of digits: A less B is {_told(less(speed['A'], speed['B']))} in training accuracy averaged over"
        f" log(step), and {_told(less(gap['A'], gap['B']))} in the gap. In B every test pair was shown, so that its gap"
        " may be small for that reason alone. With noise in place of the second digit the pairs are as unseen as in A,"
        f" and A less B-noise is {_told(less(speed['A'], speed['B-noise']))} in training and"
        f" {_told(less(gap['A'], gap['B-noise']))} in the gap; digits on the right are then new to the network, which"
        " works against B-noise."
    )


def _readings(evidence: Evidence) -> str:
    return (
        "SCAN: the two readings of B are two experiments. With all action words randomised the gap is"
        f" {_mean(gaps(evidence, SCAN, 'B-all'))}, but every test command was shown in training. With “jump” alone"
        f" changed it is {_mean(gaps(evidence, SCAN, 'B-jump', 'replaced'))} on a test that is changed likewise (also"
        f" shown), and {_mean(gaps(evidence, SCAN, 'B-jump'))} on the published test, which asks for a word that was"
        f" never seen. The gap in A is {_mean(gaps(evidence, SCAN, 'A'))}. Of the syntax alone, one action word counted"
        f" like another, A loses {_mean(syntax_gaps(evidence, 'A'))} from training to test and B-all"
        f" {_mean(syntax_gaps(evidence, 'B-all'))}. No B of SCAN takes the information away and keeps the test unseen,"
        " so that the experiment cannot tell these two causes apart."
    )


def _fades(evidence: Evidence) -> str:
    first, last = at_step(evidence, TOY, "A", "test", 1), lasts(evidence, TOY, "A", "test")
    passed = [value >= RIGHT for value in last.values()]
    gained = mean_of(less(last, first)) or 0.0
    return (
        f"The paper shows single networks of the toy. Over {len(last)} seeds in A, accuracy on the test square goes"
        f" from {_mean(first)} after one step to {_mean(last)} after the last, and {sum(passed)} of {len(passed)} seeds"
        f" end with {RIGHT:.0%} of it right; in B the mean is {_mean(lasts(evidence, TOY, 'B', 'test'))}. So more"
        f" training {'undoes a part of the lean' if gained > 0 else 'does not undo the lean'} on the redundant"
        " input; how far it goes depends on the initialisation, which is He's here and is not given in the paper."
    )


def _hangs(evidence: Evidence) -> str:
    told = []
    for grid, name in ((TOY, "the toy"), (DIGITS, "pairs of digits")):
        last = max(steps_of(evidence, grid), default=0)
        swaps = {
            at: influences(evidence, grid, *at[:1], "swap", at[1])
            for at in (("A", 0), ("A", 1), ("A", last), ("B", last))
        }
        floor = influences(evidence, grid, "A", "floor", last)
        told_bits = [_mean(influences(evidence, grid, "A", "bits", step)) for step in (0, 1, last)]
        told.append(
            f"In {name} swapping the second input changes {_share(swaps['A', 0])} of the answers before training,"
            f" {_share(swaps['A', 1])} after one step and {_share(swaps['A', last])} after the last in A"
            f" ({_share(swaps['B', last])} in B). The answer holds {listing(told_bits)} bits of the second label at"
            f" these steps ({_mean(influences(evidence, grid, 'B', 'bits', last))} at the last in B), where 95 of 100"
            f" shuffled labels stay below {_mean(floor)}."
        )
    hinted = {
        name: influences(evidence, DIGITS, name, "suggested", max(steps_of(evidence, DIGITS), default=0))
        for name in ("A", "B")
    }
    told.append(
        f"On pairs that A never shows, {_share(hinted['A'])} of its answers are a digit that the second one suggests,"
        f" and {_share(hinted['B'])} in B."
    )
    told.append(
        "Digits are asked in evenly many pictures of each pair, not in drawn ones, so that the correction of the bias"
        " takes away too much from a network that is mostly right: its bits are a lower bound."
        " Random weights hang on every input already: that a derivative or the information is not 0 says nothing of"
        " training, unless B stands beside it."
    )
    return " ".join(told)


def _limits(evidence: Evidence) -> str:
    seeds = [len(lasts(evidence, grid, "A", "test")) for grid in (TOY, DIGITS, SCAN)]
    return (
        f"Limits: {seeds[0]}, {seeds[1]} and {seeds[2]} seeds for the toy, digits and SCAN; one architecture and one"
        " initialisation each. Nothing here varies the way of training, so that “caused by gradient descent” is not"
        " tested: only that these networks, trained so, lean on what they need not. The paper prints no number to"
        " compare with. That redundant information makes the gap would be refuted by a gap in B-noise as large as in A;"
        " that gradient descent is the cause, by another way of training with the same gap."
    )


DIFFERS: Mapping[str, Sequence[str]] = {
    "smoke": ["A few steps of a few seeds on made-up digits: it shows that the study runs, and decides nothing."],
    "small": [
        "Models, losses, optimisers, batches and numbers of steps are those of appendices A to C; what these leave open"
        " is our reading.",
        "Digits: two convolutions and one dense layer of 64 as in appendix A, where the main text counts three and two;"
        " no padding; the hinge loss against the best rival class; PyTorch's initialisation.",
        "SCAN: attention after the writer's state (Luong's way), because the text does not say which; 3 seeds a setting"
        " in place of 5, because one run takes two minutes.",
        "SCAN: training accuracy is that on each training command once, 500 of them, not on lines, a tenth of which are"
        " “jump”.",
        "Toy: softmax cross-entropy, plain gradient descent and He's initialisation, because the text names none;"
        " setting B is ours; 300 seeds, because five are too few to show an ordering in speed.",
        "Training accuracy is measured on new examples drawn as training draws them (for digits with pictures of the"
        " test part), at steps spaced evenly on a logarithmic scale; the paper does not say on what.",
        "Digits are asked 8 times in a run, about 240 pictures of each kind, because asking takes time as well.",
        "What networks hang on is asked of 100 seeds of the toy, and of 400 pictures of digits, of which 50 are"
        " followed by derivative.",
    ],
    "paper": [
        "10 seeds for digits and SCAN and 300 for the toy in place of 5, because five decide too little.",
        "What the paper leaves open stays our reading: padding, initialisation, the form of the hinge loss, the kind of"
        " attention, the toy's loss and optimiser, and what its setting B of SCAN was.",
    ],
}
