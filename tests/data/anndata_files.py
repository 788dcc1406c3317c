"""Write the files of `anndata_files.tar.xz`, with anndata itself: `python tests/data/anndata_files.py FOLDER`.

anndata 0.12 wants pandas below 3, so it cannot live in the environment of the tests; its files can. They were written
by anndata 0.12.19 with h5py 3.16 and zarr 3.1, and are to be written anew when it writes them in another way.
"""

import sys
from pathlib import Path

import numpy as np

CELLS, GENES = 60, 5
CONDITIONS = ["ctrl", "AHR+ctrl", "ctrl+KLF1", "FEV+ctrl", "AHR+KLF1"]


def expression() -> np.ndarray:
    """What every file holds as `X`."""
    return np.random.default_rng(0).poisson(1.0, (CELLS, GENES)).astype("float32")


def write(folder: Path) -> None:
    """A sparse, a dense and an empty `.h5ad`, and both formats of `.zarr`."""
    import anndata as ad  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415
    from scipy import sparse  # noqa: PLC0415

    counts, third = expression(), CELLS // 3
    obs = pd.DataFrame(
        {
            "condition": pd.Categorical(np.repeat(CONDITIONS, CELLS // 5)),
            "cell_type": ["K562", "A549"] * (CELLS // 2),
            "batch": pd.Categorical([1, 2, 3] * third),
            "n_counts": counts.sum(axis=1),
            "lane": pd.array([1, None, 2] * third, dtype="Int64"),
            "passed": pd.array([True, False, None] * third, dtype="boolean"),
            "kept": [True, False] * (CELLS // 2),
            "größe": pd.Categorical(["klein", "groß", None] * third),
            "note": pd.array(["α", "β", None] * third, dtype="string"),
        },
        index=[f"cell{place}" for place in range(CELLS)],
    )
    var = pd.DataFrame(index=[f"gene{place}" for place in range(GENES)])
    layers = {"counts": counts, "csc": sparse.csc_matrix(counts)}
    obsm = {"X_pca": counts[:, :2].astype("float64"), "frame": pd.DataFrame({"a": range(CELLS)}, index=obs.index)}
    thin = ad.AnnData(X=sparse.csr_matrix(counts), obs=obs, var=var, layers=layers, obsm=obsm)
    thin.raw = thin
    with ad.settings.override(allow_write_nullable_strings=True):
        thin.write_h5ad(folder / "sparse.h5ad", compression="gzip")
        ad.AnnData(X=counts.astype("float64"), obs=obs, var=var).write_h5ad(folder / "dense.h5ad")
        for version in (2, 3):
            with ad.settings.override(zarr_write_format=version):
                thin.write_zarr(folder / f"v{version}.zarr")
    ad.AnnData(obs=obs[["condition"]]).write_h5ad(folder / "no_x.h5ad")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
