"""A study made by hand: two claims, three runs, a figure of each kind."""

from recombine.base.records import Provenance
from recombine.output.figures import Curve, Curves, Field, Matrix, PointGroup, Scatter, Strip, Strips
from recombine_studies.claims import UNBOUNDED, Claim, exact, judged, over_seeds
from recombine_studies.rows import Rows
from recombine_studies.study import Bench, Evidence
from recombine_studies.study_result import StudyResult, claims_table, grade_of, verdict_of

RUNS = Rows(
    {"key": f"{seed:032d}", "grid": "sums", "seed": seed, "status": "finished", "seconds": 1.0, "unseen.score": score}
    for seed, score in enumerate((0.7, 0.72, 0.74))
)
CLAIMS = (
    Claim(
        name="high",
        says="Scores are above .5.",
        source="Nobody (2026), table 1.",
        threshold="Half.",
        check=lambda evidence: [over_seeds("score", evidence.runs.numbers("unseen.score"), ">", 0.5, UNBOUNDED)],
    ),
    Claim(
        name="few",
        says="There are <b>two</b> runs | or fewer.",
        source="Nobody (2026).",
        threshold="Two.",
        check=lambda evidence: [exact("runs", float(len(evidence.runs)), "<=", 2.0)],
        ours=True,
    ),
)
FIGURES = (
    Strips("Seeds", "All of them.", "score", (Strip("sums", (0.7, 0.72, None), "lazy"), Strip("x", (), "rich")), 0.5),
    Scatter(
        "Both", "Equal on the line.", "said", "measured", (PointGroup("a", (0.0, 1.0), (0.1, 0.9)),), diagonal=True
    ),
    Matrix("Table", "Rows are tasks.", ("sums",), ("said", "measured"), ((0.5, None),)),
    Curves("Training", "By step.", "step", "score", ("0", "1"), (Curve("A", (0.0, 1.0)),)),
    Field("Boundary", "Dark is 1.", "x", "y", (-1.0, 1.0), (-1.0, 1.0), ((0.0, 1.0),) * 2),
)


def a_study() -> StudyResult:
    evidence = Evidence(Bench("nowhere", {}), RUNS)
    findings = tuple(judged(claim, evidence) for claim in CLAIMS)
    return StudyResult(
        study="made",
        title="Made by hand",
        paper="Nobody (2026)",
        question="Is it <i>so</i>?",
        preset="smoke",
        verdict=verdict_of("Nobody (2026)", findings, runs=3, diverged=0, missing=0),
        grade=grade_of(findings, missing=0),
        findings=findings,
        remarks=("It is so.",),
        differs=("Everything.",),
        figures=FIGURES,
        runs=3,
        diverged=0,
        seconds=3.0,
        missing=0,
        tables={"claims": claims_table(findings), "runs": RUNS.table()},
        provenance=Provenance(source="study made", settings={"preset": "smoke"}),
    )
