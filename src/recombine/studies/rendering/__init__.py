"""Rendering: do decoders that are given each coordinate by itself draw places that they were never shown?"""

from recombine.studies.rendering.claims import CLAIMS
from recombine.studies.rendering.drawing import figures, remarks
from recombine.studies.rendering.grids import PRESETS, grids
from recombine.studies.rendering.measuring import STEPS
from recombine.studies.study import Study

_DIFFERS = {
    "smoke": ("Tiny images and a few steps: it shows that everything runs, and decides nothing.",),
    "small": (
        "Images are 12 × 12 with bumps of width .75 in place of 28 × 28 with width 1, for time; the hole was chosen so "
        "that the training images cover about as much of the unseen ones as in the published donut (.26 of their "
        "energy lies in the span, published .27), before anything was trained on it.",
        "Bumps are bright on black where most published scripts invert them: the task is the same, and a network that "
        "starts near 0 learns it in fewer steps.",
        "MLPs have 3 × 128 units and 1,500 steps at 2e-3, CNN decoders 8 channels, two 3 × 3 layers and 600 steps of "
        "16 at 4e-3, in place of 256 units, 64 channels and 1e-3. In a trial with the published recipe for MLPs (28 × "
        "28, 1,250 steps) what was seen stayed at .8 to 1 of a blank image, which would say nothing about composing.",
        "Filters draw 16 × 16 with width 1 and a corner at 8, 4,000 steps at 3e-3, in place of 32 × 32, width 1.5, a "
        "corner at 12 and 20,000 steps at 1e-3; these settings are those of this library's benchmark of the geometry "
        "probe, where they were seen to work. The penalties' weights are the published ones, though they depend on N.",
        "The spatial broadcast decoder has width 32 on 12 × 12, published 256 on 28 × 28.",
        "The pixel transformer has width 16 and two layers, published 128; how the paper tells it the code is not "
        "known, and here the code is added to every pixel's position.",
        "Samples needed are those of an MLP of 2 × 96 units for N from 8 to 20 with whole-number centres, where the "
        "paper has CNNs, N from 24 to 40 and real ones.",
    ),
    "paper": (
        "Sizes, steps, rates and batches are those of the released code; the paper's own text was not available.",
        "Stripe count and mix are not known (its stripe script draws none): here half of the examples are stripes, in "
        "the full range. Neither is how many samples its scaling took, nor its target.",
        "The scalar code has the wider network of the other codes (256 in place of 128 units), and centres of the "
        "scaling runs are whole numbers.",
        "Five seeds where it has one; penalties, splits and bounds as in its code (17 × 17 held out, figures "
        "draw 16 × 16).",
    ),
}

STUDY = Study(
    name="rendering",
    title="Forced rendering of disentangled latents",
    paper="Liang, Qian, Ziyin and Fiete (ICML 2025), Compositional Generalization via Forced Rendering of Disentangled "
    "Latents",
    question="If a decoder is given x and y each by itself, does it draw pairs of them that it has never seen?",
    presets=PRESETS,
    grids=grids,
    claims=CLAIMS,
    figures=figures,
    steps=STEPS,
    differs=_DIFFERS,
    remarks=remarks,
)
