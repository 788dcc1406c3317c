"""Write a dataset with lerobot itself, whichever is installed: `python tests/data/lerobot_written.py FOLDER`.

lerobot wants versions of torch, datasets and Python of its own, so it cannot live in the environment of the tests; what
it wrote can. `lerobot_written.tar.xz` holds the folders of 0.3.3 (format 2.1), 0.4.4 and 0.6.1 (both 3.0).
"""

import sys
from pathlib import Path

import numpy as np

TASKS = [f"pick the {thing} from the {place}" for place in ("table", "棚") for thing in ("cup", "bowl", "Löffel")] * 2


def write(root: Path) -> None:
    """Twelve episodes of three or four frames, without videos."""
    import lerobot  # noqa: PLC0415
    from lerobot.datasets.lerobot_dataset import LeRobotDataset  # noqa: PLC0415

    vector = {"dtype": "float32", "shape": (2,), "names": ["x", "y"]}
    features = {"observation.state": vector, "action": vector}
    kind = {"fps": 30, "root": root, "robot_type": "so101_follower", "use_videos": False}
    dataset, rng = LeRobotDataset.create(f"me/{root.name}", features=features, **kind), np.random.default_rng(0)
    for place, task in enumerate(TASKS):
        for _ in range(3 + place % 2):
            frame = {name: rng.random(2).astype("float32") for name in features}
            if lerobot.__version__ < "0.4":
                dataset.add_frame(frame, task=task)
            else:
                dataset.add_frame({**frame, "task": task})
        dataset.save_episode()
    if hasattr(dataset, "finalize"):
        dataset.finalize()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
