"""Parts of data in files of other packages, and on the actors of Ray: packages that few programs have."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.worker_functions import logistic, missing_file, part_from

W = np.array([0.3, -0.5, 0.8])


def columns(w: Any, part: Any) -> Any:
    return tg.sum((part["y"] - w * part["x"]) ** 2)


def product(w: Any, part: Any) -> Any:
    return tg.sum((part["x"] if isinstance(part, dict) else part) @ w)


def test_row_groups_of_parquet_files(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        table = pyarrow.table({key: rng.standard_normal(10) for key in ("x", "y", "z")})
        parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=4)
    whole = parquet.read_table(tmp_path)
    x, y = (whole[key].to_numpy() for key in ("x", "y"))
    whole_folder = tg.optimize.sharded(columns, tmp_path)
    for source, count in ((tmp_path, 6), (tmp_path / "a.parquet", 3)):
        rows = slice(None) if count == 6 else slice(10)
        f = tg.optimize.sharded(columns, source, columns=["x", "y"])
        assert f.parts == count
        np.testing.assert_allclose(f(0.5), np.sum((y[rows] - 0.5 * x[rows]) ** 2), rtol=1e-14)
        np.testing.assert_allclose(f.grad(0.5), np.sum(-2 * x[rows] * (y[rows] - 0.5 * x[rows])), rtol=1e-13)
    with pytest.raises(ValueError, match=r"a\.parquet has no columns w"):
        tg.optimize.sharded(columns, tmp_path, columns=["x", "w"])
    (tmp_path / "b.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"in part \d of 6 \(.*b\.parquet, row group \d\)"):
        whole_folder(0.5)


def test_chunks_of_zarr(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    values = np.arange(14.0).reshape(7, 2)
    array = zarr.open(str(tmp_path / "x.zarr"), mode="w", shape=(7, 2), chunks=(3, 2), dtype="f8")
    array[:] = values
    for source, options, count in ((array, {}, 3), ({"x": array, "y": values}, {"rows": 2}, 4)):
        f = tg.optimize.sharded(product, source, **options)
        assert f.parts == count
        np.testing.assert_array_equal(f.grad(np.ones(2)), values.sum(0))


def test_actors_of_ray() -> None:
    ray = pytest.importorskip("ray")
    folder = str(Path(__file__).parents[1])  # of helpers
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": folder}},
    )
    try:
        parts = [functools.partial(part_from, seed, 20 + seed % 2) for seed in range(9)]
        here, there = tg.optimize.sharded(logistic, parts), tg.optimize.sharded(logistic, parts, ray)
        for w in (W, 2 * W):
            assert there(w) == here(w)
            np.testing.assert_array_equal(there.grad(w), here.grad(w))
        np.testing.assert_array_equal(
            there.hessian(W, sparse=True).toarray(), here.hessian(W, sparse=True).toarray()
        )
        failing = tg.optimize.sharded(logistic, [functools.partial(missing_file, k) for k in range(5)], ray)
        with pytest.raises(FileNotFoundError, match=r"in part 3 of 5 \(missing_file\(3\)\)"):
            failing(W)
        for place in there._engine.places:
            ray.kill(place.source.current()._actor)
        np.testing.assert_array_equal(there.grad(3 * W), here.grad(3 * W))
        found, straight = (tg.optimize.minimize(f, np.zeros(3)) for f in (there, here))
        np.testing.assert_array_equal(found.x, straight.x)
        there.close()
    finally:
        ray.shutdown()


def drawn(nutpie: Any, f: Any) -> np.ndarray:
    model = tg.interop.nutpie(lambda w: -f(w) - 0.5 * tg.sum(w**2), W)
    trace = nutpie.sample(model, draws=20, tune=50, chains=1, seed=1, progress_bar=False)
    return np.asarray(trace.posterior["x"])


def test_a_density_by_parts_has_the_draws_of_the_whole() -> None:
    nutpie = pytest.importorskip("nutpie")
    data = part_from(0, 80)
    by_parts = tg.optimize.sharded(logistic, data, rows=30)
    draws = drawn(nutpie, by_parts), drawn(nutpie, lambda w: logistic(w, data))
    np.testing.assert_allclose(*draws, atol=1e-3)  # steps of NUTS make rounding errors larger
