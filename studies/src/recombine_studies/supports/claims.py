"""The claims in words, each with where it stands and why its threshold is what it is.

Every threshold was written down before any run of this study was looked at, and none was changed. Where earlier runs
were known (those of the benchmark of the support probe, with other edges and another recipe; and a first trial with 800
steps in the place of 1,500), the claim says so.
"""

from functools import partial

from recombine_studies.claims import Claim
from recombine_studies.supports import comparisons
from recombine_studies.supports.measures import COLLAPSED

_TABLE = "Wiedemer et al. 2023, table of results"
_BEYOND = "Wiedemer et al. 2023, on changing the components from RGB to RGBa"

CLAIMS = (
    Claim(
        name="whole space",
        says="On the orthogonal support and on the diagonal of width .2 the compositional model's R² on the whole space"
        " is within .05 of its R² on the support.",
        source=f"{_TABLE}: .957 on the support and .951 on the whole space; .957 and .955",
        threshold=".05 is ten times the published loss, so that short training has room, and a third of what the"
        " benchmark of the support probe had measured where models fail (.15 to .31). In a first trial with 800 steps"
        " .06 was lost on the diagonal; the preset then went back to the 1,500 steps that had been planned.",
        check=partial(comparisons.kept, ("orthogonal", "diagonal .2")),
    ),
    Claim(
        name="density",
        says="How the points lie on the planes does not matter: on orthogonal+ and under a normal density the loss is"
        " within .05 too.",
        source=f"{_TABLE}: .959 and .954; .957 and .951; the theorem speaks of the support alone",
        threshold="The same .05 as for the plain orthogonal support.",
        check=partial(comparisons.kept, ("orthogonal+", "normal")),
    ),
    Claim(
        name="diagonal .1",
        says="On the diagonal of width .1 the compositional model loses at most .05 as well.",
        source=f"{_TABLE}: .954 on the support and .945 on the whole space",
        threshold="The same .05. The benchmark of the support probe had measured a loss of .19 after 1,500 steps, where"
        " the paper took 392,000: a failure here would not refute the paper.",
        check=partial(comparisons.kept, ("diagonal .1",)),
    ),
    Claim(
        name="monolithic",
        says="Trained on the orthogonal support, the monolithic model's R² on the whole space is below 0.",
        source=f"{_TABLE}: -.500, with .948 on the support",
        threshold="0 is the score of the mean picture: below it, a model is worse than one that was never trained.",
        check=comparisons.monolithic,
    ),
    Claim(
        name="advantage",
        says="On every support but the random one, the monolithic model loses at least .1 of R² more than the"
        " compositional model of the same seed.",
        source="Asked by us: the paper has no monolithic run on a diagonal",
        threshold=".1 is twice what counts as no loss.",
        check=comparisons.advantage,
        ours=True,
    ),
    Claim(
        name="narrow",
        says="On the diagonal of width .05 and on the support with a gap at least .1 of R² is lost.",
        source=f"{_TABLE}: .867 and .589 on the diagonal; .954 and .895 with the gap",
        threshold=".1 was asked for when this study was planned. The published loss with the gap, .059, is itself below"
        " it; the benchmark of the support probe had measured .15.",
        check=comparisons.narrow,
    ),
    Claim(
        name="alpha, as published",
        says="Alpha compositing, one decoder for both sprites, “achieves even lower reconstruction error than the"
        " original model”: error on the whole space, collapsed seeds left out as they were.",
        source=f"{_BEYOND}; squared error 5.24e-4 against 1.24e-3",
        threshold="0: lower is lower. The pictures differ in brightness, so the share of the variance that is left"
        f" unexplained stands beside the squared error. A seed has collapsed if its R² on the support is below"
        f" {COLLAPSED:g}; that was set before any such run was looked at. Six seeds had been planned; in a first trial"
        " two of six stood, which decides nothing, so there are twelve.",
        check=comparisons.alpha_published,
    ),
    Claim(
        name="alpha, every seed",
        says="The same with every seed counted.",
        source=f"{_BEYOND}; the released records leave out two of five seeds",
        threshold="0, as above.",
        check=comparisons.alpha_every_seed,
        ours=True,
    ),
    Claim(
        name="alpha alone",
        says="Alpha compositing has the lower error also where sharing is held the same: both with a decoder for each"
        " sprite, and both with one.",
        source="Asked by us: the published comparison changes composition, channels and sharing at once",
        threshold="0, as above; collapsed seeds left out, so that composition and collapse are not mixed.",
        check=comparisons.alpha_alone,
        ours=True,
    ),
    Claim(
        name="sharing alone",
        says="One decoder for both sprites leaves less unexplained than two, under the same composition.",
        source="Asked by us: the published comparison changes composition, channels and sharing at once",
        threshold="0: less is less; collapsed seeds left out.",
        check=comparisons.sharing_alone,
        ours=True,
    ),
    Claim(
        name="alpha generalises",
        says="Under alpha compositing no value of a component has full rank, and yet runs that do not collapse lose at"
        " most .05 of R².",
        source=f"{_BEYOND}: the model is still right on the whole space; .984 and .979",
        threshold="Rank: none at all, by the algebra. Loss: the same .05 as under soft occlusion.",
        check=comparisons.alpha_generalises,
    ),
    Claim(
        name="collapse",
        says="With alpha compositing at least one seed in five collapses, or starts without any opacity, which comes to"
        " the same.",
        source="The released records of Wiedemer et al.: two of five seeds have an R² of -.13 on the support, and are"
        " not in the table",
        threshold="One in five is half of what the records show.",
        check=comparisons.collapses,
    ),
    Claim(
        name="collapse foretold",
        says="A run collapses exactly if one of its sprites is wholly clear before the first step.",
        source="Asked by us",
        threshold="All runs: opacity below 0 is clamped, no gradient passes, and nothing else was expected to fail. In"
        " a first trial one run of six that started alive had collapsed nevertheless.",
        check=comparisons.foretold,
        ours=True,
    ),
    Claim(
        name="components",
        says="Where the model generalises, what each decoder draws by itself is the true component, at least .9 of its"
        " variance in the worse slot, up to what the composition cannot fix.",
        source="Wiedemer et al. 2023, theorem 1: equality on the support implies equal components",
        threshold=".9 is near what the whole pictures reach. The benchmark of the support probe had found components"
        " far from the true ones; this asks again, less what two sprites can hand to each other unnoticed.",
        check=comparisons.recovered,
    ),
    Claim(
        name="components, rescaled",
        says="Up to a scale of each slot and a shift of each of its numbers, chosen at seen points, at least half of"
        " the variance is right where the model generalises.",
        source="Asked by us, after theorem 1",
        threshold=".5; the benchmark of the support probe had measured .61 to .71 on such supports, .18 to .54 on the"
        " others.",
        check=comparisons.rescaled,
        ours=True,
    ),
    Claim(
        name="components in order",
        says="The better components are recovered on a support, the less is lost there (rank correlation above 0).",
        source="Asked by us, after theorem 1",
        threshold="0: an order at all; with eight supports no more can be asked.",
        check=comparisons.in_order,
        ours=True,
    ),
    Claim(
        name="probe",
        says="What the support probe said before training was right: at most .05 of R² is lost on supports that it"
        " calls sufficient, and more on those that it calls insufficient.",
        source="Asked by us",
        threshold="The same .05. Supports that it calls unclear are told, and not counted.",
        check=comparisons.probe_right,
        ours=True,
    ),
    Claim(
        name="left open",
        says="The less the probe says is left open before training, the less is lost (rank correlation above 0).",
        source="Asked by us",
        threshold="0: an order at all. The measure's form was settled with seven of these eight supports in view.",
        check=comparisons.left_open,
        ours=True,
    ),
)
